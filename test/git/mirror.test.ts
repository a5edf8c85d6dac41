import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import express from "express";
import { listenOnLoopback } from "../../sandbox/loopback.js";
import { repositoryName, revision, type Revision } from "../../src/core/model/brand.js";
import type { ChangeRequest } from "../../src/core/model/change-request.js";
import { HeadMoved, RepositoryFailure } from "../../src/core/model/errors.js";
import type { CloneSource } from "../../src/core/ports/code-host.js";
import { Stopped } from "../../src/core/ports/event-queue.js";
import type { OpenOptions, Repositories } from "../../src/core/ports/repositories.js";
import { createGitMirror } from "../../src/git/mirror.js";
import { recordingLog } from "../recording-log.js";
import { GitHost, TOKEN } from "./git-host.js";
import { chain, writeHistory } from "./history.js";

const run = promisify(execFile);

/** A commit that no repository has. */
const NOWHERE = revision("9".repeat(40));

let host: GitHost;
let dataDir: string;
const closings: (() => Promise<void>)[] = [];

beforeEach(async () => {
  host = await GitHost.start({
    "apps/web/values.yaml": "replicas: 1\n",
    "apps/api/values.yaml": "replicas: 2\n",
    "README.md": "hello\n",
  });
  dataDir = await mkdtemp(join(tmpdir(), "svc-mirror-"));
});

afterEach(async () => {
  for (const close of closings.splice(0)) await close();
  await host.stop();
  await rm(dataDir, { recursive: true, force: true });
});

function mirror(options: { timeoutMs?: number; maxBytes?: number; maxTotalBytes?: number; maxCommits?: number } = {}) {
  const log = recordingLog();
  const made = createGitMirror({ dataDir, log, ...options });
  closings.push(() => made.close());
  return Object.assign(made, { log });
}

async function failure(work: Promise<unknown>): Promise<RepositoryFailure> {
  const error: unknown = await work.then(
    () => undefined,
    (cause: unknown) => cause,
  );
  expect(error).toBeInstanceOf(RepositoryFailure);
  return error as RepositoryFailure;
}

