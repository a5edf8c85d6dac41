import { expect, test } from "@jest/globals";
import type { ApplicationSpec } from "../../../src/core/model/application.js";
import { specEqual } from "../../../src/core/model/spec-equality.js";

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
