import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { copyFile, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { revision, type Revision } from "../../src/core/model/brand.js";
import type { ChangeRequest } from "../../src/core/model/change-request.js";
import { RepositoryFailure } from "../../src/core/model/errors.js";
import type { RepositorySnapshot } from "../../src/core/ports/repositories.js";
import { MirrorRepository } from "../../src/git/mirror-repository.js";
import { createGitMirror } from "../../src/git/mirror.js";
import { recordingLog } from "../recording-log.js";
import { GitHost } from "./git-host.js";
import { writeHistory } from "./history.js";

const run = promisify(execFile);
const CLONED_AGAIN = "mirror damaged or full: cloning it again";
const TRIED_AGAIN = "git failed although the mirror is sound: trying once more";

let host: GitHost;
let dataDir: string;
let log: ReturnType<typeof recordingLog>;
let mirror: ReturnType<typeof createGitMirror>;
let first: ChangeRequest;
let folder: string;
/** The packs of the first change request. */
let packs: readonly string[];

beforeEach(async () => {
  host = await GitHost.start({ "apps/web/values.yaml": "replicas: 1\n" });
  dataDir = await mkdtemp(join(tmpdir(), "svc-damage-"));
  log = recordingLog();
  mirror = createGitMirror({ dataDir, log });
  await host.commit("main", { "apps/api/values.yaml": "replicas: 2\n" });
  first = await host.change(1, { "apps/web/values.yaml": "replicas: 5\n" });
  await mirror.open(first, host.source(1));
  folder = join(dataDir, (await readdir(dataDir))[0] ?? "");
  packs = await packFiles();
});

afterEach(async () => {
  await mirror.close();
  await host.stop();
  await rm(dataDir, { recursive: true, force: true });
});

async function packFiles(): Promise<readonly string[]> {
  return (await readdir(join(folder, "objects", "pack"))).sort();
}

/** Reads everything of a head, as a plan does. */
async function readAll(number: number, head: Revision): Promise<RepositorySnapshot> {
  const facts = { ...first, number, headRevision: head };
  const snapshot = await mirror.open(facts, host.source(number));
  const files = (await snapshot.list(head)).map(({ path }) => path);
  await snapshot.changedPaths(facts.mergeBase, head);
  await snapshot.read(head, files);
  return snapshot;
}

function warnings(): readonly string[] {
  return log.lines.filter(({ level }) => level === "warn").map(({ text }) => text);
}

describe("a sound mirror", () => {
  const crafted: readonly (readonly [string, () => Promise<string>])[] = [
    ["a path that is too long", async () => (await writeHistory(host.directory, { deep: DEEP }))("deep")],
    ["a folder that is a file", async () => commitOf(entry("40000", "apps", await blob()))],
    ["a file that is a folder", async () => commitOf(entry("100644", "values.yaml", await tree(Buffer.alloc(0))))],
    ["a folder that does not exist", async () => commitOf(entry("40000", "apps", "1".repeat(40)))],
    ["a file that does not exist", async () => commitOf(entry("100644", "values.yaml", "1".repeat(40)))],
    ["a folder that git cannot parse", async () => commitOf(Buffer.from("40000 apps"))],
  ];

  test.each(crafted)("is not cloned again for a head with %s", async (_what, craft) => {
    const head = revision(await craft());
    await host.setRef("refs/pull/2/head", head);
    for (let time = 1; time <= 2; time += 1) {
      await expect(readAll(2, head)).rejects.toBeInstanceOf(RepositoryFailure);
    }
    expect(warnings()).not.toContain(CLONED_AGAIN);
    expect(await packFiles()).toEqual(expect.arrayContaining([...packs]));
    const sound = await host.change(3, { "apps/web/values.yaml": "replicas: 6\n" });
    await readAll(3, sound.headRevision);
  });

  test("is not cloned again for an answer that svc does not know", async () => {
    const other = await host.change(2, { "apps/web/values.yaml": "replicas: 6\n" });
    host.behaviour = { status: 418 };
    await expect(readAll(2, other.headRevision)).rejects.toThrow(/git says: .*418/);
    expect(warnings()).toEqual([TRIED_AGAIN]);
    expect(await packFiles()).toEqual(packs);
    host.behaviour = "pass";
    await readAll(2, other.headRevision);
    expect(await packFiles()).toEqual(expect.arrayContaining([...packs]));
  });

  const DEEP = { contents: { [`${"d/".repeat(2100)}values.yaml`]: "a: 1\n" } };

  function blob(): Promise<string> {
    return git(["hash-object", "-w", "--no-filters", "--stdin"], "replicas: 1\n");
  }

  function entry(mode: string, name: string, id: string): Buffer {
    return Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(id, "hex")]);
  }

  /** Writes a tree as it is, which `git mktree` refuses to do. */
  function tree(content: Buffer): Promise<string> {
    return git(["hash-object", "-t", "tree", "--literally", "-w", "--stdin"], content);
  }

  async function commitOf(content: Buffer): Promise<string> {
    const identity = ["-c", "user.name=ana", "-c", "user.email=ana@localhost"];
    return git([...identity, "commit-tree", "-m", "crafted", await tree(content)]);
  }
});

