import type { Revision } from "../../model/brand.js";
import type { Json } from "../../model/json.js";
import { LruCache } from "../../model/lru-cache.js";
import type { RepositorySnapshot, TreeEntry } from "../../ports/repositories.js";
import { isWithin } from "./repository-path.js";
import { firstAtOrAfter } from "./sorted-entries.js";
import { followLinks, type Followed } from "./symlinks.js";
import { readYamlDocuments } from "./yaml-documents.js";

/**
 * The tree of a commit, with the few files that decide what else is read. Paths are clean; symbolic links on the way are
 * followed, except by `entryAt`.
 */
export interface RepositoryTree {
  hasFile(path: string): boolean;
  hasDirectory(path: string): boolean;
  /** The file, link or submodule at exactly this path. */
  entryAt(path: string): TreeEntry | undefined;
  /** The entries at or below a path, sorted by path; links among them are not followed. */
  entriesIn(path: string): readonly TreeEntry[];
  /** Paths of the symbolic links at or below a path. */
  linksIn(path: string): readonly string[];
  /** Whether a submodule is at, above or below a path. */
  touchesSubmodule(path: string): boolean;
  follow(path: string): Followed;
  /** The YAML documents of a file; undefined when it is missing, no text, too large, or not all of it can be read. */
  readYaml(path: string): Promise<readonly Json[] | undefined>;
  /** Texts of files by path; those that are missing, no text or too large are absent. */
  readTexts(paths: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

/** Files that are read ahead in one go, since a partial clone fetches what it lacks once per read. */
const READ_AHEAD =
  /(?:^|\/)(?:kustomization\.ya?ml|Kustomization|Chart\.yaml|requirements\.yaml|\.argocd-source[^/]*\.yaml)$/;
const MAX_READ_AHEAD = 5000;

type Documents = Promise<readonly Json[] | undefined>;

interface Opened {
  readonly trees: Map<Revision, Promise<RepositoryTree>>;
  /** By blob, while they are read: many applications read the same ones. */
  readonly documents: Map<string, Documents>;
  readonly texts: Map<string, string>;
}

/** By blob, across snapshots and repositories: most files are the same at the next push. Weighed in characters. */
const parsed = new LruCache<readonly Json[] | "unreadable">(8 * 1024 * 1024);

const opened = new WeakMap<RepositorySnapshot, Opened>();

/** The tree of a commit; each is listed once per snapshot. */
export function openTree(snapshot: RepositorySnapshot, revision: Revision): Promise<RepositoryTree> {
  const known: Opened = opened.get(snapshot) ?? { trees: new Map(), documents: new Map(), texts: new Map() };
  opened.set(snapshot, known);
  const tree = known.trees.get(revision) ?? listTree(snapshot, revision, known);
  known.trees.set(revision, tree);
  tree.catch(() => known.trees.delete(revision));
  return tree;
}

async function listTree(
  snapshot: RepositorySnapshot,
  revision: Revision,
  { documents, texts }: Opened,
): Promise<RepositoryTree> {
  const entries = await snapshot.list(revision);
  const submodules = entries.filter(({ kind }) => kind === "submodule").map(({ path }) => path);
  const linked = entries.some(({ kind }) => kind === "symlink");
  const targets = linked ? await snapshot.linkTargets(revision) : new Map<string, string>();
  let ahead: readonly string[] | undefined;
  let all: Promise<ReadonlyMap<string, string>> | undefined;

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
    touchesSubmodule: (path) => submodules.some((one) => isWithin(path, one) || isWithin(one, path)),
    follow,
    readYaml(path) {
      const entry = fileAt(path);
      if (entry?.kind !== "file") return Promise.resolve(undefined);
      const known = parsed.get(entry.blob);
      if (known !== undefined) return Promise.resolve(known === "unreadable" ? undefined : known);
      const read = documents.get(entry.blob) ?? readText(entry.path).then((text) => readWhole(entry.blob, text));
      documents.set(entry.blob, read);
      return read;
    },
    async readTexts(paths) {
      const wanted = paths.flatMap((path) => {
        const entry = fileAt(path);
        return entry?.kind === "file" ? [{ path, entry }] : [];
      });
      const missing = wanted.filter(({ entry }) => !texts.has(entry.blob)).map(({ entry }) => entry);
      const read = await snapshot.read(revision, [...new Set(missing.map((entry) => entry.path))]);
      for (const { path, blob } of missing) {
        const text = read.get(path);
        if (text !== undefined) texts.set(blob, text);
      }
      return new Map(
        wanted.flatMap(({ path, entry }) => {
          const text = texts.get(entry.blob);
          return text === undefined ? [] : [[path, text]];
        }),
      );
    },
  };

  function follow(path: string): Followed {
    if (!linked) return { path, links: [], asked: [path], unreadable: undefined };
    return followLinks(path, entryAt, targets);
  }

  function entriesIn(path: string): readonly TreeEntry[] {
    const { path: real } = follow(path);
    if (real === undefined) return [];
    if (real === "") return entries;
    const start = firstBelow(real);
    const end = firstAtOrAfter(entries, `${real}${AFTER_SLASH}`);
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
}

/** The character that follows the slash: everything below a directory sorts between the two. */
const AFTER_SLASH = "0";

function readWhole(blob: string, text: string | undefined): readonly Json[] | undefined {
  if (text === undefined) return undefined;
  const { values, problems } = readYamlDocuments(text);
  parsed.set(blob, problems.length > 0 ? "unreadable" : values, text.length + 100);
  return problems.length > 0 ? undefined : values;
}
