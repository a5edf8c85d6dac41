/** One entry of a tree object. */
export interface TreeEntry {
  /** As git writes it: `40000` for a folder, `100644`, `100755`, `120000`, `160000`. */
  readonly mode: string;
  readonly name: string;
  readonly id: string;
}

export const FOLDER_MODE = "40000";

/** Parses a tree object: `<mode> <name>\0<20 bytes of id>` for each entry. */
export function* readEntries(tree: Buffer): Generator<TreeEntry> {
  for (let at = 0; at < tree.length;) {
    const space = tree.indexOf(0x20, at);
    const nameEnd = tree.indexOf(0, space);
    yield {
      mode: tree.toString("latin1", at, space),
      name: tree.toString("utf8", space + 1, nameEnd),
      id: tree.toString("hex", nameEnd + 1, nameEnd + 21),
    };
    at = nameEnd + 21;
  }
}

/** The bytes of a tree object. Git sorts by bytes, and a folder as if its name ended in a slash. */
export function entriesAsTree(entries: Iterable<TreeEntry>): Buffer {
  const keyed = [...entries].map((entry) => ({
    ...entry,
    key: Buffer.from(entry.mode === FOLDER_MODE ? `${entry.name}/` : entry.name),
  }));
  keyed.sort((a, b) => Buffer.compare(a.key, b.key));
  return Buffer.concat(
    keyed.flatMap(({ mode, name, id }) => [Buffer.from(`${mode} ${name}\0`), Buffer.from(id, "hex")]),
  );
}