async function everyFile(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

describe("reading", () => {
  test("lists every entry of a commit, sorted, with its kind", async () => {
    const change = await host.change(1, {
      "apps/web/link.yaml": { symlink: "/etc/passwd" },
      "bin/run": { executable: "#!/bin/sh\n" },
      "README.md": null,
    });
    const entries = await (await mirror().open(change, host.source(1))).list(change.headRevision);
    expect(entries.map(({ path, kind, executable }) => `${executable ? "executable " : ""}${kind} ${path}`)).toEqual([
      "file apps/api/values.yaml",
      "symlink apps/web/link.yaml",
      "file apps/web/values.yaml",
      "executable file bin/run",
    ]);
    expect(entries.every(({ blob }) => /^[0-9a-f]{40}$/.test(blob))).toBe(true);
  });

  test("a list is the same whether that of another commit is known or not", async () => {
    const change = await host.change(1, {
      "apps/web/values.yaml": { executable: "replicas: 1\n" },
      "apps/api/values.yaml": null,
      "apps/api": "a file\n",
      "README.md": null,
      "README.md/more.md": "hello\n",
    });
    const alone = await (await mirror().open(change, host.source(1))).list(change.headRevision);
    const snapshot = await mirror().open(change, host.source(1));
    const before = await snapshot.list(change.mergeBase);
    expect(await snapshot.list(change.headRevision)).toEqual(alone);
    expect(alone.map(({ path }) => path)).toEqual(["README.md/more.md", "apps/api", "apps/web/values.yaml"]);
    expect(await snapshot.list(change.mergeBase)).toBe(before);
  });

  test("reads texts at head, base and merge base", async () => {
    const first = await host.change(1, { "apps/web/values.yaml": "replicas: 5\n" });
    const base = await host.commit("main", { "apps/api/values.yaml": "replicas: 9\n" });
    const change = { ...first, baseRevision: revision(base) };
    const snapshot = await mirror().open(change, host.source(1));
    const both = ["apps/web/values.yaml", "apps/api/values.yaml"];
    const texts = async (at: Revision) => [...(await snapshot.read(at, both))].sort();
    expect(await texts(change.headRevision)).toEqual([
      ["apps/api/values.yaml", "replicas: 2\n"],
      ["apps/web/values.yaml", "replicas: 5\n"],
    ]);
    expect(await texts(change.baseRevision)).toEqual([
      ["apps/api/values.yaml", "replicas: 9\n"],
      ["apps/web/values.yaml", "replicas: 1\n"],
    ]);
    expect(await texts(change.mergeBase)).toEqual([
      ["apps/api/values.yaml", "replicas: 2\n"],
      ["apps/web/values.yaml", "replicas: 1\n"],
    ]);
  });

  test("leaves out what is missing, a symlink, a folder, binary or too large", async () => {
    const change = await host.change(1, {
      "link.yaml": { symlink: "apps/web/values.yaml" },
      "outside.yaml": { symlink: "../../../../etc/hostname" },
      "binary.yaml": "a\0b",
      "large.yaml": "x".repeat(1024 * 1024 + 1),
      "limit.yaml": "x".repeat(1024 * 1024),
      "empty.yaml": "",
      "bom.yaml": "\ufeffa: ü\n",
    });
    const snapshot = await mirror().open(change, host.source(1));
    const paths = ["link.yaml", "outside.yaml", "binary.yaml", "large.yaml", "limit.yaml", "empty.yaml", "bom.yaml"];
    const more = ["apps", "none.yaml", "", "../README.md", "/README.md", "./README.md", "--help"];
    const texts = await snapshot.read(change.headRevision, [...paths, ...more]);
    expect([...texts.keys()].sort()).toEqual(["bom.yaml", "empty.yaml", "limit.yaml"]);
    expect(texts.get("bom.yaml")).toBe("a: ü\n");
    expect(texts.get("empty.yaml")).toBe("");
    expect(await snapshot.read(change.headRevision, more)).toEqual(new Map());
    expect(await snapshot.read(change.headRevision, [])).toEqual(new Map());
  });

  test("a large file is read on its own, up to 16 MiB", async () => {
    const change = await host.change(1, {
      "large.yaml": `a: ${"x".repeat(16 * 1024 * 1024 - 3)}`,
      "larger.yaml": "x".repeat(16 * 1024 * 1024 + 1),
      "binary.yaml": `${"x".repeat(1024 * 1024)}\0`,
      "link.yaml": { symlink: "large.yaml" },
    });
    const snapshot = await mirror().open(change, host.source(1));
    const length = async (path: string) => (await snapshot.readLarge(change.headRevision, path))?.length;
    expect(await length("large.yaml")).toBe(16 * 1024 * 1024);
    for (const path of ["larger.yaml", "binary.yaml", "link.yaml", "apps", "none.yaml"]) {
      expect(await length(path)).toBeUndefined();
    }
  });

  test("a file that is not UTF-8 is not text", async () => {
    const change = await host.change(1, { "a.yaml": "a" });
    const blob = await writeBlob(Buffer.from([0xff, 0xfe, 0x41]));
    const head = await commitTree(`100644 blob ${blob}\tlatin.yaml\0`);
    await host.setRef("refs/pull/1/head", head);
    const snapshot = await mirror().open({ ...change, headRevision: revision(head) }, host.source(1));
    expect(await snapshot.read(revision(head), ["latin.yaml"])).toEqual(new Map());
  });

  test.each([
    "-rf",
    "a\nb.yaml",
    'q"uote.yaml',
    "tab\there.yaml",
    "ümläut/日本.yaml",
    "$(id).yaml",
    "*.yaml",
    "a b.yaml",
    "..yaml",
  ])("a file named %j is listed, seen as changed and read", async (path) => {
    const change = await host.change(1, { "README.md": "changed\n" });
    const blob = await writeBlob(Buffer.from("content"));
    const [folder, name] = path.includes("/") ? (path.split("/") as [string, string]) : [undefined, path];
    const inner = `100644 blob ${blob}\t${name}\0`;
    const tree = folder === undefined ? inner : `040000 tree ${await makeTree(inner)}\t${folder}\0`;
    const head = revision(await commitTree(tree));
    await host.setRef("refs/pull/1/head", head);
    const snapshot = await mirror().open({ ...change, headRevision: head }, host.source(1));
    expect((await snapshot.list(head)).map((entry) => entry.path)).toEqual([path]);
    expect(await snapshot.changedPaths(change.baseRevision, head)).toContain(path);
    expect(await snapshot.read(head, [path])).toEqual(new Map([[path, "content"]]));
  });

  test("two names that differ only in bytes that are not UTF-8 are both listed and neither is read", async () => {
    const change = await host.change(1, { "README.md": "changed\n" });
    const [one, two] = [await writeBlob(Buffer.from("one")), await writeBlob(Buffer.from("two"))];
    const head = revision(
      await commitTree(
        Buffer.concat([
          Buffer.from(`100644 blob ${one}\t`),
          Buffer.from([0xfe, 0x00]),
          Buffer.from(`100644 blob ${two}\t`),
          Buffer.from([0xff, 0x00]),
        ]),
      ),
    );
    await host.setRef("refs/pull/1/head", head);
    const snapshot = await mirror().open({ ...change, headRevision: head }, host.source(1));
    expect((await snapshot.list(head)).map((entry) => entry.path)).toEqual(["\ufffd", "\ufffd"]);
    expect(await snapshot.changedPaths(change.baseRevision, head)).toContain("\ufffd");
    expect(await snapshot.read(head, ["\ufffd"])).toEqual(new Map());
  });

  test("a submodule is listed and its move is a changed path", async () => {
    const change = await host.change(1, { "README.md": "changed\n" });
    const before = await commitTree(`160000 commit ${"1".repeat(40)}\tcharts\0`);
    const after = await commitTree(`160000 commit ${"2".repeat(40)}\tcharts\0`);
    await host.setRef("refs/pull/1/head", after);
    const facts = { ...change, headRevision: revision(after), mergeBase: revision(before) };
    const snapshot = await mirror().open(facts, host.source(1));
    expect(await snapshot.list(facts.headRevision)).toEqual([
      { path: "charts", kind: "submodule", executable: false, blob: "2".repeat(40) },
    ]);
    expect(await snapshot.changedPaths(facts.mergeBase, facts.headRevision)).toEqual(["charts"]);
    expect(await snapshot.read(facts.headRevision, ["charts"])).toEqual(new Map());
  });

  test("changed paths hold both names of a rename, deletions, modes and kinds, and nothing else", async () => {
    const change = await host.change(1, {
      "apps/web/values.yaml": null,
      "apps/moved/values.yaml": "replicas: 1\n",
      "apps/api/values.yaml": { executable: "replicas: 2\n" },
      "new.yaml": "a: 1\n",
    });
    const snapshot = await mirror().open(change, host.source(1));
    expect(await snapshot.changedPaths(change.mergeBase, change.headRevision)).toEqual([
      "apps/api/values.yaml",
      "apps/moved/values.yaml",
      "apps/web/values.yaml",
      "new.yaml",
    ]);
    expect(await snapshot.changedPaths(change.headRevision, change.headRevision)).toEqual([]);
  });

  test("link targets are read verbatim, except those that are too long or not text", async () => {
    const change = await host.change(1, {
      "a/link.yaml": { symlink: "../apps/web" },
      "outside.yaml": { symlink: "/etc/passwd" },
      "limit.yaml": { symlink: "x".repeat(4096) },
      "wide.yaml": { symlink: "ü".repeat(2049) },
      "long.yaml": { symlink: "x".repeat(4097) },
      "zero.yaml": { symlink: "a\0b" },
    });
    const snapshot = await mirror().open(change, host.source(1));
    expect([...(await snapshot.linkTargets(change.headRevision))]).toEqual([
      ["a/link.yaml", "../apps/web"],
      ["limit.yaml", "x".repeat(4096)],
      ["outside.yaml", "/etc/passwd"],
    ]);
    expect(await snapshot.linkTargets(change.baseRevision)).toEqual(new Map());
  });

  test("the head of a fork is read from the target repository", async () => {
    const change = await host.changeFromFork(4, { "apps/web/values.yaml": "replicas: 7\n" });
    const snapshot = await mirror().open(change, host.source(4));
    expect(await snapshot.read(change.headRevision, ["apps/web/values.yaml"])).toEqual(
      new Map([["apps/web/values.yaml", "replicas: 7\n"]]),
    );
    expect(await snapshot.changedPaths(change.mergeBase, change.headRevision)).toEqual(["apps/web/values.yaml"]);
  });
});

async function writeBlob(content: Buffer): Promise<string> {
  const file = join(dataDir, "blob");
  await writeFile(file, content);
  const { stdout } = await run("git", ["--git-dir", host.directory, "hash-object", "-w", "--no-filters", file]);
  await rm(file);
  return stdout.trim();
}

async function makeTree(entries: string | Buffer): Promise<string> {
  const child = run("git", ["--git-dir", host.directory, "mktree", "-z", "--missing"]);
  child.child.stdin?.end(entries);
  return (await child).stdout.trim();
}

async function commitTree(entries: string | Buffer): Promise<string> {
  const tree = await makeTree(entries);
  const identity = ["-c", "user.name=ana", "-c", "user.email=ana@localhost"];
  const args = ["--git-dir", host.directory, ...identity, "commit-tree", "-m", "crafted", tree];
  return (await run("git", args)).stdout.trim();
}

describe("what goes over the network", () => {
  test("three requests open a change request, one more fetch reads, and repeating costs nothing", async () => {
    const change = await host.change(1, { "apps/web/values.yaml": "replicas: 5\n" });
    const opened = mirror();
    const snapshot = await opened.open(change, host.source(1));
    expect(host.requests).toHaveLength(3);
    await snapshot.list(change.headRevision);
    await snapshot.changedPaths(change.mergeBase, change.headRevision);
    expect(host.requests).toHaveLength(3);
    const paths = ["apps/web/values.yaml", "apps/api/values.yaml", "README.md"];
    expect((await snapshot.read(change.headRevision, paths)).size).toBe(3);
    const afterReading = host.requests.length;
    expect(afterReading).toBeLessThanOrEqual(6);
    await snapshot.read(change.headRevision, paths);
    const again = await opened.open(change, host.source(1));
    await again.read(change.headRevision, paths);
    expect(host.requests).toHaveLength(afterReading);
  });

  test("after a restart of the service nothing on disk is fetched again", async () => {
    const change = await host.change(1, { "apps/web/values.yaml": "replicas: 5\n" });
    const first = mirror();
    await (await first.open(change, host.source(1))).read(change.headRevision, ["apps/web/values.yaml"]);
    await first.close();
    const before = host.requests.length;
    const snapshot = await mirror().open(change, host.source(1));
    expect((await snapshot.read(change.headRevision, ["apps/web/values.yaml"])).size).toBe(1);
    expect(host.requests).toHaveLength(before);
  });

  test("file contents are not fetched until they are read", async () => {
    const change = await host.change(1, { "big.bin": "x".repeat(500_000) });
    await mirror().open(change, host.source(1));
    const [folder = ""] = await readdir(dataDir);
    const args = ["--git-dir", join(dataDir, folder), "cat-file", "--batch-check=%(objecttype)", "--batch-all-objects"];
    const { stdout } = await run("git", args);
    expect(new Set(stdout.trim().split("\n"))).toEqual(new Set(["commit", "tree"]));
  });

  test("the next head fetches only its own objects", async () => {
    const change = await host.change(1, { "apps/web/values.yaml": "replicas: 5\n" });
    const opened = mirror();
    await opened.open(change, host.source(1));
    const next = await host.commit("change-1", { "apps/web/values.yaml": "replicas: 6\n" });
    await host.setRef("refs/pull/1/head", next);
    const before = host.requests.length;
    const snapshot = await opened.open({ ...change, headRevision: revision(next) }, host.source(1));
    expect(host.requests.length - before).toBeLessThanOrEqual(3);
    expect(await snapshot.changedPaths(change.headRevision, revision(next))).toEqual(["apps/web/values.yaml"]);
  });

  test.each([
    ["whose commit is known", true, 2],
    ["whose commit its ref tells", false, 3],
  ])("a pushed head %s, fetched in advance, is opened without a request", async (_, isKnown, requests) => {
    const first = await host.change(1, { "apps/web/values.yaml": "replicas: 3\n" });
    const reader = mirror();
    await reader.open(first, host.source(1));
    const next = await host.change(1, { "apps/web/values.yaml": "replicas: 4\n" });
    const before = host.requests.length;
    const { signal } = new AbortController();
    await reader.fetchHead(next, host.source(1), { pushed: isKnown ? next.headRevision : undefined, signal });
    const asked = host.requests.length;
    expect(asked - before).toBe(requests);
    const snapshot = await reader.open(next, host.source(1));
    expect([...(await snapshot.read(next.headRevision, ["apps/web/values.yaml"])).values()]).toEqual(["replicas: 4\n"]);
    expect(host.requests).toHaveLength(asked);
  });

  test("nothing is fetched in advance for a change request that was never opened", async () => {
    const [first, second] = [await host.change(1, {}), await host.change(2, { "README.md": "bye\n" })];
    const reader = mirror();
    await reader.fetchHead(first, host.source(1), new AbortController());
    expect(host.requests).toEqual([]);
    await reader.open(first, host.source(1));
    const asked = host.requests.length;
    await reader.fetchHead(second, host.source(2), new AbortController());
    expect(host.requests).toHaveLength(asked);
  });

  test("what fails in advance is told by what opens it", async () => {
    const reader = mirror();
    await reader.open(await host.change(1, {}), host.source(1));
    const next = await host.change(1, { "README.md": "bye\n" });
    host.behaviour = { status: 500 };
    await reader.fetchHead(next, host.source(1), new AbortController());
    expect((await failure(reader.open(next, host.source(1)))).message).toContain("could not be read");
    host.behaviour = "pass";
    await reader.open(next, host.source(1));
    await reader.fetchHead(next, host.source(1, { headRef: "refs/../x" }), new AbortController());
    await reader.fetchHead(next, host.source(1), { signal: AbortSignal.abort() });
    expect(reader.log.lines.filter(({ level }) => level === "warn" || level === "error")).toEqual([]);
  });

  test("the next head comes with its small files in one fetch, without large ones", async () => {
    const change = await host.change(1, { "apps/web/values.yaml": "replicas: 5\n" });
    const opened = mirror();
    await opened.open(change, host.source(1));
    const next = revision(
      await host.commit("change-1", { "apps/web/values.yaml": "replicas: 6\n", "large.yaml": "x".repeat(100_000) }),
    );
    await host.setRef("refs/pull/1/head", next);
    const snapshot = await opened.open({ ...change, headRevision: next }, host.source(1));
    const before = host.requests.length;
    expect((await snapshot.read(next, ["apps/web/values.yaml"])).get("apps/web/values.yaml")).toBe("replicas: 6\n");
    expect(host.requests).toHaveLength(before);
    expect((await snapshot.read(next, ["large.yaml"])).get("large.yaml")).toHaveLength(100_000);
    expect(host.requests.length).toBeGreaterThan(before);
  });

  test("files of both sides come in one fetch", async () => {
    const change = await host.change(1, { "apps/web/values.yaml": "replicas: 5\n", "apps/new/values.yaml": "a: 1\n" });
    const snapshot = await mirror().open(change, host.source(1));
    await snapshot.list(change.headRevision);
    const paths = ["apps/web/values.yaml", "apps/api/values.yaml", "apps/new/values.yaml"];
    expect((await snapshot.read(change.mergeBase, paths)).size).toBe(2);
    const before = host.requests.length;
    expect((await snapshot.read(change.headRevision, paths)).size).toBe(3);
    expect(host.requests).toHaveLength(before);
  });

  test("many change requests of one repository are opened side by side", async () => {
    const changes = [];
    for (let number = 1; number <= 6; number += 1) {
      changes.push(await host.change(number, { "apps/web/values.yaml": `replicas: ${number}\n` }));
    }
    const opened = mirror();
    const texts = await Promise.all(
      changes.map(async (change) => {
        const snapshot = await opened.open(change, host.source(change.number));
        return (await snapshot.read(change.headRevision, ["apps/web/values.yaml"])).get("apps/web/values.yaml");
      }),
    );
    expect(texts).toEqual(changes.map((change) => `replicas: ${change.number}\n`));
    expect(await readdir(dataDir)).toHaveLength(1);
  });
});

describe("change requests that wait for the same repository", () => {
  /** Fetches the next head of #1, which takes until it is released. */
  async function hold(opened: Repositories) {
    const next = await host.change(1, { "README.md": "next\n" });
    host.behaviour = "hang";
    const controller = new AbortController();
    const held = opened.open(next, host.source(1), controller).catch((error: unknown) => error);
    await newRequest();
    return async () => {
      host.requests.length = 0;
      host.behaviour = "pass";
      controller.abort(new Stopped("closed"));
      await held;
    };
  }

  async function busy() {
    const opened = mirror();
    await opened.open(await host.change(1, { "README.md": "1\n" }), host.source(1));
    const changes = await Promise.all(
      [2, 3, 4, 5].map((number) => host.change(number, { "README.md": `${number}\n` })),
    );
    const release = await hold(opened);
    const read = async (change: ChangeRequest, options: OpenOptions = {}, source: Partial<CloneSource> = {}) => {
      const { signal } = new AbortController();
      const snapshot = await opened.open(change, host.source(change.number, source), { signal, ...options });
      return (await snapshot.read(change.headRevision, ["README.md"])).get("README.md");
    };
    return { opened, changes, release, read };
  }

  test("are fetched with one call", async () => {
    const { changes, release, read } = await busy();
    const texts = Promise.all(changes.map((change) => read(change)));
    await release();
    expect(await texts).toEqual(["2\n", "3\n", "4\n", "5\n"]);
    expect(host.requests).toHaveLength(3);
  });

  test("one whose head is refused fails alone, and is not fetched with others again", async () => {
    const { opened, changes, release, read } = await busy();
    await host.setRef("refs/pull/4/head", undefined);
    const texts = changes.map((change) =>
      read(change.number === 4 ? { ...change, headRevision: NOWHERE } : change).catch((error: unknown) => error),
    );
    await release();
    const [second, third, fourth, fifth] = await Promise.all(texts);
    expect([second, third, fifth]).toEqual(["2\n", "3\n", "5\n"]);
    const message = expect.stringContaining("does not have one of the commits");
    expect(fourth).toEqual(expect.objectContaining({ message }));
    // For all of them two by refs and three by commit, three for each that succeeds, and five for the other one as for all.
    expect(host.requests.length).toBeLessThanOrEqual(5 + 3 * 3 + 5);
    expect(opened.log.lines.filter(({ level }) => level === "warn" || level === "error")).toEqual([]);
  });

  test("one whose head has moved is told so, the others are opened", async () => {
    const { changes, release, read } = await busy();
    await host.setRef("refs/pull/3/head", await host.commit("change-3", { "README.md": "moved\n" }));
    const texts = changes.map((change) => read(change).catch((error: unknown) => error));
    await release();
    const [second, third, ...others] = await Promise.all(texts);
    expect(third).toBeInstanceOf(HeadMoved);
    expect([second, ...others]).toEqual(["2\n", "4\n", "5\n"]);
  });

  test("what nobody waits for is fetched together as well, but delays nobody", async () => {
    const { changes, release, read } = await busy();
    const texts = Promise.all(changes.map((change) => read(change, { patient: change.number > 3 })));
    await release();
    expect(await texts).toEqual(["2\n", "3\n", "4\n", "5\n"]);
    expect(host.requests).toHaveLength(6);
  });

  test("one that is opened twice, with another base each time, is opened both times", async () => {
    const { changes, release, read } = await busy();
    const base = revision(await host.commit("main", { "other.txt": "1\n" }));
    const texts = Promise.all(changes.flatMap((change) => [read(change), read({ ...change, baseRevision: base })]));
    await release();
    expect(await texts).toEqual(["2\n", "2\n", "3\n", "3\n", "4\n", "4\n", "5\n", "5\n"]);
    expect(host.requests.length).toBeLessThanOrEqual(6);
  });

  test("with a hundred and more fetched, git does not open a file for each of their refs", async () => {
    const { opened, release, read } = await busy();
    const numbers = Array.from({ length: 130 }, (_, index) => index + 10);
    const more = await Promise.all(numbers.map((number) => host.change(number, { "README.md": `${number}\n` })));
    const texts = Promise.all(more.map((change) => read(change)));
    await release();
    expect(await texts).toEqual(numbers.map((number) => `${number}\n`));
    // 21 at a time, with three requests each.
    expect(host.requests).toHaveLength(7 * 3);
    const last = await host.change(9, { "README.md": "9\n" });
    expect(await read(last)).toBe("9\n");
    await opened.close();
    const files = await everyFile(dataDir);
    expect(files.filter((file) => file.includes("/refs/")).length).toBeLessThan(130);
    expect(await readFile(files.find((file) => file.endsWith("packed-refs")) ?? "", "utf8")).toContain(
      "refs/svc/10/head",
    );
  });

  test("pushed heads are fetched in advance with one call", async () => {
    const { opened, changes, release, read } = await busy();
    const first = Promise.all(changes.map((change) => read(change)));
    await release();
    await first;
    const pushed = await Promise.all(
      changes.map(({ number }) => host.change(number, { "README.md": `new ${number}\n` })),
    );
    const again = await hold(opened);
    const { signal } = new AbortController();
    const fetched = pushed.map((change) =>
      opened.fetchHead(change, host.source(change.number), { pushed: change.headRevision, signal }),
    );
    const texts = Promise.all(pushed.map((change) => read(change)));
    await again();
    expect(await texts).toEqual(["new 2\n", "new 3\n", "new 4\n", "new 5\n"]);
    await Promise.all(fetched);
    expect(host.requests.length).toBeLessThanOrEqual(3);
  });
});

describe("credentials", () => {
  test("the token is in every request, but neither on disk nor in a process's arguments", async () => {
    const change = await host.change(1, { "apps/web/values.yaml": "replicas: 5\n" });
    const opened = mirror();
    const snapshot = await opened.open(change, host.source(1));
    await snapshot.read(change.headRevision, ["apps/web/values.yaml"]);
    expect(host.requests.length).toBeGreaterThan(3);
    for (const request of host.requests) expect(request.authorization).toBe(TOKEN);
    const files = await everyFile(dataDir);
    expect(files.length).toBeGreaterThan(3);
    for (const file of files) {
      const content = await readFile(file, "latin1");
      expect(content).not.toContain(TOKEN.slice(6));
      expect(content).not.toContain(host.url);
    }
    host.behaviour = "hang";
    const other = await host.change(2, { "README.md": "other\n" });
    const controller = new AbortController();
    const waiting = opened.open(other, host.source(2), controller).catch((error: unknown) => error);
    await newRequest();
    const { stdout } = await run("ps", ["-eo", "args"]);
    expect(stdout).toContain("refs/pull/2/head");
    expect(stdout).not.toContain(TOKEN.slice(6));
    controller.abort(new Stopped("pushed"));
    expect(await waiting).toBeInstanceOf(Stopped);
  });

  test("a redirect to another origin is not followed", async () => {
    const seen: unknown[] = [];
    const elsewhere = await listenOnLoopback(
      express().use((request, response) => {
        seen.push(request.headers.authorization);
        response.status(404).end();
      }),
    );
    const change = await host.change(1, { "README.md": "other\n" });
    host.behaviour = { redirect: elsewhere.url };
    const error = await failure(mirror().open(change, host.source(1)));
    await elsewhere.stop();
    expect(seen).toEqual([]);
    expect(error.message).toMatch(/acme\/deploy.*redirects to another address/);
  });

  test.each([
    ["file:///etc", undefined, /neither https nor http/],
    ["ext::sh -c touch% /tmp/x", undefined, /not a URL|neither/],
    ["ssh://git@localhost/acme/deploy.git", undefined, /neither https nor http/],
    ["https://user:hunter2@localhost/acme/deploy.git", undefined, /contains credentials/],
    ["--upload-pack=touch", undefined, /not a URL/],
    ["https://localhost/a b.git", undefined, /not a URL/],
    [undefined, "--upload-pack=touch", /head ref is not allowed/],
    [undefined, "refs/heads/a:refs/heads/b", /head ref is not allowed/],
    [undefined, "refs/heads/*", /head ref is not allowed/],
    [undefined, "refs/heads/../../x", /head ref is not allowed/],
    [undefined, "refs/heads/a\nb", /head ref is not allowed/],
  ])("git is never given the address %j or the ref %j", async (url, headRef, message) => {
    const change = await host.change(1, { "README.md": "other\n" });
    const source = {
      ...host.source(1),
      ...(url === undefined ? {} : { url }),
      ...(headRef === undefined ? {} : { headRef }),
    };
    const error = await failure(mirror().open(change, source));
    expect(error.message).toMatch(message);
    expect(error.message).not.toContain("hunter2");
    expect(host.requests).toEqual([]);
  });

  test("an authorization that would add a header is refused", async () => {
    const change = await host.change(1, { "README.md": "other\n" });
    const authorization = "Basic x\r\nX-Other: 1";
    const error = await failure(mirror().open(change, host.source(1, { authorization })));
    expect(error.message).not.toContain("X-Other");
    expect(host.requests).toEqual([]);
  });
});

/** Resolves at the host's next request. */
async function newRequest(): Promise<void> {
  const before = host.requests.length;
  while (host.requests.length === before) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe("failures", () => {
  test("a moved head is reported", async () => {
    const change = await host.change(1, { "README.md": "one\n" });
    await host.setRef("refs/pull/1/head", await host.commit("change-1", { "README.md": "two\n" }));
    await expect(mirror().open(change, host.source(1))).rejects.toBeInstanceOf(HeadMoved);
  });

  test.each([
    ["wrong credentials", { authorization: "Basic d3Jvbmc6eA==" }, /does not accept the credentials/],
    ["no credentials", { authorization: undefined }, /does not accept the credentials/],
  ])("%s: the message names the repository and the cure", async (_name, changes, message) => {
    const change = await host.change(1, { "README.md": "one\n" });
    const error = await failure(mirror().open(change, host.source(1, changes)));
    expect(error.message).toMatch(/^the repository acme\/deploy could not be read: /);
    expect(error.message).toMatch(message);
    expect(`${error.message} ${String(error.cause)}`).not.toContain("d3Jvbmc6eA");
  });

  test("a head that the host offers neither by its ref nor as a commit", async () => {
    const change = await host.change(1, { "README.md": "one\n" });
    const error = await failure(mirror().open({ ...change, headRevision: NOWHERE }, host.source(99)));
    expect(error.message).toMatch(
      /^the repository acme\/deploy could not be read: the host does not have one of the commits/,
    );
  });

  test.each([
    [401, /does not accept the credentials/],
    [403, /forbids reading it/],
    [404, /does not know it, or hides it/],
    [429, /limits the rate/],
    [500, /the host failed/],
    [503, /the host failed/],
  ])("an answer %i is explained after one attempt", async (status, message) => {
    const change = await host.change(1, { "README.md": "one\n" });
    host.behaviour = { status };
    const error = await failure(mirror().open(change, host.source(1)));
    expect(error.message).toMatch(message);
    expect(host.requests.length).toBeLessThanOrEqual(2);
  });

  test("an unreachable host is reported, and used as soon as it is back", async () => {
    const change = await host.change(1, { "README.md": "one\n" });
    const opened = mirror();
    const error = await failure(opened.open(change, host.source(1, { url: "http://127.0.0.1:1/acme/deploy.git" })));
    expect(error.message).toMatch(/cannot be reached/);
    host.behaviour = { status: 503 };
    await failure(opened.open(change, host.source(1)));
    host.behaviour = "pass";
    await opened.open(change, host.source(1));
  });

  test("an unreachable host is not taken for one without a trusted certificate by what the repository is called", async () => {
    const change = await host.change(1, { "README.md": "one\n" });
    const url = "http://127.0.0.1:1/acme/ssl-certificates.git";
    const error = await failure(mirror().open(change, host.source(1, { url })));
    expect(error.message).toMatch(/cannot be reached/);
  });

  test("a host that never answers times out", async () => {
    const change = await host.change(1, { "README.md": "one\n" });
    host.behaviour = "hang";
    const error = await failure(mirror({ timeoutMs: 300 }).open(change, host.source(1)));
    expect(error.message).toMatch(/did not finish in time/);
  });

  test("an abort ends git with the signal's reason, and the mirror works afterwards", async () => {
    const change = await host.change(1, { "README.md": "one\n" });
    host.behaviour = "hang";
    const opened = mirror();
    const controller = new AbortController();
    const waiting = opened.open(change, host.source(1), controller).catch((error: unknown) => error);
    await newRequest();
    controller.abort(new Stopped("closed"));
    expect(await waiting).toEqual(new Stopped("closed"));
    host.behaviour = "pass";
    await opened.open(change, host.source(1));
    const signal = AbortSignal.abort(new Stopped("pushed"));
    await expect(opened.open(change, host.source(1), { signal })).rejects.toThrow(Stopped);
  });

  test("what nobody waits for is read after everything else, in its order", async () => {
    const changes = await Promise.all(
      [1, 2, 3, 4, 5].map((number) => host.change(number, { "README.md": `${number}\n` })),
    );
    const opened = mirror();
    const done: number[] = [];
    const open = async (number: number, options: OpenOptions) => {
      const change = changes[number - 1];
      if (change === undefined) throw new Error(`there is no #${number}`);
      const snapshot = await opened.open(change, host.source(number), options);
      await snapshot.list(change.headRevision);
      done.push(number);
    };
    host.behaviour = "hang";
    const first = new AbortController();
    const held = open(1, { signal: first.signal }).catch((error: unknown) => error);
    await newRequest();
    const given = new AbortController();
    const waiting = [open(2, { patient: true }), open(3, { patient: true }), open(4, {}), open(5, { patient: true })];
    const ended = open(1, { patient: true, signal: given.signal }).catch((error: unknown) => error);
    given.abort(new Stopped("closed"));
    expect(await ended).toEqual(new Stopped("closed"));
    host.behaviour = "pass";
    first.abort(new Stopped("closed"));
    await Promise.all([held, ...waiting]);
    expect(done).toEqual([4, 2, 3, 5]);
  });

  test("close stops running work and accepts no more", async () => {
    const change = await host.change(1, { "README.md": "one\n" });
    host.behaviour = "hang";
    const opened = mirror();
    const waiting = opened.open(change, host.source(1)).catch((error: unknown) => error);
    await newRequest();
    await opened.close();
    expect(await waiting).toBeInstanceOf(Stopped);
    await expect(opened.open(change, host.source(1))).rejects.toThrow(Stopped);
  });

  test("a repository over the limit is refused and leaves nothing on disk", async () => {
    const noise = Array.from({ length: 20_000 }, () => Math.random().toString(36)).join("\n");
    const change = await host.change(1, { "noise.txt": noise });
    const opened = mirror({ maxBytes: 20_000 });
    const snapshot = await opened.open(change, host.source(1));
    const error = await failure(snapshot.read(change.headRevision, ["noise.txt"]));
    expect(error.message).toMatch(/larger than the 2 GiB that svc fetches/);
    expect(await everyFile(dataDir)).toEqual([]);
  });

  test.each([
    ["a removed folder", async (folder: string) => rm(folder, { recursive: true })],
    ["a folder without HEAD", async (folder: string) => rm(join(folder, "HEAD"))],
    ["packs cut off", async (folder: string) => overwrite(folder, /\.(pack|idx)$/)],
    ["a lock left by a crash", async (folder: string) => writeFile(join(folder, "shallow.lock"), "")],
    ["a broken configuration", async (folder: string) => writeFile(join(folder, "config"), "[[[")],
  ])("%s: the mirror is cloned again automatically", async (_name, damage) => {
    const change = await host.change(1, { "apps/web/values.yaml": "replicas: 5\n" });
    const first = mirror();
    await first.open(change, host.source(1));
    const [folder = ""] = await readdir(dataDir);
    await damage(join(dataDir, folder));
    const other = await host.change(2, { "apps/web/values.yaml": "replicas: 6\n" });
    const snapshot = await mirror().open(other, host.source(2));
    expect((await snapshot.read(other.headRevision, ["apps/web/values.yaml"])).get("apps/web/values.yaml")).toBe(
      "replicas: 6\n",
    );
  });

  test("a mirror begins anew after many commits, and what is open stays readable", async () => {
    const opened = mirror({ maxCommits: 10 });
    const first = await host.change(1, { "README.md": "1\n" });
    const snapshot = await opened.open(first, host.source(1));
    for (let number = 2; number <= 30; number += 1) {
      const change = await host.change(number, { "README.md": `${number}\n` });
      const text = await (await opened.open(change, host.source(number))).read(change.headRevision, ["README.md"]);
      expect([...text.values()]).toEqual([`${number}\n`]);
    }
    expect(await snapshot.changedPaths(first.mergeBase, first.headRevision)).toEqual(["README.md"]);
    const shallow = (await everyFile(dataDir)).find((file) => file.endsWith("/shallow")) ?? "";
    expect((await readFile(shallow, "utf8")).trim().split("\n").length).toBeLessThanOrEqual(12);
    expect(opened.log.lines.filter(({ level }) => level === "warn" || level === "error")).toEqual([]);
  });

  test("a history with many branches does not make a mirror begin anew", async () => {
    const sides = Array.from({ length: 60 }, (_, index) => chain(`side-${index}-`, 40));
    const merged = sides.map((_, index) => `side-${index}-40`);
    // The newest commits are the last of each branch, so that reading them leaves the branches cut off.
    const timed = sides.flatMap((side) =>
      Object.entries(side).map(([name, commit], index) => [name, { ...commit, files: [], time: index + 1 }] as const),
    );
    const idOf = await writeHistory(host.directory, {
      base: { time: 0 },
      ...Object.fromEntries(timed),
      wide: { parents: ["base", ...merged], time: 100 },
    });
    await host.setRef("refs/pull/1/head", idOf("wide"));
    const opened = mirror({ maxCommits: 50 });
    const [base, wide] = [idOf("base"), idOf("wide")];
    const snapshot = await opened.open(host.facts(1, wide, base, base), host.source(1));
    await snapshot.commitsBetween(base, wide);
    const [folder = ""] = await readdir(dataDir);
    const commits = (await readFile(join(dataDir, folder, "shallow"), "utf8")).split("\n").length;
    expect(commits).toBeGreaterThan(50);
    const { ino } = await stat(join(dataDir, folder));
    await opened.open(await host.change(2, { "README.md": "2\n" }), host.source(2));
    expect((await stat(join(dataDir, folder))).ino).toBe(ino);
  });

  test("a snapshot outlives its mirror: what was removed meanwhile is fetched again", async () => {
    const change = await host.change(1, { "apps/web/values.yaml": "replicas: 5\n" });
    const snapshot = await mirror().open(change, host.source(1));
    const [folder = ""] = await readdir(dataDir);
    await rm(join(dataDir, folder), { recursive: true });
    expect(await snapshot.changedPaths(change.mergeBase, change.headRevision)).toEqual(["apps/web/values.yaml"]);
  });

  test("clones make room for others: first what an earlier process left, then what was not opened for longest", async () => {
    const change = await host.change(1, { "apps/web/values.yaml": "replicas: 5\n" });
    const named = (name: string) => ({ ...change, repository: repositoryName(`acme/${name}`) });
    const earlier = mirror();
    await earlier.open(named("renamed"), host.source(1));
    await earlier.close();
    const packs = (await everyFile(dataDir)).filter((file) => file.includes("/pack/"));
    const sizes = await Promise.all(packs.map(async (file) => (await stat(file)).size));
    const ofOne = sizes.reduce((sum, size) => sum + size, 0);
    const [left] = await readdir(dataDir);

    const opened = mirror({ maxTotalBytes: 2.5 * ofOne });
    const one = await opened.open(named("one"), host.source(1));
    const [ofTheFirst] = (await readdir(dataDir)).filter((name) => name !== left);
    for (const name of ["two", "one", "three"]) await opened.open(named(name), host.source(1));
    expect(await readdir(dataDir)).toHaveLength(3);
    expect(await readdir(dataDir)).not.toContain(left);
    await opened.open(named("four"), host.source(1));
    expect(await readdir(dataDir)).toContain(ofTheFirst);
    await opened.open(named("five"), host.source(1));
    expect(await readdir(dataDir)).toHaveLength(3);
    expect(await readdir(dataDir)).not.toContain(ofTheFirst);
    const texts = await one.read(change.headRevision, ["apps/web/values.yaml"]);
    expect(texts.get("apps/web/values.yaml")).toBe("replicas: 5\n");
    expect(opened.log.lines.map(({ text }) => text)).toContain("removed a clone to make room for others");
  });

  test("fetches at one time remove no more clones than they need the room of", async () => {
    const large = await host.change(1, { "large.txt": randomBytes(200_000).toString("base64") });
    const small = await host.change(2, { "README.md": "one\n" });
    const named = (change: ChangeRequest, name: string) => ({ ...change, repository: repositoryName(`acme/${name}`) });
    const earlier = mirror();
    for (let at = 0; at < 8; at += 1) {
      const old = await earlier.open(named(large, `old-${at}`), host.source(1));
      await old.read(large.headRevision, ["large.txt"]);
    }
    await earlier.close();
    const total = (await everyFile(dataDir)).filter((file) => file.includes("/pack/"));
    const sizes = await Promise.all(total.map(async (file) => (await stat(file)).size));
    const bytes = sizes.reduce((sum, size) => sum + size, 0);

    const opened = mirror({ maxTotalBytes: bytes - 100 });
    const news = Array.from({ length: 4 }, (_, at) => opened.open(named(small, `new-${at}`), host.source(2)));
    await Promise.all(news);
    expect(await readdir(dataDir)).toHaveLength(8 - 1 + 4);
  });

  test("a folder that is not writable is reported", async () => {
    const change = await host.change(1, { "README.md": "one\n" });
    const file = join(dataDir, "file");
    await writeFile(file, "");
    const opened = createGitMirror({ dataDir: file, log: recordingLog() });
    closings.push(() => opened.close());
    const error = await failure(opened.open(change, host.source(1)));
    expect(error.message).toMatch(/folder for mirrors cannot be used \((?:ENOTDIR|EEXIST)\)/);
  });
});

async function overwrite(folder: string, pattern: RegExp): Promise<void> {
  for (const file of await everyFile(folder)) {
    if (!pattern.test(file)) continue;
    await rm(file);
    await writeFile(file, "PACK");
  }
}
