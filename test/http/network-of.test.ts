import { expect, test } from "@jest/globals";
import { networkOf } from "../../src/http/listen.js";

test.each([
  ["203.0.113.7", "203.0.113.7"],
  ["203.0.113.7:50123", "203.0.113.7"],
  ["::ffff:203.0.113.7", "203.0.113.7"],
  ["2001:db8::7", "2001:db8::/56"],
  ["[2001:db8::7]:50123", "2001:db8::/56"],
  ["unknown", "unknown"],
  [undefined, ""],
])("%s counts as %s", (sent, network) => {
  expect(networkOf(sent)).toBe(network);
});
