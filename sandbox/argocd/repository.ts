import { ObjectReader } from "../git/object-reader.js";
import { runGit } from "../git/run-git.js";
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

  readonly #objects: ObjectReader;

  constructor(readonly folder: string) {
    this.#objects = new ObjectReader(folder);
  }

  close(): void {
    this.#objects.close();
  }

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
      const commit = await this.#objects.read(`${ref}^{commit}`);
      if (commit !== undefined) return commit.id;
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
    const root = await this.#objects.read(`${revision}^{tree}`);
    if (root === undefined) {
      const fetch = `\`git fetch origin ${revision} --tags --force --prune\` failed exit status 128`;
      const reason = `${fetch}: fatal: remote error: upload-pack: not our ref ${revision}`;
      throw unknown(
        `failed to initialize repository resources: rpc error: code = Internal desc = Failed to checkout revision ${revision}: ${reason}`,
      );
    }
    return new Map(await this.#filesOf(root.content, ""));
  }

  async #filesOf(tree: Buffer, folder: string): Promise<[path: string, blob: string][]> {
    const found = [...entriesOf(tree)].map(async ({ mode, name, id }): Promise<[string, string][]> => {
      if (mode.startsWith("100")) return [[folder + name, id]];
      if (mode !== "40000") return [];
      const below = await this.#objects.read(id);
      return below === undefined ? [] : this.#filesOf(below.content, `${folder}${name}/`);
    });
    return (await Promise.all(found)).flat();
  }

  async #readBlobs(blobs: readonly string[]): Promise<void> {
    await Promise.all(
      blobs.map(async (blob) => {
        const object = await this.#objects.read(blob);
        if (object !== undefined) this.#contents.set(blob, object.content.toString());
      }),
    );
  }
}

/** A tree object: `<mode> <name>\0<20 bytes of id>` for each entry. */
function* entriesOf(tree: Buffer): Generator<{ readonly mode: string; readonly name: string; readonly id: string }> {
  for (let at = 0; at < tree.length;) {
    const space = tree.indexOf(0x20, at);
    const nameEnd = tree.indexOf(0, space);
    yield {
      mode: tree.toString("latin1", at, space),
      name: tree.toString("utf8", space + 1, nameEnd),
      id: tree.toString("hex", nameEnd + 1, nameEnd + 21),
    };
    at = nameEnd + 21;
  }
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

  close(): void {
    for (const repository of this.#open.values()) repository.close();
  }
}
