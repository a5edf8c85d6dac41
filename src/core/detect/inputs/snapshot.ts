import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Application } from "../../model/application.js";
import type { Revision } from "../../model/brand.js";
import type { ChangeRequest } from "../../model/change-request.js";
import { ChangedPaths } from "../../model/collections.js";
import type { FoundInputs } from "../../model/input-set.js";
import type { Json } from "../../model/json.js";
import type { CommitRange, RepositorySnapshot, TreeEntry } from "../../ports/repositories.js";
import type { Followed, HiddenChanges, OpenedTree, Snapshot } from "../../ports/snapshot.js";
import { firstAtOrAfter, firstBehind, linkFollower, parentOf } from "../tree/repository-path.js";
import { type Reading, REFUSED_MS, TextReader, type YamlText } from "../tree/yaml-documents.js";

/** What detection remembers from one snapshot to the next, in memory. */
export interface DetectionCaches {
  readonly parsed: ParsedFiles;
  readonly inputs: KnownInputs;
}

/** In characters of the texts. */
const MAX_PARSED = 8 * 1024 * 1024;

export function createDetectionCaches(): DetectionCaches {
  return { parsed: new LRUCache({ maxSize: MAX_PARSED }), inputs: new KnownInputs() };
}

/** Extends a repository snapshot with values that are computed once and cached. */
export function openSnapshot(
  repository: RepositorySnapshot,
  { parsed, inputs }: DetectionCaches,
  reading: Reading,
): Snapshot {
  const files: ReadFiles = { parsed, documents: new Map(), texts: new Map(), reading };
  const unknown = new Map<string, FoundInputs>();
  const trees = new Map<Revision, Promise<OpenedTree>>();
  const lost = new Map<string, Promise<ChangedPaths>>();
  const hidden = new Map<ChangeRequest, Promise<HiddenChanges>>();
  const ranges = new Map<string, Promise<CommitRange>>();
  const range = (from: Revision, to: Revision) =>
    once(ranges, `${from} ${to}`, () => repository.commitsBetween(from, to));
  const lostIn = (change: ChangeRequest) => {
    const { mergeBase, baseRevision, headRevision } = change;
    return once(lost, `${mergeBase} ${baseRevision} ${headRevision}`, () => lostChanges(repository, change));
  };
  const changedIn = ({ mergeBase, headRevision }: ChangeRequest) => repository.changedPaths(mergeBase, headRevision);
  const hiddenIn = (change: ChangeRequest) =>
    once(hidden, change, async () => {
      const [changed, lost] = await Promise.all([changedIn(change), lostIn(change)]);
      const shown = new Set(changed);
      const paths = lost.paths.filter((path) => !shown.has(path));
      if (paths.length === 0) return { paths, complete: true };
      const { commits, complete } = await range(change.mergeBase, change.headRevision);
      const written = writtenBy(commits);
      return { paths: complete ? paths.filter((path) => written.has(path)) : paths, complete };
    });
  return {
    list: (revision) => repository.list(revision),
    read: (revision, paths) => repository.read(revision, paths),
    readLarge: (revision, path) => repository.readLarge(revision, path),
    changedPaths: (from, to) => repository.changedPaths(from, to),
    printedPaths: (from, to) => repository.printedPaths(from, to),
    linkTargets: (revision) => repository.linkTargets(revision),
    refs: () => repository.refs(),
    // A failure is remembered too: a history that cannot be fetched is asked for once, not for each application.
    commitsBetween: range,
    isCleanMerge: (commit, of) => repository.isCleanMerge(commit, of),
    revertConflicts: (reverted, onto) => repository.revertConflicts(reverted, onto),
    pastTexts: (revision, path) => repository.pastTexts(revision, path),
    tree(revision) {
      const tree = once(trees, revision, () => listTree(repository, revision, files));
      tree.catch(() => trees.delete(revision));
      return tree;
    },
    lostChanges: lostIn,
    hiddenChanges: hiddenIn,
    ownChanges: async (change) => [...(await changedIn(change)), ...(await hiddenIn(change)).paths].sort(),
    inputs: (entries, application, others, find) => inputs.find(entries, application, others, find, unknown),
  };
}

function once<K, T>(known: Map<K, Promise<T>>, key: K, find: () => Promise<T>): Promise<T> {
  const value = known.get(key) ?? find();
  known.set(key, value);
  return value;
}

