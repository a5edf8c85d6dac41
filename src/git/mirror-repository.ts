import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Revision } from "../core/model/brand.js";
import type { CloneSource } from "../core/ports/code-host.js";
import { environmentFor, GitFailure, isRefMissing, REMOTE, runGitProcess, startGit } from "./git-process.js";
import { type GitObject, ObjectReader } from "./object-reader.js";

interface MirrorLimits {
  /** Bytes of packed objects per mirror on disk. */
  readonly maxBytes: number;
  readonly maxCommits: number;
  /** Time limit of a git command, in milliseconds. */
  readonly timeoutMs: number;
  /** The reader process ends after this time without work, in milliseconds. */
  readonly idleMs: number;
}

const HEAD = "ref: refs/heads/main\n";
const CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n";
const SHA256_CONFIG = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = sha256\n";

const MAX_LIST_OUTPUT = 128 * 1024 * 1024;
const MAX_SMALL_OUTPUT = 16 * 1024 * 1024;

/** git opens one file per loose ref. Opening this many takes as long as starting git. */
const MAX_LOOSE_REFS = 300;

const FETCH = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"];
const FETCH_OPTIONS = ["--recurse-submodules=no", "--no-show-forced-updates"];
const NO_CONTENTS = "--filter=blob:none";
/** If there are commits already, only new objects come. Including small files then saves a second fetch. */
const SMALL_CONTENTS = "--filter=blob:limit=65536";

/** A ref or commit to fetch from the host, and the private ref that will name it in the mirror. */
export interface WantedRef {
  readonly from: string;
  readonly into: string;
  /** The commit to fetch if the host has no such ref. */
  readonly otherwise?: Revision;
}

/** A bare repository on disk without remotes, hooks and credentials. History and contents come on demand. One call at a time. */
export class MirrorRepository {
  generation = 0;
  /** A greater number than that of any mirror that was opened before; 0 if this process has not opened it. */
  openedAs = 0;

  readonly #objects: ObjectReader;
  readonly #scale: MirrorScale;
  /** Packs that an earlier examination found sound. git never changes a pack. */
  readonly soundPacks = new Set<string>();
  /** How many refs and commits this process has fetched since the mirror was cloned. */
  #asked = 0;
  #looseRefs = 0;

  constructor(
    readonly path: string,
    private readonly limits: MirrorLimits,
    private readonly start = startGit,
  ) {
    this.#objects = new ObjectReader(path, limits.idleMs, start);
    this.#scale = new MirrorScale(path);
  }

  /** Its hash is SHA-1 or SHA-256, as the length of `example` shows. */
  async create(example: Revision): Promise<void> {
    await mkdir(this.path, { recursive: true, mode: 0o700 });
    if ((await readdir(this.path)).includes("HEAD")) return;
    await this.close();
    // What git needs of `git init --bare` (gitrepository-layout(5)). HEAD comes last: it marks a complete repository.
    await mkdir(join(this.path, "objects", "pack"), { recursive: true });
    await mkdir(join(this.path, "refs"), { recursive: true });
    await writeFile(join(this.path, "config"), configFor([example]));
    await writeFile(join(this.path, "HEAD"), HEAD);
  }

  close(): Promise<void> {
    return this.#objects.close();
  }

  async remove(): Promise<void> {
    this.generation += 1;
    this.soundPacks.clear();
    this.#asked = 0;
    this.#looseRefs = 0;
    await this.close();
    await rm(this.path, { recursive: true, force: true, maxRetries: 3 });
  }

  /**
   * Joins all packs, since every fetch leaves one or two. Their differences are kept: finding better ones costs more than the
   * space is worth (`--window` in git-repack(1)). Only merges that were tried wrote objects outside of packs, which nobody needs.
   */
  async joinPacks(signal: AbortSignal): Promise<void> {
    await this.#run(["repack", "-a", "-d", "-n", "-q", "--window=0"], "pack", { signal });
    await this.#joinRefs(signal);
    const loose = (await readdir(join(this.path, "objects"))).filter((name) => /^[0-9a-f]{2}$/.test(name));
    await Promise.all(loose.map((name) => rm(join(this.path, "objects", name), { recursive: true, force: true })));
    // Its answers do not change, but it would keep the files of the old packs open.
    await this.close();
  }