describe("damage is found, and the repository is read all the same:", () => {
  const changed = { "apps/web/values.yaml": "replicas: 6\n" };

  test.each([
    ["a ref that is cut off", /^a ref is cut off/, () => writeFile(join(folder, "refs", "svc", "1", "head"), "")],
    ["a ref without its commit", /^the commit of a ref is missing/, () => removePacks(/./)],
    ["a pack that is cut off", /^a pack is not as git wrote it/, () => overwritePacks(/\.pack$/)],
    ["an index that is cut off", /^a pack is not as git wrote it/, () => overwritePacks(/\.idx$/)],
    ["a pack without its index", /^a pack has no idx/, () => removePacks(/\.idx$/)],
    ["a pack without its mark", /^a pack has no promisor/, () => removePacks(/\.promisor$/)],
    ["a missing parent", /^a commit or a ref is missing/, () => rm(join(folder, "shallow"))],
    ["commits without their trees", /^a tree is missing/, () => keepOnlyCommits()],
  ])("%s", async (_what, words, damage) => {
    await mirror.close();
    await damage();
    expect(await damageOfMirror()).toMatch(words);
    mirror = createGitMirror({ dataDir, log });
    const other = await host.change(2, changed);
    const snapshot = await readAll(2, other.headRevision);
    expect(await snapshot.read(other.headRevision, Object.keys(changed))).toEqual(new Map(Object.entries(changed)));
  });

  test.each([
    ["shallow commits that are cut off", () => writeFile(join(folder, "shallow"), "0123")],
    ["a broken configuration", () => writeFile(join(folder, "config"), "[[[")],
    ["an empty HEAD", () => writeFile(join(folder, "HEAD"), "")],
  ])("%s: no command works, so the mirror is cloned again", async (_what, damage) => {
    await damage();
    const other = await host.change(2, changed);
    const snapshot = await readAll(2, other.headRevision);
    expect(warnings()).toEqual([CLONED_AGAIN]);
    expect(await snapshot.read(other.headRevision, Object.keys(changed))).toEqual(new Map(Object.entries(changed)));
  });

  test("a sound mirror has none, whatever was fetched and joined", async () => {
    const other = await host.change(2, changed);
    await readAll(2, other.headRevision);
    expect(await damageOfMirror()).toBeUndefined();
    await repository().joinPacks(new AbortController().signal);
    expect(await damageOfMirror()).toBeUndefined();
    const refs = join(folder, "packed-refs");
    await writeFile(refs, (await readFile(refs, "utf8")).slice(0, 100));
    expect(await damageOfMirror()).toBe("a commit or a ref is missing");
  });

  function repository(): MirrorRepository {
    return new MirrorRepository(folder, { maxBytes: 2 ** 30, maxCommits: 5000, timeoutMs: 20_000, idleMs: 30_000 });
  }

  async function damageOfMirror(): Promise<string | undefined> {
    const examined = repository();
    const found = await examined.damage([first.headRevision, first.mergeBase], new AbortController().signal);
    await examined.close();
    return found;
  }

  async function removePacks(pattern: RegExp): Promise<void> {
    const removed = packs.filter((name) => pattern.test(name));
    await Promise.all(removed.map((name) => rm(join(folder, "objects", "pack", name))));
  }

  async function keepOnlyCommits(): Promise<void> {
    const packing = run("git", ["--git-dir", folder, "pack-objects", join(folder, "objects", "pack", "pack"), "-q"]);
    packing.child.stdin?.end(`${first.headRevision}\n${first.mergeBase}\n`);
    const written = (await packing).stdout.trim();
    await removePacks(/./);
    await writeFile(join(folder, "objects", "pack", `pack-${written}.promisor`), "");
  }

  async function overwritePacks(pattern: RegExp): Promise<void> {
    await removePacks(pattern);
    const emptied = packs.filter((name) => pattern.test(name));
    await Promise.all(emptied.map((name) => writeFile(join(folder, "objects", "pack", name), "PACK")));
  }
});

