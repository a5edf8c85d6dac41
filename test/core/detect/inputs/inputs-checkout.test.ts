import { expect, test } from "@jest/globals";
import { OWN_URL } from "../memory-snapshot.js";
import { application, single, touched, wholeReason } from "../read-inputs.js";

const CHECKOUT_FILES = [
  ".gitattributes",
  ".gitmodules",
  ".lfsconfig",
  "apps/.gitattributes",
  "apps/web/.gitattributes",
  "apps/api/.gitattributes",
  "values/.gitattributes",
  "values/a/.gitattributes",
  "apps/.gitmodules",
  "apps/.lfsconfig",
];

test("what decides about the checkout of its folder counts, from the root to the folder", async () => {
  const expected = [".gitattributes", ".gitmodules", ".lfsconfig", "apps/.gitattributes", "apps/web/.gitattributes"];
  expect(await touched({}, single("apps/web"), CHECKOUT_FILES)).toEqual(expected);
});

test("what decides about values that other sources name counts, in the folders of a pattern too", async () => {
  const sources = [
    { repoURL: "https://charts.example.com", chart: "c", helm: { valueFiles: ["$v/values/**/x.yaml"] } },
    { repoURL: OWN_URL, ref: "v" },
  ];
  const files = await touched({}, application({ sources }), CHECKOUT_FILES, [2]);
  expect(files).toEqual([
    ...[".gitattributes", ".gitmodules", ".lfsconfig"],
    ...["values/.gitattributes", "values/a/.gitattributes"],
  ]);
});

test("of sources that read nothing here, nothing counts", async () => {
  const chart = { repoURL: "https://charts.example.com", chart: "c" };
  expect(await touched({}, application({ source: chart }), CHECKOUT_FILES, [])).toEqual([]);
});

// Argo CD replaces such a pointer by the file where Git LFS is on for the repository.
test.each(["kustomization.yaml", "Chart.yaml", ".argocd-source.yaml", "main.jsonnet"])(
  "a %s in Git LFS makes the whole repository an input",
  async (name) => {
    const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${"4d7a".repeat(16)}\nsize 120\n`;
    const files = { "apps/web/cm.yaml": "kind: ConfigMap", [`apps/web/${name}`]: pointer };
    expect(await wholeReason(files, single("apps/web"))).toContain(`apps/web/${name} cannot be read`);
  },
);
