import { createHash } from "node:crypto";
import { revision, type Revision } from "../../src/core/model/brand.js";
import type { ChangeRequest } from "../../src/core/model/change-request.js";
import { HeadMoved, RepositoryFailure } from "../../src/core/model/errors.js";
import type { CloneSource } from "../../src/core/ports/code-host.js";
import type {
  OpenOptions,
  CommitSummary,
  Repositories,
  RepositorySnapshot,
  TreeEntry,
} from "../../src/core/ports/repositories.js";
import type { Delay } from "./delay.js";

/** The files of a commit: path to text. */
export type Files = Readonly<Record<string, string>>;
/** Files laid over those of a commit; `null` takes one away. */
export type FileChanges = Readonly<Record<string, string | null>>;

/** One repository with its commits and refs, held in memory. */
export class MemoryRepositories implements Repositories {
  readonly #commits = new Map<Revision, Files>();
  /** First parents. */
  readonly #parents = new Map<Revision, Revision>();
  readonly #refs = new Map<string, Revision>();
  readonly #lists = new Map<Revision, readonly TreeEntry[]>();

  fetchHead: Repositories["fetchHead"] = () => Promise.resolve();

  constructor(private readonly delay: Delay) {}

  /** Makes a commit and points the ref at it; the same files twice are two commits. */
  commit(ref: string, files: Files): Revision {
    const text = JSON.stringify([this.#commits.size, files]);
    const made = revision(createHash("sha1").update(text).digest("hex"));
    this.#commits.set(made, files);
    const parent = this.#refs.get(ref) ?? this.#refs.get("main");
    if (parent !== undefined) this.#parents.set(made, parent);
    this.#refs.set(ref, made);
    return made;
  }

  tip(ref: string): Revision {
    const found = this.#refs.get(ref);
    if (found === undefined) throw new RepositoryFailure(`no ref ${ref}`);
    return found;
  }

  filesAt(at: Revision): Files {
    const files = this.#commits.get(at);
    if (files === undefined) throw new RepositoryFailure(`no commit ${at}`);
    return files;
  }

  /** Paths whose text differs, sorted. */
  changed(from: Revision, to: Revision): readonly string[] {
    const [before, after] = [this.filesAt(from), this.filesAt(to)];
    return [...new Set([...Object.keys(before), ...Object.keys(after)])]
      .filter((path) => before[path] !== after[path])
      .sort();
  }

  /** Commits of `to` and before it that do not come before `from`, newest first. */
  between(from: Revision, to: Revision): readonly CommitSummary[] {
    const known = new Set(this.#withAncestors(from));
    return this.#withAncestors(to)
      .filter((id) => !known.has(id))
      .map((id) => {
        const parent = this.#parents.get(id);
        const paths = parent === undefined ? Object.keys(this.filesAt(id)).sort() : this.changed(parent, id);
        return { id, parents: parent === undefined ? [] : [parent], subject: "Change", paths };
      });
  }

  #withAncestors(tip: Revision): readonly Revision[] {
    const found: Revision[] = [];
    for (let id: Revision | undefined = tip; id !== undefined; id = this.#parents.get(id)) found.push(id);
    return found;
  }

  /** The same list for the same commit, as from git. */
  #listOf(at: Revision): readonly TreeEntry[] {
    const known = this.#lists.get(at);
    if (known !== undefined) return known;
    const files = Object.entries(this.filesAt(at)).sort(([left], [right]) => (left < right ? -1 : 1));
    const list = files.map(([path, text]): TreeEntry => ({
      path,
      kind: "file",
      executable: false,
      blob: createHash("sha1").update(text).digest("hex"),
    }));
    this.#lists.set(at, list);
    return list;
  }

  async *#pastTexts(tip: Revision, path: string): AsyncGenerator<string> {
    await this.delay();
    const texts = this.#withAncestors(tip).map((id) => this.filesAt(id)[path]);
    yield* new Set(texts.filter((text) => text !== undefined));
  }

  async open(change: ChangeRequest, source: CloneSource, { signal }: OpenOptions = {}): Promise<RepositorySnapshot> {
    await this.delay();
    signal?.throwIfAborted();
    if (this.tip(source.headRef) !== change.headRevision) throw new HeadMoved("the head moved while it was fetched");
    await this.delay();
    return {
      list: async (at) => {
        await this.delay();
        return this.#listOf(at);
      },
      read: async (at, paths) => {
        await this.delay();
        const files = this.filesAt(at);
        return new Map(
          paths.flatMap((path): [string, string][] => {
            const text = files[path];
            return text === undefined ? [] : [[path, text]];
          }),
        );
      },
      readLarge: async (at, path) => {
        await this.delay();
        return this.filesAt(at)[path];
      },
      changedPaths: async (from, to) => {
        await this.delay();
        return this.changed(from, to);
      },
      printedPaths: async (from, to) => {
        await this.delay();
        return this.changed(from, to);
      },
      linkTargets: async () => {
        await this.delay();
        return new Map();
      },
      refs: async () => {
        await this.delay();
        return new Map(
          [...this.#refs].map(([name, id]) => [name.startsWith("refs/") ? name : `refs/heads/${name}`, id]),
        );
      },
      commitsBetween: async (from, to) => {
        await this.delay();
        return { commits: this.between(from, to), complete: true };
      },
      isCleanMerge: () => Promise.resolve(false),
      revertConflicts: () => Promise.resolve(undefined),
      pastTexts: (at, path) => this.#pastTexts(at, path),
    };
  }
}

/** These files with the changes laid over them. */
export function withChanges(files: Files, changes: FileChanges): Files {
  const laid = Object.entries({ ...files, ...changes });
  return Object.fromEntries(laid.filter((entry): entry is [string, string] => entry[1] !== null));
}