describe("what earlier commands left is cleared away, and the mirror stays:", () => {
  test.each([
    ["a lock on the shallow commits", "shallow.lock"],
    ["a lock on a ref", join("refs", "svc", "2", "head.lock")],
  ])("%s", async (_what, lock) => {
    const other = await host.change(2, { "apps/web/values.yaml": "replicas: 6\n" });
    await run("mkdir", ["-p", join(folder, lock, "..")]);
    await writeFile(join(folder, lock), "");
    await readAll(2, other.headRevision);
    expect(warnings()).toEqual([TRIED_AGAIN]);
    expect(await packFiles()).toEqual(expect.arrayContaining([...packs]));
  });

  test("packs of fetches, and of joined packs, that were stopped", async () => {
    await writeFile(join(folder, "objects", "pack", "tmp_pack_a1b2c3"), "x".repeat(1000));
    await writeFile(join(folder, "objects", "pack", ".tmp-7-pack-a1b2c3.pack"), "x".repeat(1000));
    const other = await host.change(2, { "apps/web/values.yaml": "replicas: 6\n" });
    await readAll(2, other.headRevision);
    expect((await packFiles()).filter((name) => !name.startsWith("pack-"))).toEqual([]);
    expect(warnings()).toEqual([]);
  });

  test("more than 200 packs are joined into one, the refs into one file, what merges wrote goes, and nothing is fetched again", async () => {
    for (let copy = 0; copy < 200; copy += 1) {
      const name = `pack-${randomBytes(20).toString("hex")}`;
      const from = packs.map((file) => join(folder, "objects", "pack", file));
      await Promise.all(from.map((file) => copyFile(file, file.replace(/pack-[0-9a-f]+(?=\.)/, name))));
    }
    const other = await host.change(2, { "apps/web/values.yaml": "replicas: 6\n" });
    await run("git", ["--git-dir", folder, "commit-tree", "-m", "merged", `${first.headRevision}^{tree}`], {
      env: NOBODY,
    });
    await readAll(2, other.headRevision);
    expect((await packFiles()).filter((name) => name.endsWith(".pack")).length).toBeLessThan(5);
    expect((await readdir(join(folder, "objects"))).filter((name) => /^[0-9a-f]{2}$/.test(name))).toEqual([]);
    expect(await readdir(join(folder, "refs"), { recursive: true })).not.toContain(join("svc", "1", "head"));
    expect(warnings()).toEqual([]);
    const before = host.requests.length;
    await mirror.open(first, host.source(1));
    expect(host.requests).toHaveLength(before);
  });
});

const NOBODY = {
  ...process.env,
  GIT_AUTHOR_NAME: "nobody",
  GIT_AUTHOR_EMAIL: "nobody",
  GIT_COMMITTER_NAME: "nobody",
  GIT_COMMITTER_EMAIL: "nobody",
};

/** Runs git in the host's repository. */
async function git(args: readonly string[], input?: string | Buffer): Promise<string> {
  const running = run("git", ["--git-dir", host.directory, ...args]);
  if (input !== undefined) running.child.stdin?.end(input);
  return (await running).stdout.trim();
}
