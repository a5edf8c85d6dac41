import { expect, test } from "@jest/globals";
import type { Manifest } from "../../../src/core/model/application.js";
import { revision } from "../../../src/core/model/brand.js";
import { jsonText } from "../../../src/core/model/json.js";
import { createRenderCache } from "../../../src/core/render/render.js";
import { JumpClock } from "../../jump-clock.js";

const AT = revision("a".repeat(40));
const HOUR = 60 * 60_000;

function rendered(value: string) {
  const manifests = [{ apiVersion: "v1", kind: "ConfigMap", data: { value } }];
  return { manifests: jsonText<readonly Manifest[]>(manifests), renderedAt: AT };
}

test("what was kept is found under its key and no other, with the commit that it was rendered at", () => {
  const cache = createRenderCache(new JumpClock());
  cache.keep("one", rendered("1"));
  expect(cache.find("one")).toEqual(rendered("1"));
  expect(cache.find("two")).toBeUndefined();
});

test("a later render takes the place of the earlier one", () => {
  const cache = createRenderCache(new JumpClock());
  cache.keep("one", rendered("1"));
  cache.keep("one", rendered("2"));
  expect(cache.find("one")).toEqual(rendered("2"));
});

test.each([
  [HOUR - 1, true],
  [HOUR, false],
  [2 * HOUR, false],
])("after %i ms it is there: %s, however often it was asked for", (age, there) => {
  const clock = new JumpClock();
  const cache = createRenderCache(clock);
  cache.keep("one", rendered("1"));
  clock.advance(age / 2);
  cache.find("one");
  clock.advance(age / 2);
  expect(cache.find("one") !== undefined).toBe(there);
});

test("beyond its size it forgets what was not used for the longest time", () => {
  const cache = createRenderCache(new JumpClock(), 8000);
  const large = "x".repeat(800);
  for (const key of ["one", "two", "three", "four"]) cache.keep(key, rendered(large));
  cache.find("one");
  cache.keep("five", rendered(large));
  const kept = ["one", "two", "three", "four", "five"].filter((key) => cache.find(key) !== undefined);
  expect(kept).toEqual(["one", "three", "four", "five"]);
});

test("what would fill more than a quarter of it is never kept, and makes nothing else go", () => {
  const cache = createRenderCache(new JumpClock(), 8000);
  cache.keep("one", rendered("x".repeat(800)));
  cache.keep("two", rendered("x".repeat(1000)));
  expect(["one", "two"].map((key) => cache.find(key) !== undefined)).toEqual([true, false]);
});
