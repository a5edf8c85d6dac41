import type { Revision } from "../core/model/brand.js";
import type { LruCache } from "../core/model/lru-cache.js";
import type { TreeEntry } from "../core/ports/repositories.js";
import { changedList, type TreeChanges } from "./changed-list.js";
import { GitFailure } from "./git-failure.js";
import type { MirrorRepository } from "./mirror-repository.js";
import { parseTree, type TreeItem, type TreeNode } from "./parse-tree.js";

/** Longest path in bytes, as on most file systems; deeper folders are crafted. */
const MAX_PATH = 4096;
/** Entries of a commit, and of a difference: a crafted repository can hold a folder in itself, thousandfold. */
const MAX_ENTRIES = 1_000_000;

/** Reads trees folder by folder; those that are known from another commit cost nothing. One user at a time. */
export class TreeReader {
  readonly #changes = new Map<string, TreeChanges>();

  constructor(
    private readonly folder: MirrorRepository,
    private readonly cache: LruCache<TreeNode>,
    private readonly signal: AbortSignal,
  ) {}

  /** Every entry of the whole tree, sorted by path; found through those of another commit if these are known. */
  async list(revision: Revision, near?: KnownList): Promise<readonly TreeEntry[]> {
    const changed = near && changedList(near.entries, await this.changes(near.revision, revision));
    if (changed !== undefined && changed.length <= MAX_ENTRIES) return changed;
    const root = await this.#root(revision);
    const entries = entriesBelow(await this.#nodesBelow(root), root);
    // git sorts by bytes, which differs for some characters outside of ASCII.
    const sorted = entries.every(({ path }, index) => index === 0 || (entries[index - 1]?.path ?? "") <= path);
    return sorted ? entries : entries.sort(byPath);
  }

  /** Paths that differ: folders that are the same are not looked into. */
  async changes(from: Revision, to: Revision): Promise<TreeChanges> {
    const key = `${from} ${to}`;
    const known = this.#changes.get(key);
    if (known !== undefined) return known;
    const [before, after] = [await this.#root(from), await this.#root(to)];
    const changed = new Map<string, TreeEntry | undefined>();
    let pairs: readonly FolderPair[] = before === after ? [] : [{ prefix: "", before, after }];
    while (pairs.length > 0) {
      const ids = pairs.flatMap((pair) => [pair.before, pair.after]).filter((id) => id !== undefined);
      pairs = differences(pairs, await this.#nodes(ids), changed);
    }
    this.#changes.set(key, changed);
    return changed;
  }

  async #root(revision: Revision): Promise<string> {
    const [commit] = await this.folder.contents([revision], this.signal);
    const tree = /^tree ([0-9a-f]+)\n/.exec(commit?.content.toString("latin1", 0, 80) ?? "")?.[1];
    if (commit?.type !== "commit" || tree === undefined) {
      throw new GitFailure("unexpected-answer", "a commit is missing");
    }
    return tree;
  }

  /** This folder and all below it, level by level. */
  async #nodesBelow(root: string): Promise<ReadonlyMap<string, TreeNode>> {
    const all = new Map<string, TreeNode>();
    let level: readonly string[] = [root];
    for (let depth = 0; level.length > 0; depth += 1) {
      if (depth > MAX_PATH / 2) throw tooDeep();
      const nodes = await this.#nodes(level);
      for (const [id, node] of nodes) all.set(id, node);
      const below = [...nodes.values()].flatMap(({ items }) => items.filter(({ kind }) => kind === "tree"));
      level = [...new Set(below.map(({ id }) => id))].filter((id) => !all.has(id));
    }
    return all;
  }

  /** These folders; what is not known is read in one go. */
  async #nodes(ids: readonly string[]): Promise<ReadonlyMap<string, TreeNode>> {
    const nodes = new Map<string, TreeNode>();
    const unknown = new Set<string>();
    for (const id of ids) {
      const node = this.cache.get(this.#key(id));
      if (node === undefined) unknown.add(id);
      else nodes.set(id, node);
    }
    const wanted = [...unknown];
    const objects = await this.folder.contents(wanted, this.signal);
    for (const [index, id] of wanted.entries()) {
      const object = objects[index];
      if (object?.type !== "tree") throw new GitFailure("unexpected-answer", "a tree is missing");
      const node = parseTree(object.content, id.length / 2);
      nodes.set(id, node);
      this.cache.set(this.#key(id), node, node.weight);
    }
    return nodes;
  }

  /** By repository, so that nobody reads what another one holds by naming its id. */
  #key(id: string): string {
    return `${this.folder.path} ${id}`;
  }
}

function entriesBelow(nodes: ReadonlyMap<string, TreeNode>, root: string): TreeEntry[] {
  const entries: TreeEntry[] = [];
  let looked = 0;
  collect(root, "");
  return entries;

  function collect(id: string, prefix: string): void {
    if (prefix.length > MAX_PATH) throw tooDeep();
    const items = nodes.get(id)?.items ?? [];
    looked += 1 + items.length;
    if (looked > MAX_ENTRIES) throw tooMany();
    for (const item of items) {
      if (isEntry(item)) entries.push(entryOf(item, prefix + item.name));
      else collect(item.id, `${prefix}${item.name}/`);
    }
  }
}

/** A commit and all its entries. */
export interface KnownList {
  readonly revision: Revision;
  readonly entries: readonly TreeEntry[];
}

/** One folder on both sides; undefined where there is none. */
interface FolderPair {
  readonly prefix: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** Adds the paths that differ in these folders themselves; returns the folders in them that differ. */
function differences(
  pairs: readonly FolderPair[],
  nodes: ReadonlyMap<string, TreeNode>,
  changed: Map<string, TreeEntry | undefined>,
): readonly FolderPair[] {
  const below: FolderPair[] = [];
  for (const { prefix, before, after } of pairs) {
    if (prefix.length > MAX_PATH) throw tooDeep();
    const [left, right] = [itemsOf(nodes, before), itemsOf(nodes, after)];
    for (const bytes of new Set([...left.keys(), ...right.keys()])) {
      const [old, young] = [left.get(bytes), right.get(bytes)];
      if (old?.id === young?.id && old?.kind === young?.kind && old?.executable === young?.executable) continue;
      const path = prefix + (old?.name ?? young?.name ?? "");
      if (isEntry(old) || isEntry(young)) changed.set(path, isEntry(young) ? entryOf(young, path) : undefined);
      const folders = { before: folderIn(old), after: folderIn(young) };
      if (folders.before !== undefined || folders.after !== undefined) below.push({ prefix: `${path}/`, ...folders });
      if (changed.size + below.length > MAX_ENTRIES) throw tooMany();
    }
  }
  return below;
}

function itemsOf(nodes: ReadonlyMap<string, TreeNode>, id: string | undefined): ReadonlyMap<string, TreeItem> {
  const items = id === undefined ? [] : (nodes.get(id)?.items ?? []);
  return new Map(items.map((item) => [item.bytes, item]));
}

/** Everything but a folder. */
type EntryItem = TreeItem & { readonly kind: TreeEntry["kind"] };

function isEntry(item: TreeItem | undefined): item is EntryItem {
  return item !== undefined && item.kind !== "tree";
}

function entryOf({ kind, executable, id }: EntryItem, path: string): TreeEntry {
  return { path, kind, executable, blob: id };
}

function folderIn(item: TreeItem | undefined): string | undefined {
  return item?.kind === "tree" ? item.id : undefined;
}

function byPath(left: TreeEntry, right: TreeEntry): number {
  return left.path < right.path ? -1 : left.path > right.path ? 1 : 0;
}

function tooDeep(): GitFailure {
  return new GitFailure("unexpected-answer", "the repository holds a path that is too long");
}

function tooMany(): GitFailure {
  return new GitFailure("too-much-output", "");
}
