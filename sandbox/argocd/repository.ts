import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { changedEntries } from "../git/changed-entries.js";
import { ObjectFolder } from "../git/object-folder.js";
import { FOLDER_MODE, readEntries } from "../git/tree-entries.js";
import { ApiError, codes, unknown } from "./api-error.js";
import { FetchedCopy } from "./fetched-copy.js";

const sha = /^[0-9a-f]{40}$/;

/** Blob ids of a commit's regular files, by path. */
export type Tree = ReadonlyMap<string, string>;

/**
 * A bare repository as the repo-server sees it: names are resolved each time, contents of a commit are cached for good.
 * https://github.com/argoproj/argo-cd/blob/v3.5.1/util/git/client.go
 */
export class Repository {
  readonly #trees = new Map<string, Promise<Tree>>();
  readonly #changed = new Map<string, readonly string[]>();
  readonly #leavingLinks = new Map<string, string | undefined>();
  readonly #objects: ObjectFolder;

  constructor(
    objects: ObjectFolder,
    private readonly copy?: FetchedCopy,
  ) {
    this.#objects = objects;
  }

  /**
   * A branch, tag, full ref, abbreviated or full commit id; empty or `HEAD` is the default branch.
   * A full id is not checked for existence.
   * @throws {ApiError} code 2 for an unknown name.
   */
  async resolve(revision: string | undefined): Promise<string> {
    if (!sha.test(revision ?? "")) await this.copy?.refs();
    return this.#resolved(revision);
  }

