import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Revision } from "../core/model/brand.js";
import { GitFailure } from "./git-failure.js";
import type { GitObject } from "./object-stream.js";

/** What the examination needs of the mirror. */
export interface ExaminedMirror {
  readonly path: string;
  /** The content of `config` and `HEAD`, which git never changes. */
  readonly written: Readonly<Record<string, string>>;
  /** Packs that an earlier examination found sound. git never changes a pack. */
  readonly soundPacks: Set<string>;
  /** Runs a git command that only reads, and returns what it prints. @throws {GitFailure} */
  readonly run: (args: readonly string[], input: string) => Promise<Buffer>;
  /** Types and sizes of objects, undefined for missing ones. */
  readonly sizes: (names: readonly string[]) => Promise<readonly (GitObject | undefined)[]>;
}

/** Every pack has these: it is read through its index, and `promisor` says that it may refer to missing blobs. */
const PACK_FILES = ["pack", "idx", "promisor"];
const ID_LINES = /^(?:[0-9a-f]{40,64}\n)*$/;
const ID_LINE = /^[0-9a-f]{40,64}\n$/;

/**
 * Proves that a mirror is damaged: it shows what only a crash, a full disk or somebody's hand leaves behind. Returns what it
 * found, undefined for a sound mirror. Nothing that an author can push counts, and `git fsck` would count it: it also judges
 * the contents of commits and trees. An earlier command's lock files are no damage and are removed. No other command may run.
 */
export async function damageOf(mirror: ExaminedMirror, commits: readonly Revision[]): Promise<string | undefined> {
  return (
    (await damagedFiles(mirror)) ??
    (await damagedPacks(mirror)) ??
    (await damagedRefs(mirror)) ??
    (await missingTrees(mirror, commits))
  );
}

async function damagedFiles({ path, written }: ExaminedMirror): Promise<string | undefined> {
  for (const [name, content] of Object.entries(written)) {
    if ((await textOf(join(path, name))) !== content) return `the file ${name} is not as it was written`;
  }
  await removeLocks(path);
  const shallow = await textOf(join(path, "shallow"));
  return shallow === undefined || ID_LINES.test(shallow) ? undefined : "the list of shallow commits is cut off";
}

async function removeLocks(path: string): Promise<void> {
  const names = [...(await readdir(path)), ...(await filesBelow(join(path, "refs"))).map((name) => join("refs", name))];
  const locks = names.filter((name) => name.endsWith(".lock"));
  await Promise.all(locks.map((name) => rm(join(path, name), { recursive: true, force: true })));
}

async function damagedPacks({ path, soundPacks, run }: ExaminedMirror): Promise<string | undefined> {
  const folder = join(path, "objects", "pack");
  const files = new Set(await readdir(folder).catch(() => []));
  const stems = new Set([...files].flatMap((name) => /^(pack-[0-9a-f]+)\./.exec(name)?.[1] ?? []));
  for (const stem of stems) {
    const missing = PACK_FILES.find((ending) => !files.has(`${stem}.${ending}`));
    if (missing !== undefined) return `a pack has no ${missing}`;
  }
  const unknown = [...stems].filter((stem) => !soundPacks.has(stem));
  if (unknown.length === 0) return undefined;
  const indexes = unknown.map((stem) => join(folder, `${stem}.idx`));
  if (!(await succeeds(run(["verify-pack", "--", ...indexes], "")))) return "a pack is not as git wrote it";
  for (const stem of unknown) soundPacks.add(stem);
  return undefined;
}

/** Every ref names a commit, and the history of all refs is complete up to the shallow commits. */
async function damagedRefs({ path, run, sizes }: ExaminedMirror): Promise<string | undefined> {
  const folder = join(path, "refs");
  const texts = await Promise.all((await filesBelow(folder)).map((name) => textOf(join(folder, name))));
  if (!texts.every((text) => text !== undefined && ID_LINE.test(text))) return "a ref is cut off";
  const found = await sizes([...new Set(texts.map((text) => (text ?? "").trim()))]);
  if (!found.every((object) => object?.type === "commit")) return "the commit of a ref is missing";
  return (await succeeds(run(["rev-list", "--all", "--count"], ""))) ? undefined : "a commit is missing";
}

/** A tree that git cannot parse, or that is no tree, came that way; one that is missing did not. */
async function missingTrees({ run, sizes }: ExaminedMirror, commits: readonly Revision[]): Promise<string | undefined> {
  const found = await sizes(commits);
  const present = commits.filter((_, index) => found[index]?.type === "commit");
  if (present.length === 0) return undefined;
  const args = ["rev-list", "--no-walk", "--objects", "--no-object-names", "--filter=blob:none", "--missing=print"];
  try {
    const listed = await run([...args, "--stdin"], present.map((id) => `${id}\n`).join(""));
    return /^\?/m.test(listed.toString("latin1")) ? "a tree is missing" : undefined;
  } catch (error) {
    if (error instanceof GitFailure && error.kind === "exit") return undefined;
    throw error;
  }
}

async function succeeds(command: Promise<unknown>): Promise<boolean> {
  try {
    await command;
    return true;
  } catch (error) {
    if (error instanceof GitFailure && error.kind === "exit") return false;
    throw error;
  }
}

async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length));
}

function textOf(path: string): Promise<string | undefined> {
  return readFile(path, "latin1").catch(() => undefined);
}
