import { describe, expect, test } from "@jest/globals";
import { Parser } from "yaml";
import { isNestedDeeper } from "../../src/config/yaml-nesting.js";
import { readYaml } from "../../src/config/yaml-tree.js";

const nestings: readonly (readonly [string, (levels: number) => string])[] = [
  ["lists in brackets", (levels) => "[".repeat(levels) + "]".repeat(levels)],
  ["lists that never close", (levels) => "[".repeat(levels)],
  ["maps in braces", (levels) => "{a: ".repeat(levels) + "}".repeat(levels)],
  ["lists in lines", (levels) => "- ".repeat(levels)],
  ["maps in lines", (levels) => Array.from({ length: levels }, (_, level) => `${" ".repeat(level)}a:\n`).join("")],
  ["keys of keys", (levels) => "? ".repeat(levels)],
];

describe.each(nestings)("%s", (_, nested) => {
  const isDeeper = (levels: number, limit: number) =>
    [...new Parser().parse(nested(levels))].some((token) => isNestedDeeper(token, limit));

  test("count one level each", () => {
    expect(isDeeper(50, 60)).toBe(false);
    expect(isDeeper(70, 60)).toBe(true);
  });

  test("by the thousand are seen", () => {
    expect(isDeeper(3000, 100)).toBe(true);
  });

  // The library composes 500 levels without a complaint: only the look before it says so.
  test("in a configuration file are refused before they are composed", () => {
    const text = nested(500).replace(/^/gm, "  ");
    const { tree, problems } = readYaml(`key:\n${text}`, ".svc.yaml", 1024 * 1024);
    expect(tree).toBeUndefined();
    expect(problems).toMatchObject([{ file: ".svc.yaml", message: "not valid YAML: it is nested too deeply" }]);
  });
});