  /** Each change request leaves three refs, and every fetch reads all of them: a file for each, or one for all. */
  async #joinRefs(signal: AbortSignal): Promise<void> {
    await this.#run(["pack-refs", "--all"], "pack", { signal });
    this.#looseRefs = 0;
  }

  /**
   * Proves that a mirror is damaged: it shows what only a crash, a full disk or somebody's hand leaves behind. Returns what it
   * found, as far as these commits need it; undefined for a sound mirror. Nothing that an author can push counts, and `git fsck`
   * would count it: it also judges the contents of commits and trees. An earlier command's lock files are no damage and are
   * removed. No other command may run.
   */
  async damage(commits: readonly Revision[], signal: AbortSignal): Promise<string | undefined> {
    await this.close();
    return (
      (await damagedFiles(this.path, commits)) ??
      (await damagedPacks(this, signal)) ??
      (await damagedRefs(this, signal)) ??
      (await missingTrees(this, commits, signal))
    );
  }

  size(): Promise<MirrorSize> {
    return this.#scale.weigh();
  }

  /**
   * Whether to clone the mirror again: it fills half of its space, or it has more than `maxCommits` shallow commits. Each fetch sends the
   * host a list of them, so that many make it slow. One history with many branches brings thousands, and its author must not be able to
   * cause a clone with every push: svc must also have fetched a tenth as many refs and commits itself.
   */
  async isOutgrown(): Promise<boolean> {
    const { maxBytes, maxCommits } = this.limits;
    if ((await this.size()).bytes > maxBytes / 2) return true;
    return this.#asked > maxCommits / 10 && (await this.shallowCommits()).size > maxCommits;
  }

  async hasCommits(ids: readonly Revision[], signal: AbortSignal): Promise<boolean> {
    const found = await this.sizes(ids, signal);
    return found.every((object) => object?.type === "commit");
  }

  async commitOf(ref: string, signal: AbortSignal): Promise<string | undefined> {
    const [found] = await this.sizes([ref], signal);
    return found?.id;
  }

  /** Types and sizes of objects, in the order of the names; undefined for missing ones. */
  sizes(names: readonly string[], signal: AbortSignal): Promise<readonly (GitObject | undefined)[]> {
    return this.#objects.ask("info", names, { ...this.limits, maxOutput: MAX_LIST_OUTPUT, signal });
  }

  /** Objects with their contents, in the order of the names; undefined for missing ones. */
  contents(
    names: readonly string[],
    signal: AbortSignal,
    maxOutput = MAX_LIST_OUTPUT,
  ): Promise<readonly (GitObject | undefined)[]> {
    return this.#objects.ask("contents", names, { ...this.limits, maxOutput, signal });
  }

  /** Fetches refs or commits, each into a private ref, with one call to the host. `first`: the repository is empty. */
  async fetchCommits(
    source: CloneSource,
    wanted: readonly WantedRef[],
    { first, signal }: { readonly first: boolean; readonly signal: AbortSignal },
  ): Promise<void> {
    if (this.#looseRefs > MAX_LOOSE_REFS) await this.#joinRefs(signal);
    this.#looseRefs += wanted.length;
    this.#asked += wanted.length;
    const options = [...FETCH, ...FETCH_OPTIONS, first ? NO_CONTENTS : SMALL_CONTENTS, "--depth=1", "--end-of-options"];
    const fetch = (refs: readonly WantedRef[]) =>
      this.remote([...options, REMOTE, ...refs.map(({ from, into }) => `+${from}:${into}`)], source, signal);
    await fetch(wanted).catch(async (error: unknown) => {
      const { from, otherwise } = wanted.find((one) => isRefMissing(error, one.from)) ?? {};
      if (otherwise === undefined) throw error;
      const others = wanted.map((one) => (one.from === from ? { ...one, from: otherwise } : one));
      return fetch(others);
    });
  }

  /** Fetches the history of these commits, `depth` parents deep, with one call to the host. */
  async deepen(source: CloneSource, ids: readonly Revision[], depth: number, signal: AbortSignal): Promise<void> {
    const args = [...FETCH, ...FETCH_OPTIONS, NO_CONTENTS, `--depth=${depth}`, "--end-of-options", REMOTE, ...ids];
    await this.remote(args, source, signal);
  }

  /** Commits whose parents were not fetched (`shallow` in gitrepository-layout(5)). */
  async shallowCommits(): Promise<ReadonlySet<string>> {
    const text = await readFile(join(this.path, "shallow"), "latin1").catch(() => "");
    return new Set(text.split("\n").filter((line) => line !== ""));
  }

  /** The commits of all branches and tags at the host, by full name. An annotated tag counts as the commit that it names. */
  async remoteRefs(source: CloneSource, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const args = ["ls-remote", "--quiet", "--heads", "--tags", "--end-of-options", REMOTE];
    return parseRefs(await this.remote(args, source, signal));
  }

  async fetchBlobs(source: CloneSource, ids: readonly string[], signal: AbortSignal): Promise<void> {
    // With any other negotiation the host assumes that we have the file contents of the commits that we have.
    const args = ["-c", "fetch.negotiationAlgorithm=noop", ...FETCH, ...FETCH_OPTIONS, NO_CONTENTS, "--stdin", REMOTE];
    await this.remote(args, source, signal, { input: linesOf(ids) });
  }

  /** Runs a command that only reads what is here, and returns what it prints. @throws {GitFailure} */
  local(
    args: readonly string[],
    signal: AbortSignal,
    limits: Pick<RunOptions, "input" | "maxOutput"> = {},
  ): Promise<Buffer> {
    return this.#run(args, "read", { ...limits, signal });
  }

  /** Runs a command that may fetch from the host. @throws {GitFailure} */
  async remote(
    args: readonly string[],
    source: CloneSource,
    signal: AbortSignal,
    options: Pick<RunOptions, "input" | "maxOutput" | "expected"> = {},
  ): Promise<Buffer> {
    await this.#removeUnfinishedPacks();
    const mayContinue = async () => (await this.size()).bytes <= this.limits.maxBytes;
    const output = await this.#run(args, source, { ...options, signal, mayContinue });
    if (!(await mayContinue())) throw new GitFailure("too-big", "");
    return output;
  }

  #run(args: readonly string[], access: "read" | "pack" | CloneSource, options: RunOptions): Promise<Buffer> {
    const { timeoutMs } = this.limits;
    const environment = environmentFor(this.path, access);
    return runGitProcess(this.start, { args, environment, timeoutMs, maxOutput: MAX_SMALL_OUTPUT, ...options });
  }

  /** A fetch or repack that was stopped leaves its packs. Whoever pushes again and again could fill the disk with them. */
  async #removeUnfinishedPacks(): Promise<void> {
    const folder = join(this.path, "objects", "pack");
    const names = await readdir(folder).catch(() => []);
    const unfinished = names.filter((name) => /^(?:tmp_|\.tmp-)/.test(name));
    await Promise.all(unfinished.map((name) => rm(join(folder, name), { force: true })));
  }
}

