import { createHash } from "node:crypto";
import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Revision } from "../core/brand.js";
import type { CloneSource, TreeEntry } from "../core/ports.js";
import { localEnvironment, REMOTE, remoteEnvironment } from "./environment.js";
import { GitFailure } from "./git-failure.js";
import { runGitProcess } from "./git-process.js";
import { parseSizes, parseTexts } from "./parse-blobs.js";
import { parsePaths, parseTree } from "./parse-trees.js";

export interface MirrorLimits {
  /** Bytes of packed objects that one repository's mirror may take on the disk. */
  readonly maxBytes: number;
  /** Milliseconds that one git command may take. */
  readonly timeoutMs: number;
}

/** Bytes of a list of files, 1 MiB of ids aside. */
const MAX_LIST_OUTPUT = 128 * 1024 * 1024;
const MAX_SMALL_OUTPUT = 16 * 1024 * 1024;

const FETCH = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"];
const FETCH_OPTIONS = ["--recurse-submodules=no", "--no-show-forced-updates", "--filter=blob:none"];

/**
 * One bare repository on the disk, without a remote, hooks or credentials in it. Commits come without history and
 * without file contents; contents come when they are asked for. Not safe for two users at once.
 */
export class MirrorRepository {
  /** Counts how often the folder was begun anew. */
  generation = 0;

  constructor(
    readonly path: string,
    private readonly limits: MirrorLimits,
  ) {}

  /** Makes the repository unless it exists; the length of an id tells the kind of its hash. */
  async create(example: Revision, signal: AbortSignal): Promise<void> {
    await mkdir(this.path, { recursive: true, mode: 0o700 });
    if ((await readdir(this.path)).includes("HEAD")) return;
    const format = example.length === 64 ? "sha256" : "sha1";
    await this.#local(["init", "--quiet", "--bare", "--template=", `--object-format=${format}`], "", signal);
  }

  async remove(): Promise<void> {
    this.generation += 1;
    await rm(this.path, { recursive: true, force: true, maxRetries: 3 });
  }

  /** Bytes and number of packs. */
  async size(): Promise<{ readonly bytes: number; readonly packs: number }> {
    const folder = join(this.path, "objects", "pack");
    const names = await readdir(folder).catch(() => []);
    const sizes = await Promise.all(
      names.map((name) =>
        stat(join(folder, name)).then(
          (file) => file.size,
          () => 0,
        ),
      ),
    );
    return {
      bytes: sizes.reduce((sum, size) => sum + size, 0),
      packs: names.filter((name) => name.endsWith(".pack")).length,
    };
  }

  async hasCommits(ids: readonly Revision[], signal: AbortSignal): Promise<boolean> {
    const output = await this.#local(["cat-file", "--batch-check=%(objecttype)"], linesOf(ids), signal);
    return output.toString("latin1") === "commit\n".repeat(ids.length);
  }

  /** Fetches refs or commits, each into a private ref; one conversation with the host. */
  async fetchCommits(
    source: CloneSource,
    wanted: readonly { readonly from: string; readonly into: string }[],
    signal: AbortSignal,
  ): Promise<void> {
    const refspecs = wanted.map(({ from, into }) => `+${from}:${into}`);
    await this.#remote(
      [...FETCH, ...FETCH_OPTIONS, "--depth=1", "--end-of-options", REMOTE, ...refspecs],
      source,
      "",
      signal,
    );
  }

  /** Fetches file contents by id, all in one conversation. */
  async fetchBlobs(source: CloneSource, ids: readonly string[], signal: AbortSignal): Promise<void> {
    // With any other negotiation the host takes the contents of commits that we have for contents that we have.
    const args = ["-c", "fetch.negotiationAlgorithm=noop", ...FETCH, ...FETCH_OPTIONS, "--stdin", REMOTE];
    await this.#remote(args, source, linesOf(ids), signal);
  }

  async commitOf(ref: string, signal: AbortSignal): Promise<string> {
    const output = await this.#local(["rev-parse", "--verify", "--quiet", "--end-of-options", ref], "", signal);
    return output.toString("latin1").trim().split("\n").at(-1) ?? "";
  }

  async tree(revision: Revision, signal: AbortSignal): Promise<readonly TreeEntry[]> {
    const args = ["ls-tree", "-r", "-z", "--full-tree", "--end-of-options", revision];
    return parseTree(await this.#local(args, "", signal, MAX_LIST_OUTPUT));
  }

  async changedPaths(from: Revision, to: Revision, signal: AbortSignal): Promise<readonly string[]> {
    const args = ["diff-tree", "-r", "-z", "--no-renames", "--name-only", "--ignore-submodules=none", "--no-ext-diff"];
    return parsePaths(await this.#local([...args, "--end-of-options", from, to], "", signal, MAX_LIST_OUTPUT));
  }

  async blobSizes(ids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, number | "missing">> {
    return parseSizes(await this.#local(["cat-file", "--batch-check"], linesOf(ids), signal, MAX_LIST_OUTPUT));
  }

  /** Texts of contents that are all here; `bytes` is their size together. */
  async blobTexts(
    ids: readonly string[],
    bytes: number,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, string | undefined>> {
    const headers = ids.length * 128;
    return parseTexts(await this.#local(["cat-file", "--batch"], linesOf(ids), signal, bytes + headers));
  }

  #local(args: readonly string[], input: string, signal: AbortSignal, maxOutput = MAX_SMALL_OUTPUT): Promise<Buffer> {
    const { timeoutMs } = this.limits;
    return runGitProcess({
      args,
      input,
      environment: localEnvironment(this.path),
      timeoutMs,
      maxOutput,
      signal,
    });
  }

  async #remote(args: readonly string[], source: CloneSource, input: string, signal: AbortSignal): Promise<void> {
    const { timeoutMs, maxBytes } = this.limits;
    const environment = remoteEnvironment(this.path, source);
    const mayGoOn = async () => (await this.size()).bytes <= maxBytes;
    await runGitProcess({ args, input, environment, timeoutMs, maxOutput: MAX_SMALL_OUTPUT, signal, mayGoOn });
    if (!(await mayGoOn())) throw new GitFailure("too-big", "");
  }
}

/** A name that holds nothing of what people chose, so that it is safe on every file system. */
export function folderNameOf(host: string, repository: string, url: string): string {
  return createHash("sha256")
    .update(JSON.stringify([host, repository, url]))
    .digest("hex")
    .slice(0, 40);
}

function linesOf(ids: readonly string[]): string {
  return ids.map((id) => `${id}\n`).join("");
}
