import { expect, test } from "@jest/globals";
import { applicationName, revision } from "../../../src/core/model/brand.js";
import { temporaryApplication, temporaryName } from "../../../src/deployer/argocd/render.js";
import { application, MULTI_SPEC, renderRequest, SHA } from "./under-test.js";

const HEAD = renderRequest({}).change;
const NAME = temporaryName(renderRequest({ mode: "temporary" }));

test("the name is the same at each run, differs by commit, side and purpose and fits Helm's limit", () => {
  const again = temporaryName(renderRequest({ mode: "temporary", pins: [], fresh: true }));
  const base = temporaryName(renderRequest({ side: "base" }));
  const pushed = temporaryName(renderRequest({ change: { ...HEAD, headRevision: revision("9".repeat(40)) } }));
  const other = temporaryName(renderRequest({ application: application({ name: applicationName("team-a/plain") }) }));
  const preview = temporaryName(renderRequest({ preview: true }));
  const huge = temporaryName(renderRequest({ change: { ...HEAD, number: 2_147_483_647 } }));
  expect(again).toBe(NAME);
  expect(new Set([NAME, base, pushed, other, preview, huge]).size).toBe(6);
  expect(huge).toMatch(/^svc-tmp-2147483647-[0-9a-f]{16}$/);
  expect(huge.length).toBeLessThanOrEqual(53);
});

function specOf(changes: Parameters<typeof renderRequest>[0]) {
  return temporaryApplication(renderRequest({ mode: "temporary", ...changes }), new Date()).spec;
}

test("only the spec is taken, without sync policy, and only pinned sources move", () => {
  const policy = { automated: { prune: true }, managedNamespaceMetadata: {} };
  const found = temporaryApplication(
    renderRequest({
      application: application({
        namespace: "team-a",
        labels: { "app.kubernetes.io/instance": "parent" },
        annotations: { "argocd.argoproj.io/tracking-id": "x", "notifications.argoproj.io/subscribe": "y" },
        spec: { ...MULTI_SPEC, syncPolicy: policy, source: { path: "ignored" } },
      }),
      pins: [{ position: 2, revision: SHA }],
      helmPositions: [1],
    }),
    new Date(),
  );
  expect(JSON.stringify(found.metadata)).not.toMatch(/tracking|notifications|instance|finalizers|owner/);
  expect(found.metadata).toMatchObject({ namespace: "team-a" });
  expect(found.spec).toEqual({
    project: "default",
    destination: MULTI_SPEC.destination,
    sources: [
      { repoURL: "https://charts.example.com", chart: "shop", targetRevision: "4.2.1", helm: { releaseName: "plain" } },
      { repoURL: "https://git.example.com/acme/deploy.git", targetRevision: SHA, ref: "values" },
      { repoURL: "https://git.example.com/acme/deploy.git", targetRevision: "main", path: "extra" },
    ],
  });
});

test.each([
  [{ valueFiles: ["a"] }, { valueFiles: ["a"], releaseName: "plain" }],
  [{ releaseName: "own" }, { releaseName: "own" }],
  [{ releaseName: "" }, { releaseName: "plain" }],
  [null, { releaseName: "plain" }],
])("Helm options %j get the real release name: %j", (helm, expected) => {
  expect(specOf({ application: application({ spec: { source: { path: "c", helm } } }), helmPositions: [1] })).toEqual({
    source: { path: "c", helm: expected, targetRevision: SHA },
  });
});

test("a hydrated application is rendered from its dry source", () => {
  const spec = {
    project: "p",
    sourceHydrator: {
      drySource: { repoURL: "r", path: "dry", targetRevision: "main" },
      syncSource: { targetBranch: "env/x", path: "wet" },
    },
  };
  expect(specOf({ application: application({ spec }) })).toEqual({
    project: "p",
    source: { repoURL: "r", path: "dry", targetRevision: SHA },
  });
});