async function lostChanges(
  repository: RepositorySnapshot,
  { mergeBase, baseRevision, headRevision }: ChangeRequest,
): Promise<ChangedPaths> {
  const [changed, different] = await Promise.all([
    repository.changedPaths(mergeBase, baseRevision),
    repository.changedPaths(headRevision, baseRevision),
  ]);
  const still = new Set(different);
  return new ChangedPaths(changed.filter((path) => still.has(path)));
}

/** The paths that commits change. Merges are left out: they only bring in what the base branch has. */
function writtenBy(commits: CommitRange["commits"]): ReadonlySet<string> {
  return new Set(commits.flatMap(({ parents, paths }) => (parents.length < 2 ? paths : [])));
}

const MAX_BYTES = 16 * 1024 * 1024;

/** What applications read at a commit, from one plan to the next: the merge base of most pushes is the same. */
class KnownInputs {
  readonly #found = new LRUCache<string, FoundInputs>({ maxSize: MAX_BYTES });
  /** Keyed by the list itself, since a snapshot returns the same list for a commit that it knows. */
  readonly #numbers = new WeakMap<readonly TreeEntry[], number>();
  #last = 0;
  /** Digests of definitions, which never change and are compared with many commits. */
  readonly #digests = new WeakMap<object, string>();

  /**
   * The inputs of an application at the commit with these entries, remembered or found now. `others` are all other values
   * that decide the answer. Failed results are not cached, and unknown ones only for their snapshot: two questions of one
   * plan must not have different answers.
   */
  async find(
    entries: readonly TreeEntry[],
    { name, spec, annotations }: Application,
    others: readonly unknown[],
    find: () => Promise<FoundInputs>,
    unknown: Map<string, FoundInputs>,
  ): Promise<FoundInputs> {
    const number = this.#numbers.get(entries) ?? (this.#last += 1);
    this.#numbers.set(entries, number);
    const key = `${number} ${name} ${this.#digestOf(spec)} ${this.#digestOf(annotations)} ${JSON.stringify(others)}`;
    const before = unknown.get(key) ?? this.#found.get(key);
    if (before !== undefined) return before;
    const found = await find();
    if (found.inputs.some(({ whole }) => whole !== undefined)) {
      const whole = { ...found, decidedBy: undefined };
      unknown.set(key, whole);
      return whole;
    }
    this.#found.set(key, found, { size: 2 * key.length + weightOf(found) });
    return found;
  }

  #digestOf(value: object): string {
    const digest = this.#digests.get(value) ?? createHash("sha256").update(JSON.stringify(value)).digest("base64");
    this.#digests.set(value, digest);
    return digest;
  }
}

function weightOf({ inputs, decidedBy = [] }: FoundInputs): number {
  const texts = inputs.flatMap(({ paths, patterns, addresses = [] }) => [...paths, ...patterns, ...addresses]);
  return [...texts, ...decidedBy].reduce((sum, text) => sum + 2 * text.length + 50, 400);
}

/** Files that are read ahead together, since a partial clone fetches missing blobs once per read. */
const READ_AHEAD =
  /(?:^|\/)(?:kustomization\.ya?ml|Kustomization|(?:Chart|requirements)\.(?:yaml|lock)|\.argocd-source[^/]*\.yaml)$/;
const MAX_READ_AHEAD = 5000;

type Documents = Promise<readonly Json[] | undefined>;

/** Parsed files by blob, across snapshots and repositories: most are the same at the next push. */
type ParsedFiles = LRUCache<string, YamlText>;

/** The files read so far, by blob, which the trees of a snapshot share. */
interface ReadFiles {
  readonly parsed: ParsedFiles;
  readonly documents: Map<string, Documents>;
  readonly texts: Map<string, string>;
  readonly reading: Reading;
}

