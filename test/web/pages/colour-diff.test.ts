import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { colourDiff } from "../../../src/web/pages/colour-diff.js";

const joined = (diff: string) =>
  colourDiff(diff)
    .map(({ pieces }) => pieces.map(({ text }) => text).join(""))
    .join("\n");

test.each([
  ["+  replicas: 3", "added", ["sign:+", "plain:  ", "key:replicas", "plain::", "value: 3"]],
  ['-  - name: "web: x"', "removed", ["sign:-", "plain:  - ", "key:name", "plain::", 'text: "web: x"']],
  [" # why: so", "same", ["sign: ", "comment:# why: so"]],
  ['   "a:b": c', "same", ["sign: ", "plain:  ", 'key:"a:b"', "plain::", "plain: c"]],
  ["   http://x/y", "same", ["sign: ", "plain:  ", "plain:http://x/y"]],
  ["@@ -1,2 +1,2 @@", "place", ["plain:@@ -1,2 +1,2 @@"]],
  ["\\ No newline at end of file", "place", ["plain:\\ No newline at end of file"]],
  ["", "same", ["sign:"]],
  ["\u0000x: y", "same", ["sign:", "odd:⟨U+0000⟩", "key:x", "plain::", "plain: y"]],
  ["+a: b\u202ec", "added", ["sign:+", "key:a", "plain::", "plain: b", "odd:⟨U+202E⟩", "plain:c"]],
  ["+a: b\u3164\ufe00", "added", ["sign:+", "key:a", "plain::", "plain: b", "odd:⟨U+3164⟩", "odd:⟨U+FE00⟩"]],
])("colours %j", (line, kind, pieces) => {
  const [found] = colourDiff(`${line}\n+end`);
  expect([found?.kind, found?.pieces.map((piece) => `${piece.kind}:${piece.text}`)]).toEqual([kind, pieces]);
});

describe("nothing is lost", () => {
  test("the pieces of a diff of printable characters are the diff", () => {
    const text = fc.string({
      unit: fc.constantFrom(..."+ - @ \\ # : ' \" a b 0 . ~ / { } \n \t < > &".split(" "), " "),
    });
    fc.assert(
      fc.property(text, (diff) => {
        expect(joined(`x${diff}x`)).toBe(`x${diff}x`);
      }),
    );
  });

  test("deceptive characters are spelled out everywhere", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (diff) => {
        expect(joined(diff)).not.toMatch(/[^\P{Cc}\n\t]|[\p{Cf}\p{DI}\u2028\u2029]/u);
      }),
    );
  });
});

test("a line of a megabyte of colons is fast", () => {
  const before = process.cpuUsage();
  colourDiff(`+${"a:'\"".repeat(250_000)}`);
  colourDiff(Array.from({ length: 2000 }, () => `+${" -".repeat(200)}${":".repeat(400)}`).join("\n"));
  expect(process.cpuUsage(before).user / 1e6).toBeLessThan(3); // seconds of our own, however busy the machine is
});
