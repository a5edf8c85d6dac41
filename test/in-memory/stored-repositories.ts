import { readCommit, type CommitFacts } from "../../sandbox/git/commit-log.js";
import { FOLDER_MODE, readEntries } from "../../sandbox/git/tree-entries.js";
import type { StoredRepository } from "../../sandbox/world.js";
import { revision, type Revision } from "../../src/core/model/brand.js";
import type { ChangeRequest } from "../../src/core/model/change-request.js";
import { HeadMoved, RepositoryFailure } from "../../src/core/model/errors.js";
import type { CloneSource, RevertedCommits } from "../../src/core/ports/code-host.js";
import type {
  OpenOptions,
  CommitRange,
  CommitSummary,
  Repositories,
  RepositorySnapshot,
  TreeEntry,
} from "../../src/core/ports/repositories.js";

const MAX_FILE_BYTES = 1024 * 1024;
const MAX_LARGE_BYTES = 16 * 1024 * 1024;
const MAX_LINK_BYTES = 4 * 1024;
const MAX_COMMITS = 200;
const MAX_SUBJECT = 100;

/**
 * Reads the sandbox's repositories in this process, where the service would fetch them with git: for worlds that do not
 * test git. It asks for no credentials, and no host can fail or delay it.
 */
export class StoredRepositories implements Repositories {
  /** Heads that were opened: a mirror does not ask the host for them again. */
  readonly #opened = new Set<string>();

  fetchHead: Repositories["fetchHead"] = () => Promise.resolve();

  constructor(private readonly find: (cloneUrl: string) => StoredRepository | undefined) {}

  async open(
    change: ChangeRequest,
    source: CloneSource,
    { signal, confirmed }: OpenOptions = {},
  ): Promise<RepositorySnapshot> {
    signal?.throwIfAborted();
    const stored = this.find(source.url);
    if (stored === undefined) throw failure(change, "the host does not know it");
    const { store, name } = stored;
    const key = `${source.url} ${change.headRevision}`;
    const head = change.headRevision;
    const offered = confirmed === true ? undefined : await store.resolve(name, source.headRef);
    if (!this.#opened.has(key) && (offered ?? (await store.resolve(name, head))) !== head) {
      throw new HeadMoved(`the head of ${change.repository} ${change.number} moved during the fetch`);
    }
    this.#opened.add(key);
    return new StoredSnapshot(stored, change, signal);
  }
}

function failure({ repository }: ChangeRequest, problem: string): RepositoryFailure {
  return new RepositoryFailure(`the repository ${repository} could not be read: ${problem}`);
}

type Tree = ReadonlyMap<string, TreeEntry>;

class StoredSnapshot implements RepositorySnapshot {
  readonly #lists = new Map<string, readonly TreeEntry[]>();

  constructor(
    private readonly stored: StoredRepository,
    private readonly change: ChangeRequest,
    private readonly signal: AbortSignal | undefined,
  ) {}

