import type { Application } from "../../model/application.js";
import type { Revision } from "../../model/brand.js";
import { ChangedPaths } from "../../model/collections.js";
import type { InputPart, InputSet } from "../../model/input-set.js";
import type { TreeEntry } from "../../ports/repositories.js";
import type { Snapshot } from "../../ports/snapshot.js";
import { isWithin, matchesGlob, parentOf } from "../tree/repository-path.js";
import { type GeneratePath, generatePathEntries, touchedPaths } from "./input-set.js";

/** Changed inputs that the annotation does not cover. */
interface Uncovered {
  readonly files: readonly string[];
  /** The entries to add to the annotation, separated by `;`. Undefined if all are there, some with spaces around them, and if `unnamed`. */
  readonly missingEntry: string | undefined;
  /** git shows Argo CD none of the files by its name. */
  readonly unnamed?: true;
}

/**
 * The changed inputs that Argo CD would not notice: it reuses the manifests of an older commit and reports a success that
 * applied nothing (seen on Argo CD v2.13 and v3.5). Undefined if any changed file matches, since Argo CD then renders
 * everything. Each source is checked separately, with what it reads through `$ref` and with what changed since the commit
 * that Argo CD compared last.
 */
export function uncoveredByGeneratePaths(
  application: Pick<Application, "annotations">,
  inputs: InputSet,
  changedSince: (part: InputPart) => NoticedChanges,
): Uncovered | undefined {
  const files = new Set<string>();
  const named = new Set<string>();
  let isMissing = false;
  for (const part of inputs) {
    const entries = generatePathEntries(application.annotations, part.sourcePath);
    if (entries === undefined) continue;
    const { paths, noticed } = changedSince(part);
    const names = [...noticed];
    const covering = entries.filter((entry) => names.some((path) => covers(entry, path)));
    if (covering.some(({ spaced }) => !spaced)) continue;
    const touched = touchedPaths([part], new ChangedPaths(paths));
    for (const path of touched) files.add(path);
    for (const path of touched) if (noticed.has(path)) named.add(path);
    isMissing ||= touched.length > 0 && covering.length === 0;
  }
  if (files.size === 0) return undefined;
  if (isMissing && named.size === 0) return { files: [...files], missingEntry: undefined, unnamed: true };
  return { files: [...files], missingEntry: isMissing ? missingEntry([...named]) : undefined };
}

/** `AppFilesHaveChanged` of Argo CD v3.5: the file itself, one below the directory, or a match. */
function covers({ directory, pattern }: GeneratePath, path: string): boolean {
  const file = `/${path}`;
  return file === pattern || isWithin(parentOf(path), directory) || matchesGlob(pattern, file, { doubleStar: false });
}

const MAX_ENTRIES = 5;

/** The directories of the files, or their common parent if there are many. */
function missingEntry(files: readonly string[]): string {
  const directories = [...new Set(files.map((file) => parentOf(file) || file))];
  const outermost = directories.filter((one) => !directories.some((other) => other !== one && isWithin(one, other)));
  const entries = outermost.length <= MAX_ENTRIES ? outermost : [commonDirectory(outermost)];
  return entries.map((entry) => `/${entry}`).join(";");
}

function commonDirectory(paths: readonly string[]): string {
  let common = paths[0] ?? "";
  while (!paths.every((path) => isWithin(path, common))) common = parentOf(common);
  return common;
}

/** What differs between two commits, and by which names Argo CD finds out. */
export interface NoticedChanges {
  readonly paths: readonly string[];
  /** Without what may be the old name of a file that moved, and with special names in quotes, which no other path begins with. */
  readonly noticed: ReadonlySet<string>;
}

/** More files than an ordinary change moves. Among more, each that is gone may have moved. */
const MAX_MOVED = 100;
/** In characters. Whatever a longer text says, it may be that of a file that moved. */
const MAX_COMPARED = 32 * 1024;
/** Comparisons of one line. What is left over may have moved. */
const MAX_LINES = 500_000;

