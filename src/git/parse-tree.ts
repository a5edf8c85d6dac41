import { GitFailure } from "./git-failure.js";

/** A folder of a commit, as git stores it. */
export interface TreeNode {
  readonly items: readonly TreeItem[];
  /** Approximate memory in bytes. */
  readonly weight: number;
}

export interface TreeItem {
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

/**
 * Parses a tree object: `<mode> <name>\0<id>` for each item, where the id has 20 or 32 bytes.
 * @throws {GitFailure} for a tree that git would not write, which a crafted repository can contain.
 */
export function parseTree(content: Buffer, idBytes: number): TreeNode {
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
