import { describe, expect, test } from "@jest/globals";
import { scrubberOf } from "../../../src/core/secrets/value-scrubber.js";

const encoded = (text: string) => Buffer.from(text).toString("base64");
const VALUE = 'hunter2 "and" more';
const LINES = "-----BEGIN KEY-----\naGVsbG8gd29ybGQ\nc2Vjb25kIGxpbmU\n";

describe("values of Secrets are cut out of messages", () => {
  const scrub = scrubberOf([VALUE, encoded("hidden-in-data"), LINES, { deep: ["listed-value"] }, 12345678, "abc"]);

  test.each<[string, string]>([
    ["as they are", VALUE],
    ["in JSON", JSON.stringify(VALUE).slice(1, -1)],
    ["in JSON in JSON", JSON.stringify(JSON.stringify(VALUE)).slice(3, -3)],
    ["in base64", encoded(VALUE)],
    ["in base64 without padding", encoded(VALUE).replace(/=+$/, "")],
    ["in base64 with a line break", encoded(`${VALUE}\n`)],
    ["in base64 for addresses", Buffer.from(VALUE).toString("base64url")],
    ["in an address", encodeURIComponent(VALUE)],
    ["in digits", Buffer.from(VALUE).toString("hex")],
    ["as data", encoded("hidden-in-data")],
    ["decoded from data", "hidden-in-data"],
    ["one line of many", "c2Vjb25kIGxpbmU"],
    ["deep inside", "listed-value"],
    ["a number", "12345678"],
  ])("%s", (_, form) => {
    expect(scrub(`before ${form} after`)).toBe("before (hidden) after");
  });

  test("also where a message was cut inside a value", () => {
    expect(scrub(`no: ${VALUE.slice(0, 8)}…`)).toBe("no: (hidden)…");
    expect(scrub(`no: ${VALUE.slice(0, -1)}`)).toBe("no: (hidden)");
  });

  test("a long value that is almost base64 takes no time", () => {
    const before = process.cpuUsage();
    expect(scrubberOf([`hunter2-${" ".repeat(100_000)}!`, `aaaaaaaa${" ".repeat(100_000)}!`])("hunter2-")).toBe(
      "(hidden)",
    );
    expect(process.cpuUsage(before).user / 1e6).toBeLessThan(5); // seconds of our own, however busy the machine is
  });

  test("short values would garble every word", () => {
    expect(scrub("abcdef hunt")).toBe("abcdef hunt");
  });
});
