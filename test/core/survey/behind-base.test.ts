import { expect, test } from "@jest/globals";
import { warning } from "../../../src/comments/parts.js";
import { createDetectionCaches, openSnapshot } from "../../../src/core/detect/inputs/snapshot.js";
import { revision, type Revision } from "../../../src/core/model/brand.js";
import { RepositoryFailure } from "../../../src/core/model/errors.js";
import type { CommitRange, RepositorySnapshot } from "../../../src/core/ports/repositories.js";
import type { Snapshot } from "../../../src/core/ports/snapshot.js";
import { behindBase } from "../../../src/core/survey/behind-base.js";
import { INLINE_READING } from "../../in-memory/inline-compute.js";
import { BASE_TIP, CHANGE, HEAD, memorySnapshot, MERGE_BASE } from "../detect/memory-snapshot.js";
import { inputs, single } from "../detect/read-inputs.js";

interface History {
  /** Paths that the base branch changed since the merge base. */
  readonly changed: readonly string[];
  /** Paths in which head and base tip differ; without it all of these. */
  readonly different?: readonly string[];
  readonly commits: CommitRange | RepositoryFailure | Error;
}

function snapshotWith({ changed, different = changed, commits }: History): Snapshot & { readonly asked: number } {
  let asked = 0;
  const repository: RepositorySnapshot = {
    ...memorySnapshot({}),
    changedPaths(from, to) {
      expect([MERGE_BASE, HEAD]).toContain(from);
      expect(to).toBe(BASE_TIP);
      return Promise.resolve(from === MERGE_BASE ? changed : different);
    },
    commitsBetween(from: Revision, to: Revision) {
      asked += 1;
      expect([from, to]).toEqual([HEAD, BASE_TIP]);
      return commits instanceof Error ? Promise.reject(commits) : Promise.resolve(commits);
    },
  };
  return {
    ...openSnapshot(repository, createDetectionCaches(), INLINE_READING),
    get asked() {
      return asked;
    },
  };
}

const commit = (digit: number, subject: string, ...paths: readonly string[]) => ({
  id: revision(String(digit).repeat(40)),
  parents: [],
  subject,
  paths,
});
const all = (...commits: CommitRange["commits"]): CommitRange => ({ commits, complete: true });

async function sentence(history: History): Promise<string | undefined> {
  const found = await behindBase(await inputs({}, single("apps/web")), undefined, CHANGE, snapshotWith(history));
  return found?.wouldRevert;
}

const RAISE = commit(1, "Raise the limit", "apps/web/v.yaml");
const TEN = Array.from({ length: 9 }, (_, index) => commit(index + 1, `Change ${index + 1}`, "apps/web/v.yaml"));

