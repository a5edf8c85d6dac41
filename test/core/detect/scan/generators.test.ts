import { expect, test } from "@jest/globals";
import { choosesByPath } from "../../../../src/core/detect/scan/generators.js";
import type { OpenedTree } from "../../../../src/core/ports/snapshot.js";
import { CHANGE, HEAD, memorySnapshot, MERGE_BASE } from "../memory-snapshot.js";

test.each([
  ["deploy/{{ .name }}.d", "deploy/de.d/enabled", true],
  ["deploy/{{ .name }}.d", "deploy/more/x", false],
  ["{{ .path }}", "deploy/more/x", true],
  ["{{ .path }}/on", "deploy/other", false],
  ["deploy/more", "deploy/more/x", true],
  ["deploy", "deploy/more/x", false],
])("pathsExist: [%s] is looked for among what changes and what is above it alone: %s", async (path, added, chooses) => {
  const files = { "deploy/other": "1" };
  const snapshot = memorySnapshot(files, { ...files, "deploy/other": "2", [added]: "2" });
  const trees = await Promise.all([snapshot.tree(MERGE_BASE), snapshot.tree(HEAD)]);
  // A set may ask for many paths, and a tree may have many.
  const unlisted = trees.map((tree): OpenedTree => ({
    ...tree,
    entriesIn() {
      throw new Error("listed");
    },
  }));
  const scmProvider = { github: { organization: "acme" }, filters: [{ pathsExist: [path] }] };
  const set = { name: "s", namespace: undefined, resource: { spec: { generators: [{ scmProvider }] } } };
  expect(choosesByPath(set, CHANGE, await snapshot.changedPaths(MERGE_BASE, HEAD), unlisted)).toBe(chooses);
});
