import { spawn } from "node:child_process";
import { gitEnvironment, runGit } from "../git/run-git.js";
import { ApiError, codes, unknown } from "./api-error.js";

const sha = /^[0-9a-f]{40}$/;

/** Regular files of a commit by path: the ids of their contents. */
export type Tree = ReadonlyMap<string, string>;

/**
 * A bare repository as Argo CD's repo-server sees it: names resolve afresh, what belongs to a commit id is kept for ever.
 * https://github.com/argoproj/argo-cd/blob/v3.5.1/util/git/client.go
 */
export class Repository {
  readonly #trees = new Map<string, Promise<Tree>>();
  readonly #contents = new Map<string, string>();
  readonly #changed = new Map<string, Promise<string[]>>();

  constructor(readonly folder: string) {}

  /**
   * A branch, tag, full ref, abbreviated or full commit id; empty or `HEAD` is the default branch.
   * A full id is taken as it is, whether or not it exists.
   * @throws {ApiError} code 2 when nothing has that name.
   */
  async resolve(revision: string | undefined): Promise<string> {
    const name = revision === undefined || revision === "" ? "HEAD" : revision;
    if (sha.test(name)) return name;
    const refs = name === "HEAD" || name.startsWith("refs/") ? [name] : [`refs/heads/${name}`, `refs/tags/${name}`];
    if (/^[0-9a-f]{7,39}$/.test(name)) refs.push(name);
    for (const ref of refs) {
      const args = ["rev-parse", "--quiet", "--verify", "--end-of-options", `${ref}^{commit}`];
      const { status, stdout } = await runGit(this.folder, args, { expected: [1, 128] });
      const found = stdout.trim().split("\n").at(-1) ?? "";
      if (status === 0 && sha.test(found)) return found;
    }
    throw unknown(`unable to resolve '${name}' to a commit SHA`);
  }

  /** @throws {ApiError} with the words of a failed checkout when the commit does not exist. */
  tree(revision: string): Promise<Tree> {
    let tree = this.#trees.get(revision);
    if (tree === undefined) {
      tree = this.#readTree(revision);
      tree.catch(() => this.#trees.delete(revision));
      this.#trees.set(revision, tree);
    }
    return tree;
  }

  /** Texts by path, those that exist. */
  async read(revision: string, paths: readonly string[]): Promise<Map<string, string>> {
    const tree = await this.tree(revision);
    const wanted = new Map(paths.flatMap((path) => [[path, tree.get(path)] as const]));
    const missing = [...wanted.values()].filter((blob) => blob !== undefined && !this.#contents.has(blob));
    if (missing.length > 0) await this.#readBlobs([...new Set(missing)] as string[]);
    const texts = new Map<string, string>();
    for (const [path, blob] of wanted) {
      const text = blob === undefined ? undefined : this.#contents.get(blob);
      if (text !== undefined) texts.set(path, text);
    }
    return texts;
  }

  /** Paths that differ between two commits. */
  changedPaths(from: string, to: string): Promise<string[]> {
    const key = `${from} ${to}`;
    let changed = this.#changed.get(key);
    if (changed === undefined) {
      const args = ["diff-tree", "-r", "-z", "--no-renames", "--name-only", "--end-of-options", from, to];
      changed = runGit(this.folder, args).then(({ stdout }) => stdout.split("\0").filter((path) => path !== ""));
      changed.catch(() => this.#changed.delete(key));
      this.#changed.set(key, changed);
    }
    return changed;
  }

  async #readTree(revision: string): Promise<Tree> {
    const args = ["ls-tree", "-r", "-z", "--full-tree", "--end-of-options", revision];
    const { status, stdout } = await runGit(this.folder, args, { expected: [128] });
    if (status !== 0) {
      const fetch = `\`git fetch origin ${revision} --tags --force --prune\` failed exit status 128`;
      const reason = `${fetch}: fatal: remote error: upload-pack: not our ref ${revision}`;
      throw unknown(
        `failed to initialize repository resources: rpc error: code = Internal desc = Failed to checkout revision ${revision}: ${reason}`,
      );
    }
    const files = new Map<string, string>();
    for (const entry of stdout.split("\0")) {
      const [, mode = "", blob = "", path = ""] = /^(\d+) blob ([0-9a-f]+)\t(.*)$/s.exec(entry) ?? [];
      if (mode.startsWith("100")) files.set(path, blob);
    }
    return files;
  }

  async #readBlobs(blobs: readonly string[]): Promise<void> {
    const output = await catFile(this.folder, blobs);
    let at = 0;
    for (const blob of blobs) {
      const end = output.indexOf(10, at);
      const size = Number(output.subarray(at, end).toString().split(" ")[2]);
      this.#contents.set(blob, output.subarray(end + 1, end + 1 + size).toString());
      at = end + 1 + size + 1;
    }
  }
}

async function catFile(folder: string, blobs: readonly string[]): Promise<Buffer> {
  const child = spawn("git", ["cat-file", "--batch"], { cwd: folder, env: gitEnvironment(), timeout: 15_000 });
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  child.stdin.on("error", () => undefined);
  child.stdin.end(`${blobs.join("\n")}\n`);
  const status = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (status !== 0) throw new Error(`git cat-file in ${folder} ended with ${String(status)}`);
  return Buffer.concat(chunks);
}

/** The repositories that sources name, opened once each. */
export class Repositories {
  readonly #open = new Map<string, Repository>();

  constructor(private readonly folderOf: (repoUrl: string) => string | undefined) {}

  /** @throws {ApiError} code 5, which is no "application not found", when the Git host has no such repository. */
  at(repoUrl: string): Repository {
    const folder = this.folderOf(repoUrl);
    if (folder === undefined) throw new ApiError(codes.notFound, "repository not found");
    let repository = this.#open.get(folder);
    if (repository === undefined) {
      repository = new Repository(folder);
      this.#open.set(folder, repository);
    }
    return repository;
  }
}
