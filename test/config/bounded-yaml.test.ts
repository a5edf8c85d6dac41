import { describe, expect, test } from "@jest/globals";
import { composeYaml, YAML_LIMITS, YamlRefused } from "../../src/config/bounded-yaml.js";
import { readYaml } from "../../src/config/yaml-tree.js";

/** Why a text is refused, and how far it was read; undefined for a text that is read. */
function refusal(text: string, limits = YAML_LIMITS): { readonly reason: string; readonly offset: number } | undefined {
  try {
    Array.from(composeYaml(text, limits));
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
  ])("%s", (_, text) => {
    expect(refusal(text)?.reason).toBe("collection-key");
  });

  test("by the thousand, at the first", () => {
    const nested = `${"{? ".repeat(80)}a${"}".repeat(80)}`;
    expect(refusal(`${nested}\n---\n`.repeat(500))).toEqual({ reason: "collection-key", offset: 3 });
    expect(refusal(`- ${nested}\n`.repeat(500))?.reason).toBe("collection-key");
  });

  test("keys that are long texts may follow a question mark", () => {
    expect(refusal("? a\n: 1\n? |\n  b\n: 2\n? 'c'\n")).toBeUndefined();
  });
});

describe("limits", () => {
  test.each([
    ["characters", "x".repeat(YAML_LIMITS.characters + 1), "x".repeat(YAML_LIMITS.characters)],
    ["documents", "--- a\n".repeat(1001), "--- a\n".repeat(1000)],
  ])("%s", (limit, beyond, within) => {
    expect(refusal(beyond)?.reason).toBe(limit);
    expect(refusal(within)).toBeUndefined();
  });
});
