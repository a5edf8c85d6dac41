import { readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { readYaml, readYamlDocuments } from "../../../sandbox/argocd/yaml.js";

type Row = { readonly yaml: string } & ({ readonly json: unknown } | { readonly error: string });
const rows = JSON.parse(
  readFileSync(new URL("../../fixtures/kubernetes-yaml.json", import.meta.url), "utf8"),
) as readonly Row[];

/** A word or number, as a value and as a key; no key beyond 53 bits, whose spelling the sandbox does not know. */
const words = rows.filter(
  ({ yaml }) =>
    /^(?:v: [\w.+~=:-]+|[\w+.-]+: v)\n$/.test(yaml) && !/^v: \S+:\n|^[-+]?\d{17,}: |^[-+]?\.(?:inf|nan): /i.test(yaml),
);

test.each(words.map((row) => [row.yaml, row] as const))("reads %j as Kubernetes does", (text, row) => {
  if ("error" in row) expect(() => readYaml(text)).toThrow();
  else expect(readYaml(text)).toEqual(row.json);
});

test("there are many words and numbers to read", () => expect(words.length).toBeGreaterThan(200));

test("reads one document, or all, of binary texts and merges", () => {
  expect(readYaml("a: !!binary aGk=\nb: {<<: {c: on}}\n---\nd: 1\n")).toEqual({ a: "hi", b: { c: true } });
  expect(readYamlDocuments("- {n: k1}\n---\n# none\n")).toEqual([[{ false: "k1" }], null]);
  expect(() => readYaml("[a]: b")).toThrow("invalid map key");
});
