import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { type ApplicationSpec, specEqual, specText } from "../../../src/core/model/application.js";
import type { Json } from "../../../src/core/model/json.js";

const spec = { project: "default", source: { repoURL: "u", path: "p" }, destination: { namespace: "n" } };

test.each<[string, ApplicationSpec, ApplicationSpec, boolean]>([
  ["the same", spec, { ...spec }, true],
  ["another order of members", spec, { destination: spec.destination, source: spec.source, project: "default" }, true],
  ["a project that Argo CD fills in", { ...spec, project: "" }, spec, true],
  ["an absent project", { source: spec.source, destination: spec.destination }, spec, true],
  ["an empty block that Argo CD drops", { ...spec, source: { ...spec.source, helm: {} } }, spec, true],
  ["another project", { ...spec, project: "fin" }, spec, false],
  ["another path", { ...spec, source: { repoURL: "u", path: "q" } }, spec, false],
  ["auto-sync switched on by an empty block", { ...spec, syncPolicy: { automated: {} } }, spec, false],
  [
    "an order of sources",
    { sources: [{ path: "a" }, { path: "b" }] },
    { sources: [{ path: "b" }, { path: "a" }] },
    false,
  ],
])("%s", (_name, left, right, equal) => {
  expect(specEqual(left, right)).toBe(equal);
  expect(specEqual(right, left)).toBe(equal);
});

test("specs are equal exactly if their texts are", () => {
  const key = fc.constantFrom("project", "automated", "syncPolicy", "source", "__proto__", "constructor");
  const { block } = fc.letrec<{ block: Record<string, Json>; value: Json }>((tie) => ({
    block: fc.dictionary(key, tie("value"), { maxKeys: 3 }),
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(null, "", "default", 0, false),
      fc.array(tie("value"), { maxLength: 2 }),
      tie("block"),
    ),
  }));
  fc.assert(
    fc.property(block, block, (left, right) => {
      expect(specEqual(left, right)).toBe(specText(left) === specText(right));
      const same = structuredClone({ ...left, syncOptions: {}, source: left.source ?? {} });
      expect(specEqual(left, same)).toBe(specText(left) === specText(same));
    }),
    { numRuns: 2000 },
  );
});
