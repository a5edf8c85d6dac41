import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { jsonnetImports } from "../../../../src/core/detect/inputs/jsonnet-inputs.js";

test.each([
  ["import 'a'", [["a", true]]],
  ['local k = import "k.libsonnet"; k', [["k.libsonnet", true]]],
  ["importstr 'a.txt'", [["a.txt", false]]],
  ["importbin 'a.bin'", [["a.bin", false]]],
  ["import'a'", [["a", true]]],
  ["import\n\t 'a'", [["a", true]]],
  [
    "(import 'a') + (import \"b\")",
    [
      ["a", true],
      ["b", true],
    ],
  ],
  ["import @'a\\b'", [["a\\b", true]]],
  ["import @'it''s'", [["it's", true]]],
  ['import @"say ""x"""', [['say "x"', true]]],
  ["import 'it\\'s'", [["it's", true]]],
  ["import 'a\\\\b\\/c'", [["a\\b/c", true]]],
  ["// import 'commented'", [["commented", true]]],
  [
    "import 'a import \"b\"'",
    [
      ['a import "b"', true],
      ["b", true],
    ],
  ],
  ["import '\\u0061'", [[undefined, true]]],
  ["import # x\n'a'", [[undefined, true]]],
  ["import // x\n'a'", [[undefined, true]]],
  ["importstr /* x */ 'a'", [[undefined, false]]],
  ["reimport 'a'", []],
  ["$import 'a'", []],
  ["imports 'a'", []],
  ["import_ 'a'", []],
  ["import x", []],
  ["import 'unclosed", []],
  ["{ 'import': 1 }", []],
])("%j imports %j", (text, expected) => {
  expect(jsonnetImports(text).map(({ path, code }) => [path, code])).toEqual(expected);
});

// Go's `filepath.Join` shortens it before the file is opened.
test.each(["'", '"', "@'", '@"'])(
  "a path in %s that is too long to be read is unknown, but no unclosed quote is",
  (open) => {
    const close = open.at(-1) ?? "";
    const long = `import ${open}${"./".repeat(3000)}../x${close}`;
    expect(jsonnetImports(long)).toEqual([{ path: undefined, code: true }]);
    expect(jsonnetImports(`${long} + importstr 'a'`)).toHaveLength(2);
    expect(jsonnetImports(`import ${open}${"./".repeat(100)}`)).toEqual([]);
  },
);

test("every path is found in whatever quotes it stands", () => {
  const path = fc.stringMatching(/^[\w./ -]{1,20}$/);
  const quoted = fc.tuple(path, fc.constantFrom("'", '"', "@'", '@"'), fc.constantFrom("import", "importstr"));
  fc.assert(
    fc.property(fc.array(quoted, { maxLength: 5 }), (imports) => {
      const text = imports.map(([one, quote, word]) => `${word} ${quote}${one}${quote.at(-1) ?? ""};`).join("\n");
      const found = jsonnetImports(text).map((one) => one.path);
      for (const [one] of imports) expect(found).toContain(one);
    }),
  );
});

test("a hostile text takes no time", () => {
  const before = process.cpuUsage();
  for (const part of ["import ", "import /*", 'import "\\"', "import @'''", "import '\\", "import\n"]) {
    jsonnetImports(part.repeat(100_000));
    jsonnetImports(`import ${part.slice(7).repeat(200_000)}`);
  }
  expect(process.cpuUsage(before).user / 1e6).toBeLessThan(10); // seconds of our own, however busy the machine is
});
