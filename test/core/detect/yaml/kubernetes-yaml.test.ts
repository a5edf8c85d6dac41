import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { YamlRefused } from "../../../../src/config/bounded-yaml.js";
import { readKubernetesYaml } from "../../../../src/core/detect/yaml/kubernetes-yaml.js";

/** Texts, and what `sigs.k8s.io/yaml` 1.6.0 made of them. */
type Row = { readonly yaml: string } & ({ readonly json: unknown } | { readonly error: string });
const rows = JSON.parse(
  readFileSync(new URL("../../../fixtures/kubernetes-yaml.json", import.meta.url), "utf8"),
) as readonly Row[];

function refusal(text: string): string | undefined {
  try {
    readKubernetesYaml(text);
    return undefined;
  } catch (error) {
    if (error instanceof YamlRefused) return error.reason;
    throw error;
  }
}

describe("as Kubernetes reads it", () => {
  test("there are 418 texts", () => expect(rows).toHaveLength(418));

  test.each(rows.map((row) => [JSON.stringify(row.yaml), row] as const))("%s", (_, row) => {
    if ("error" in row) expect(refusal(row.yaml)).toBeDefined();
    else expect(readKubernetesYaml(row.yaml)?.value ?? null).toEqual(row.json);
  });

  test.each([
    ["1e300: v\n16777217.0: w\n", { ".inf": "v", "1.6777216e+07": "w" }],
    ["0.00001: v\n123456.0: w\n-1e-60: x\n", { "1e-05": "v", "123456": "w", "-0": "x" }],
    ["v: 0b-11\nw: .5_0\nx: 0x8000000000000000\n", { v: -3, w: 0.5, x: 2 ** 63 }],
    ["v: !!binary w/8owyg=\n", { v: "\ufffd\ufffd(\ufffd(" }],
    ["v: !!timestamp 2024-2-29 1:2:3,5\n", { v: "2024-2-29 1:2:3,5" }],
    ["%TAG !e! tag:yaml.org,2002:bin\n--- {v: !e!ary aGk=}\n", { v: "hi" }],
    ["a: &x {c: 1}\nb: {<<: [*x, {c: 2, d: 3}], e: 4}\n", { a: { c: 1 }, b: { c: 1, d: 3, e: 4 } }],
    ["a: {b: 1\n}\nc: 'd\ne'\n", { a: { b: 1 }, c: "d e" }],
    ["? |\n  a\n: - b\n", { "a\n": ["b"] }],
    ["__proto__: {a: 1}\n", JSON.parse('{"__proto__": {"a": 1}}')],
    [`"${"é".repeat(1022)}": v\n`, { ["é".repeat(1022)]: "v" }],
    [`"${"😀".repeat(1000)}": v\n`, { ["😀".repeat(1000)]: "v" }],
  ])("%j", (text, value) => expect(readKubernetesYaml(text)?.value).toEqual(value));

  test.each(["v: !!timestamp 2023-2-29", "v: !!float 18446744073709551615", "v: !!binary a", `${"a".repeat(1100)}: v`])(
    "refuses %s",
    (text) => expect(refusal(text)).toBe("syntax"),
  );
});

describe("what svc alone refuses", () => {
  test.each([
    ["two keys with one text, of which the parser takes any", '{1: a, "1": b}', "collection-key"],
    ["a text twice as a number that is none", "{.nan: a, .nan: b}", "collection-key"],
    ["minus nothing as a key", "{-0.0: a}", "collection-key"],
    ["a second byte order mark", "\ufeff\ufeffa: b", "syntax"],
    ["a byte order mark in a long text", `a: b\n\ufeffc: ${"d".repeat(600)}\n`, "syntax"],
    ["more than 256 K characters", `a: ${"b".repeat(256 * 1024)}`, "characters"],
    ["more than 100 levels in braces", `${"{a: ".repeat(101)}${"}".repeat(101)}`, "depth"],
    ["more than 100 levels in lines", `${"- ".repeat(102)}a`, "depth"],
    ["more than 1000 aliases", `a: &a 1\nb: [${"*a,".repeat(1001)}]`, "aliases"],
    ["more than 100,000 values", `a: [${"1,".repeat(100_000)}]`, "values"],
    ["values behind aliases", `a: &a [${"x,".repeat(4_000)}x]\nb: [${"*a,".repeat(30)}]`, "values"],
    [
      "levels behind aliases",
      `a: &a ${"[".repeat(60)}${"]".repeat(60)}\nb: ${"[".repeat(60)}*a${"]".repeat(60)}`,
      "depth",
    ],
  ])("%s", (_, text, reason) => expect(refusal(text)).toBe(reason));

  test("what it replaces is no part of the result, and cannot spoil it", () => {
    expect(readKubernetesYaml("a: {~: 1, b: .inf}\na: 2\n")?.value).toEqual({ a: 2 });
  });
});

test("what follows a document, integers that are not exact, and merges that replace are told", () => {
  const told = (text: string) => readKubernetesYaml(text);
  expect(told("a: 1\n...\n# end\n")).toEqual({
    value: { a: 1 },
    more: false,
    inexact: false,
    mergeReplaces: false,
    repeats: false,
  });
  expect(told("a: 1\n---\n@\n")?.more).toBe(true);
  expect(told("[]: v\n")?.more).toBe(true);
  expect(told("a: 9007199254740993\n")?.inexact).toBe(true);
  expect(told("a: 1\n<<: {a: 2}\n")).toMatchObject({ value: { a: 2 }, mergeReplaces: true });
  expect(told("a: 1\n<<: {a: 1}\n")?.mergeReplaces).toBe(false);
  for (const text of ["a: 1\na: 2\n", "<<: {a: 1}\na: 2\n"]) {
    expect(told(text)).toMatchObject({ value: { a: 2 }, repeats: true });
  }
});

test("texts that take a parser long are refused or read in no time", () => {
  const texts = [
    "[".repeat(250_000),
    ",".repeat(250_000),
    "? ".repeat(120_000),
    `${"😀".repeat(700)}${"[".repeat(90)}\n`.repeat(150),
    `a: "${"\\x41".repeat(60_000)}"`,
    `!${"%41".repeat(80_000)} a`,
    `v: 0${"_".repeat(200_000)}1`,
    `v: ${"9".repeat(250_000)}`,
    `v: 0x${"0".repeat(250_000)}g`,
    `{${"a, ".repeat(80_000)}}`,
    "a:\n ".repeat(60_000),
  ];
  const start = process.cpuUsage();
  for (const text of texts) refusal(text);
  // Processor time, which other processes do not change. A parser that is slow in one of these takes minutes.
  expect(process.cpuUsage(start).user).toBeLessThan(10_000_000);
});
