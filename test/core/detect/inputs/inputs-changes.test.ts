import { describe, expect, test } from "@jest/globals";
import { inputFingerprint } from "../../../../src/core/detect/inputs/input-set.js";
import { findInputReasons } from "../../../../src/core/detect/inputs/moving-sources.js";
import type { Application } from "../../../../src/core/model/application.js";
import { ChangedPaths } from "../../../../src/core/model/collections.js";
import { CHANGE, type Files, HEAD, memorySnapshot, MERGE_BASE } from "../memory-snapshot.js";
import { inputs, single, touchedAmong, wholeReason } from "../read-inputs.js";

/** Why a change from one tree to the other affects the application. */
async function reasons(base: Files, head: Files, of: Application): Promise<readonly string[]> {
  const snapshot = memorySnapshot(base, head);
  const changed = new ChangedPaths(await snapshot.changedPaths(MERGE_BASE, HEAD));
  return (await findInputReasons([of], { change: CHANGE, snapshot, changed, since: new ChangedPaths([]) })).moving;
}

const overlay = (...resources: string[]) => `resources: [${resources.join(", ")}]`;
const K = "apps/web/kustomization.yaml";

describe("both trees count, and both names of a rename", () => {
  test.each<[string, Files, Files, string | undefined]>([
    ["a file is renamed within the path", { "apps/web/a.yml": "1" }, { "apps/web/b.yml": "1" }, "web/a.yml and 1 more"],
    ["a file is moved into the path", { "lib/a": "1" }, { "apps/web/a": "1" }, "it reads apps/web/a"],
    ["a file is moved out of the path", { "apps/web/a": "1" }, { "lib/a": "1" }, "it reads apps/web/a"],
    ["a file is deleted", { "apps/web/a": "1" }, {}, "it reads apps/web/a"],
    ["a file is renamed elsewhere", { "lib/a": "1" }, { "lib/b": "1" }, undefined],
    [
      "a base is renamed away",
      { [K]: overlay("../../b/x.yaml"), "b/x.yaml": "1" },
      { [K]: overlay("../../b/x.yaml") },
      "b/x",
    ],
    [
      "a base that was missing comes",
      { [K]: overlay("../../b") },
      { [K]: overlay("../../b"), "b/x": "1" },
      "it reads b/x",
    ],
    [
      "a base is read no more and changes",
      { [K]: overlay("../../b/x.yaml"), "b/x.yaml": "1" },
      { [K]: overlay(), "b/x.yaml": "2" },
      "it reads apps/web/kustomization.yaml and 1 more",
    ],
    [
      "only what was read no more changes",
      { [K]: overlay(), "b/x.yaml": "1" },
      { [K]: overlay(), "b/x.yaml": "2" },
      undefined,
    ],
    [
      "a kustomization cannot be read at the head",
      { [K]: overlay(), docs: "1" },
      { [K]: "resources: [", docs: "2" },
      "it reads apps/web/kustomization.yaml",
    ],
    [
      "a kustomization cannot be read at either commit",
      { [K]: "resources: [", docs: "1" },
      { [K]: "resources: [", docs: "2" },
      "it may read any changed file: the kustomization apps/web/kustomization.yaml cannot be read",
    ],
    [
      "a submodule moves on",
      { "apps/web/sub": { kind: "submodule", id: "1" } },
      { "apps/web/sub": { kind: "submodule", id: "2" } },
      "it reads apps/web/sub",
    ],
    [
      "a link leads elsewhere now and the old target changes",
      { "apps/web/l": { kind: "symlink", target: "../../a" }, a: "1" },
      { "apps/web/l": { kind: "symlink", target: "../../b" }, a: "2" },
      "it reads a and 1 more",
    ],
    [
      "a directory becomes a link",
      { "apps/web/x.yaml": "1", "v2/x.yaml": "1" },
      { "apps/web": { kind: "symlink", target: "../v2" }, "v2/x.yaml": "1" },
      "it reads apps/web and 1 more",
    ],
  ])("%s", async (_, base, head, reason) => {
    const found = await reasons(base, head, single("apps/web"));
    if (reason === undefined) expect(found).toEqual([]);
    else expect(found).toEqual([expect.stringContaining(reason)]);
  });
});