test.each<[string, History, string | undefined]>([
  [
    "one commit",
    { changed: ["apps/web/v.yaml"], commits: all(RAISE) },
    'the base branch main changed apps/web/v.yaml since this branch left it: a sync would revert this commit: 11111111 "Raise the limit". Update the branch first',
  ],
  [
    "commits that touch nothing that it reads are not named",
    { changed: ["apps/web/v.yaml", "docs/x"], commits: all(commit(2, "Docs", "docs/x"), RAISE) },
    'the base branch main changed apps/web/v.yaml since this branch left it: a sync would revert this commit: 11111111 "Raise the limit". Update the branch first',
  ],
  [
    "many commits and files",
    { changed: ["apps/web/a", "apps/web/b", "apps/web/c", "apps/web/v.yaml"], commits: all(...TEN) },
    'the base branch main changed apps/web/a, apps/web/b, apps/web/c and 1 more since this branch left it: a sync would revert these commits: 11111111 "Change 1", 22222222 "Change 2", 33333333 "Change 3", 44444444 "Change 4", 55555555 "Change 5" and 4 more. Update the branch first',
  ],
  [
    "a part of the history",
    { changed: ["apps/web/v.yaml"], commits: { commits: [RAISE], complete: false } },
    'the base branch main changed apps/web/v.yaml since this branch left it: a sync would revert these commits: 11111111 "Raise the limit" and perhaps others. Update the branch first',
  ],
  [
    "a long subject",
    { changed: ["apps/web/v.yaml"], commits: all(commit(1, "é".repeat(100), "apps/web/v.yaml")) },
    `the base branch main changed apps/web/v.yaml since this branch left it: a sync would revert this commit: 11111111 "${"é".repeat(60)}…". Update the branch first`,
  ],
  [
    "no history",
    { changed: ["apps/web/v.yaml"], commits: new RepositoryFailure("away") },
    "the base branch main changed apps/web/v.yaml since this branch left it (aaaaaaaa to cccccccc): a sync would revert that. Update the branch first",
  ],
  [
    "history that does not reach far enough",
    { changed: ["apps/web/v.yaml"], commits: { commits: [], complete: false } },
    "the base branch main changed apps/web/v.yaml since this branch left it (aaaaaaaa to cccccccc): a sync would revert that. Update the branch first",
  ],
  ["nothing that it reads", { changed: ["docs/x"], commits: all(RAISE) }, undefined],
  [
    "the head has the same, by a cherry-pick",
    { changed: ["apps/web/v.yaml"], different: [], commits: all(RAISE) },
    undefined,
  ],
  [
    "the head has a part of it",
    { changed: ["apps/web/a", "apps/web/v.yaml"], different: ["apps/web/v.yaml", "apps/web/own"], commits: all(RAISE) },
    'the base branch main changed apps/web/v.yaml since this branch left it: a sync would revert this commit: 11111111 "Raise the limit". Update the branch first',
  ],
])("%s", async (_, history, expected) => {
  expect(await sentence(history)).toBe(expected);
});

test("a hostile subject does nothing in a comment", async () => {
  const subject = "`x` @ana <img src=x> closes #1 [a](http://b) **c** !2";
  const text = await sentence({ changed: ["apps/web/v.yaml"], commits: all(commit(1, subject, "apps/web/v.yaml")) });
  const shown = warning(text ?? "");
  expect(shown).not.toMatch(/[`<>]|@ana|#1|!2|(?<!\\)\*|(?<!\\)\[/);
  expect(shown).toContain("Update the branch first.");
});

test("a branch that is up to date takes nothing back", async () => {
  const upToDate = { ...CHANGE, baseRevision: MERGE_BASE };
  const snapshot = snapshotWith({ changed: ["apps/web/v.yaml"], commits: all(RAISE) });
  expect(await behindBase(await inputs({}, single("apps/web")), undefined, upToDate, snapshot)).toBeUndefined();
});

test("the history is asked for once, whatever the number of applications", async () => {
  const snapshot = snapshotWith({ changed: ["apps/web/v.yaml"], commits: all(RAISE) });
  const read = await inputs({}, single("apps/web"));
  await Promise.all([1, 2, 3].map(() => behindBase(read, undefined, CHANGE, snapshot)));
  expect(snapshot.asked).toBe(1);
});

test("anything but a failing repository is thrown", async () => {
  await expect(sentence({ changed: ["apps/web/v.yaml"], commits: new TypeError("broken") })).rejects.toThrow("broken");
});

test("the definition that a sync writes counts, and no file of another application's does", async () => {
  const snapshot = snapshotWith({ changed: ["argocd/web.yaml"], commits: all() });
  const read = await inputs({}, single("apps/web"));
  expect((await behindBase(read, "argocd/web.yaml", CHANGE, snapshot))?.wouldRevert).toContain("argocd/web.yaml");
  expect(await behindBase(read, "argocd/api.yaml", CHANGE, snapshot)).toBeUndefined();
  expect(await behindBase(read, undefined, CHANGE, snapshot)).toBeUndefined();
});

test("a result says what was reverted", async () => {
  const snapshot = snapshotWith({ changed: ["apps/web/v.yaml"], commits: all(RAISE) });
  expect((await behindBase(await inputs({}, single("apps/web")), undefined, CHANGE, snapshot))?.reverted).toBe(
    'the base branch main changed apps/web/v.yaml since this branch left it: this sync reverted this commit: 11111111 "Raise the limit". Update the branch and sync again',
  );
});
