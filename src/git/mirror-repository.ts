import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Revision } from "../core/model/brand.js";
import type { CloneSource } from "../core/ports/code-host.js";
import {
  GitFailure,
  localEnvironment,
  packingEnvironment,
  REMOTE,
  remoteEnvironment,
  runGitProcess,
  startGit,
} from "./git-process.js";
import { type GitObject, ObjectReader } from "./object-reader.js";
import {
  type FileLog,
  fileLogArguments,
  linesIn,
  LOG_FORMAT,
  logArguments,
  type LoggedCommit,
  parseFileLog,
  parseLog,
  parseRefs,
} from "./parse-log.js";

export interface MirrorLimits {
  /** Bytes of packed objects per mirror on disk. */
  readonly maxBytes: number;
  /** Time limit of a git command, in milliseconds. */
  readonly timeoutMs: number;
  /** The reader process ends after this time without work, in milliseconds. */
  readonly idleMs: number;
}

const HEAD = "ref: refs/heads/main\n";
const CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n";
const SHA256_CONFIG = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = sha256\n";

/** Most bytes of one answer about trees or sizes. */
const MAX_LIST_OUTPUT = 128 * 1024 * 1024;
const MAX_SMALL_OUTPUT = 16 * 1024 * 1024;

const MAX_LOG_OUTPUT = 32 * 1024 * 1024;

const FETCH = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"];
const FETCH_OPTIONS = ["--recurse-submodules=no", "--no-show-forced-updates"];
const NO_CONTENTS = "--filter=blob:none";
/** If there are commits already, only new objects come. Including small files then saves a second fetch. */
const SMALL_CONTENTS = "--filter=blob:limit=65536";

/** A bare repository on disk without remotes, hooks and credentials. History and contents come on demand. One call at a time. */
export class MirrorRepository {
  /** Increases whenever the folder is removed. */
  generation = 0;

  readonly #objects: ObjectReader;
  readonly #scale: MirrorScale;
  readonly #soundPacks = new Set<string>();

  constructor(
    readonly path: string,
    private readonly limits: MirrorLimits,
    private readonly start = startGit,
  ) {
    this.#objects = new ObjectReader(path, limits.idleMs, start);
    this.#scale = new MirrorScale(path);
  }

  /** Creates the repository unless it exists. Its hash is SHA-1 or SHA-256, as the length of `example` shows. */
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

  /** Ends the reader process; the next read starts it again. */
  close(): Promise<void> {
    return this.#objects.close();
  }

  async remove(): Promise<void> {
    this.generation += 1;
    this.#soundPacks.clear();
    await this.close();
    await rm(this.path, { recursive: true, force: true, maxRetries: 3 });
  }

  /**
   * Joins all packs into one, since every fetch leaves one or two. Their differences are kept as they are: finding better ones
   * costs more than the space is worth (`--window` in git-repack(1)).
   */
  async joinPacks(signal: AbortSignal): Promise<void> {
    const args = ["repack", "-a", "-d", "-n", "-q", "--window=0"];
    const { timeoutMs } = this.limits;
    const environment = packingEnvironment(this.path);
    await runGitProcess(this.start, { args, environment, timeoutMs, maxOutput: MAX_SMALL_OUTPUT, signal });
    // Its answers do not change, but it would keep the files of the old packs open.
    await this.close();
  }

  /** What a crash or the disk did to the mirror, as far as these commits need it; undefined if it is sound. */
  async damage(commits: readonly Revision[], signal: AbortSignal): Promise<string | undefined> {
    await this.close();
    return damageOf(
      {
        path: this.path,
        written: { HEAD, config: configFor(commits) },
        soundPacks: this.#soundPacks,
        run: (args, input) => this.#local(args, input, signal),
        sizes: (names) => this.sizes(names, signal),
      },
      commits,
    );
  }

  size(): Promise<MirrorSize> {
    return this.#scale.weigh();
  }

  async hasCommits(ids: readonly Revision[], signal: AbortSignal): Promise<boolean> {
    const found = await this.sizes(ids, signal);
    return found.every((object) => object?.type === "commit");
  }

