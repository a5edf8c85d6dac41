import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import micromatch from "micromatch";
import { matchesName, matchesPath, patternProblem } from "../../src/config/pattern.js";
import { shareOf } from "../share-of.js";

describe("matchesPath", () => {
  test.each([
    ["apps/web/**", "apps/web/values.yaml", true],
    ["apps/web/**", "apps/web/a/b/c.yaml", true],
    ["apps/web/**", "apps/web/.hidden/.env", true],
    ["apps/web/**", "apps/web", true],
    ["apps/web/**", "apps/website/values.yaml", false],
    ["apps/web/**", "Apps/web/values.yaml", false],
    ["apps/*/values.yaml", "apps/web/values.yaml", true],
    ["apps/*/values.yaml", "apps/web/sub/values.yaml", false],
    ["apps/*/values.yaml", "apps/.web/values.yaml", true],
    ["**/values.yaml", "values.yaml", true],
    ["**/values.yaml", "a/b/values.yaml", true],
    ["a/**/z", "a/z", true],
    ["a/**/z", "a/b/c/z", true],
    ["a/**/z", "a/b/c", false],
    ["**", "any/thing", true],
    ["*.yaml", "a.yaml", true],
    ["*.yaml", "a/b.yaml", false],
    ["?.yaml", "a.yaml", true],
    ["?.yaml", "ab.yaml", false],
    ["{a,b}/c", "b/c", true],
    ["{a,b}/c", "c/c", false],
    ["{a/x,b}/{c,d}.yaml", "a/x/d.yaml", true],
    ["${NAME}/x", "${NAME}/x", true],
    ["a.c", "abc", false],
    ["a**b", "axxb", true],
    ["a**b", "ax/xb", false],
    ["", "a", false],
    ["!a", "b", false],
    ["(a)*", "(a)b", true],
    ["(a)*", "ab", false],
    ["x{2}*", "x{2}y", true],
    ["x{2}*", "xxy", false],
    ['"a|b"?', '"a|b"c', true],
    ["***a+b^", "xa+b^", true],
    ["***a+b^", "b^", false],
    ["*.*", "a.", true],
    ["*ab*ab*ab", "ababab", true],
    ["*ab*ab*ab", "abab", false],
    ["*?*b", "ab", true],
    ["*?*b", "b", false],
  ])("%s against %s: %p", (pattern, path, expected) => {
    expect(matchesPath(pattern, path)).toBe(expected);
  });

  test("agrees with micromatch wherever that is safe to ask", () => {
    const part = fc.oneof(
      fc.constant("**"),
      fc.stringMatching(/^[ab.*?]{1,4}$/).filter((text) => !/\*\*|^\.{1,2}$/.test(text)),
    );
    const patterns = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/"));
    // In micromatch the last `*` of `*.*` matches at least one character, so `a.` does not match.
    const name = fc.stringMatching(/^[ab.]{0,3}[ab]$/);
    const paths = fc.array(name, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/"));
    fc.assert(
      fc.property(patterns, paths, (pattern, path) => {
        fc.pre(patternProblem(pattern) === undefined);
        fc.pre(!/[*?][^/]*\/\*\*$/.test(pattern)); // In micromatch `a/**` matches `a`, but `*/**` does not.
        expect(matchesPath(pattern, path)).toBe(micromatch.isMatch(path, pattern, { dot: true }));
      }),
      { numRuns: shareOf(3000) },
    );
  });
});

describe("matchesName", () => {
  test.each([
    ["web", "web", true],
    ["web", "web2", false],
    ["prod-*", "prod-web", true],
    ["prod-*", "staging-prod-web", false],
    ["prod-*", "team-a/prod-web", false],
    ["*/prod-*", "team-a/prod-web", true],
    ["team-a/web", "team-a/web", true],
    ["team-a/*", "team-a/web", true],
    ["team-a/*", "team-b/web", false],
    ["*", "web", true],
    ["*", "team-a/web", true],
    ["acme/*", "acme/sub/deploy", false],
    ["acme/**", "acme/sub/deploy", true],
    ["team-a/**", "team-a/web", true],
    ["team-a/**", "team-a", false],
    ["{team-a,team-b}/**", "team-b", false],
    ["**", "team-a", true],
    ["**/team-a", "team-a", true],
    ["*-web-*", "a-web-b", true],
    ["we?", "web", true],
  ])("%s against %s: %p", (pattern, name, expected) => {
    expect(matchesName(pattern, name)).toBe(expected);
  });
});

describe("patternProblem", () => {
  test.each(["web", "a/**", "**/*.{yaml,yml}", "a*b*c*d", "**/a/**/b/**", "@acme/team", "(a)", "a".repeat(256), "{a}"])(
    "%s is a pattern",
    (pattern) => {
      expect(patternProblem(pattern)).toBeUndefined();
    },
  );

  test.each([
    ["", "empty"],
    ["a".repeat(257), "longer than 256"],
    ["a*b*c*d*e", "more than 3"],
    ["x/****", "more than 3"],
    ["a\0b", "control character"],
    ["a\nb", "control character"],
    ["a\\b", "backslash"],
    ["!a", "cannot begin with"],
    ["[ab]", "not supported"],
    ["+(a|b)", "not supported"],
    ["/a", "begins with a slash"],
    ["a/", "ends with a slash"],
    ["a//b", "empty part"],
    ["../a", "cannot be parts"],
    ["a/{.,b}/c", "cannot be parts"],
    ["{,a}/b", "begins with a slash"],
    ["{a,{b,c}}", "nested"],
    ["{a,b", "not closed"],
    ["a}", "not closed"],
    ["{1..9}", "ranges"],
    ["${a,b}", "cannot come before"],
    ["{a,b}".repeat(5), "more than 16"],
    ["{a,b}".repeat(51), "more than 16"],
  ])("%j: %s", (pattern, message) => {
    expect(patternProblem(pattern)).toContain(message);
    expect(matchesPath(pattern, "a")).toBe(false);
  });
});

test.each([
  ["stars in a part", "a*a*a*b", "a".repeat(5000)],
  ["many stars", Array.from({ length: 40 }, () => "*a*a*b").join("/"), "a/".repeat(5000)],
  ["globstars", "**/a/".repeat(51).slice(0, 250) + "/b", "a/".repeat(2000)],
  ["alternatives", "{a,aa}{a,aa}{a,aa}{a,aa}**/b", "a".repeat(5000)],
  ["nested groups", "+(+(+(a)))b", "a".repeat(5000)],
  ["too many stars", "*a".repeat(13), "a".repeat(5000)],
])("a pattern made to hang the matcher does not: %s", (_, pattern, path) => {
  const before = process.cpuUsage();
  expect(matchesPath(pattern, path)).toBe(false);
  expect(process.cpuUsage(before).user / 1e6).toBeLessThan(1); // seconds of our own, however busy the machine is
});

test("any text as pattern and path is answered", () => {
  const hostile = fc.stringMatching(/^[a*?{},/.!()+@[\]]{0,40}$/);
  fc.assert(
    fc.property(fc.oneof(fc.string(), hostile), fc.oneof(fc.string(), hostile), (pattern, path) => {
      expect(typeof matchesPath(pattern, path)).toBe("boolean");
      if (patternProblem(pattern) !== undefined) expect(matchesPath(pattern, path)).toBe(false);
    }),
    { numRuns: shareOf(2000) },
  );
});

test("more patterns than the cache holds stay right", () => {
  const names = Array.from({ length: 2500 }, (_, index) => `app-${index}-*`);
  expect(names.filter((pattern) => matchesName(pattern, "app-7-x"))).toEqual(["app-7-*"]);
  expect(matchesName("app-7-*", "app-7-y")).toBe(true);
});
