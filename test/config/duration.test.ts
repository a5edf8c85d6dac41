import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { LONGEST_DURATION, parseDuration } from "../../src/config/schema-parts.js";

test.each([
  ["1ms", 1],
  ["30s", 30_000],
  ["10m", 600_000],
  ["1h30m", 5_400_000],
  ["24h", 86_400_000],
  ["7d", 604_800_000],
  ["2w", 1_209_600_000],
  ["0h5s", 5000],
  ["365d", LONGEST_DURATION],
])("%s is %d ms", (text, milliseconds) => {
  expect(parseDuration(text)).toBe(milliseconds);
});

test.each([
  "",
  " ",
  "10",
  "1.5h",
  "-5s",
  "0s",
  "5 s",
  "s",
  "1h 30m",
  "1y",
  "1H",
  "366d",
  "9".repeat(400) + "s",
  "1e3s",
])("%p is no duration", (text) => {
  expect(parseDuration(text)).toBeUndefined();
});

test("any text is either undefined or within the bounds", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^(\d{1,9}(ms|s|m|h|d|w)){1,4}$/)), (text) => {
      const value = parseDuration(text);
      expect(value === undefined || (value > 0 && value <= LONGEST_DURATION)).toBe(true);
    }),
  );
});