type RunOptions = Omit<Parameters<typeof runGitProcess>[1], "args" | "environment" | "timeoutMs" | "maxOutput"> & {
  readonly maxOutput?: number;
};

function configFor(commits: readonly Revision[]): string {
  return commits.some(({ length }) => length === 64) ? SHA256_CONFIG : CONFIG;
}

function linesOf(ids: readonly string[]): string {
  return ids.map((id) => `${id}\n`).join("");
}

interface MirrorSize {
  readonly bytes: number;
  readonly packs: number;
}

/** Files that git never changes again. Other names are still being written. */
const FINISHED = /^pack-[0-9a-f]+\.[a-z]+$/;

/** Measures a bare repository. It may have hundreds of packs; only new ones are measured. */
class MirrorScale {
  #finished: ReadonlyMap<string, number> = new Map();

  constructor(private readonly path: string) {}

  async weigh(): Promise<MirrorSize> {
    const folder = join(this.path, "objects", "pack");
    const names = await readdir(folder).catch(() => []);
    const sizes = await Promise.all(
      names.map(async (name) => ({ name, bytes: this.#finished.get(name) ?? (await sizeOf(join(folder, name))) })),
    );
    const known = sizes.flatMap(({ name, bytes }) =>
      bytes !== undefined && FINISHED.test(name) ? [[name, bytes] as const] : [],
    );
    this.#finished = new Map(known);
    return {
      bytes: sizes.reduce((sum, { bytes = 0 }) => sum + bytes, 0),
      packs: names.filter((name) => name.endsWith(".pack")).length,
    };
  }
}

/** In bytes; 0 is usual for a promisor file. Undefined for a file that is gone. */
async function sizeOf(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ size }) => size,
    () => undefined,
  );
}

