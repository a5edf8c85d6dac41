import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { FileChanges } from "../../sandbox/forge.js";
import { GitStore } from "../../sandbox/git/git-store.js";

const run = promisify(execFile);
const BEFORE: FileChanges = { "a.txt": "a", "dir/b.txt": "b", "dir/deep/c.txt": "c", "dir-x": "x", "dir.y": "y" };
let store: GitStore;

beforeAll(async () => {
  store = await GitStore.create();
});
afterAll(() => store.remove());

/** What git itself says that the commit holds, after it has checked all objects. */
async function listed(name: string, commit: string): Promise<string[]> {
  const cwd = store.directory(name);
  await run("git", ["fsck", "--strict", "--no-dangling"], { cwd });
  const { stdout } = await run("git", ["ls-tree", "-r", "--format=%(objectmode) %(path)", commit], { cwd });
  return stdout.split("\n").filter((line) => line !== "");
}

const KEPT = ["100644 a.txt", "100644 dir-x", "100644 dir.y", "100644 dir/b.txt", "100644 dir/deep/c.txt"];

test.each<{ readonly what: string; readonly changes: FileChanges; readonly files: readonly string[] }>([
  { what: "nothing", changes: {}, files: KEPT },
  { what: "a folder that becomes empty", changes: { "dir/deep/c.txt": null }, files: KEPT.slice(0, 4) },
  { what: "a whole folder deleted", changes: { dir: null }, files: KEPT.slice(0, 3) },
  { what: "what is not there deleted", changes: { "dir/no": null, "no/such/file": null }, files: KEPT },
  {
    what: "a folder in the place of a file",
    changes: { "a.txt/inside": "i" },
    files: ["100644 a.txt/inside", ...KEPT.slice(1)],
  },
  {
    what: "a file in the place of a folder",
    changes: { dir: "f" },
    files: ["100644 a.txt", "100644 dir", "100644 dir-x", "100644 dir.y"],
  },
  {
    what: "every kind of entry",
    changes: { link: { symlink: "a.txt" }, run: { executable: "x" }, sub: { submodule: "1".repeat(40) } },
    files: [...KEPT, "120000 link", "100755 run", "160000 sub"],
  },
])("$what", async ({ what, changes, files }) => {
  const name = `acme/${what.replaceAll(" ", "-")}`;
  await store.createRepository(name, BEFORE);
  const commit = await store.commit(name, "main", changes, { message: "Change", author: "ana <x>\nb" });
  expect(await listed(name, commit)).toEqual(files);
});

test("a repository may begin empty", async () => {
  await store.createRepository("acme/empty", {});
  const commit = (await store.resolve("acme/empty", "main")) ?? "";
  expect(await listed("acme/empty", commit)).toEqual([]);
});

test.each(["", "/a", "a//b", "a/", "../a", "a/./b", "a\0b"])("%j is not a valid path", async (path) => {
  await store.createRepository(`acme/bad-${Buffer.from(path).toString("hex")}`, BEFORE);
  const name = `acme/bad-${Buffer.from(path).toString("hex")}`;
  const before = await store.resolve(name, "main");
  await expect(store.commit(name, "main", { [path]: "x" })).rejects.toThrow("is not a valid path");
  expect(await store.resolve(name, "main")).toBe(before);
});
