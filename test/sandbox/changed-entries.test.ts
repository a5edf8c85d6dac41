import { afterAll, beforeAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { FileChange } from "../../sandbox/forge.js";
import { changedEntries, changedWithoutGit } from "../../sandbox/git/changed-entries.js";
import { readChangedPaths } from "../../sandbox/git/changed-paths.js";
import { GitStore } from "../../sandbox/git/git-store.js";
import { runGit } from "../../sandbox/git/run-git.js";
import { shareOf } from "../share-of.js";

const NAME = "acme/deploy";
let store: GitStore;

beforeAll(async () => {
  store = await GitStore.create();
  await store.createRepository(NAME, {});
});
afterAll(() => store.remove());

const PATHS = ["a", "a.yaml", "b/a", "b/c/d", "b.d", "ü"];
const lines = fc.array(fc.constantFrom("1", "2", "3", "4"), { maxLength: 6 });
const content: fc.Arbitrary<FileChange> = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(lines, fc.boolean()).map(([all, ends]) => all.join("\n") + (ends ? "\n" : "")) },
  { weight: 2, arbitrary: lines.map((all) => ({ executable: all.join("\n") })) },
  { weight: 1, arbitrary: fc.constantFrom({ symlink: "a" }, { symlink: "b" }, "1\n\0", { submodule: "1".repeat(40) }) },
);
const files = fc.dictionary(fc.constantFrom(...PATHS), content, { minKeys: 2 });
type Files = Readonly<Record<string, FileChange>>;
/** Changes of one file, most often: others may be renames, which are left to git. */
const pair: fc.Arbitrary<readonly [Files, Files]> = fc.oneof(
  fc.tuple(files, files),
  fc
    .tuple(files, fc.constantFrom(...PATHS), content)
    .map(([all, path, other]) => [all, { ...all, [path]: other }] as const),
  fc.tuple(files, fc.constantFrom(...PATHS)).map(([all, path]) => [all, without(all, path)] as const),
);

test("what differs between two commits is what git says", async () => {
  let count = 0;
  let answered = 0;
  await fc.assert(
    fc.asyncProperty(pair, async ([one, other]) => {
      count += 1;
      const [from, to] = [await written(one, `one-${count}`), await written(other, `other-${count}`)];
      const args = ["diff-tree", "-r", "-z", "--no-renames", "--name-only", "--end-of-options", from, to];
      const named = (await runGit(store.directory(NAME), args)).stdout.split("\0").filter((path) => path !== "");
      expect(changedEntries(store.objects(NAME), from, to)?.map(({ path }) => path)).toEqual(named);
      const changed = changedWithoutGit(store.objects(NAME), from, to);
      if (changed === undefined) return;
      if (changed.length > 0) answered += 1;
      expect(changed).toEqual(await readChangedPaths(store.directory(NAME), from, to));
    }),
    { numRuns: shareOf(120), examples: [[[{ a: "1" }, { "a/b": "1", "a/c": "2" }]]] },
  );
  expect(answered).toBeGreaterThan(count / 4);
});

test("a commit that is not here has no answer", async () => {
  const tip = await store.resolve(NAME, "main");
  expect(changedEntries(store.objects(NAME), tip ?? "", "f".repeat(40))).toBeUndefined();
  expect(changedWithoutGit(store.objects(NAME), "f".repeat(40), tip ?? "")).toBeUndefined();
});

/** A commit without parents that holds these files. */
function written(all: Files, branch: string): Promise<string> {
  return store.commit(NAME, branch, all);
}

function without(all: Files, path: string): Files {
  return Object.fromEntries(Object.entries(all).filter(([name]) => name !== path));
}
