import { expect, test } from "@jest/globals";
import { DeliveryMemory } from "../../src/queue/delivery-memory.js";

const DAY_MS = 24 * 60 * 60 * 1000;

test("a delivery is known for four days and then forgotten", () => {
  const memory = new DeliveryMemory();
  expect(memory.accept(["a"], new Date(0))).toBe(true);
  expect(memory.accept(["a"], new Date(4 * DAY_MS - 1))).toBe(false);
  expect(memory.accept(["a"], new Date(4 * DAY_MS))).toBe(true);
});

test("of more than it can hold the oldest are forgotten", () => {
  const memory = new DeliveryMemory(2);
  for (const delivery of ["a", "b", "c"]) expect(memory.accept([delivery], new Date(0))).toBe(true);
  expect(memory.accept(["c"], new Date(0))).toBe(false);
  expect(memory.accept(["a"], new Date(0))).toBe(true);
});

test("a delivery of which one id was seen before is no new one", () => {
  const memory = new DeliveryMemory();
  expect(memory.accept(["a", "comment 1"], new Date(0))).toBe(true);
  expect(memory.accept(["b", "comment 1"], new Date(1))).toBe(false);
  expect(memory.accept(["b", "comment 2"], new Date(2))).toBe(true);
});
