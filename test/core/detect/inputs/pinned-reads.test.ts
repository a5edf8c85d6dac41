import { expect, test } from "@jest/globals";
import { isExactVersion, readsOnlyPinned, unpinnedReads } from "../../../../src/core/detect/inputs/input-set.js";
import type { JsonObject } from "../../../../src/core/model/json.js";
import { OWN_URL } from "../memory-snapshot.js";
import { application, inputs } from "../read-inputs.js";

const COMMIT = "d".repeat(40);
const CHARTS = "https://charts.example.com";
const OTHER = "https://git.example.com/acme/other";
const own = (more: JsonObject = {}): JsonObject => ({ repoURL: OWN_URL, path: "apps/web", ...more });
const beside = (other: JsonObject): JsonObject => ({ sources: [own(), other] });

test.each<[string, JsonObject, boolean]>([
  ["one source at the commit", { source: own() }, true],
  [
    "a second source of the repository that does not get the commit",
    { sources: [own(), { repoURL: OWN_URL, path: "b" }] },
    false,
  ],
  ["a chart with an exact version", beside({ repoURL: CHARTS, chart: "c", targetRevision: "1.2.3" }), true],
  ["a chart with a range", beside({ repoURL: CHARTS, chart: "c", targetRevision: "1.x" }), false],
  ["a chart without a version", beside({ repoURL: CHARTS, chart: "c" }), false],
  ["an OCI artefact with an exact version", beside({ repoURL: "oci://r.example/c", targetRevision: "v1.2.3" }), true],
  ["one with a digest", beside({ repoURL: "oci://r.example/c", targetRevision: `sha256:${"e".repeat(64)}` }), true],
  ["one with a tag", beside({ repoURL: "oci://r.example/c", targetRevision: "latest" }), false],
  ["another repository's commit", beside({ repoURL: OTHER, path: "x", targetRevision: COMMIT }), true],
  // Argo CD takes 40 digits alone as a commit id, and looks for anything else among branches and tags first.
  ["a branch of 64 digits", beside({ repoURL: OTHER, path: "x", targetRevision: "d".repeat(64) }), false],
  ["another repository's branch", beside({ repoURL: OTHER, path: "x", targetRevision: "main" }), false],
  ["another repository's tag", beside({ repoURL: OTHER, path: "x", targetRevision: "v1.2.3" }), false],
  ["a reference to another repository's branch", beside({ repoURL: OTHER, ref: "values" }), false],
  ["a short commit", beside({ repoURL: OTHER, path: "x", targetRevision: "d".repeat(8) }), false],
  ["a value file by URL", { source: own({ helm: { valueFiles: ["https://example.com/v.yaml"] } }) }, false],
  ["a component by its short address", { source: own({ kustomize: { components: ["github.com/acme/a"] } }) }, false],
  ["a patch that is not there", { source: own({ kustomize: { patches: [{ path: "a.yaml" }] } }) }, false],
  ["a plugin", { source: own({ plugin: { name: "cue" } }) }, false],
  ["a source hydrator", { sourceHydrator: { drySource: own() } }, false],
])("%s: %s", async (_, spec, expected) => {
  expect(readsOnlyPinned(spec, [1], await inputs({}, application(spec)))).toBe(expected);
});

test("a branch of 64 digits is named among what may change without a commit", async () => {
  const spec = beside({ repoURL: OTHER, path: "x", targetRevision: "d".repeat(64) });
  const found = await inputs({}, application(spec));
  expect(unpinnedReads(spec, [1], found)).toEqual([`${OTHER} at ${"d".repeat(64)}`]);
});

test("a value file by URL that a chart source names", async () => {
  const chart = {
    repoURL: CHARTS,
    chart: "c",
    targetRevision: "1.2.3",
    helm: { valueFiles: ["https://example.com/v"] },
  };
  const spec = beside(chart);
  expect(readsOnlyPinned(spec, [1], await inputs({}, application(spec)))).toBe(false);
});

test.each([
  ["a remote base", "resources: ['https://github.com/acme/other//base?ref=main']", false],
  ["a base beside", "resources: [../base]", true],
  ["a short address", "bases: [github.com/acme/other]", false],
  ["a short address that is also a folder", "components: [github.com/acme/base]", false],
  ["an SSH address without a colon", "resources: [git@git.example.com/acme/other]", false],
  ["what cannot be read", "resources: [", false],
])("%s", async (_, kustomization, expected) => {
  const files = {
    "apps/web/kustomization.yaml": kustomization,
    "apps/base/kustomization.yaml": "resources: []",
    "apps/web/github.com/acme/base/kustomization.yaml": "resources: []",
  };
  const spec = { source: own() };
  expect(readsOnlyPinned(spec, [1], await inputs(files, application(spec)))).toBe(expected);
});

test("without a source at the commit nothing is known", () => {
  expect(readsOnlyPinned({ source: { repoURL: CHARTS, chart: "c", targetRevision: "1.2.3" } }, [], [])).toBe(false);
});

test.each([
  ["1.2.3", true],
  ["v1.2.3", true],
  ["1.2.3-rc.1+build.5", true],
  ["1.2", false],
  ["1.2.x", false],
  ["^1.2.3", false],
  [">=1.2.3", false],
  ["1.2.3 || 1.2.4", false],
  ["*", false],
  ["", false],
])("%j is one version: %s", (version, exact) => {
  expect(isExactVersion(version)).toBe(exact);
});
