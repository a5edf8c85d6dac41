import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { noteConsulted } from "../../../../src/core/detect/inputs/inputs.js";
import { ChangedPaths } from "../../../../src/core/model/collections.js";
import type { RepositoryTree } from "../../../../src/core/ports/snapshot.js";
import { FOLDERS, repositories } from "../generated-repository.js";
import { type Files, HEAD, memorySnapshot, MERGE_BASE } from "../memory-snapshot.js";

function isTouched(paths: readonly string[], changedPaths: readonly string[]): boolean {
  const changed = new ChangedPaths(changedPaths);
  return paths.some((path) => changed.touch(path));
}

/** The answer of each question, without what only says how it was found. */
const QUESTIONS: Readonly<Record<keyof RepositoryTree, (tree: RepositoryTree, path: string) => unknown>> = {
  hasFile: (tree, path) => tree.hasFile(path),
  hasDirectory: (tree, path) => tree.hasDirectory(path),
  entryAt: (tree, path) => tree.entryAt(path),
  entriesIn: (tree, path) => tree.entriesIn(path),
  linksIn: (tree, path) => tree.linksIn(path),
  touchesSubmodule: (tree, path) => tree.touchesSubmodule(path),
  follow: (tree, path) => ({ ...tree.follow(path), asked: [] }),
  readYaml: (tree, path) => tree.readYaml(path),
  parseYaml: (tree, path) => tree.parseYaml(`path: ${path}`),
  readTexts: (tree, path) => tree.readTexts([path]),
};

const NAMES = ["", "/deploy.yaml", "/values.yaml", "/kustomization.yaml", "/Chart.yaml", "/link", "/link/deploy.yaml"];
const path = fc.tuple(fc.constantFrom(...FOLDERS), fc.constantFrom(...NAMES)).map(([at, name]) => `${at}${name}`);

test.each(Object.entries(QUESTIONS))(
  "%s: what differs elsewhere than at, above and below the consulted paths does not change the answer",
  async (_, question) => {
    let untouched = 0;
    await fc.assert(
      fc.asyncProperty(repositories, path, async ({ base, head }, asked) => {
        const snapshot = memorySnapshot(base, head);
        const [before, after] = [await snapshot.tree(MERGE_BASE), await snapshot.tree(HEAD)];
        const noting = noteConsulted(before);
        const answer = await question(noting.tree, asked);
        expect(answer).toEqual(await question(before, asked));
        if (isTouched(noting.consulted(), await snapshot.changedPaths(MERGE_BASE, HEAD))) return;
        untouched += 1;
        expect(await question(after, asked)).toEqual(answer);
      }),
      { numRuns: 300 },
    );
    expect(untouched).toBeGreaterThan(30);
  },
);

function link(target: string) {
  return { kind: "symlink", target } as const;
}

test.each<[string, Files, Files]>([
  ["a file appears", { "b/y": "" }, { "a/in/y": "" }],
  ["a folder becomes a link", { "a/in/y": "" }, { a: link("b"), "b/in/y": "" }],
  ["a link leads elsewhere", { "a/in": link("../b"), "b/y": "" }, { "a/in": link("../c"), "b/y": "" }],
  ["a file appears behind a link", { "a/in": link("../b"), "b/x": "" }, { "a/in": link("../b"), "b/x": "", "b/y": "" }],
  [
    "a folder that a link's target only passes through becomes a link",
    { "a/in": link("../b/../c"), "b/x": "", "c/y": "" },
    { "a/in": link("../b/../c"), b: link("d/e"), "c/y": "" },
  ],
  ["a file appears somewhere, and a link leads to the root", { "a/in": link("..") }, { "a/in": link(".."), z: "" }],
  [
    "the second of two links leads elsewhere",
    { "a/in": link("../b/in"), "b/in": link("../c"), "c/y": "" },
    { "a/in": link("../b/in"), "b/in": link("../d"), "c/y": "" },
  ],
])("%s: that touches the consulted paths", async (_, base, head) => {
  const snapshot = memorySnapshot(base, head);
  const noting = noteConsulted(await snapshot.tree(MERGE_BASE));
  const tree = await snapshot.tree(HEAD);
  const asked = (of: RepositoryTree) => [of.hasFile("a/in/y"), of.entriesIn("a/in")];
  expect(asked(noting.tree)).not.toEqual(asked(tree));
  expect(isTouched(noting.consulted(), await snapshot.changedPaths(MERGE_BASE, HEAD))).toBe(true);
});

test("what is below a consulted path is not named as well", async () => {
  const noting = noteConsulted(await memorySnapshot({ "a/b/c": "" }).tree(HEAD));
  for (const asked of ["a/b/c", "a/b", "a/bb", "d/e/f"]) noting.tree.hasFile(asked);
  expect([...noting.consulted()].sort()).toEqual(["a/b", "a/bb", "d/e/f"]);
  noting.tree.entriesIn("");
  expect(noting.consulted()).toEqual([""]);
});
