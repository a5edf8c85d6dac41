import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { diffBlocks } from "../../src/comments/plan-diff.js";
import type { ResourceChange } from "../../src/core/model/plan.js";

const LIMIT = 6_000;

function change(diff: string): ResourceChange {
  return { action: "update", hook: false, whole: true, kind: "ConfigMap", title: "ConfigMap web", diff };
}

function blocksOf(diffs: readonly string[]): readonly string[] {
  return diffBlocks(diffs.map(change), { limit: LIMIT, budget: { left: 100_000 }, page: undefined, open: false });
}

test.each([
  { name: "a fence that must be longer than the backticks inside", diff: `+${"`".repeat(1_500)}\n+short\n`.repeat(4) },
  { name: "lines that are each cut", diff: `+${"x".repeat(3_000)}\n`.repeat(5) },
  { name: "characters that are taken out", diff: `+${"\u202e".repeat(50)}${"x".repeat(400)}\n`.repeat(20) },
  { name: "more single backticks than arguments fit a call", diff: "+` ` ` `\n".repeat(100_000) },
  { name: "many lines", diff: "+a: b\n".repeat(5_000) },
])("$name: the block still fits a comment", ({ diff }) => {
  const blocks = blocksOf([diff, "+a: b\n"]);
  expect(Math.max(...blocks.map(({ length }) => length))).toBeLessThanOrEqual(LIMIT);
  expect(blocks.join("\n")).toContain("more lines are not shown");
});

const line = fc.oneof(
  fc.string({ maxLength: 200 }).map((text) => `+${text}`),
  fc.string({ unit: fc.constantFrom("x", "\u202e", "\u200b", "\r"), maxLength: 900 }),
  fc.integer({ min: 1, max: 2_500 }).map((count) => `-${"`".repeat(count)}`),
);
const diff = fc.array(line, { maxLength: 60 }).map((lines) => lines.join("\n"));

test("whatever the diffs hold, every block fits a comment", () => {
  fc.assert(
    fc.property(fc.array(diff, { maxLength: 8 }), (diffs) => {
      expect(Math.max(0, ...blocksOf(diffs).map(({ length }) => length))).toBeLessThanOrEqual(LIMIT);
    }),
  );
});
