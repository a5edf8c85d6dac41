import { expect, test } from "@jest/globals";
import { otherWords } from "../../../../src/core/detect/yaml/resolve-scalar.js";

test("words and numbers that Kubernetes reads otherwise than YAML 1.2 are named once, with their line", () => {
  const text = [
    "enabled: on # first",
    "list: [y, on, 'n', \"no\", True, null, ~, 1.5, 0x1F, 0o17, 08]",
    "---",
    "n: k1",
    "mode: 0644",
    "more: {a: 1_000, b: 0b11, c: !!str off, d: -0x1f, e: .inf, f: 1e400}",
    "text: |",
    "  off",
    "--- # last",
    "- .5_0",
  ].join("\n");
  expect(otherWords(text)).toEqual([
    { word: "on", line: 1, meaning: "true" },
    { word: "y", line: 2, meaning: "true" },
    { word: "n", line: 4, meaning: "false" },
    { word: "0644", line: 5, meaning: "420" },
    { word: "1_000", line: 6, meaning: "1000" },
    { word: "0b11", line: 6, meaning: "3" },
    { word: "-0x1f", line: 6, meaning: "-31" },
    { word: ".5_0", line: 10, meaning: "0.5" },
  ]);
});

test("what cannot be read has none, and does not hide those of other documents", () => {
  expect(otherWords("name: {{ .Values.on }}\n---\na: off\n")).toEqual([{ word: "off", line: 3, meaning: "false" }]);
  expect(otherWords(`a: on\nb: ${"x".repeat(300_000)}`)).toEqual([]);
});
