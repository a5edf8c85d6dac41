import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join, relative, sep } from "node:path";
import type { FileChange, FileChanges } from "../../sandbox/forge.js";

/** A commit's files by path. */
export type Tree = Readonly<Record<string, Exclude<FileChange, null>>>;

/** Reads a folder as the tree of a commit: symbolic links and executables stay what they are. Empty when it is missing. */
export function readTree(folder: string): Tree {
  if (!existsSync(folder)) return {};
  const entries = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name));
  return Object.fromEntries(
    entries
      .filter((path) => !lstatSync(path).isDirectory())
      .map((path) => [relative(folder, path).split(sep).join("/"), readEntry(path)]),
  );
}

function readEntry(path: string): Exclude<FileChange, null> {
  const entry = lstatSync(path);
  if (entry.isSymbolicLink()) return { symlink: readlinkSync(path) };
  const text = readFileSync(path, "utf8");
  return (entry.mode & 0o100) === 0 ? text : { executable: text };
}

/** The commit that leads from one tree to the other. */
export function changesBetween(from: Tree, to: Tree): FileChanges {
  const gone = Object.keys(from).filter((path) => !(path in to));
  const written = Object.entries(to).filter(([path, file]) => JSON.stringify(from[path]) !== JSON.stringify(file));
  return { ...Object.fromEntries(gone.map((path) => [path, null])), ...Object.fromEntries(written) };
}

/** Every file's text with some words replaced. */
export function withWords(tree: Tree, words: ReadonlyMap<string, string>): Tree {
  return Object.fromEntries(Object.entries(tree).map(([path, file]) => [path, replaced(file, words)]));
}

function replaced(file: Exclude<FileChange, null>, words: ReadonlyMap<string, string>): Exclude<FileChange, null> {
  if (typeof file === "string") return replaceWords(file, words);
  return "executable" in file ? { executable: replaceWords(file.executable, words) } : file;
}

export function replaceWords(text: string, words: ReadonlyMap<string, string>): string {
  return [...words].reduce((result, [word, meaning]) => result.replaceAll(word, meaning), text);
}
