import { describe, expect, test } from "@jest/globals";
import { MAX_DOCUMENTS, readYamlDocuments } from "../../../../src/core/detect/tree/yaml-documents.js";

describe("readYamlDocuments", () => {
  test.each([
    ["", []],
    ["# only a comment\n", []],
    ["a: 1\n---\nb: 2\n", [{ a: 1 }, { b: 2 }]],
    ["---\r\na: 1\r\n---\r\nb: 2\r\n", [{ a: 1 }, { b: 2 }]],
    ["a: |\n  text\n  --- no marker\n---  # next\nb: 2\n", [{ a: "text\n--- no marker\n" }, { b: 2 }]],
    ["a: 1\n...\n---\nb: 2\n", [{ a: 1 }, { b: 2 }]],
    ["--- {a: 1}\n", [{ a: 1 }]],
    ["---x: 1\n", [{ "---x": 1 }]],
    ["%YAML 1.2\n---\na: 1\n", [{ a: 1 }]],
    ['{"a": {"b": [1, null]}}', [{ a: { b: [1, null] } }]],
    ["base: &b {x: 1}\nmore:\n  <<: *b\n  z: 2\n", [{ base: { x: 1 }, more: { x: 1, z: 2 } }]],
    ["a: yes\nb: on\nn: 1_0\n", [{ a: true, b: true, false: 10 }]],
    ["a: 1\na: 2\n", [{ a: 2 }]],
    ["b: 1e400\n", [{ b: "1e400" }]],
    ["a: !!binary eA==\n!<tag:yaml.org,2002:%62inary> eQ==: 1\n", [{ a: "x", y: 1 }]],
    ["a: |\n  x\n---\u00a0\nb: 2\n---\u00a0c: 3\n", [{ a: "x\n" }, { b: 2, "---\u00a0c": 3 }]],
    ['\u3000{"a": 1}\n', [{ a: 1 }]],
    ['{"a": "\\/ \\ud83d\\ude00 \u0085 \u2028"}', [{ a: "/ 😀 \u0085 \u2028" }]],
    [String.raw`{"a": "\ud83d-\uDE00\\ud83d\ud83d\ud83d\ude00"}`, [{ a: "\ufffd-\ufffd\\ud83d\ufffd😀" }]],
    ['{"a": 1e400}', [{ a: "1e400" }]],
    ["a: 012\nb: 1e3\nc: 2026-01-01\n", [{ a: 10, b: 1000, c: "2026-01-01" }]],
  ])("%j", (text, values) => {
    const { problems, values: read } = readYamlDocuments(text);
    expect(read.filter((value) => value !== null)).toMatchObject(values);
    expect(read.filter((value) => value !== null)).toHaveLength(values.length);
    expect(problems.filter(() => !text.startsWith("%"))).toEqual([]);
  });

  test.each([
    ["targetRevision: 1.10", { targetRevision: "1.10" }],
    ["source: {targetRevision: 1e10}", { source: { targetRevision: "1e10" } }],
    ["git: {revision: 0123456}", { git: { revision: "0123456" } }],
    ["v: &v 2.0\ntargetRevision: *v", { v: 2, targetRevision: "2.0" }],
    ["targetRevision: on", { targetRevision: "on" }],
    ["targetRevision: true", { targetRevision: "true" }],
    ["targetRevision: ~", { targetRevision: null }],
    ["targetRevision: '1.10'", { targetRevision: "1.10" }],
  ])("a revision is text: %s", (text, value) => {
    expect(readYamlDocuments(text).values).toEqual([value]);
  });

  test("a broken document spoils only itself", () => {
    const { values, problems } = readYamlDocuments("a: 1\n---\nname: {{ .Values.name }}-x\n---\nb: [\n---\nc: 3\n");
    expect(values).toEqual([{ a: 1 }, { c: 3 }]);
    expect(problems).toEqual([
      { reason: "it is a template", mayHide: false },
      { reason: "it is not valid YAML", mayHide: true },
    ]);
  });

  test.each([
    ["a: 1\n...\nb: 2\n", { a: 1 }, "something follows the end of a document"],
    ['{"a": 1}\n{"b": 2}\n', { a: 1 }, "something follows the end of a document"],
    ["a: 9007199254740993\n", { a: 9007199254740992 }, "an integer of more than 53 bits"],
    ["a: 1\n<<: {a: 2}\n", { a: 2 }, "a merge key (<<) in it replaces what stands before it"],
  ])("%j is read as Kubernetes does, and never without a word", (text, value, problem) => {
    const { values, problems } = readYamlDocuments(text);
    expect(values).toEqual([value]);
    expect(problems).toEqual([{ reason: expect.stringContaining(problem), mayHide: true }]);
  });

  const BOMB = [
    "a: &a [x,x,x,x,x,x,x,x,x]",
    ..."bcdefghi".split("").map((name, index) => {
      const before = "abcdefgh"[index] ?? "";
      return `${name}: &${name} [${`*${before},`.repeat(9)}]`;
    }),
  ].join("\n");

  test.each([
    ["an alias bomb", BOMB, "too many aliases"],
    ["an unresolved alias", "a: *nothing", "its aliases cannot be resolved"],
    ["an alias to itself", "a: &a [*a]", ""],
    ["endless nesting", "[".repeat(20_000), "it is too large or nested too deeply"],
    ["a document of absurd size", `a: ${"x".repeat(300_000)}`, "it is too large"],
    ["deep nesting that closes", `${"[".repeat(3000)}${"]".repeat(3000)}`, "nested too deeply"],
    ["deep nesting in blocks", "- ".repeat(3000), "nested too deeply"],
    ["deep nesting of keys", "? ".repeat(3000), "nested too deeply"],
    ["deep nesting of maps", "{a: ".repeat(3000), "nested too deeply"],
    ["infinity", "a: .inf", "it is not valid YAML"],
    ["a null key", "~: 1", "a key in it is a list, a map or null"],
    ["keys with one text", "1: a\n'1': b", "two of its keys for one"],
    ["a wide value behind few aliases", `a: &a [${"x,".repeat(4_000)}x]\nb: [${"*a,".repeat(30)}]`, "it is too large"],
  ])("%s is a problem and no crash", (_, text, problem) => {
    const read = readYamlDocuments(text);
    expect(read.values).toEqual([]);
    expect(read.problems).toHaveLength(1);
    expect(read.problems[0]?.reason).toContain(problem);
    expect(read.problems[0]?.mayHide).toBe(true);
  });

  test.each([
    ["too many aliases", `a: &a 1\nb: [${"*a,".repeat(1001)}]`],
    ["too deep", "[".repeat(200)],
    ["too large", `a: ${"x".repeat(300_000)}`],
  ])("%s: nothing that looks like a template in it makes it one", (_, text) => {
    expect(readYamlDocuments(`# {{ }}\n${text}`).problems[0]?.mayHide).toBe(true);
  });

  test("10,000 documents are read up to the bound, and those not wanted cost nothing", () => {
    const text = Array.from({ length: 10_000 }, (_, index) => `kind: K${index}`).join("\n---\n");
    const all = readYamlDocuments(text);
    expect(all.values).toHaveLength(MAX_DOCUMENTS);
    const reason = `it has more than ${MAX_DOCUMENTS} documents to look into`;
    expect(all.problems).toEqual([{ reason, mayHide: true }]);
    const one = readYamlDocuments(text, (document) => document.includes("K9999"));
    expect(one).toEqual({ values: [{ kind: "K9999" }], problems: [], repeats: false });
  });
});
