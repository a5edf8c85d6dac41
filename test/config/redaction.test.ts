import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { redact, redactionProblem } from "../../src/config/schema-parts.js";
import { redactHunks } from "../../src/core/diff/summarise.js";

describe("what the patterns match is replaced", () => {
  test.each<[string, readonly string[], string]>([
    ["a: token-12 b", ["token-\\d+"], "a: (redacted) b"],
    ["one token-1 two token-2", ["token-\\d", "two"], "one (redacted) (redacted) (redacted)"],
    ["Password: x\nb", ["(?i)^password: .*$"], "(redacted)\nb"],
    ["a", [], "a"],
    ["$1 $0", ["\\d"], "$(redacted) $(redacted)"],
  ])("%j by %j", (text, patterns, expected) => {
    expect(redact(text, patterns)).toBe(expected);
  });

  test("hunks keep what their lines are", () => {
    const hunks = "@@ -1,2 +1,2 @@\n-a: 1\n+a: 2\n # 1";
    expect(redactHunks(hunks, ["^a: \\d$", "[-+@]", "1"])).toBe(
      "@@ -1,2 +1,2 @@\n-(redacted)\n+(redacted)\n # (redacted)",
    );
  });

  test("a line that is too long to be searched is left out", () => {
    expect(redact(`a\n${"x".repeat(20_000)}`, ["y"])).toBe(
      "a\n(a line of 20000 characters, too long to look for what to redact)",
    );
  });
});

test.each(["(a+)+$", "(a*)*b", "(a|a)*c", "(.*)(.*)(.*)(.*)(.*)d", "(\\w+\\s?)+$", "a{0,1000}a{0,1000}"])(
  "%s, which other engines hang on, is searched for in no time",
  (pattern) => {
    const before = process.cpuUsage();
    redact(
      "a".repeat(16_000),
      [pattern].filter((one) => redactionProblem(one) === undefined),
    );
    expect(process.cpuUsage(before).user / 1e6).toBeLessThan(5); // seconds of our own, however busy the machine is
  },
);

test("for any text, a pattern is either a problem or can be searched for", () => {
  const pieces = fc.constantFrom(
    "a",
    "(",
    ")",
    "[",
    "]",
    "*",
    "+",
    "?",
    "{2,3}",
    "\\",
    "^",
    "$",
    "|",
    ".",
    "(?i)",
    "é",
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 12 }), fc.string(), (parts, text) => {
      const pattern = parts.join("");
      if (redactionProblem(pattern) === undefined) expect(typeof redact(text, [pattern])).toBe("string");
    }),
  );
});
