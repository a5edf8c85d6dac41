import { expect, test } from "@jest/globals";
import { withParameterOverrides } from "../../../../src/core/detect/scan/parameter-overrides.js";
import type { ApplicationSpec } from "../../../../src/core/model/application.js";
import type { JsonObject } from "../../../../src/core/model/json.js";
import { sampleApplication } from "../../sample-application.js";
import { type Files, HEAD, MERGE_BASE, memorySnapshot, OWN_URL } from "../memory-snapshot.js";

const OWN = "charts/web/.argocd-source-web.yaml";
const ALL = "charts/web/.argocd-source.yaml";
const GREEN = "helm: { parameters: [{ name: color, value: green }] }";
const LAID = { parameters: [{ name: "color", value: "green" }] };
const SOURCE = { repoURL: OWN_URL, path: "charts/web" };

interface Case {
  readonly spec?: ApplicationSpec;
  readonly name?: string;
  readonly files: Files;
  readonly merged?: Files;
}

/** Of the first source that is pinned to the head: every own one. */
async function laid({ spec = { source: SOURCE }, name = "web", files, merged = {} }: Case): Promise<unknown> {
  const sources = Array.isArray(spec.sources) ? (spec.sources as readonly JsonObject[]) : [spec.source as JsonObject];
  const application = sampleApplication(name, spec);
  const pins = sources.flatMap(({ repoURL }, index) =>
    repoURL === OWN_URL ? [{ position: index + 1, revision: HEAD }] : [],
  );
  const found = await withParameterOverrides(application, pins, {
    snapshot: memorySnapshot(merged, files),
    reviewed: MERGE_BASE,
  });
  return "problem" in found ? found.problem : found.spec;
}

test.each<[string, Case, ApplicationSpec]>([
  ["nothing without a file", { files: {} }, { source: SOURCE }],
  ["nothing of another application's", { name: "shop", files: { [OWN]: GREEN } }, { source: SOURCE }],
  ["nothing of the one for all, which Argo CD applies", { files: { [ALL]: GREEN } }, { source: SOURCE }],
  ["its parameters", { files: { [OWN]: GREEN } }, { source: { ...SOURCE, helm: LAID } }],
  [
    "words and numbers as Argo CD reads them",
    { files: { [OWN]: "helm: { valuesObject: { debug: off, mode: 0644, n: 1 } }" } },
    { source: { ...SOURCE, helm: { valuesObject: { debug: false, mode: 420, false: 1 } } } },
  ],
  [
    "its parameters in another namespace",
    { name: "team-a/web", files: { "charts/web/.argocd-source-team-a_web.yaml": GREEN } },
    { source: { ...SOURCE, helm: LAID } },
  ],
  [
    "its parameters behind a link",
    {
      files: {
        [OWN]: { kind: "symlink", target: "../common.yaml" },
        "charts/common.yaml": GREEN,
      },
    },
    { source: { ...SOURCE, helm: LAID } },
  ],
  [
    "not where the source lies, and not what it is called",
    {
      files: {
        [OWN]: `${GREEN}\npath: other\nrepoURL: https://example.com/x\ntargetRevision: v1\nchart: x\nref: lends\nname: other`,
      },
    },
    { source: { ...SOURCE, helm: LAID } },
  ],
  [
    "to each own source, but not to one that only lends files or is foreign",
    {
      spec: {
        sources: [
          { ...SOURCE, path: "charts/api" },
          { repoURL: "https://git.example.com/acme/other", path: "charts/web" },
          { repoURL: OWN_URL, ref: "values" },
          SOURCE,
        ],
      },
      files: { [OWN]: GREEN, ".argocd-source-web.yaml": "helm: { skipCrds: true }" },
    },
    {
      sources: [
        { ...SOURCE, path: "charts/api" },
        { repoURL: "https://git.example.com/acme/other", path: "charts/web" },
        { repoURL: OWN_URL, ref: "values" },
        { ...SOURCE, helm: LAID },
      ],
    },
  ],
  [
    "beside what the one for all sets",
    { files: { [OWN]: GREEN, [ALL]: "helm: { valuesObject: { size: m } }" } },
    { source: { ...SOURCE, helm: { ...LAID, valuesObject: { size: "m" } } } },
  ],
  [
    "what is read on the target branch already",
    { files: { [OWN]: remote() }, merged: { [OWN]: remote() } },
    { source: { ...SOURCE, helm: { valueFiles: ["https://example.com/values.yaml"] } } },
  ],
  [
    "what the definition reads already",
    {
      spec: { source: { ...SOURCE, helm: { valueFiles: ["https://example.com/values.yaml"] } } },
      files: { [OWN]: remote() },
    },
    { source: { ...SOURCE, helm: { valueFiles: ["https://example.com/values.yaml"] } } },
  ],
])("lays over the definition %s", async (_, given, spec) => {
  expect(await laid(given)).toEqual(spec);
});

test.each<[string, Files, string, Case["spec"]?]>([
  [
    "that sets what the one for all sets",
    { [OWN]: GREEN, [ALL]: GREEN.replace("green", "blue") },
    "set the same parameters",
  ],
  ["beside one for all that cannot be read", { [OWN]: GREEN, [ALL]: "helm: [" }, `${ALL} cannot be read`],
  ["that is no YAML", { [OWN]: "helm: [" }, `${OWN} cannot be read`],
  ["that is no text", { [OWN]: { kind: "binary" } }, `${OWN} cannot be read`],
  ["that is empty", { [OWN]: "" }, "is not a map of parameters"],
  ["that is a list", { [OWN]: "- helm" }, "is not a map of parameters"],
  ["of several documents", { [OWN]: `${GREEN}\n---\n${GREEN}` }, "several YAML documents"],
  ["with a strange key", { [OWN]: "Helm: {}" }, "has the key Helm"],
  ["that leads nowhere", { [OWN]: { kind: "symlink", target: "missing.yaml" } }, "a link that cannot be followed"],
  ["that leads out", { [OWN]: { kind: "symlink", target: "/etc/passwd" } }, "a link that cannot be followed"],
  ["that reads an address", { [OWN]: remote() }, "read what its definition does not: https://example.com/values.yaml."],
  [
    "that hides a password",
    { [OWN]: "kustomize: { components: ['https://me:pw@example.com/x'] }" },
    "https://example.com/x",
  ],
  [
    "with a plugin",
    { [OWN]: "plugin: { env: [{ name: TARGET, value: prod }] }" },
    "what a plugin makes of other settings",
  ],
  [
    "that reads another source",
    { [OWN]: "helm: { valueFiles: [$secrets/other.yaml] }" },
    "$secrets",
    { sources: [SOURCE, { repoURL: "https://git.example.com/acme/secrets", ref: "secrets" }] },
  ],
])("says why not with a file %s", async (...[, files, problem, spec]) => {
  expect(await laid({ files, ...(spec === undefined ? {} : { spec }) })).toContain(problem);
});

function remote(): string {
  return "helm: { valueFiles: ['https://example.com/values.yaml'] }";
}
