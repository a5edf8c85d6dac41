import type { FileChange, FileChanges } from "../forge.js";
import type { ObjectFolder } from "./object-folder.js";
import { entriesAsTree, FOLDER_MODE, readEntries, type TreeEntry } from "./tree-entries.js";

/** Who a commit names: a login, which stands for that account's e-mail address, or any name and address. */
export type Identity = string | { readonly name: string; readonly email: string };

export interface CommitOptions {
  /** Start of a new branch. Without it, a new branch has no parent commit. */
  readonly from?: string;
  readonly message?: string;
  readonly author?: Identity;
  /** Default: the author. */
  readonly committer?: Identity | undefined;
  /** The parent, in place of the branch's tip: a forced push. */
  readonly onto?: string | undefined;
  /** An earlier commit that the branch is set to, in place of a new one. */
  readonly back?: string | undefined;
  /** Another commit to merge; the changes come on top of the merge. If the two conflict, the parent's tree is kept. */
  readonly merging?: string | undefined;
}

export interface NewCommit {
  readonly message: string;
  readonly author: Identity;
  /** Default: the author. */
  readonly committer?: Identity | undefined;
  /** Seconds since 1970. */
  readonly time: number;
  readonly parents: readonly string[];
  /** The commit's tree. Default: the first parent's. */
  readonly tree?: string;
  readonly changes?: FileChanges;
}

/** Changes in one folder, by the first path component. */
interface FolderChanges {
  readonly files: Map<string, FileChange>;
  readonly folders: Map<string, FolderChanges>;
}

/** Writes a commit with its trees and blobs. Returns its id. */
export function writeCommit(objects: ObjectFolder, commit: NewCommit): string {
  const { changes = {}, parents } = commit;
  const before = commit.tree ?? (parents[0] === undefined ? undefined : objects.treeOf(parents[0])?.id);
  const tree = changedTree(objects, before, sorted(changes)) ?? objects.write("tree", Buffer.alloc(0));
  const header = [
    `tree ${tree}`,
    ...parents.map((parent) => `parent ${parent}`),
    `author ${signature(commit.author, commit.time)}`,
    `committer ${signature(commit.committer ?? commit.author, commit.time)}`,
  ];
  return objects.write("commit", Buffer.from(`${header.join("\n")}\n\n${commit.message}`));
}

const DOMAIN = "users.noreply.localhost";

function signature(who: Identity, time: number): string {
  const plain = (text: string): string => text.replace(/[<>\n]/g, "");
  const { name, email } = typeof who === "string" ? { name: who, email: `${who.replace(/\s/g, ".")}@${DOMAIN}` } : who;
  return `${plain(name)} <${plain(email)}> ${time} +0000`;
}

/** The login of the account that an address belongs to, in lower case; undefined for any other address. */
export function loginOf(email: string): string | undefined {
  const [login, domain] = email.toLowerCase().split("@");
  return domain === DOMAIN ? login : undefined;
}

function sorted(changes: FileChanges): FolderChanges {
  const root: FolderChanges = { files: new Map(), folders: new Map() };
  for (const [path, change] of Object.entries(changes)) {
    const parts = path.split("/");
    const name = parts.pop() ?? "";
    if ([...parts, name].some((part) => part === "" || part === "." || part === ".." || part.includes("\0"))) {
      throw new Error(`${JSON.stringify(path)} is not a valid path`);
    }
    let folder = root;
    for (const part of parts) {
      const below = folder.folders.get(part) ?? { files: new Map(), folders: new Map() };
      folder.folders.set(part, below);
      folder = below;
    }
    folder.files.set(name, change);
  }
  return root;
}

/** The tree's id after the changes, or undefined if the tree is empty. */
function changedTree(
  objects: ObjectFolder,
  before: string | undefined,
  { files, folders }: FolderChanges,
): string | undefined {
  if (files.size === 0 && folders.size === 0) return before;
  const content = before === undefined ? undefined : objects.read(before)?.content;
  const entries = new Map<string, TreeEntry>();
  for (const entry of content === undefined ? [] : readEntries(content)) entries.set(entry.name, entry);
  for (const [name, change] of files) {
    if (change === null) entries.delete(name);
    else entries.set(name, { name, ...written(objects, change) });
  }
  for (const [name, below] of folders) {
    const now = entries.get(name);
    const id = changedTree(objects, now?.mode === FOLDER_MODE ? now.id : undefined, below);
    if (id !== undefined) entries.set(name, { name, mode: FOLDER_MODE, id });
    else if (now?.mode === FOLDER_MODE) entries.delete(name);
  }
  return entries.size === 0 ? undefined : objects.write("tree", entriesAsTree(entries.values()));
}

function written(objects: ObjectFolder, change: Exclude<FileChange, null>): Pick<TreeEntry, "mode" | "id"> {
  const blob = (text: string): string => objects.write("blob", Buffer.from(text));
  if (typeof change === "string") return { mode: "100644", id: blob(change) };
  if ("submodule" in change) return { mode: "160000", id: change.submodule };
  if ("symlink" in change) return { mode: "120000", id: blob(change.symlink) };
  return { mode: "100755", id: blob(change.executable) };
}
