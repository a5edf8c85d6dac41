import type { LRUCache } from "lru-cache";
import { firstAtOrAfter } from "../core/detect/tree/repository-path.js";
import type { Revision } from "../core/model/brand.js";
import { nextTurn } from "../core/model/collections.js";
import type { TreeEntry } from "../core/ports/repositories.js";
import { GitFailure } from "./git-process.js";
import type { MirrorRepository } from "./mirror-repository.js";

/** The paths that differ between two commits, each with its entry at the second; undefined if it has none there. */
type TreeChanges = ReadonlyMap<string, TreeEntry | undefined>;

/** Longest path in bytes, as on most file systems. */
const MAX_PATH = 4096;
/** Folders in each other. Only a crafted repository has more, and what is done for each folder above a file takes long then. */
const MAX_DEPTH = 200;
/** What a commit or a difference may have: a million entries with usual paths. A crafted repository can repeat one folder very often. */
const MAX_SIZE = 200_000_000;
const ENTRY_SIZE = 100;
/** Entries whose reading takes some milliseconds. */
const LARGE_FOLDER = 2_000;

/** Reads trees folder by folder; folders known from other commits are not read again. Not safe for concurrent use. */
export class TreeReader {
  readonly #changes = new Map<string, TreeChanges>();

  constructor(
    private readonly folder: MirrorRepository,
    private readonly cache: LRUCache<string, TreeNode>,
    private readonly signal: AbortSignal,
  ) {}

