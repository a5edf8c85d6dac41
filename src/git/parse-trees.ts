import type { TreeEntry } from "../core/ports.js";
import { GitFailure } from "./git-failure.js";

/** Entries of `git ls-tree -r -z`: `<mode> <type> <id>\t<path>`, each ended by a zero byte. */
export function parseTree(output: Buffer): readonly TreeEntry[] {
  const entries = fieldsOf(output).map((field): TreeEntry => {
    const [, mode = "", blob = "", path = ""] = /^(\d{6}) \w+ ([0-9a-f]+)\t(.+)$/s.exec(field) ?? [];
    return { path: safePath(path), kind: kindOf(mode), blob };
  });
  return entries.sort((left, right) => (left.path < right.path ? -1 : left.path > right.path ? 1 : 0));
}

/** Paths of `git diff-tree -r -z --name-only`, sorted, each once. */
export function parsePaths(output: Buffer): readonly string[] {
  return [...new Set(fieldsOf(output).map(safePath))].sort();
}

/** Bytes that are no UTF-8 become U+FFFD, so that such a path is still seen as changed. */
function fieldsOf(output: Buffer): string[] {
  const fields = output.toString("utf8").split("\0");
  if (fields.pop() !== "") throw new GitFailure("unexpected-answer", "the answer of git is cut off");
  return fields;
}

function kindOf(mode: string): TreeEntry["kind"] {
  if (mode === "120000") return "symlink";
  if (mode === "160000") return "submodule";
  if (mode.startsWith("100")) return "file";
  throw new GitFailure("unexpected-answer", "the answer of git is not understood");
}

/** git itself makes no such paths, but a crafted tree can hold them. */
function safePath(path: string): string {
  const parts = path.split("/");
  if (parts.some((part) => part === "" || part === "." || part === "..")) {
    throw new GitFailure("unexpected-answer", "the repository holds a path that git does not allow");
  }
  return path;
}
