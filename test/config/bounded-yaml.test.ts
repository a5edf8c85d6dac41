import { describe, expect, test } from "@jest/globals";
import { composeYaml, YAML_LIMITS, YamlRefused, yamlValue } from "../../src/config/bounded-yaml.js";
import { readYaml } from "../../src/config/yaml-tree.js";

/** Why a text is refused, and how far it was read; undefined for a text that is read. */
function refusal(text: string, limits = YAML_LIMITS): { readonly reason: string; readonly offset: number } | undefined {
  try {
    for (const document of composeYaml(text, limits)) yamlValue(document, { limits });
    return undefined;
  } catch (error) {
    if (error instanceof YamlRefused) return { reason: error.reason, offset: error.offset };
    throw error;
  }
}

const nestings: readonly (readonly [string, (levels: number) => string])[] = [
  ["lists in brackets", (levels) => "[".repeat(levels) + "]".repeat(levels)],
  ["lists that never close", (levels) => "[".repeat(levels)],
  ["maps in braces", (levels) => "{a: ".repeat(levels) + "}".repeat(levels)],
  ["lists in lines", (levels) => "- ".repeat(levels)],
  ["maps in lines", (levels) => Array.from({ length: levels }, (_, level) => `${" ".repeat(level)}a:\n`).join("")],
  ["keys of keys", (levels) => "? ".repeat(levels)],
  ["values of values in braces", (levels) => `{${"'a': ".repeat(levels)}}`],
];

describe.each(nestings)("%s", (_, nested) => {
  test("count one level each", () => {
    const limits = { ...YAML_LIMITS, depth: 60 };
    expect(refusal(nested(50), limits)?.reason).not.toBe("depth");
    expect(refusal(nested(70), limits)?.reason).toBe("depth");
  });

  test("are read no further than the deepest level that is allowed", () => {
    const far = refusal(nested(150))?.offset;
    expect(far).toBeGreaterThan(0);
    for (const levels of [450, 700]) expect(refusal(nested(levels))).toEqual({ reason: "depth", offset: far });
  });

  test("in a configuration file are refused before they are composed", () => {
    const text = nested(500).replace(/^/gm, "  ");
    const { tree, problems } = readYaml(`key:\n${text}`, ".svc.yaml", 1024 * 1024);
    expect(tree).toBeUndefined();
    expect(problems).toMatchObject([{ file: ".svc.yaml", message: "not valid YAML: it is nested too deeply" }]);
  });
});

describe("a list or map as a key is refused", () => {
  test.each([
    ["in braces", "{? {? {? a}}}"],
    ["without a question mark", "{{a}: b}"],
    ["an unquoted template", "name: {{ .Values.name }}"],
    ["in brackets", "[[a]: b]"],
    ["in lines", "? a: b\n: c"],
    ["a list in lines", "? - a\n: c"],
    ["before a colon", "[a]: b"],
    ["behind an alias", "a: &a [b]\n*a : c"],
  ])("%s", (_, text) => {
    expect(refusal(text)?.reason).toBe("collection-key");
  });

  test("by the thousand, at the first", () => {
    const nested = `${"{? ".repeat(80)}a${"}".repeat(80)}`;
    expect(refusal(`${nested}\n---\n`.repeat(500))).toEqual({ reason: "collection-key", offset: 3 });
    expect(refusal(`- ${nested}\n`.repeat(500))?.reason).toBe("collection-key");
  });

  test("keys that are long texts may follow a question mark", () => {
    expect([...composeYaml("? a\n: 1\n? |\n  b\n: 2\n? 'c'\n")].map((one) => yamlValue(one))).toEqual([
      { a: 1, "b\n": 2, c: null },
    ]);
  });
});

describe("limits", () => {
  test.each([
    ["characters", "x".repeat(YAML_LIMITS.characters + 1), "x".repeat(YAML_LIMITS.characters)],
    ["documents", "--- a\n".repeat(1001), "--- a\n".repeat(1000)],
    ["values", `a: [${"1,".repeat(99_999)}]`, `a: [${"1,".repeat(99_000)}]`],
    ["aliases", `a: &a 1\nb: [${"*a,".repeat(1001)}]`, `a: &a 1\nb: [${"*a,".repeat(1000)}]`],
  ])("%s", (limit, beyond, within) => {
    expect(refusal(beyond)?.reason).toBe(limit);
    expect(refusal(within)).toBeUndefined();
  });

  test("aliases that nest what they stand for count as deep as it is", () => {
    const deep = (inner: string) => `${"[".repeat(40)}${inner}${"]".repeat(40)}`;
    expect(refusal(`a: &a ${deep("x")}\nb: &b ${deep("*a")}`)).toBeUndefined();
    expect(refusal(`a: &a ${deep("x")}\nb: &b ${deep("*a")}\nc: ${deep("*b")}`)?.reason).toBe("depth");
  });

  test("an alias to what holds it, or to nothing, is refused", () => {
    expect(refusal("a: &a [*a]")?.reason).toBe("unknown-alias");
    expect(refusal("a: *b")?.reason).toBe("unknown-alias");
  });
});

describe("values", () => {
  const value = (text: string, reading = {}) => [...composeYaml(text)].map((one) => yamlValue(one, reading))[0];

  test.each([
    ["a: !!set {x, y}", { a: { x: null, y: null } }],
    ["a: !!binary aGk=", { a: "aGk=" }],
    ["a: !custom 1", { a: "1" }],
    ["%YAML 1.1\n---\na: !!omap [x: 1]\nb: 2001-12-14", { a: [{ x: 1 }], b: "2001-12-14" }],
    ["__proto__: {a: 1}", JSON.parse('{"__proto__": {"a": 1}}')],
    ["1: a\ntrue: b\n~: c", { 1: "a", true: "b", "": "c" }],
    ["a: &a {x: 1, z: 1}\nb: {x: 1, <<: *a}", { a: { x: 1, z: 1 }, b: { x: 1, z: 1 } }],
    ["<<: [{x: 1}, {x: 2, y: 2}]", { x: 1, y: 2 }],
    ["'<<': 1", { "<<": 1 }],
  ])("%s", (text, expected) => {
    expect(value(text)).toEqual(expected);
  });

  test("what is merged must be a map", () => {
    expect(refusal("<<: 1")?.reason).toBe("syntax");
    expect(value("<<: 1", { merge: false })).toEqual({ "<<": 1 });
  });

  test("a merge that changes what stands before it is refused: parsers differ about which of them counts", () => {
    expect(refusal("{x: 2, <<: {x: 1}}")?.reason).toBe("merge-order");
    expect(refusal("{<<: {x: 2}, <<: {x: 1}}")?.reason).toBe("merge-order");
  });

  test("equal keys are refused", () => {
    expect(() => value("a: 1\na: 2")).toThrow(YamlRefused);
  });
});
