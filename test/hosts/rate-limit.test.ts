import { expect, test } from "@jest/globals";
import { budgetIn, pauseAskedFor, scarceUntil } from "../../src/hosts/host-answer.js";

const NOW = new Date("2026-03-02T10:00:00.000Z");
const SECONDS = NOW.getTime() / 1000;

test.each<[number, Record<string, string>, number | undefined]>([
  [429, {}, undefined],
  [429, { "retry-after": "7" }, 7_000],
  [503, { "retry-after": " 0 " }, 0],
  [429, { "retry-after": "-5" }, undefined],
  [429, { "retry-after": "soon" }, undefined],
  [429, { "retry-after": "Mon, 02 Mar 2026 10:00:30 GMT" }, 30_000],
  [429, { "retry-after": "Mon, 02 Mar 2026 09:00:00 GMT" }, 0],
  [403, { "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(SECONDS + 40) }, 40_000],
  [403, { "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(SECONDS - 40) }, 0],
  [403, { "x-ratelimit-remaining": "0" }, undefined],
  [403, { "x-ratelimit-remaining": "12", "x-ratelimit-reset": String(SECONDS + 40) }, undefined],
  [500, { "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(SECONDS + 40) }, undefined],
  [403, { "retry-after": "3", "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(SECONDS + 40) }, 3_000],
])("%i with %j", (status, headers, pause) => {
  expect(pauseAskedFor({ status, headers }, NOW)).toBe(pause);
});

const HOUR = SECONDS + 3600;

test.each<[string, string, string, number | undefined]>([
  ["5000", "2500", String(HOUR), undefined],
  ["5000", "2499", String(HOUR), HOUR],
  ["5000", "0", String(SECONDS + 60), SECONDS + 60],
  ["5000", "0", String(SECONDS), undefined],
  ["5000", "0", "999999999999", HOUR],
  ["5000", "0", "1e30", undefined],
  ["5000", "0", "", undefined],
  ["5000", "many", String(HOUR), undefined],
  ["", "0", String(HOUR), undefined],
])("of %s calls %s are left until %s", (limit, remaining, reset, until) => {
  const headers = { "x-ratelimit-limit": limit, "x-ratelimit-remaining": remaining, "x-ratelimit-reset": reset };
  const expected = until && new Date(until * 1000);
  expect(scarceUntil(budgetIn(headers, "x-ratelimit"), NOW)).toEqual(expected);
  const core = budgetIn({ ...headers, "x-ratelimit-resource": "core" }, "x-ratelimit");
  expect(scarceUntil(core, NOW)).toEqual(expected);
  expect(budgetIn({ ...headers, "x-ratelimit-resource": "search" }, "x-ratelimit")).toBeUndefined();
  expect(budgetIn(headers, "ratelimit")).toBeUndefined();
});
