import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { LRUCache } from "lru-cache";
import type { FileChanges } from "../../sandbox/forge.js";
import { GitStore } from "../../sandbox/git/git-store.js";
import { revision, type Revision } from "../../src/core/model/brand.js";
import { GitFailure, remoteProblem } from "../../src/git/git-process.js";
import { MirrorRepository } from "../../src/git/mirror-repository.js";
import { type TreeNode, TreeReader } from "../../src/git/tree-reader.js";

const run = promisify(execFile);
const NAME = "acme/trees";
let store: GitStore;
let repository: MirrorRepository;
let reader: TreeReader;

beforeAll(async () => {
  store = await GitStore.create();
  await store.createRepository(NAME, { "README.md": "hello\n" });
  const limits = { maxBytes: 2 ** 30, maxCommits: 5000, timeoutMs: 20_000, idleMs: 30_000 };
  repository = new MirrorRepository(store.directory(NAME), limits);
  reader = new TreeReader(
    repository,
    new LRUCache<string, TreeNode>({ maxSize: 2 ** 20 }),
    new AbortController().signal,
  );
});

afterAll(async () => {
  await repository.close();
  await store.remove();
});

async function git(...args: readonly string[]): Promise<string> {
  return (await run("git", ["--git-dir", store.directory(NAME), ...args])).stdout;
}

/** The answer of git itself. */
async function pathsBetween(from: string, to: string): Promise<readonly string[]> {
  const output = await git("diff-tree", "-r", "-z", "--no-renames", "--name-only", from, to);
  return output.split("\0").slice(0, -1).sort();
}

async function listOf(commit: string): Promise<readonly string[]> {
  return (await git("ls-tree", "-r", "-z", "--full-tree", commit)).split("\0").slice(0, -1).sort();
}

async function changedPaths(from: Revision, to: Revision): Promise<readonly string[]> {
  return [...(await reader.changes(from, to)).keys()].sort();
}

const name = fc.constantFrom("a", "b", "a.b", "a-", "ä", "日本", "\u{1f600}", "\uff5e", "Z");
const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/"));
const text = fc.constantFrom("one\n", "two\n", "");
const content = fc.oneof(
  text,
  text.map((executable) => ({ executable })),
  text.map((symlink) => ({ symlink: `to ${symlink}` })),
  fc.constant(null),
);

/** Of two paths of which one is in the other only the first stays: git takes the last, in an order of its own. */
function withoutClashes(changes: readonly (readonly [string, FileChanges[string]])[]): FileChanges {
  const kept = new Map<string, FileChanges[string]>();
  for (const [key, value] of changes) {
    if ([...kept.keys()].some((one) => one.startsWith(`${key}/`) || key.startsWith(`${one}/`))) continue;
    kept.set(key, value);
  }
  return Object.fromEntries(kept);
}

test("lists and differences equal those of git, whatever is added, removed or changes its kind", async () => {
  const steps = fc.array(fc.tuple(path, content), { minLength: 1, maxLength: 6 }).map(withoutClashes);
  const commits: Revision[] = [];
  for (const changes of fc.sample(steps, { numRuns: 15, seed: 20 })) {
    commits.push(revision(await store.commit(NAME, "random", changes)));
  }
  for (const [index, commit] of commits.entries()) {
    const before = commits[Math.floor(index / 2)] ?? commit;
    const entries = await reader.list(commit);
    const lines = entries.map(({ path: at, kind, executable, blob }) => {
      const mode = kind === "symlink" ? "120000" : executable ? "100755" : "100644";
      return `${mode} blob ${blob}\t${at}`;
    });
    expect([...lines].sort()).toEqual(await listOf(commit));
    expect(entries.map((entry) => entry.path)).toEqual(entries.map((entry) => entry.path).sort());
    const near = { revision: before, entries: await reader.list(before) };
    const through = await reader.list(commit, near);
    expect(through).toEqual(entries);
    expect(await reader.list(before, { revision: commit, entries: through })).toEqual(near.entries);
    expect(await changedPaths(before, commit)).toEqual(await pathsBetween(before, commit));
    expect(await changedPaths(commit, before)).toEqual(await pathsBetween(commit, before));
  }
});

async function writeTree(...items: readonly (readonly [mode: string, name: string, id: string])[]): Promise<string> {
  const parts = items.map(([mode, item, id]) =>
    Buffer.concat([Buffer.from(`${mode} ${item}\0`, "latin1"), Buffer.from(id, "hex")]),
  );
  const args = ["--git-dir", store.directory(NAME), "hash-object", "-t", "tree", "-w", "--literally", "--stdin"];
  const child = run("git", args);
  child.child.stdin?.end(Buffer.concat(parts));
  return (await child).stdout.trim();
}

async function commitOf(tree: string): Promise<Revision> {
  const identity = ["-c", "user.name=ana", "-c", "user.email=ana@localhost"];
  return revision((await git(...identity, "commit-tree", "-m", "crafted", tree)).trim());
}

async function failureOf(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(GitFailure);
  return error instanceof GitFailure ? error.kind : "";
}

async function wordsOf(work: Promise<unknown>): Promise<string | undefined> {
  const error: unknown = await work.catch((cause: unknown) => cause);
  return error instanceof GitFailure ? remoteProblem(error) : undefined;
}

