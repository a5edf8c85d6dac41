import { expect, test } from "@jest/globals";
import { AcceptedIds } from "../../src/queue/in-process.js";

const DAY_MS = 24 * 60 * 60 * 1000;

test("a delivery is known for four days and then forgotten", () => {
  const ids = new AcceptedIds();
  expect(ids.add(["a"], new Date(0))).toBe(true);
  expect(ids.add(["a"], new Date(4 * DAY_MS - 1))).toBe(false);
  expect(ids.add(["a"], new Date(4 * DAY_MS))).toBe(true);
});

test("beyond the limit the oldest are forgotten", () => {
  const ids = new AcceptedIds(2);
  for (const delivery of ["a", "b", "c"]) expect(ids.add([delivery], new Date(0))).toBe(true);
  expect(ids.add(["c"], new Date(0))).toBe(false);
  expect(ids.add(["a"], new Date(0))).toBe(true);
});

test("a delivery with one known id is not new", () => {
  const ids = new AcceptedIds();
  expect(ids.add(["a", "comment 1"], new Date(0))).toBe(true);
  expect(ids.add(["b", "comment 1"], new Date(1))).toBe(false);
  expect(ids.add(["b", "comment 2"], new Date(2))).toBe(true);
});
