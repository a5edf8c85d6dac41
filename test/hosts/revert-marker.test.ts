import { expect, test } from "@jest/globals";
import { revertTitle } from "../../src/hosts/revert-marker.js";

test("the title of a revert is one line, cut between characters", () => {
  expect(revertTitle("Raise the limits")).toBe('Revert "Raise the limits"');
  expect(revertTitle(`${"x".repeat(199)}🚀 and more`)).toBe(`Revert "${"x".repeat(199)}…"`);
});