/** Every pack has these: it is read through its index, and `promisor` says that it may refer to missing blobs. */
const PACK_FILES = ["pack", "idx", "promisor"];
const ID_LINES = /^(?:[0-9a-f]{40,64}\n)*$/;
const ID_LINE = /^[0-9a-f]{40,64}\n$/;

async function damagedFiles(path: string, commits: readonly Revision[]): Promise<string | undefined> {
  // git never changes these two.
  for (const [name, content] of Object.entries({ HEAD, config: configFor(commits) })) {
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

async function damagedPacks(mirror: MirrorRepository, signal: AbortSignal): Promise<string | undefined> {
  const { path, soundPacks } = mirror;
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
  if (!(await succeeds(mirror.local(["verify-pack", "--", ...indexes], signal)))) {
    return "a pack is not as git wrote it";
  }
  for (const stem of unknown) soundPacks.add(stem);
  return undefined;
}

/** Every ref names a commit, and the history of all refs is complete up to the shallow commits. */
async function damagedRefs(mirror: MirrorRepository, signal: AbortSignal): Promise<string | undefined> {
  const folder = join(mirror.path, "refs");
  const texts = await Promise.all((await filesBelow(folder)).map((name) => textOf(join(folder, name))));
  if (!texts.every((text) => text !== undefined && ID_LINE.test(text))) return "a ref is cut off";
  const found = await mirror.sizes([...new Set(texts.map((text) => (text ?? "").trim()))], signal);
  if (!found.every((object) => object?.type === "commit")) return "the commit of a ref is missing";
  return (await succeeds(mirror.local(["rev-list", "--all", "--count"], signal)))
    ? undefined
    : "a commit or a ref is missing";
}

/** Only a missing tree is damage: a tree that git cannot parse was pushed like that. */
async function missingTrees(
  mirror: MirrorRepository,
  commits: readonly Revision[],
  signal: AbortSignal,
): Promise<string | undefined> {
  const found = await mirror.sizes(commits, signal);
  const present = commits.filter((_, index) => found[index]?.type === "commit");
  if (present.length === 0) return undefined;
  const args = ["rev-list", "--no-walk", "--objects", "--no-object-names", "--filter=blob:none", "--missing=print"];
  try {
    const listed = await mirror.local([...args, "--stdin"], signal, { input: linesOf(present) });
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

/** Ids by the full names of refs, from what git-ls-remote(1) prints. A tag's commit follows it, marked by `^{}`. */
function parseRefs(output: Buffer): ReadonlyMap<string, string> {
  const lines = output
    .toString("utf8")
    .split("\n")
    .map((line) => /^([0-9a-f]{40}|[0-9a-f]{64})\t(refs\/.+?)(?:\^\{\})?$/.exec(line));
  return new Map(
    lines.flatMap((line) => (line?.[1] === undefined || line[2] === undefined ? [] : [[line[2], line[1]]])),
  );
}