describe("crafted trees", () => {
  const BLOB = "1".repeat(40);

  test.each([
    { what: "a parent folder", items: [["100644", "..", BLOB]] },
    { what: "a folder itself", items: [["100644", ".", BLOB]] },
    { what: "a name with a slash", items: [["100644", "a/../../b", BLOB]] },
    { what: "an empty name", items: [["100644", "", BLOB]] },
    {
      what: "one name twice",
      items: [
        ["100644", "a", BLOB],
        ["40000", "a", BLOB],
      ],
    },
    { what: "an unknown kind", items: [["20000", "device", BLOB]] },
  ] as const)("$what is refused", async ({ items }) => {
    const commit = await commitOf(await writeTree(...items));
    expect(await failureOf(reader.list(commit))).toBe("unexpected-answer");
    const other = revision((await store.resolve(NAME, "main")) ?? "");
    expect(await failureOf(changedPaths(other, commit))).toBe("unexpected-answer");
  });

  test.each([
    { what: "of files", bottom: [["100644", "file", BLOB]] },
    { what: "of nothing", bottom: [] },
  ] as const)("folders $what within folders, ten thousand million in all, are refused at once", async ({ bottom }) => {
    let tree = await writeTree(...bottom);
    for (let level = 0; level < 10; level += 1) {
      const inner = tree;
      tree = await writeTree(...Array.from({ length: 10 }, (_, index) => ["40000", `${index}`, inner] as const));
    }
    const commit = await commitOf(tree);
    expect(await failureOf(reader.list(commit))).toBe("too-much-output");
    const other = revision((await store.resolve(NAME, "main")) ?? "");
    expect(await failureOf(changedPaths(other, commit))).toBe("too-much-output");
  });

  test("a hundred thousand files below names of 4,000 characters are refused before they fill the memory", async () => {
    const names = Array.from({ length: 320 }, (_, index) => `${index}`);
    const files = await writeTree(...names.map((one) => ["100644", one, BLOB] as const));
    let tree = await writeTree(...names.map((one) => ["40000", one, files] as const));
    for (let level = 0; level < 20; level += 1) tree = await writeTree(["40000", "n".repeat(199), tree]);
    const commit = await commitOf(tree);
    expect(await wordsOf(reader.list(commit))).toBe("it has more or larger files than svc reads at once");
    const other = revision((await store.resolve(NAME, "main")) ?? "");
    expect(await failureOf(changedPaths(other, commit))).toBe("too-much-output");
  });

  test.each([
    [200, undefined],
    [201, "it contains a path that is too long, or below more than 200 folders"],
  ])("%i folders in each other: %s", async (depth, problem) => {
    let tree = await writeTree(["100644", "file", BLOB]);
    for (let level = 0; level < depth; level += 1) tree = await writeTree(["40000", "a", tree]);
    const commit = await commitOf(tree);
    const other = revision((await store.resolve(NAME, "main")) ?? "");
    for (const work of [() => reader.list(commit), () => changedPaths(other, commit)]) {
      expect(await wordsOf(work())).toBe(problem);
    }
  });

  test("modes with leading zeros or group bits count as plain files and folders", async () => {
    const inner = await writeTree(["100664", "group", BLOB], ["0100755", "run", BLOB]);
    const commit = await commitOf(await writeTree(["040000", "folder", inner]));
    expect(await reader.list(commit)).toEqual([
      { path: "folder/group", kind: "file", executable: false, blob: BLOB },
      { path: "folder/run", kind: "file", executable: true, blob: BLOB },
    ]);
  });

  test("two names that are not UTF-8 and look alike as text are kept apart", async () => {
    const before = await commitOf(await writeTree(["100644", "\xfe", BLOB]));
    const after = await commitOf(await writeTree(["100644", "\xff", BLOB]));
    expect(await changedPaths(before, after)).toEqual(["\ufffd"]);
  });

  test("a list derived from another commit's keeps both of two names that look alike as text", async () => {
    const before = await commitOf(await writeTree(["100644", "\xfe", BLOB], ["100644", "\xff", BLOB]));
    const after = await commitOf(await writeTree(["100644", "\xfe", BLOB], ["100755", "\xff", BLOB]));
    const near = { revision: before, entries: await reader.list(before) };
    const through = await reader.list(after, near);
    expect(through.map(({ executable }) => executable)).toEqual([false, true]);
  });

  test("entries that equal those of another commit's list are reused", async () => {
    const before = await commitOf(await writeTree(["100644", "a", BLOB], ["100644", "b", BLOB]));
    const after = await commitOf(await writeTree(["100755", "a", BLOB], ["100644", "b", BLOB], ["100644", "c", BLOB]));
    const entries = await reader.list(before);
    const through = await reader.list(after, { revision: before, entries });
    expect(through.map((entry) => entries.indexOf(entry))).toEqual([-1, 1, -1]);
  });

  test("a missing tree and a missing commit are failures", async () => {
    const lost = await commitOf(await writeTree(["40000", "folder", BLOB]));
    expect(await failureOf(reader.list(lost))).toBe("unexpected-answer");
    expect(await failureOf(reader.list(revision("2".repeat(40))))).toBe("unexpected-answer");
  });
});
