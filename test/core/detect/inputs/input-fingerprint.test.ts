import { describe, expect, test } from "@jest/globals";
import { inputFingerprint } from "../../../../src/core/detect/inputs/input-set.js";
import { inputsOf } from "../../../../src/core/detect/inputs/inputs.js";
import { createDetectionCaches, openSnapshot } from "../../../../src/core/detect/inputs/snapshot.js";
import type { Application } from "../../../../src/core/model/application.js";
import type { Revision } from "../../../../src/core/model/brand.js";
import type { Snapshot } from "../../../../src/core/ports/snapshot.js";
import { INLINE_READING } from "../../../in-memory/inline-compute.js";
import { HEAD, memorySnapshot, OWN_URL, type Files } from "../memory-snapshot.js";
import { application, single } from "../read-inputs.js";

async function fingerprint(files: Files, of: Application, positions: readonly number[] = [1]) {
  return fingerprintIn(memorySnapshot(files), of, positions);
}

async function fingerprintIn(snapshot: Snapshot, of: Application, positions: readonly number[] = [1]) {
  return inputFingerprint(await inputsOf(of, positions, snapshot, HEAD), await snapshot.tree(HEAD));
}

const FILES: Files = {
  "apps/web/kustomization.yaml": "resources: [../base, ../../lib]",
  "apps/web/cm.yaml": "a: 1",
  "apps/base/kustomization.yaml": "resources: [x.yaml]",
  "apps/base/x.yaml": "a: 1",
  "apps/shop/cm.yaml": "a: 1",
  "envs/eu.yaml": "a: 1",
  "envs/eu/deep.yaml": "a: 1",
  "vendor/sub": { kind: "submodule", id: "1" },
  docs: { kind: "symlink", target: "apps/shop" },
};
const helm = single("apps/shop", { helm: { valueFiles: ["/envs/*.yaml", "../later.yaml"] } });
const plugin = single("apps/shop", { plugin: { name: "cue" } });

describe("what an application reads decides its fingerprint, and nothing else does", () => {
  test.each<[string, Application, Files, boolean]>([
    ["a file in the path", single("apps/web"), { "apps/web/cm.yaml": "a: 2" }, true],
    ["a file of the base", single("apps/web"), { "apps/base/x.yaml": "a: 2" }, true],
    ["a new file in the path", single("apps/web"), { "apps/web/new": "" }, true],
    ["a named directory that comes", single("apps/web"), { "lib/x.yaml": "" }, true],
    ["another application's file", single("apps/web"), { "apps/shop/cm.yaml": "a: 2" }, false],
    ["a file beside", single("apps/web"), { "apps/webs": "", "README.md": "" }, false],
    ["a file of a glob", helm, { "envs/eu.yaml": "a: 2" }, true],
    ["a new file of a glob", helm, { "envs/us.yaml": "a: 2" }, true],
    ["a file below a glob's directory", helm, { "envs/eu/deep.yaml": "a: 2" }, false],
    ["a value file that comes", helm, { "apps/later.yaml": "" }, true],
    ["any file for a plugin", plugin, { "README.md": "" }, true],
    ["any file for the root", single("."), { "README.md": "" }, true],
    ["a submodule's commit", single("vendor/sub/app"), { "vendor/sub": { kind: "submodule", id: "2" } }, true],
    ["a link's target", single("docs"), { docs: { kind: "symlink", target: "apps/base" } }, true],
    ["a file behind a link", single("docs"), { "apps/shop/cm.yaml": "a: 2" }, true],
    ["a file that becomes a link", single("apps/web"), { "apps/web/cm.yaml": { kind: "symlink", target: "x" } }, true],
  ])("%s", async (_, of, changes, differs) => {
    const [before, after] = await Promise.all([fingerprint(FILES, of), fingerprint({ ...FILES, ...changes }, of)]);
    expect(before !== after).toBe(differs);
  });

  test("a file that goes", async () => {
    const { "apps/base/x.yaml": gone, ...rest } = FILES;
    expect(gone).toBeDefined();
    expect(await fingerprint(rest, single("apps/web"))).not.toBe(await fingerprint(FILES, single("apps/web")));
  });

  test("the executable bit", async () => {
    const snapshot = memorySnapshot(FILES);
    const executable = {
      ...snapshot,
      list: async (at: Revision) => (await snapshot.list(at)).map((entry) => ({ ...entry, executable: true })),
    };
    expect(
      await fingerprintIn(openSnapshot(executable, createDetectionCaches(), INLINE_READING), single("apps/web")),
    ).not.toBe(await fingerprintIn(snapshot, single("apps/web")));
  });

  test("which source reads it", async () => {
    const of = application({
      sources: [
        { repoURL: OWN_URL, path: "apps/web" },
        { repoURL: OWN_URL, path: "apps/web" },
      ],
    });
    expect(await fingerprint(FILES, of, [1])).not.toBe(await fingerprint(FILES, of, [2]));
  });
});

test("500 applications in a tree of 20,000 files take no time", async () => {
  const files: Record<string, string> = {};
  for (let index = 0; index < 20_000; index += 1) files[`apps/${index % 500}/f${index}.yaml`] = "";
  const snapshot = memorySnapshot(files);
  const tree = await snapshot.tree(HEAD);
  const before = process.cpuUsage();
  const found = new Set<string>();
  for (let index = 0; index < 500; index += 1) {
    const of = single(`apps/${index}`, index % 2 === 0 ? {} : { plugin: { name: "cue" } });
    found.add(inputFingerprint(await inputsOf(of, [1], snapshot, HEAD), tree));
  }
  expect(found.size).toBe(251);
  expect(process.cpuUsage(before).user / 1e6).toBeLessThan(5); // seconds of our own, however busy the machine is
});

describe("a directory of 40,000 files", () => {
  const large = Object.fromEntries(Array.from({ length: 40_000 }, (_, at) => [`large/${at}.txt`, ""]));
  const links = Object.fromEntries(
    Array.from({ length: 190 }, (_, at) => [`l${at}`, { kind: "symlink", target: "large" } as const]),
  );
  const named = (to: (at: number) => string, count: number) => Array.from({ length: count }, (_, at) => to(at));
  const dependencies = named((at) => `{repository: "file://../l${at}"}`, 190).join(", ");
  const generators = named((at) => `${"./".repeat(at % 30)}../${"/".repeat(at / 30)}large`, 2000).join(", ");

  test.each<[string, Files, Application]>([
    ["190 value files", {}, single("a", { helm: { valueFiles: named((at) => `../l${at}`, 190) } })],
    ["190 patterns", {}, single("a", { helm: { valueFiles: named((at) => `../l/${at}*`, 190) } })],
    ["190 dependencies", { "a/Chart.yaml": `dependencies: [${dependencies}]` }, single("a")],
    ["2,000 generators", { "a/kustomization.yaml": `generators: [${generators}]` }, single("a")],
  ])("that is read by %s takes no time", async (_, files, of) => {
    const before = process.cpuUsage();
    await fingerprint({ ...large, ...links, l: { kind: "symlink", target: "large" }, ...files }, of);
    expect(process.cpuUsage(before).user / 1e6).toBeLessThan(5); // seconds of our own, however busy the machine is
  });
});
