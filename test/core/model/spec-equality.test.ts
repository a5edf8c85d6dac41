import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { type ApplicationSpec, specEqual, specText } from "../../../src/core/model/application.js";
import type { Json } from "../../../src/core/model/json.js";
import { shareOf } from "../../share-of.js";

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
    "flags and texts that Go leaves out",
    { ...spec, source: { ...spec.source, directory: { recurse: false }, targetRevision: "" }, info: [] },
    { ...spec, source: { ...spec.source, directory: { jsonnet: {} } } },
    true,
  ],
  [
    "the same in a list",
    { ...spec, sources: [{ repoURL: "u", helm: { parameters: [{ name: "a", value: "1", forceString: false }] } }] },
    { ...spec, sources: [{ repoURL: "u", helm: { parameters: [{ name: "a", value: "1" }] } }] },
    true,
  ],
  [
    "a directory of one of several sources",
    { sources: [{ path: "a", directory: { recurse: false } }] },
    { sources: [{ path: "a", directory: { jsonnet: {} } }] },
    true,
  ],
  ["the type of one of several sources", { sources: [{ path: "a", plugin: {} }] }, { sources: [{ path: "a" }] }, false],
  ["a plugin without a name", { ...spec, source: { ...spec.source, plugin: {} } }, spec, false],
  [
    "a plugin with members that say nothing",
    { ...spec, source: { ...spec.source, plugin: { name: "", env: [] } } },
    { ...spec, source: { ...spec.source, plugin: {} } },
    true,
  ],
  [
    "auto-sync with flags that say nothing",
    { ...spec, syncPolicy: { automated: { prune: false, selfHeal: false } } },
    { ...spec, syncPolicy: { automated: {} } },
    true,
  ],
  [
    "auto-sync that is switched off",
    { ...spec, syncPolicy: { automated: { enabled: false } } },
    { ...spec, syncPolicy: { automated: {} } },
    false,
  ],
  ["no retries instead of the usual five", { ...spec, syncPolicy: { retry: { limit: 0 } } }, spec, false],
  ["no retries, as it is stored", { syncPolicy: { retry: { limit: 0 } } }, { syncPolicy: { retry: {} } }, true],
  ["a namespace without labels of its own", { ...spec, syncPolicy: { managedNamespaceMetadata: {} } }, spec, false],
  ["a history of none instead of ten", { ...spec, revisionHistoryLimit: 0 }, spec, false],
  ...[null, false, 0, "", [], {}].map((value): [string, ApplicationSpec, ApplicationSpec, boolean] => [
    `the Helm value ${JSON.stringify(value)} instead of the chart's own`,
    { ...spec, source: { ...spec.source, helm: { valuesObject: { resources: value } } } },
    { ...spec, source: { ...spec.source, helm: { valuesObject: {} } } },
    false,
  ]),
  [
    "Helm values without any, which take the place of those in a text",
    { source: { helm: { values: "replicas: 3", valuesObject: {} } } },
    { source: { helm: { values: "replicas: 3" } } },
    false,
  ],
  ["Helm by values without any", { source: { helm: { valuesObject: {} } } }, { source: {} }, false],
  [
    "Helm values without any in one of several sources",
    { sources: [{ helm: { values: "replicas: 3", valuesObject: {} } }] },
    { sources: [{ helm: { values: "replicas: 3" } }] },
    false,
  ],
  [
    "a namespace whose metadata Argo CD manages, without any",
    { syncPolicy: { syncOptions: ["CreateNamespace=true"], managedNamespaceMetadata: {} } },
    { syncPolicy: { syncOptions: ["CreateNamespace=true"] } },
    false,
  ],
  ...[{ array: [] }, { map: {} }].map((value): [string, ApplicationSpec, ApplicationSpec, boolean] => [
    `a parameter of a plugin without anything in it: ${JSON.stringify(value)}`,
    { source: { plugin: { parameters: [{ name: "a", ...value }] } } },
    { source: { plugin: { parameters: [{ name: "a" }] } } },
    false,
  ]),
  ["a label without a value", { source: { kustomize: { commonLabels: { team: "" } } } }, { source: {} }, false],
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
    { numRuns: shareOf(4000) },
  );
});
