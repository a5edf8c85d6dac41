import { runGit } from "./run-git.js";

export interface ChangedPath {
  readonly path: string;
  /** The path before a rename. */
  readonly previous?: string;
  readonly status: "added" | "removed" | "modified" | "renamed";
  /** Blob id; of a removed file, the old one. */
  readonly blob: string;
  /** Lines; 0 for binary files. */
  readonly additions: number;
  readonly deletions: number;
}

const statuses: Readonly<Record<string, ChangedPath["status"]>> = {
  A: "added",
  C: "added",
  D: "removed",
  M: "modified",
  R: "renamed",
  T: "modified",
};

/** Compares the trees of two commits, detecting renames. */
export async function readChangedPaths(folder: string, from: string, to: string): Promise<ChangedPath[]> {
  const args = ["diff-tree", "-r", "-z", "-M", "--raw", "--numstat", "--no-abbrev", "--end-of-options", from, to];
  const fields = (await runGit(folder, args)).stdout.split("\0");
  const found: Omit<ChangedPath, "additions" | "deletions">[] = [];
  const lines = new Map<string, readonly [number, number]>();
  let at = 0;
  const next = (): string => fields[at++] ?? "";
  while (at < fields.length) {
    const field = next();
    if (field.startsWith(":")) found.push(rawEntry(field, next));
    else if (field !== "") {
      const [added = "", deleted = "", path = ""] = field.split("\t");
      if (path === "") next(); // a rename's old path comes first, in its own field
      lines.set(path === "" ? next() : path, [Number(added) || 0, Number(deleted) || 0]);
    }
  }
  return found.map((change) => {
    const [additions, deletions] = lines.get(change.path) ?? [0, 0];
    return { ...change, additions, deletions };
  });
}

/** `:100644 100644 <blob before> <blob after> R087`, then the path, or two paths for a rename. */
function rawEntry(field: string, next: () => string): Omit<ChangedPath, "additions" | "deletions"> {
  const [, , before = "", after = "", letter = ""] = field.split(" ");
  const status = statuses[letter.charAt(0)] ?? "modified";
  const first = next();
  if (/^[RC]/.test(letter)) {
    const path = next();
    return { path, status, blob: after, ...(status === "renamed" ? { previous: first } : {}) };
  }
  return { path: first, status, blob: status === "removed" ? before : after };
}