  #resolved(revision: string | undefined): string {
    const name = revision === undefined || revision === "" ? "HEAD" : revision;
    if (sha.test(name)) return name;
    const refs = name === "HEAD" || name.startsWith("refs/") ? [name] : [`refs/heads/${name}`, `refs/tags/${name}`];
    if (/^[0-9a-f]{7,39}$/.test(name)) refs.push(name);
    for (const ref of refs) {
      const commit = this.#objects.commit(ref);
      if (commit !== undefined) return commit.id;
    }
    throw unknown(`unable to resolve '${name}' to a commit SHA`);
  }

  /** @throws {ApiError} with the words of a failed checkout if the commit does not exist. */
  tree(revision: string): Promise<Tree> {
    let tree = this.#trees.get(revision);
    if (tree === undefined) {
      tree = this.#checkedOut(revision);
      tree.catch(() => this.#trees.delete(revision));
      this.#trees.set(revision, tree);
    }
    return tree;
  }

  async #checkedOut(revision: string): Promise<Tree> {
    if (this.copy !== undefined && this.#objects.treeOf(revision) === undefined) await this.copy.commit(revision);
    return this.#readTree(revision);
  }

  #readTree(revision: string): Tree {
    const root = this.#objects.treeOf(revision);
    if (root === undefined) {
      const fetch = `\`git fetch origin ${revision} --tags --force --prune\` failed exit status 128`;
      const reason = `${fetch}: fatal: remote error: upload-pack: not our ref ${revision}`;
      throw unknown(
        `failed to initialize repository resources: rpc error: code = Internal desc = Failed to checkout revision ${revision}: ${reason}`,
      );
    }
    const files = [...this.#entriesOf(root.content, "")].filter(({ mode }) => mode.startsWith("100"));
    return new Map(files.map(({ path, id }) => [path, id]));
  }

  /** A symbolic link of a commit, anywhere, that leads out of the repository. */
  leavingLink(revision: string): string | undefined {
    const root = this.#objects.treeOf(revision);
    if (root !== undefined && !this.#leavingLinks.has(revision)) {
      const links = [...this.#entriesOf(root.content, "")].filter(({ mode }) => mode === "120000");
      const leaving = links.find(({ path, id }) => leaves(path, this.#objects.read(id)?.content.toString() ?? ""));
      this.#leavingLinks.set(revision, leaving?.path);
    }
    return this.#leavingLinks.get(revision);
  }

  /** Texts of the files that exist, by path. */
  async read(revision: string, paths: readonly string[]): Promise<Map<string, string>> {
    const tree = await this.tree(revision);
    const texts = new Map<string, string>();
    for (const path of paths) {
      const blob = tree.get(path);
      const object = blob === undefined ? undefined : this.#objects.read(blob);
      if (object !== undefined) texts.set(path, object.content.toString());
    }
    return texts;
  }

  /**
   * Paths that differ between two commits, as `git diff --name-only` prints them, which Argo CD reads (v3.5 `ChangedFiles`): of a file that
   * moved as it was, the new name only, and special names in quotes. Undefined if one of the commits is not here.
   */
  changedPaths(from: string, to: string): readonly string[] | undefined {
    const key = `${from} ${to}`;
    const known = this.#changed.get(key);
    if (known !== undefined) return known;
    const entries = changedEntries(this.#objects, from, to);
    const added = new Set(entries?.flatMap(({ before, after }) => (before === undefined ? [after?.id] : [])));
    const named = entries?.filter(({ before, after }) => after !== undefined || !added.has(before?.id));
    const changed = named?.map(({ path }) => (/[^ -~]|["\\]/.test(path) ? `"${path}"` : path));
    if (changed !== undefined) this.#changed.set(key, changed);
    return changed;
  }

  *#entriesOf(tree: Buffer, folder: string): Generator<{ mode: string; path: string; id: string }> {
    for (const { mode, name, id } of readEntries(tree)) {
      if (mode !== FOLDER_MODE) yield { mode, path: folder + name, id };
      const below = mode === FOLDER_MODE ? this.#objects.read(id) : undefined;
      if (below !== undefined) yield* this.#entriesOf(below.content, `${folder}${name}/`);
    }
  }
}

function leaves(link: string, target: string): boolean {
  let depth = link.split("/").length - 1;
  const depths = target.split("/").map((part) => (depth += part === ".." ? -1 : part === "" || part === "." ? 0 : 1));
  return target.startsWith("/") || depths.some((one) => one < 0);
}

/** The repository by `repoURL`, or `network`: Argo CD fetches from the address, as a real one does. */
export type RepositorySource = "network" | ((repoUrl: string) => ObjectFolder | undefined);

/** Opens each repository that sources name once. */
export class Repositories {
  /** `reposerver.allow.oob.symlinks` */
  allowsLeavingLinks = false;
  readonly #open = new Map<string, Repository>();
  #copies: string | undefined;

  constructor(private readonly source: RepositorySource) {}

  /** @throws {ApiError} code 5 for an unknown repository, not to be confused with "application not found". */
  at(repoUrl: string): Repository {
    const objects = this.source === "network" ? undefined : this.source(repoUrl);
    if (objects === undefined && this.source !== "network") throw new ApiError(codes.notFound, "repository not found");
    const key = objects?.folder ?? repoUrl;
    let repository = this.#open.get(key);
    if (repository === undefined) {
      repository = objects === undefined ? this.#copied(repoUrl) : new Repository(objects);
      this.#open.set(key, repository);
    }
    return repository;
  }

  /** Refuses to render anything of a commit with such a link (v3.5.1 `CheckOutOfBoundsSymlinks`). @throws {ApiError} */
  checkLinks(repoUrl: string, revision: string): void {
    const link = this.allowsLeavingLinks ? undefined : this.at(repoUrl).leavingLink(revision);
    if (link !== undefined) throw unknown(`repository contains out-of-bounds symlinks. file: ${link}`);
  }

  close(): void {
    if (this.#copies !== undefined) rmSync(this.#copies, { recursive: true, force: true });
  }

  #copied(repoUrl: string): Repository {
    this.#copies ??= mkdtempSync(join(tmpdir(), "sandbox-repo-server-"));
    const folder = join(this.#copies, createHash("sha1").update(repoUrl).digest("hex"));
    return new Repository(new ObjectFolder(folder, "git"), new FetchedCopy(folder, repoUrl));
  }
}
