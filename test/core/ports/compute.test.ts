import { expect, test } from "@jest/globals";
import { kept, readKept } from "../../../src/core/ports/compute.js";

const ITEMS = [["a", { base: undefined, head: { text: "one\n".repeat(1000) } }] as const, ["b", {}] as const];

test.each([
  ["few", 1000],
  ["many", 1024 * 1024],
])("items of %s characters are read as they were kept", (_, characters) => {
  expect(readKept(kept(ITEMS, characters))).toEqual(ITEMS);
});

test("many characters are kept in gzip", () => {
  const packed = kept(ITEMS, 1024 * 1024);
  expect("gzip" in packed && packed.gzip.map(({ length }) => length < 200)).toEqual([true, true]);
});