  async list(at: Revision): Promise<readonly TreeEntry[]> {
    this.signal?.throwIfAborted();
    const known = this.#lists.get(at);
    if (known !== undefined) return known;
    const entries = [...this.#entries(this.#commit(at).tree, "")];
    const list = entries.sort((one, other) => (one.path < other.path ? -1 : 1));
    this.#lists.set(at, list);
    return list;
  }

  async read(at: Revision, paths: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const tree = await this.#tree(at);
    return textsOf(paths, (path) => this.#fileAt(tree, path, MAX_FILE_BYTES));
  }

  async readLarge(at: Revision, path: string): Promise<string | undefined> {
    return this.#fileAt(await this.#tree(at), path, MAX_LARGE_BYTES);
  }

  async changedPaths(from: Revision, to: Revision): Promise<readonly string[]> {
    const [before, after] = [await this.#tree(from), await this.#tree(to)];
    const differs = (path: string): boolean => !sameEntry(before.get(path), after.get(path));
    return [...new Set([...before.keys(), ...after.keys()])].filter(differs).sort();
  }

  async printedPaths(from: Revision, to: Revision): Promise<readonly string[]> {
    this.signal?.throwIfAborted();
    const changed = await this.stored.store.changedPaths(this.stored.name, from, to);
    return changed.map(({ path }) => (/[^ -~]|["\\]/.test(path) ? quoted(path) : path));
  }

  async linkTargets(at: Revision): Promise<ReadonlyMap<string, string>> {
    const links = (await this.list(at)).filter(({ kind }) => kind === "symlink");
    const targets = new Map(links.map(({ path, blob }) => [path, blob]));
    return textsOf([...targets.keys()], (path) => this.#text(targets.get(path) ?? "", MAX_LINK_BYTES));
  }

  async refs(): Promise<ReadonlyMap<string, Revision>> {
    this.signal?.throwIfAborted();
    const shown = ["refs/heads/", "refs/tags/"].flatMap((prefix) => this.#objects.refs(prefix));
    const commits = shown.map((ref) => [ref, this.#objects.commit(ref)?.id] as const);
    return Promise.resolve(
      new Map(commits.flatMap(([ref, id]) => (id === undefined ? [] : [[ref, revision(id)] as const]))),
    );
  }

  async commitsBetween(from: Revision, to: Revision): Promise<CommitRange> {
    this.signal?.throwIfAborted();
    const known = this.#history(from);
    const missing = [...this.#history(to).values()].filter(({ id }) => !known.has(id));
    const newest = missing.sort((one, other) => other.date.localeCompare(one.date)).slice(0, MAX_COMMITS);
    return {
      commits: await Promise.all(newest.map((commit) => this.#summary(commit))),
      complete: missing.length <= MAX_COMMITS,
    };
  }

  async isCleanMerge(commit: Revision, of?: readonly [Revision, Revision]): Promise<boolean> {
    this.signal?.throwIfAborted();
    const { tree, parents } = this.#commit(commit);
    const [one, other, third] = of ?? parents;
    if (one === undefined || other === undefined || third !== undefined) return false;
    const [left, right] = [this.#history(one), this.#history(other)];
    const common = [...left.values()].filter(({ id }) => right.has(id));
    const behind = new Set(common.flatMap((ancestor) => ancestor.parents));
    if (common.filter(({ id }) => !behind.has(id)).length !== 1) return false;
    return (await this.stored.store.mergedTree(this.stored.name, one, other)) === tree;
  }

  async revertConflicts({ newest, oldest }: RevertedCommits, onto: Revision): Promise<readonly string[] | undefined> {
    this.signal?.throwIfAborted();
    const [before] = this.#commit(oldest).parents;
    if (before === undefined) return undefined;
    return this.stored.store.revertConflicts(this.stored.name, { from: before, to: newest }, onto);
  }

  async *pastTexts(at: Revision, path: string): AsyncGenerator<string | undefined> {
    const seen = new Set<string>();
    let next: string | undefined = at;
    for (let count = 0; next !== undefined && count <= MAX_COMMITS; count += 1) {
      const { id, parents }: CommitFacts = this.#commit(next);
      const entry = (await this.#tree(revision(id))).get(path);
      if (entry?.kind === "file" && !seen.has(entry.blob)) {
        seen.add(entry.blob);
        yield this.#text(entry.blob, MAX_FILE_BYTES);
      }
      next = parents[0];
    }
  }

  get #objects() {
    return this.stored.store.objects(this.stored.name);
  }

  #commit(id: string): CommitFacts {
    if (this.#objects.commit(id) === undefined) {
      throw failure(this.change, "the host does not have one of the commits yet, or no longer. Try again in a minute");
    }
    return readCommit(this.#objects, id);
  }

  /** A commit and all before it. */
  #history(tip: string): ReadonlyMap<string, CommitFacts> {
    const found = new Map<string, CommitFacts>();
    for (const ids = [tip]; ids.length > 0;) {
      const id = ids.pop() ?? "";
      if (found.has(id)) continue;
      const commit = this.#commit(id);
      found.set(id, commit);
      ids.push(...commit.parents);
    }
    return found;
  }

  async #summary({ id, parents, message }: CommitFacts): Promise<CommitSummary> {
    const [parent] = parents;
    const own = revision(id);
    const paths = parent === undefined ? (await this.list(own)).map(({ path }) => path) : undefined;
    return {
      id: own,
      parents: parents.map(revision),
      subject: subjectOf(message),
      paths: paths ?? (await this.changedPaths(revision(parent ?? id), own)),
    };
  }

  async #tree(at: Revision): Promise<Tree> {
    return new Map((await this.list(at)).map((entry) => [entry.path, entry]));
  }

  *#entries(tree: string, prefix: string): Generator<TreeEntry> {
    for (const { mode, name, id } of readEntries(this.#objects.read(tree)?.content ?? Buffer.alloc(0))) {
      const path = prefix + name;
      if (mode === FOLDER_MODE) yield* this.#entries(id, `${path}/`);
      else yield { path, kind: kindOf(mode), executable: mode === "100755", blob: id };
    }
  }

  #fileAt(tree: Tree, path: string, maxBytes: number): string | undefined {
    const entry = tree.get(path);
    return entry?.kind === "file" ? this.#text(entry.blob, maxBytes) : undefined;
  }

  #text(blob: string, maxBytes: number): string | undefined {
    const content = this.#objects.read(blob)?.content;
    if (content === undefined || content.length > maxBytes || content.includes(0)) return undefined;
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(content);
    } catch {
      return undefined;
    }
  }
}

/** The port wants no control characters in it. */
function subjectOf(message: string): string {
  const [line = ""] = message.trimStart().split(/[\r\n]/, 1);
  const plain = line.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "").trim();
  return Array.from(plain).slice(0, MAX_SUBJECT).join("");
}

function kindOf(mode: string): TreeEntry["kind"] {
  if (mode === "120000") return "symlink";
  return mode === "160000" ? "submodule" : "file";
}

/** As git prints a path with special characters (`core.quotePath` in git-config(1)), except for those with a letter of their own. */
function quoted(path: string): string {
  const bytes = [...Buffer.from(path)].map((byte) => {
    const character = String.fromCharCode(byte);
    if (/["\\]/.test(character)) return `\\${character}`;
    return /[ -~]/.test(character) ? character : `\\${byte.toString(8).padStart(3, "0")}`;
  });
  return `"${bytes.join("")}"`;
}

function sameEntry(one: TreeEntry | undefined, other: TreeEntry | undefined): boolean {
  return one?.blob === other?.blob && one?.kind === other?.kind && one?.executable === other?.executable;
}

function textsOf(paths: readonly string[], read: (path: string) => string | undefined): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const path of paths) {
    const text = read(path);
    if (text !== undefined) texts.set(path, text);
  }
  return texts;
}
