import { expect, test } from "@jest/globals";
import fc from "fast-check";
import micromatch from "micromatch";
import { matchesPath, patternProblem } from "../../src/config/pattern.js";
import { beforeDeadline, fuzz } from "./fuzz.js";
import { must } from "./must.js";

const LONGEST_TEXT = 4096;
/** A thousand times what the slowest match takes, and a tenth of what micromatch alone takes for three stars. */
const DEADLINE_MS = 1000;

const token = fc.constantFrom("a", "a", "aa", "b", "*", "*", "**", "?", "/", "/**/", "{a,aa}", "{*a,a/*}", "{,a}", ".");
const odd = fc.constantFrom(
  "(",
  ")",
  "|",
  "+",
  "$",
  "^",
  "'",
  '"',
  "@",
  "!",
  ",",
  "{a}",
  "{",
  "}",
  "[a]",
  "+(a)",
  "\\",
);
const pattern = fc
  .array(fc.oneof({ arbitrary: token, weight: 12 }, { arbitrary: odd, weight: 1 }), { minLength: 1, maxLength: 60 })
  .map((tokens) => tokens.join(""));

/** Texts that match a pattern of few letters almost to their end. */
const text = fc
  .tuple(fc.constantFrom("a", "aa/", "a/", "ab", "aab/", `${"a".repeat(255)}/`), fc.constantFrom("", "b", "/b", "c"))
  .map(([unit, end]) => unit.repeat(LONGEST_TEXT).slice(0, LONGEST_TEXT - end.length) + end);

test("no pattern is slow to match", () => {
  let accepted = 0;
  fuzz("pattern", fc.tuple(pattern, text), ([glob, path]) => {
    const isPattern = patternProblem(glob) === undefined;
    if (isPattern) accepted += 1;
    const matches = beforeDeadline(() => matchesPath(glob, path), DEADLINE_MS);
    must(isPattern || !matches, "a text that is not a pattern matches");
  });
  expect(accepted).toBeGreaterThan(0);
});

test("the deadline stops a regular expression", () => {
  expect(patternProblem("*a*a*b")).toBeUndefined();
  expect(() => beforeDeadline(() => micromatch.isMatch("a".repeat(LONGEST_TEXT), "*a*a*b"), DEADLINE_MS)).toThrow(
    "timed out",
  );
});
