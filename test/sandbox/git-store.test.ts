import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { GitStore } from "../../sandbox/git/git-store.js";

const run = promisify(execFile);
let store: GitStore;

beforeAll(async () => {
  store = await GitStore.create();
  await store.createRepository("acme/deploy", { "a.yaml": "one\ntwo\nthree\n", "dir/b.yaml": "b\n" });
});
afterAll(() => store.remove());

async function git(name: string, ...args: string[]): Promise<string> {
  return (await run("git", args, { cwd: store.directory(name) })).stdout;
}

async function tip(branch: string): Promise<string> {
  return (await store.resolve("acme/deploy", branch)) ?? "";
}

test("a commit holds texts, symbolic links, executables and deletions, also under odd names", async () => {
  const id = await store.commit(
    "acme/deploy",
    "kinds",
    { link: { symlink: "a.yaml" }, "run.sh": { executable: "#!/bin/sh\n" }, 'q"\\ü \n.txt': "odd", "dir/b.yaml": null },
    { from: await tip("main"), message: "Kinds", author: "ana" },
  );
  expect(id).toMatch(/^[0-9a-f]{40}$/);
  expect(await store.resolve("acme/deploy", "kinds")).toBe(id);
  const tree = (await git("acme/deploy", "ls-tree", "-r", "-z", id)).split("\0");
  const entries = tree.map((entry) => entry.replace(/ blob [0-9a-f]{40}\t/, " ")).sort();
  expect(entries).toEqual(["", "100644 a.yaml", '100644 q"\\ü \n.txt', "100755 run.sh", "120000 link"]);
  expect(await git("acme/deploy", "log", "-1", "--format=%an %s", id)).toBe("ana Kinds\n");
});

test("the same change made twice gives two commits", async () => {
  const from = await tip("main");
  const left = await store.commit("acme/deploy", "twin-1", { x: "1" }, { from });
  const right = await store.commit("acme/deploy", "twin-2", { x: "1" }, { from });
  expect(left).not.toBe(right);
});

test("commits that are made at the same time all stay", async () => {
  const from = await tip("main");
  await Promise.all(
    ["1", "2", "3", "4"].map((file) => store.commit("acme/deploy", "busy", { [file]: file }, { from })),
  );
  expect(await store.countCommits("acme/deploy", from, await tip("busy"))).toBe(4);
});

test.each(["nowhere", "../x", "--all", "a..b", "", "refs/heads/nowhere", "0".repeat(40)])(
  "%j resolves to nothing",
  async (rev) => {
    expect(await store.resolve("acme/deploy", rev)).toBeUndefined();
  },
);

test("a ref is set and deleted", async () => {
  await store.setRef("acme/deploy", "refs/pull/9/head", await tip("main"));
  expect(await store.resolve("acme/deploy", "refs/pull/9/head")).toBe(await tip("main"));
  await store.setRef("acme/deploy", "refs/pull/9/head", undefined);
  expect(await store.resolve("acme/deploy", "refs/pull/9/head")).toBeUndefined();
});

test("a fork's commit is unknown to its parent until it is copied", async () => {
  await store.fork("acme/deploy", "olga/deploy");
  const id = await store.commit("olga/deploy", "topic", { "c.yaml": "c" }, { from: await tip("main") });
  expect(await store.resolve("acme/deploy", id)).toBeUndefined();
  await store.copyObjects("olga/deploy", "acme/deploy", id);
  expect(await store.resolve("acme/deploy", id)).toBe(id);
});

test("changed paths: added, removed, modified, renamed, with their lines", async () => {
  await store.createRepository("acme/paths", {
    "keep.txt": "1\n2\n3\n",
    "old.txt": "a\nb\nc\nd\ne\n",
    "gone.txt": "x\n",
  });
  const before = (await store.resolve("acme/paths", "main")) ?? "";
  const after = await store.commit("acme/paths", "main", {
    "keep.txt": "1\n2\nthree\nfour\n",
    "new.txt": "n\n",
    "gone.txt": null,
    "old.txt": null,
    "dir/renamed.txt": "a\nb\nc\nd\ne\n",
  });
  const changes = await store.changedPaths("acme/paths", before, after);
  expect(changes.map((change) => ({ ...change, blob: undefined }))).toEqual([
    { path: "dir/renamed.txt", previous: "old.txt", status: "renamed", additions: 0, deletions: 0 },
    { path: "gone.txt", status: "removed", additions: 0, deletions: 1 },
    { path: "keep.txt", status: "modified", additions: 2, deletions: 1 },
    { path: "new.txt", status: "added", additions: 1, deletions: 0 },
  ]);
  expect(changes[3]?.blob).toBe((await git("acme/paths", "rev-parse", "main:new.txt")).trim());
});

describe("merging", () => {
  test("conflicts are seen, and a merge then fails without moving the branch", async () => {
    const from = await tip("main");
    const head = await store.commit("acme/deploy", "left", { "a.yaml": "ONE\ntwo\nthree\n" }, { from });
    const base = await store.commit("acme/deploy", "right", { "a.yaml": "1\ntwo\nthree\n" }, { from });
    expect(await store.conflicts("acme/deploy", base, head)).toBe(true);
    expect(await store.conflicts("acme/deploy", from, head)).toBe(false);
    expect(await store.mergeBase("acme/deploy", base, head)).toBe(from);
    for (const method of ["merge", "squash", "rebase"] as const) {
      await expect(store.merge("acme/deploy", "right", head, method, "Merge", "ana")).rejects.toThrow(/conflict/);
    }
    expect(await store.resolve("acme/deploy", "right")).toBe(base);
  });

  test.each([
    { method: "merge", commits: 3, parents: 2, keepsHead: true },
    { method: "squash", commits: 1, parents: 1, keepsHead: false },
    { method: "rebase", commits: 2, parents: 1, keepsHead: false },
  ] as const)("$method brings both sides together", async ({ method, commits, parents, keepsHead }) => {
    const name = `acme/${method}`;
    await store.createRepository(name, { "a.txt": "1\n2\n3\n4\n5\n", "b.txt": "b\n" });
    const from = (await store.resolve(name, "main")) ?? "";
    await store.commit(name, "topic", { "a.txt": "1\n2\n3\n4\nfive\n" }, { from, author: "ana" });
    const head = await store.commit(name, "topic", { "c.txt": "c\n", "b.txt": null });
    const moved = await store.commit(name, "main", { "a.txt": "one\n2\n3\n4\n5\n" });
    const result = await store.merge(name, "main", head, method, "Merge it", "bo");
    expect(await store.resolve(name, "main")).toBe(result);
    expect(await store.countCommits(name, moved, result)).toBe(commits);
    expect(await store.isAncestor(name, head, result)).toBe(keepsHead);
    expect((await git(name, "log", "-1", "--format=%P", result)).trim().split(" ")).toHaveLength(parents);
    expect(await git(name, "show", `${result}:a.txt`)).toBe("one\n2\n3\n4\nfive\n");
    expect(await git(name, "ls-tree", "--name-only", result)).toBe("a.txt\nc.txt\n");
    await git(name, "fsck", "--strict");
  });
});