  /** The commit that a ref names; undefined if there is none. */
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
    wanted: readonly { readonly from: string; readonly into: string }[],
    { first, signal }: { readonly first: boolean; readonly signal: AbortSignal },
  ): Promise<void> {
    const refspecs = wanted.map(({ from, into }) => `+${from}:${into}`);
    const filter = first ? NO_CONTENTS : SMALL_CONTENTS;
    const args = [...FETCH, ...FETCH_OPTIONS, filter, "--depth=1", "--end-of-options", REMOTE, ...refspecs];
    await this.#remote(args, source, "", signal);
  }

  /** Fetches the history of these commits, `depth` parents deep, with one call to the host. */
  async deepen(source: CloneSource, ids: readonly Revision[], depth: number, signal: AbortSignal): Promise<void> {
    const args = [...FETCH, ...FETCH_OPTIONS, NO_CONTENTS, `--depth=${depth}`, "--end-of-options", REMOTE, ...ids];
    await this.#remote(args, source, "", signal);
  }

  /** Commits whose parents were not fetched (`shallow` in gitrepository-layout(5)). */
  async shallowCommits(): Promise<ReadonlySet<string>> {
    const text = await readFile(join(this.path, "shallow"), "latin1").catch(() => "");
    return new Set(text.split("\n").filter((line) => line !== ""));
  }

  /** Commits of `to` that `from` lacks, newest first, each with the paths that it changes against its first parent. */
  async log(from: Revision, to: Revision, most: number, signal: AbortSignal): Promise<readonly LoggedCommit[]> {
    return parseLog(await this.#local(logArguments(from, to, most), "", signal, MAX_LOG_OUTPUT));
  }

  /** First parents of a commit, itself included, and the versions of a file among them, both newest first. */
  async fileLog(of: Revision, path: string, most: number, signal: AbortSignal): Promise<FileLog> {
    return parseFileLog(await this.#local(fileLogArguments(of, path, most), "", signal));
  }

  /** Commits in the history of this one whose parents are missing or that have none. */
  async oldestCommits(of: Revision, signal: AbortSignal): Promise<readonly LoggedCommit[]> {
    const args = ["log", "-z", "--max-parents=0", "--no-patch", `--format=${LOG_FORMAT}`, "--end-of-options", of, "--"];
    return parseLog(await this.#local(args, "", signal));
  }

  /** What a command prints that only reads the history that is here. */
  async lines(args: readonly string[], signal: AbortSignal): Promise<readonly string[]> {
    return linesIn(await this.#local(args, "", signal));
  }

  /**
   * The tree of a merge of two commits (git-merge-tree(1)). git fetches the contents that it has to compare.
   * @throws {GitFailure} "exit" if they conflict.
   */
  async mergedTree(source: CloneSource, one: Revision, other: Revision, signal: AbortSignal): Promise<string> {
    const args = ["merge-tree", "--write-tree", "--no-messages", "--end-of-options", one, other];
    return (await this.#remote(args, source, "", signal)).toString("latin1").trim();
  }

  /** The commits of all branches and tags at the host, by full name. An annotated tag counts as the commit that it names. */
  async remoteRefs(source: CloneSource, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const args = ["ls-remote", "--quiet", "--heads", "--tags", "--end-of-options", REMOTE];
    return parseRefs(await this.#remote(args, source, "", signal));
  }

  /** Fetches file contents by id, with one call to the host. */
  async fetchBlobs(source: CloneSource, ids: readonly string[], signal: AbortSignal): Promise<void> {
    // With any other negotiation the host assumes that we have the file contents of the commits that we have.
    const args = ["-c", "fetch.negotiationAlgorithm=noop", ...FETCH, ...FETCH_OPTIONS, NO_CONTENTS, "--stdin", REMOTE];
    await this.#remote(args, source, linesOf(ids), signal);
  }

  #local(args: readonly string[], input: string, signal: AbortSignal, maxOutput = MAX_SMALL_OUTPUT): Promise<Buffer> {
    const { timeoutMs } = this.limits;
    const environment = localEnvironment(this.path);
    return runGitProcess(this.start, { args, input, environment, timeoutMs, maxOutput, signal });
  }

  async #remote(args: readonly string[], source: CloneSource, input: string, signal: AbortSignal): Promise<Buffer> {
    const { timeoutMs, maxBytes } = this.limits;
    const environment = remoteEnvironment(this.path, source);
    await this.#removeUnfinishedPacks();
    const mayContinue = async () => (await this.size()).bytes <= maxBytes;
    const limits = { timeoutMs, maxOutput: MAX_SMALL_OUTPUT, signal, mayContinue };
    const output = await runGitProcess(this.start, { args, input, environment, ...limits });
    if (!(await mayContinue())) throw new GitFailure("too-big", "");
    return output;
  }

  /** A fetch that was stopped leaves what it had received. Whoever pushes again and again could fill the disk with it. */
  async #removeUnfinishedPacks(): Promise<void> {
    const folder = join(this.path, "objects", "pack");
    const names = await readdir(folder).catch(() => []);
    const unfinished = names.filter((name) => name.startsWith("tmp_"));
    await Promise.all(unfinished.map((name) => rm(join(folder, name), { force: true })));
  }
}

function configFor(commits: readonly Revision[]): string {
  return commits.some(({ length }) => length === 64) ? SHA256_CONFIG : CONFIG;
}

function linesOf(ids: readonly string[]): string {
  return ids.map((id) => `${id}\n`).join("");
}

/** The size of a mirror on disk. */
interface MirrorSize {
  /** Of the packs and the files beside them. */
  readonly bytes: number;
  readonly packs: number;
}

/** Files that git never changes again. Other names are still being written. */
const FINISHED = /^pack-[0-9a-f]+\.[a-z]+$/;

/** Measures a bare repository. It may have hundreds of packs; only new ones are measured. */
class MirrorScale {
  #finished: ReadonlyMap<string, number> = new Map();

  constructor(private readonly path: string) {}

  /** The size is zero if there is no repository. */
  async weigh(): Promise<MirrorSize> {
    const folder = join(this.path, "objects", "pack");
    const names = await readdir(folder).catch(() => []);
    const sizes = await Promise.all(
      names.map(async (name) => [name, this.#finished.get(name) ?? (await sizeOf(join(folder, name)))] as const),
    );
    this.#finished = new Map(sizes.filter(([name, bytes]) => FINISHED.test(name) && bytes > 0));
    return {
      bytes: sizes.reduce((sum, [, bytes]) => sum + bytes, 0),
      packs: names.filter((name) => name.endsWith(".pack")).length,
    };
  }
}

/** Zero if the file is gone. */
async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}

/** What the examination needs of the mirror. */
interface ExaminedMirror {
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
async function damageOf(mirror: ExaminedMirror, commits: readonly Revision[]): Promise<string | undefined> {
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

/** Only a missing tree is damage: a tree that git cannot parse was pushed like that. */
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
