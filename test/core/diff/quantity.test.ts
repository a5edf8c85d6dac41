import { expect, test } from "@jest/globals";
import { compareQuantities } from "../../../src/core/diff/kubernetes-rules.js";
import type { Json } from "../../../src/core/model/json.js";

test.each<[Json | undefined, Json | undefined, number | undefined]>([
  ["1", "1000m", 0],
  [1, "1", 0],
  [0.5, "500m", 0],
  ["0.1", "100m", 0],
  [".5", "500m", 0],
  ["1Gi", "1024Mi", 0],
  ["1Gi", "1G", 1],
  ["1500Mi", "2Gi", -1],
  ["-1", "1", -1],
  ["1.5Gi", "1536Mi", 0],
  ["100n", "0.1u", 0],
  ["1e3", "1k", 0],
  ["12E-1", "1200m", 0],
  ["1E", "1000P", 0],
  ["Gi", "1Gi", undefined],
  ["1e100", "1", undefined],
  ["1 Gi", "1Gi", undefined],
  ["", "0", undefined],
  [undefined, "1", undefined],
  [{}, "1", undefined],
  ["9".repeat(40), "1", undefined],
])("%j and %j: %j", (left, right, expected) => {
  expect(compareQuantities(left, right)).toBe(expected);
});
