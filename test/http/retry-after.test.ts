import { expect, test } from "@jest/globals";
import { parseRetryAfter } from "../../src/http/fetch-text.js";

const NOW = new Date("2026-06-01T12:00:00.000Z");

test.each([
  [null, undefined],
  ["", undefined],
  ["3", 3000],
  [" 0 ", 0],
  ["-5", undefined],
  ["Mon, 01 Jun 2026 12:00:05 GMT", 5000],
  ["Mon, 01 Jun 2020 12:00:05 GMT", 0],
  ["soon", undefined],
])("Retry-After %j is %j ms", (header, expected) => expect(parseRetryAfter(header, NOW)).toBe(expected));