async function listTree(
  snapshot: RepositorySnapshot,
  revision: Revision,
  { parsed, documents, texts, reading }: ReadFiles,
): Promise<OpenedTree> {
  const entries = await snapshot.list(revision);
  const submodules = entries.filter(({ kind }) => kind === "submodule");
  const linked = entries.some(({ kind }) => kind === "symlink");
  const targets = linked ? await snapshot.linkTargets(revision) : new Map<string, string>();
  let ahead: readonly string[] | undefined;
  let all: Promise<ReadonlyMap<string, string>> | undefined;
  const digests = new Map<string, string>();
  const reader = new TextReader(reading);
  const followed = linkFollower(entryAt, targets);

  return {
    hasFile: (path) => fileAt(path) !== undefined,
    hasDirectory(path) {
      const { path: real } = follow(path);
      return real === "" || (real !== undefined && (entries[firstBelow(real)]?.path.startsWith(`${real}/`) ?? false));
    },
    entryAt,
    entriesIn,
    linksIn: (path) => {
      if (!linked) return [];
      return entriesIn(path).flatMap((entry) => (entry.kind === "symlink" ? [entry.path] : []));
    },
    touchesSubmodule(path) {
      if (path === "" || submodules.length === 0) return submodules.length > 0;
      for (let one = path; one !== ""; one = parentOf(one)) if (entryAt(one)?.kind === "submodule") return true;
      return firstAtOrAfter(submodules, `${path}/`) < firstBehind(submodules, path);
    },
    follow,
    readYaml(path) {
      const entry = fileAt(path);
      if (entry?.kind !== "file") return Promise.resolve(undefined);
      return once(documents, entry.blob, () => documentsOf(entry));
    },
    parseYaml: async (text) => ifRead(await reader.yaml(text)),
    async readTexts(paths) {
      const wanted = paths.flatMap((path) => {
        const entry = fileAt(path);
        return entry?.kind === "file" ? [{ path, entry }] : [];
      });
      const missing = wanted.filter(({ entry }) => !texts.has(entry.blob)).map(({ entry }) => entry);
      const read = await snapshot.read(revision, [...new Set(missing.map((entry) => entry.path))]);
      for (const { path, blob } of missing) {
        const text = read.get(path);
        if (text !== undefined && !isPointer(text)) texts.set(blob, text);
      }
      return new Map(
        wanted.flatMap(({ path, entry }) => {
          const text = texts.get(entry.blob);
          return text === undefined ? [] : [[path, text]];
        }),
      );
    },
    digest(part, compute) {
      const digest = digests.get(part) ?? compute();
      digests.set(part, digest);
      return digest;
    },
    leadingOut: linked ? entries.filter(leadsOut).map(({ path }) => path) : [],
  };

  /** As Argo CD tells it from the text of the link alone (`CheckOutOfBoundsSymlinks`). */
  function leadsOut({ kind, path }: TreeEntry): boolean {
    const target = kind === "symlink" ? targets.get(path) : undefined;
    if (target === undefined || target.startsWith("/")) return target !== undefined;
    let depth = path.split("/").length - 1;
    return target.split("/").some((part) => {
      if (part !== "" && part !== ".") depth += part === ".." ? -1 : 1;
      return depth < 0;
    });
  }

  function follow(path: string): Followed {
    return linked ? followed(path) : { path, links: [], asked: [path], unreadable: undefined };
  }

  function entriesIn(path: string): readonly TreeEntry[] {
    const { path: real } = follow(path);
    if (real === undefined) return [];
    if (real === "") return entries;
    const start = firstBelow(real);
    const end = firstBehind(entries, real);
    if (start < end) return entries.slice(start, end);
    const entry = entryAt(real);
    return entry === undefined ? [] : [entry];
  }

  function entryAt(path: string): TreeEntry | undefined {
    const entry = entries[firstAtOrAfter(entries, path)];
    return entry?.path === path ? entry : undefined;
  }

  function firstBelow(directory: string): number {
    return firstAtOrAfter(entries, `${directory}/`);
  }

  function fileAt(path: string): TreeEntry | undefined {
    const { path: real } = follow(path);
    return real === undefined ? undefined : entryAt(real);
  }

  async function readText(path: string): Promise<string | undefined> {
    ahead ??= entries
      .filter((entry) => entry.kind === "file" && READ_AHEAD.test(entry.path))
      .map((entry) => entry.path);
    const single = ahead.length > MAX_READ_AHEAD || !READ_AHEAD.test(path);
    if (single) return (await snapshot.read(revision, [path])).get(path);
    all ??= snapshot.read(revision, ahead);
    return (await all).get(path);
  }

  async function documentsOf({ path, blob }: TreeEntry): Documents {
    const known = parsed.get(blob);
    if (known !== undefined) return ifRead(known);
    const text = await readText(path);
    if (text === undefined || isPointer(text)) return undefined;
    const read = await reader.yaml(text);
    // Kept for a while, so that a hostile file does not take its time at every event.
    parsed.set(blob, read, { size: text.length + 100, ttl: read === "exceeded" ? REFUSED_MS : 0 });
    return ifRead(read);
  }
}

/** Where Git LFS is on, Argo CD reads another file in place of a text that begins so (`docs/spec.md` of Git LFS). */
function isPointer(text: string): boolean {
  return text.startsWith("version https://git-lfs");
}

function ifRead(text: YamlText): readonly Json[] | undefined {
  return typeof text === "string" ? undefined : text;
}
