import { expect, test } from "@jest/globals";
import { type Application, type Pin, sourcesOf } from "../../../../src/core/model/application.js";
import type { JsonObject } from "../../../../src/core/model/json.js";
import { helmPositions } from "../../../../src/core/render/render.js";
import { sampleApplication } from "../../sample-application.js";
import { HEAD, memorySnapshot, OWN_URL } from "../memory-snapshot.js";

const FILES = {
  "charts/web/Chart.yaml": "name: web",
  "plain/cm.yaml": "a: 1",
  "Chart.yaml": "name: root",
};
const OTHER = "https://git.example.com/acme/other";

function application(sources: readonly JsonObject[], more: JsonObject = {}): Application {
  return sampleApplication("web", { sources, ...more });
}

/** What is in the change request's repository, at its head. */
function pinned({ spec }: Application): readonly Pin[] {
  return sourcesOf(spec)
    .filter(({ repoURL, role, chart }) => repoURL === OWN_URL && role !== "sync" && chart === undefined)
    .map(({ position }) => ({ position, revision: HEAD }));
}

test("Helm renders charts, directories with a Chart.yaml, and what has a helm block", async () => {
  const of = application([
    { repoURL: "https://charts.example.com", chart: "web" },
    { repoURL: OWN_URL, path: "charts/web" },
    { repoURL: OWN_URL, path: "plain" },
    { repoURL: OWN_URL, path: "plain", helm: { releaseName: "x" } },
    { repoURL: OWN_URL, path: "charts/web", kustomize: { namePrefix: "a-" } },
    { repoURL: OWN_URL, path: "charts/web", directory: { recurse: true } },
    { repoURL: OWN_URL, path: "charts/web", plugin: { name: "x" } },
    { repoURL: OWN_URL, ref: "values" },
    { repoURL: OTHER, path: "charts/web" },
  ]);
  expect(await helmPositions(of, pinned(of), { snapshot: memorySnapshot(FILES) })).toEqual([1, 2, 4]);
});

test("of other repositories the live object tells", async () => {
  const of = {
    ...application([
      { repoURL: OTHER, path: "x" },
      { repoURL: OTHER, path: "y" },
    ]),
    sourceTypes: ["Helm", "Kustomize"],
  };
  expect(await helmPositions(of, pinned(of), { snapshot: memorySnapshot(FILES) })).toEqual([1]);
});

test("none of what Argo CD takes for a kustomization or renders with a plugin that it found", async () => {
  const files = { ...FILES, "both/Chart.yaml": "name: both", "both/kustomization.yml": "helmCharts: []" };
  const snapshot = memorySnapshot(files);
  const of = (path: string, type: string) => ({
    ...application([{ repoURL: OWN_URL, path }]),
    sourceTypes: [type],
  });
  for (const [one, expected] of [
    [of("both", ""), []],
    [of("charts/web", "Plugin"), []],
    [of("charts/web", ""), [1]],
    [of("charts/web", "Directory"), [1]],
  ] as const) {
    expect(await helmPositions(one, pinned(one), { snapshot })).toEqual(expected);
  }
});

test("a block in which nothing is set does not say what renders a source", async () => {
  for (const block of [{ directory: { recurse: false, jsonnet: {} } }, { kustomize: { namePrefix: "" } }]) {
    const of = application([], { source: { repoURL: OWN_URL, path: "charts/web", ...block } });
    expect(await helmPositions(of, pinned(of), { snapshot: memorySnapshot(FILES) })).toEqual([1]);
  }
});

test("of a source hydrator the dry source is rendered", async () => {
  const sourceHydrator = { drySource: { repoURL: OWN_URL, path: "charts/web" }, syncSource: { path: "charts/web" } };
  const of = application([], { sourceHydrator });
  expect(await helmPositions(of, pinned(of), { snapshot: memorySnapshot(FILES) })).toEqual([1]);
});