test("thousands of patterns in an override take no time, and count as the whole repository", async () => {
  const files: Files = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`d${at % 50}/e${at}/x.yaml`, "1"]));
  const patterns = Array.from({ length: 2000 }, (_, at) => `../../*/*/x${at}*`);
  const before = process.cpuUsage();
  for (const override of [{ helm: { valueFiles: patterns } }, { kustomize: { components: patterns } }]) {
    const head = { ...files, "apps/web/.argocd-source.yaml": JSON.stringify(override) };
    expect(await reasons({}, head, single("apps/web"))).toEqual(["it reads apps/web/.argocd-source.yaml"]);
    expect((await inputs(head, single("apps/web", override)))[0]?.whole).toMatch(
      /more patterns than svc compares|the patterns of its components may stand for more paths/,
    );
  }
  const few = {
    ...files,
    "apps/web/.argocd-source.yaml": JSON.stringify({ helm: { valueFiles: patterns.slice(0, 150) } }),
  };
  expect(await wholeReason(few, single("apps/web"))).toBeUndefined();
  expect(process.cpuUsage(before).user / 1e6).toBeLessThan(6); // seconds of our own, however busy the machine is
});

describe("a large repository", () => {
  const files: Files = Object.fromEntries(
    Array.from({ length: 5000 }, (_, at) => [`apps/team-${at % 50}/service-${at}/envs/prod/values.yaml`, "1"]),
  );
  const renamed: Files = Object.fromEntries(Object.entries(files).map(([path, text]) => [`${path}.bak`, text]));
  const other = { ...files, "apps/team-1/other.json": "1" };

  test("is compared with patterns although thousands of its files are renamed", async () => {
    const of = (pattern: string) => single("web", { helm: { valueFiles: [pattern] } });
    expect(await reasons(files, renamed, of("/apps/*/*/envs/dev/*.yaml"))).toEqual([]);
    expect(await reasons(files, renamed, of("/apps/*/service-7/envs/*/*.yaml"))).toEqual([
      "it reads apps/team-7/service-7/envs/prod/values.yaml",
    ]);
  });

  test("leaves the fingerprint of an application alone that reads few of its files by a pattern", async () => {
    const of = single("web", { helm: { valueFiles: ["/apps/*/service-7/envs/*/*.yaml"] } });
    const fingerprint = async (tree: Files) => {
      return inputFingerprint(await inputs(tree, of), await memorySnapshot(tree).tree(HEAD));
    };
    expect(await fingerprint(other)).toBe(await fingerprint(files));
    const changed = { ...files, "apps/team-7/service-7/envs/prod/values.yaml": "2" };
    expect(await fingerprint(changed)).not.toBe(await fingerprint(files));
  });
});

test("forty entries of manifest-generate-paths with patterns count as what they match", async () => {
  const entries = Array.from({ length: 40 }, (_, at) => `/libs/lib-${at}/*/manifests`);
  const annotations = { "argocd.argoproj.io/manifest-generate-paths": entries.join(";") };
  const of = { ...single("web"), annotations };
  expect(await wholeReason({ "web/x.yaml": "1" }, of)).toBeUndefined();
});

test("patterns and paths that take long to compare take little time, and count as matches", async () => {
  const long = Array.from({ length: 200 }, (_, at) => `x/${"a".repeat(4000)}${at}`);
  const files: Files = Object.fromEntries(long.map((path) => [path, "1"]));
  const before = process.cpuUsage();
  const of = single("web", { helm: { valueFiles: [`/x/*${"a".repeat(2000)}b`] } });
  const found = await inputs(files, of);
  expect(touchedAmong(found, Object.keys(files))).toContain(long.at(-1));
  const fingerprints = [files, { ...files, [String(long.at(-1))]: "2" }].map(async (tree) => {
    return inputFingerprint(found, await memorySnapshot(tree).tree(HEAD));
  });
  expect(new Set(await Promise.all(fingerprints)).size).toBe(2);
  expect(process.cpuUsage(before).user / 1e6).toBeLessThan(5); // seconds of our own, however busy the machine is
});
