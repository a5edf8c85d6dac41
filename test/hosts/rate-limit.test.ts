import { expect, test } from "@jest/globals";
import { pauseAskedFor } from "../../src/hosts/host-answer.js";

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
