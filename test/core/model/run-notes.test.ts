import { expect, test } from "@jest/globals";
import { isNoted } from "../../../src/core/model/progress.js";

test.each(["synced", "rolled-back", "unlocked", "closed", "help", "refused"])("the result %s is noted", (kind) => {
  expect(isNoted({ kind })).toBe(true);
});

test.each(["planned", "toString", "", undefined, 7])("the result %s is not", (kind) => {
  expect(isNoted({ kind })).toBe(false);
});
