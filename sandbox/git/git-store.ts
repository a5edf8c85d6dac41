import { cp, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { FileChanges } from "../forge.js";
import { AnswerCache } from "./answer-cache.js";
import { changedWithoutGit } from "./changed-entries.js";
import { readChangedPaths, type ChangedPath } from "./changed-paths.js";
import { CommitGraph } from "./commit-graph.js";
import { readCommit, type CommitFacts } from "./commit-log.js";
import { ObjectFolder } from "./object-folder.js";
import { conflictsOfTakingBack, mergedTree, replay, takenBack } from "./replay.js";
import { runGit, type GitRun } from "./run-git.js";
import { readEntries, type TreeEntry } from "./tree-entries.js";
import { writeCommit, type CommitOptions, type NewCommit } from "./write-commit.js";

export type MergeMethod = "merge" | "squash" | "rebase";

interface BareRepository {
  readonly objects: ObjectFolder;
  readonly graph: CommitGraph;
}

/** Why a revert fails. */
export class CannotRevert extends Error {
  override readonly name = "CannotRevert";
  constructor(readonly why: "conflict" | "empty") {
    super(why);
  }
}

/** Real bare repositories, written without checkouts: in memory, until git needs them in a temporary folder. */
export class GitStore {
  readonly #root: string;
  readonly #repositories = new Map<string, BareRepository>();
  readonly #writing = new Map<string, Promise<unknown>>();
  readonly #renamed = new Set<string>();
  #answers = new AnswerCache();
  #created = 0;
  #lastTime = 0;

  private constructor(root: string) {
    this.#root = root;
  }

  static async create(): Promise<GitStore> {
    return new GitStore(await mkdtemp(join(tmpdir(), "sandbox-git-")));
  }

  /** Creates a repository with one commit. `serverPath` is its folder in the store, by default `<name>.git`. */
  async createRepository(
    name: string,
    files: FileChanges,
    options: { readonly defaultBranch?: string; readonly serverPath?: string } = {},
  ): Promise<void> {
    if (this.#repositories.has(name)) throw new Error(`The repository ${name} exists already`);
    // The folder of one that was renamed keeps the old name.
    this.#created += 1;
    const folder = this.#renamed.has(name) ? `${name}-${this.#created}.git` : `${name}.git`;
    const directory = join(this.#root, options.serverPath ?? folder);
    const branch = options.defaultBranch ?? "main";
    const objects = new ObjectFolder(directory, { defaultBranch: branch });
    this.#repositories.set(name, { objects, graph: new CommitGraph() });
    await this.commit(name, branch, files, { message: "Initial commit" });
  }

  rename(name: string, newName: string): void {
    if (this.#repositories.has(newName)) throw new Error(`The repository ${newName} exists already`);
    this.#repositories.set(newName, this.#repository(name));
    this.#repositories.delete(name);
    this.#renamed.add(name);
    this.#answers = new AnswerCache();
  }

  async fork(name: string, forkName: string): Promise<void> {
    if (this.#repositories.has(forkName)) throw new Error(`The repository ${forkName} exists already`);
    const directory = join(this.#root, `${forkName}.git`);
    await mkdir(dirname(directory), { recursive: true });
    const { objects, graph } = this.#repository(name);
    await this.#alone(name, async () => {
      await cp(objects.onDisk(), directory, { recursive: true });
      const copy = { objects: new ObjectFolder(directory, { copyOf: objects }), graph: new CommitGraph(graph) };
      this.#repositories.set(forkName, copy);
    });
  }

  /** The bare repository's folder, for git. */
  directory(name: string): string {
    return this.#repository(name).objects.onDisk();
  }

  /** The repository's objects and refs. */
  objects(name: string): ObjectFolder {
    return this.#repository(name).objects;
  }

  names(): string[] {
    return [...this.#repositories.keys()];
  }

  /** Commits on top of the branch, or of `from` if the branch is new. Returns the commit's id. */
  async commit(name: string, branch: string, changes: FileChanges, options: CommitOptions = {}): Promise<string> {
    if (options.back !== undefined) {
      await this.setRef(name, `refs/heads/${branch}`, options.back);
      return options.back;
    }
    return this.#alone(name, async () => {
      const parent = options.onto ?? (await this.resolve(name, `refs/heads/${branch}`)) ?? options.from;
      const parents = [parent, options.merging].filter((id) => id !== undefined);
      const [one, other] = parents;
      const tree = one === undefined || other === undefined ? undefined : await this.mergedTree(name, one, other);
      return this.#write(name, branch, {
        message: options.message ?? `Change ${Object.keys(changes).slice(0, 3).join(", ")}`,
        author: options.author ?? "sandbox",
        committer: options.committer,
        parents,
        changes,
        ...(tree === undefined ? {} : { tree }),
      });
    });
  }

  /** The commit that a branch, a full ref or an id names. */
  resolve(name: string, rev: string): Promise<string | undefined> {
    return Promise.resolve(this.#resolved(name, rev));
  }

  #resolved(name: string, rev: string): string | undefined {
    if (!/^[^\s~^:?*[\\\p{Cc}-][^\s~^:?*[\\\p{Cc}]*$/u.test(rev) || rev.includes("..")) return undefined;
    if (this.#repository(name).graph.has(rev)) return rev;
    const refs = rev.startsWith("refs/") ? [rev] : [`refs/heads/${rev}`, rev];
    const objects = this.#repository(name).objects;
    return refs.map((ref) => objects.commit(ref)?.id).find((id) => id !== undefined);
  }

  /** What the root of a revision has of this name, with its content; undefined if there is nothing. */
  entryAt(name: string, rev: string, entry: string): (TreeEntry & { readonly content: Buffer }) | undefined {
    const { objects } = this.#repository(name);
    const tree = objects.treeOf(this.#resolved(name, rev) ?? "");
    const found = tree && [...readEntries(tree.content)].find((one) => one.name === entry);
    return found && { ...found, content: objects.read(found.id)?.content ?? Buffer.alloc(0) };
  }

  /** Sets a full ref (`refs/…`), or deletes it. */
  async setRef(name: string, ref: string, revision: string | undefined): Promise<void> {
    await this.#alone(name, () => {
      this.#moveRef(name, ref, revision);
      return Promise.resolve();
    });
  }

  /** Copies a commit with its history from another repository, such as a fork. */
  async copyObjects(from: string, to: string, revision: string): Promise<void> {
    const args = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--end-of-options"];
    await this.#alone(to, () => runGit(this.directory(to), [...args, this.directory(from), revision]));
    this.#repository(to).graph.copy(this.#repository(from).graph, revision);
  }

  async mergeBase(name: string, a: string, b: string): Promise<string | undefined> {
    const known = this.#repository(name).graph.mergeBase(a, b);
    if (known !== undefined) return known;
    return this.#of(name, "merge-base", a, b, async (objects) => {
      const { stdout } = await runGit(objects.onDisk(), ["merge-base", "--end-of-options", a, b], { expected: [1] });
      return stdout.trim() || undefined;
    });
  }

  /** Whether a merge of two commits would conflict. */
  async conflicts(name: string, base: string, head: string): Promise<boolean> {
    if (this.#repository(name).graph.isAncestor(base, head) === true) return false;
    return (await this.mergedTree(name, base, head)) === undefined;
  }

  /** The tree of a merge of two commits; undefined if they conflict. */
  async mergedTree(name: string, base: string, head: string): Promise<string | undefined> {
    const { graph, objects } = this.#repository(name);
    if (graph.isAncestor(base, head) === true) return objects.treeOf(head)?.id;
    return this.#of(name, "merge-tree", base, head, (objects) => mergedTree(objects.onDisk(), base, head));
  }

  /** Merges a commit into a branch. Returns the new tip. @throws {Error} if they conflict. */
  async merge(
    name: string,
    base: string,
    head: string,
    method: MergeMethod,
    message: string,
    author: string,
  ): Promise<string> {
    return this.#alone(name, async () => {
      const tip = await this.resolve(name, `refs/heads/${base}`);
      if (tip === undefined) throw new Error(`There is no branch ${base} in ${name}`);
      if (method === "rebase") return this.#rebase(name, base, tip, head);
      const tree = await this.mergedTree(name, tip, head);
      if (tree === undefined) throw new Error(`${head} conflicts with ${base} of ${name}`);
      const parents = method === "merge" ? [tip, head] : [tip];
      return this.#write(name, base, { message, author, parents, tree });
    });
  }

  /** Writes a branch's own commits anew on top of another commit. Returns the new tip. @throws {Error} on a conflict. */
  async rebaseBranch(name: string, branch: string, onto: string, committer: string): Promise<string> {
    return this.#alone(name, async () => {
      const tip = await this.resolve(name, `refs/heads/${branch}`);
      if (tip === undefined) throw new Error(`There is no branch ${branch} in ${name}`);
      return this.#rebase(name, branch, onto, tip, committer);
    });
  }

  /**
   * Takes back on a branch what changed between two commits. Returns the new tip; undefined for a dry run.
   * @throws {CannotRevert} if that conflicts, or changes nothing.
   */
  async revert(
    name: string,
    branch: string,
    changed: { readonly from: string; readonly to: string },
    commit: { readonly message: string; readonly author: string },
    dryRun = false,
  ): Promise<string | undefined> {
    return this.#alone(name, async () => {
      const tip = await this.resolve(name, `refs/heads/${branch}`);
      if (tip === undefined) throw new Error(`There is no branch ${branch} in ${name}`);
      const taken = await takenBack(this.directory(name), changed.from, changed.to, tip);
      if (taken?.empty !== false) throw new CannotRevert(taken === undefined ? "conflict" : "empty");
      return dryRun ? undefined : this.#write(name, branch, { ...commit, parents: [tip], tree: taken.tree });
    });
  }

  /** The files that conflict if what changed between two commits is taken back on a third. */
  revertConflicts(
    name: string,
    changed: { readonly from: string; readonly to: string },
    onto: string,
  ): Promise<readonly string[]> {
    return this.#alone(name, () => conflictsOfTakingBack(this.directory(name), changed.from, changed.to, onto));
  }

  branches(name: string): Promise<string[]> {
    const prefix = "refs/heads/";
    const refs = this.objects(name).refs(prefix);
    return Promise.resolve(refs.map((ref) => ref.slice(prefix.length)));
  }

  async changedPaths(name: string, from: string, to: string): Promise<ChangedPath[]> {
    return this.#of(name, "changed", from, to, async (objects) => {
      return changedWithoutGit(objects, from, to) ?? (await readChangedPaths(objects.onDisk(), from, to));
    });
  }

  async isAncestor(name: string, ancestor: string, revision: string): Promise<boolean> {
    const known = this.#repository(name).graph.isAncestor(ancestor, revision);
    if (known !== undefined) return known;
    return this.#of(name, "is-ancestor", ancestor, revision, async (objects) => {
      const args = ["merge-base", "--is-ancestor", "--end-of-options", ancestor, revision];
      return (await runGit(objects.onDisk(), args, { expected: [1] })).status === 0;
    });
  }

  /** Counts the commits of `to` that `from` lacks. */
  async countCommits(name: string, from: string, to: string): Promise<number> {
    return (await this.#between(name, from, to)).length;
  }

  /** The commits of `to` that `from` lacks, oldest first, at most 250; if both are the same, that commit. */
  async commits(name: string, from: string, to: string): Promise<CommitFacts[]> {
    return this.#of(name, "commits", from, to, async (objects) => {
      const ids = from === to ? [to] : await this.#between(name, from, to);
      const commits = ids.map((id) => readCommit(objects, id));
      // Every commit of a store has its own second.
      return commits.sort((a, b) => a.date.localeCompare(b.date)).slice(0, 250);
    });
  }

  async remove(): Promise<void> {
    await Promise.allSettled(this.#writing.values());
    await rm(this.#root, { recursive: true, force: true, maxRetries: 3 });
  }

  async #between(name: string, from: string, to: string): Promise<readonly string[]> {
    const known = this.#repository(name).graph.between(from, to);
    if (known !== undefined) return known;
    const args = ["rev-list", "--end-of-options", `${from}..${to}`];
    return this.#of(name, "between", from, to, async (objects) => linesOf(await runGit(objects.onDisk(), args)));
  }

  async #rebase(name: string, branch: string, tip: string, head: string, committer?: string): Promise<string> {
    let parent = tip;
    for (const { tree, message, author } of await replay(this.directory(name), tip, head)) {
      parent = this.#write(name, branch, { message, author, committer, parents: [parent], tree });
    }
    return parent;
  }

  /** Gives each commit its own second, so that the same change made twice has two ids. */
  #write(name: string, branch: string, commit: Omit<NewCommit, "time">): string {
    this.#lastTime = Math.max(this.#lastTime + 1, Math.floor(Date.now() / 1000));
    const id = writeCommit(this.#repository(name).objects, { ...commit, time: this.#lastTime });
    this.#repository(name).graph.add(id, commit.parents);
    this.#moveRef(name, `refs/heads/${branch}`, id);
    return id;
  }

  #moveRef(name: string, ref: string, revision: string | undefined): void {
    if (!/^refs\/[^\s~^:?*[\\]+$/.test(ref) || ref.includes("..")) throw new Error(`${ref} is not a ref name`);
    this.objects(name).setRef(ref, revision);
  }

  #repository(name: string): BareRepository {
    const repository = this.#repositories.get(name);
    if (repository === undefined) throw new Error(`There is no repository ${name}`);
    return repository;
  }

  /** Serialises writes to a repository. */
  #alone<T>(name: string, write: () => Promise<T>): Promise<T> {
    const before = this.#writing.get(name) ?? Promise.resolve();
    const mine = before.catch(() => undefined).then(write);
    this.#writing.set(name, mine);
    return mine;
  }

  #of<T>(name: string, question: string, a: string, b: string, ask: (objects: ObjectFolder) => Promise<T>): Promise<T> {
    return this.#answers.get(name, question, [a, b], () => ask(this.objects(name)));
  }
}

function linesOf({ stdout }: GitRun): string[] {
  return stdout.split("\n").filter((line) => line !== "");
}