/** Each application with the annotation asks for the same two pairs of commits. */
const known = new WeakMap<Snapshot, Map<string, Promise<NoticedChanges>>>();

/**
 * Finds the names that `git diff --name-only` prints, which Argo CD compares with the annotation manifest-generate-paths (v3.5
 * `ChangedFiles` in util/git/client.go). Of a file that moved, whole or in large part, git prints the new name only.
 */
export function noticedChanges(snapshot: Snapshot, from: Revision, to: Revision): Promise<NoticedChanges> {
  const ofSnapshot = known.get(snapshot) ?? new Map<string, Promise<NoticedChanges>>();
  known.set(snapshot, ofSnapshot);
  const key = `${from} ${to}`;
  const found = ofSnapshot.get(key) ?? findNoticed(snapshot, from, to);
  ofSnapshot.set(key, found);
  found.catch(() => ofSnapshot.delete(key));
  return found;
}

async function findNoticed(snapshot: Snapshot, from: Revision, to: Revision): Promise<NoticedChanges> {
  const paths = await snapshot.changedPaths(from, to);
  const [before, after] = await Promise.all([snapshot.tree(from), snapshot.tree(to)]);
  const entriesAt = (some: readonly string[], tree: typeof before) => some.flatMap((path) => tree.entryAt(path) ?? []);
  const gone = entriesAt(paths, before).filter(({ path }) => after.entryAt(path) === undefined);
  const added = entriesAt(paths, after).filter(({ path }) => before.entryAt(path) === undefined);
  const isRead = gone.length > 0 && added.length > 0 && gone.length + added.length <= MAX_MOVED;
  const withTexts = async (entries: readonly TreeEntry[], revision: Revision) => {
    const texts = await snapshot.read(revision, isRead ? entries.map(({ path }) => path) : []);
    return entries.map((entry) => ({ ...entry, text: linesOf(texts.get(entry.path)) }));
  };
  const [old, young] = await Promise.all([withTexts(gone, from), withTexts(added, to)]);
  let left = MAX_LINES;
  const moved = old.filter(({ kind, blob, text }) =>
    young.some((one) => {
      left -= text?.lines.size ?? 0;
      return one.kind === kind && (one.blob === blob || left < 0 || mayBeSame(text, one.text));
    }),
  );
  const hidden = new Set(moved.map(({ path }) => path));
  const noticed = paths.filter((path) => !hidden.has(path)).map((path) => (isSpecial(path) ? `"${path}` : path));
  return { paths, noticed: new Set(noticed) };
}

/** Whether git puts a name in quotes (`core.quotePath` in git-config(1)). */
function isSpecial(path: string): boolean {
  return /[^ -~]|["\\]/.test(path);
}

/** A text as git compares it: how many characters its lines have, and each piece of up to 64 characters. */
interface Lines {
  readonly size: number;
  readonly lines: ReadonlyMap<string, number>;
}

function linesOf(text: string | undefined): Lines | undefined {
  if (text === undefined || text.length > MAX_COMPARED) return undefined;
  const lines = new Map<string, number>();
  for (const [line] of text.matchAll(/[^\n]{1,63}\n|[^\n]{1,64}|\n/g)) {
    lines.set(line, (lines.get(line) ?? 0) + line.length);
  }
  return { size: text.length, lines };
}

/** git takes two files for the same if half of the larger one is in both (`estimate_similarity` of diffcore-rename.c). */
const SIMILAR = 0.45;

function mayBeSame(one: Lines | undefined, other: Lines | undefined): boolean {
  if (one === undefined || other === undefined) return true;
  const shared = [...one.lines].reduce((sum, [line, size]) => sum + Math.min(size, other.lines.get(line) ?? 0), 0);
  return shared >= SIMILAR * Math.max(one.size, other.size);
}
