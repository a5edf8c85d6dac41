import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { hasGlob, globMatcher } from "../../../../src/core/detect/tree/repository-path.js";

test.each([
  ["a/b.yaml", "a/b.yaml", true],
  ["a/b.yaml", "a/b.yml", false],
  ["a/*.yaml", "a/b.yaml", true],
  ["a/*.yaml", "a/b/c.yaml", false],
  ["a/*", "a", false],
  ["*/x", "a/x", true],
  ["a/?.yaml", "a/é.yaml", true],
  ["a/?.yaml", "a/bb.yaml", false],
  ["a/[bc].yaml", "a/c.yaml", true],
  ["a/[b-d].yaml", "a/c.yaml", true],
  ["a/[^b-d].yaml", "a/c.yaml", false],
  ["a/[^b-d].yaml", "a/e.yaml", true],
  ["a/[\\]]x", "a/]x", true],
  ["a/[b", "a/b", false],
  ["a/\\*", "a/*", true],
  ["a/\\*", "a/b", false],
  ["a\\", "a", false],
  ["{a,b}/x", "a/x", false],
  ["{a,b}/x", "{a,b}/x", true],
])("%s and %s match alike with and without double stars: %s", (pattern, path, expected) => {
  expect(globMatcher(pattern, { doubleStar: false })(path)).toBe(expected);
  expect(globMatcher(pattern, { doubleStar: true })(path)).toBe(expected);
});

test.each([
  ["a/**/x", "a/x", true, false],
  ["a/**/x", "a/b/c/x", true, false],
  ["a/**/x", "a/b/x", true, true],
  ["**", "a/b/c", true, false],
  ["a/**", "b/c", false, false],
  ["a/[!b]", "a/c", true, false],
  ["a/[!b]", "a/!", true, true],
  // In Go these are malformed, and a malformed pattern matches nothing.
  ["a/[]-]x", "a/-x", true, false],
  ["a/[]a]", "a/a", true, false],
  ["a/[a-]", "a/a", true, false],
  ["a/[-a]", "a/a", true, false],
  ["a/[a--]", "a/a", false, false],
])("%s and %s: %s with double stars, %s without", (pattern, path, withStars, without) => {
  expect(globMatcher(pattern, { doubleStar: true })(path)).toBe(withStars);
  expect(globMatcher(pattern, { doubleStar: false })(path)).toBe(without);
});

test("a pattern without special characters matches exactly itself", () => {
  const path = fc
    .array(fc.stringMatching(/^[a-z.]{1,5}$/), { minLength: 1, maxLength: 4 })
    .map((parts) => parts.join("/"));
  fc.assert(
    fc.property(path, path, (one, other) => {
      expect(hasGlob(one)).toBe(false);
      expect(globMatcher(one, { doubleStar: true })(other)).toBe(one === other);
    }),
  );
});

test("a pattern made to backtrack takes no time", () => {
  const before = process.cpuUsage();
  expect(globMatcher(`${"*a".repeat(200)}b`, { doubleStar: true })("a".repeat(4000))).toBe(false);
  expect(globMatcher(`${"**/".repeat(200)}b`, { doubleStar: true })("a/".repeat(2000))).toBe(false);
  expect(process.cpuUsage(before).user / 1e6).toBeLessThan(5); // seconds of our own, however busy the machine is
});

test("what is too long to compare counts as read, and not as covered", () => {
  const long = `${"a/".repeat(2048)}b`;
  for (const [pattern, path] of [
    ["x", long],
    [long, "x"],
  ] as const) {
    expect(globMatcher(pattern, { doubleStar: true })(path)).toBe(true);
    expect(globMatcher(pattern, { doubleStar: false })(path)).toBe(false);
  }
});
