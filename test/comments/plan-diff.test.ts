import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { pack } from "../../src/comments/parts.js";
import { diffBlocks } from "../../src/comments/plan-diff.js";
import type { ResourceChange } from "../../src/core/model/plan/manifest-diff.js";

const LIMIT = 12_000;

function change(diff: string): ResourceChange {
  return { action: "update", hook: false, whole: true, kind: "ConfigMap", title: "ConfigMap web", diff };
}

function partsOf(diffs: readonly string[], room = Number.POSITIVE_INFINITY): readonly string[] {
  const changes = diffs.map(change);
  const rooms = new Map(changes.map((one) => [one, room]));
  const section = "### Application: `web`";
  return pack(
    diffBlocks(changes, { rooms, names: 1000, page: undefined, outputs: 0, open: false, section }, "change"),
    LIMIT,
  );
}

test.each([
  { name: "a fence that must be longer than the backticks inside", diff: `+${"`".repeat(1_500)}\n+short\n`.repeat(9) },
  { name: "lines that are each cut", diff: `+${"x".repeat(3_000)}\n`.repeat(9) },
  { name: "characters that are taken out", diff: `+${"\u202e".repeat(50)}${"x".repeat(400)}\n`.repeat(50) },
  { name: "more single backticks than arguments fit a call", diff: "+` ` ` `\n".repeat(45_000) },
  { name: "many lines", diff: "+a: b\n".repeat(5_000) },
])("$name: each part fits a comment, and has every line", ({ diff }) => {
  const parts = partsOf([diff, "+a: b\n"]);
  expect(Math.max(...parts.map(({ length }) => length))).toBeLessThanOrEqual(LIMIT);
  expect(parts.join("\n").match(/^\+/gm)).toHaveLength(diff.trimEnd().split("\n").length + 1);
});

test("a diff that has less room than it needs says how many lines are left out", () => {
  const [part = "", ...more] = partsOf(["+a: b\n".repeat(1_000)], 3_000);
  expect(more).toEqual([]);
  const shown = part.match(/^\+/gm)?.length ?? 0;
  expect(shown).toBeGreaterThan(400);
  expect(part).toContain(`# … ${1_000 - shown} more lines are not shown`);
});

const line = fc.oneof(
  fc.string({ maxLength: 200 }).map((text) => `+${text}`),
  fc.string({ unit: fc.constantFrom("x", "\u202e", "\u200b", "\r"), maxLength: 900 }),
  fc.integer({ min: 1, max: 2_500 }).map((count) => `-${"`".repeat(count)}`),
);
const diff = fc.array(line, { maxLength: 60 }).map((lines) => lines.join("\n"));

test("whatever the diffs hold, every part fits a comment", () => {
  fc.assert(
    fc.property(fc.array(diff, { maxLength: 8 }), fc.integer({ min: 100, max: 90_000 }), (diffs, room) => {
      expect(Math.max(0, ...partsOf(diffs, room).map(({ length }) => length))).toBeLessThanOrEqual(LIMIT);
    }),
  );
});