  /** All entries of a commit, sorted by path. Derives them from those of another commit, `near`, if given. */
  async list(
    revision: Revision,
    near?: { readonly revision: Revision; readonly entries: readonly TreeEntry[] },
  ): Promise<readonly TreeEntry[]> {
    const changes = near && (await this.changes(near.revision, revision));
    await nextTurn();
    const changed = near && changes && changedList(near.entries, changes);
    if (changed !== undefined && sizeOf(changed) <= MAX_SIZE) return changed;
    const root = await this.#root(revision);
    const entries = entriesBelow(await this.#nodesBelow(root), root);
    // git sorts by bytes, which gives another order for some characters outside ASCII.
    const sorted = entries.every(({ path }, index) => index === 0 || (entries[index - 1]?.path ?? "") <= path);
    return sorted ? entries : entries.sort(byPath);
  }

  async changes(from: Revision, to: Revision): Promise<TreeChanges> {
    const key = `${from} ${to}`;
    const known = this.#changes.get(key);
    if (known !== undefined) return known;
    const [before, after] = [await this.#root(from), await this.#root(to)];
    const changed = new Map<string, TreeEntry | undefined>();
    const spent = { size: 0 };
    let pairs: readonly FolderPair[] = before === after ? [] : [{ prefix: "", before, after }];
    for (let depth = 0; pairs.length > 0; depth += 1) {
      if (depth > MAX_DEPTH) throw tooDeep();
      const ids = pairs.flatMap((pair) => [pair.before, pair.after]).filter((id) => id !== undefined);
      const nodes = await this.#nodes(ids);
      await nextTurn();
      pairs = differences(pairs, nodes, changed, spent);
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

  /** This folder and all folders below it, read level by level. */
  async #nodesBelow(root: string): Promise<ReadonlyMap<string, TreeNode>> {
    const all = new Map<string, TreeNode>();
    let level: readonly string[] = [root];
    for (let depth = 0; level.length > 0; depth += 1) {
      if (depth > MAX_DEPTH) throw tooDeep();
      const nodes = await this.#nodes(level);
      for (const [id, node] of nodes) all.set(id, node);
      const below = [...nodes.values()].flatMap(({ items }) => items.filter(({ kind }) => kind === "tree"));
      level = [...new Set(below.map(({ id }) => id))].filter((id) => !all.has(id));
    }
    return all;
  }

  /** These folders; unknown ones are read in one go. */
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
      this.cache.set(this.#key(id), node, { size: node.weight });
      if (node.items.length > LARGE_FOLDER) await nextTurn();
    }
    return nodes;
  }

  /** Includes the repository, so that knowing an id gives no access to another repository's folders. */
  #key(id: string): string {
    return `${this.folder.path} ${id}`;
  }
}

function entriesBelow(nodes: ReadonlyMap<string, TreeNode>, root: string): TreeEntry[] {
  const entries: TreeEntry[] = [];
  let size = 0;
  collect(root, "", 0);
  return entries;

  function collect(id: string, prefix: string, depth: number): void {
    if (prefix.length > MAX_PATH || depth > MAX_DEPTH) throw tooDeep();
    const items = nodes.get(id)?.items ?? [];
    size += ENTRY_SIZE;
    for (const item of items) {
      size += ENTRY_SIZE + prefix.length + item.name.length;
      if (size > MAX_SIZE) throw tooMany();
      if (isEntry(item)) entries.push(entryOf(item, prefix + item.name));
      else collect(item.id, `${prefix}${item.name}/`, depth + 1);
    }
  }
}

/** A folder on both sides; undefined where it does not exist. */
interface FolderPair {
  readonly prefix: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** Compares folders: adds the entries that differ to `changed`, and returns the subfolders that differ. */
function differences(
  pairs: readonly FolderPair[],
  nodes: ReadonlyMap<string, TreeNode>,
  changed: Map<string, TreeEntry | undefined>,
  spent: { size: number },
): readonly FolderPair[] {
  const below: FolderPair[] = [];
  for (const { prefix, before, after } of pairs) {
    if (prefix.length > MAX_PATH) throw tooDeep();
    const [left, right] = [itemsOf(nodes, before), itemsOf(nodes, after)];
    for (const bytes of new Set([...left.keys(), ...right.keys()])) {
      const [old, young] = [left.get(bytes), right.get(bytes)];
      if (old?.id === young?.id && old?.kind === young?.kind && old?.executable === young?.executable) continue;
      const path = prefix + (old?.name ?? young?.name ?? "");
      spent.size += ENTRY_SIZE + path.length;
      if (spent.size > MAX_SIZE) throw tooMany();
      if (isEntry(old) || isEntry(young)) changed.set(path, isEntry(young) ? entryOf(young, path) : undefined);
      const folders = { before: folderIn(old), after: folderIn(young) };
      if (folders.before !== undefined || folders.after !== undefined) below.push({ prefix: `${path}/`, ...folders });
    }
  }
  return below;
}

function itemsOf(nodes: ReadonlyMap<string, TreeNode>, id: string | undefined): ReadonlyMap<string, TreeItem> {
  const items = id === undefined ? [] : (nodes.get(id)?.items ?? []);
  return new Map(items.map((item) => [item.bytes, item]));
}

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

function sizeOf(entries: readonly TreeEntry[]): number {
  return entries.reduce((sum, { path }) => sum + ENTRY_SIZE + path.length, 0);
}

function byPath(left: TreeEntry, right: TreeEntry): number {
  return left.path < right.path ? -1 : left.path > right.path ? 1 : 0;
}

function tooDeep(): GitFailure {
  return new GitFailure("too-deep", "");
}

function tooMany(): GitFailure {
  return new GitFailure("too-much-output", "");
}

/** Stands for bytes that are not UTF-8, so two different names can become the same path. */
const UNREADABLE = "\uFFFD";

/** Derives a commit's sorted entries from those of another. Undefined if a changed path may stand for several. */
function changedList(entries: readonly TreeEntry[], changes: TreeChanges): readonly TreeEntry[] | undefined {
  const paths = [...changes.keys()].sort();
  if (paths.some((path) => path.includes(UNREADABLE))) return undefined;
  const merged: TreeEntry[] = [];
  let taken = 0;
  for (const path of paths) {
    const at = firstAtOrAfter(entries, path);
    for (const entry of entries.slice(taken, at)) merged.push(entry);
    const entry = changes.get(path);
    if (entry !== undefined) merged.push(entry);
    taken = entries[at]?.path === path ? at + 1 : at;
  }
  for (const entry of entries.slice(taken)) merged.push(entry);
  return merged;
}

export interface TreeNode {
  readonly items: readonly TreeItem[];
  readonly weight: number;
}

interface TreeItem {
  /** The name's bytes, one character each, so that different names that are not UTF-8 stay different. */
  readonly bytes: string;
  /** The name as text; bytes that are not UTF-8 become U+FFFD. */
  readonly name: string;
  readonly kind: "tree" | "file" | "symlink" | "submodule";
  readonly executable: boolean;
  readonly id: string;
}

const KINDS: Readonly<Record<number, TreeItem["kind"]>> = {
  0o040000: "tree",
  0o100000: "file",
  0o120000: "symlink",
  0o160000: "submodule",
};
const KIND_BITS = 0o170000;
const SPACE = 0x20;

/** `<mode> <name>\0<id>` for each item. @throws {GitFailure} for a tree that git would not write, which a crafted repository has. */
function parseTree(content: Buffer, idBytes: number): TreeNode {
  const items: TreeItem[] = [];
  const seen = new Set<string>();
  let weight = 200;
  let position = 0;
  while (position < content.length) {
    const space = content.indexOf(SPACE, position);
    const nameEnd = content.indexOf(0, space);
    const end = nameEnd + 1 + idBytes;
    if (space < 0 || nameEnd < 0 || end > content.length) {
      throw new GitFailure("unexpected-answer", "a tree is incomplete");
    }
    const mode = Number.parseInt(content.toString("latin1", position, space), 8);
    const kind = KINDS[mode & KIND_BITS];
    if (kind === undefined) throw new GitFailure("unexpected-answer", "a tree contains an item of an unknown kind");
    const bytes = content.toString("latin1", space + 1, nameEnd);
    if (seen.has(bytes) || bytes === "" || bytes === "." || bytes === ".." || bytes.includes("/")) {
      throw new GitFailure("unexpected-answer", "the repository contains a path that git does not allow");
    }
    seen.add(bytes);
    const name = /[\x80-\xff]/.test(bytes) ? content.toString("utf8", space + 1, nameEnd) : bytes;
    const executable = kind === "file" && (mode & 0o100) !== 0;
    items.push({ bytes, name, kind, executable, id: content.toString("hex", nameEnd + 1, end) });
    weight += 200 + 2 * name.length;
    position = end;
  }
  return { items, weight };
}
