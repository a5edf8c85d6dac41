import type { TreeEntry } from "../../ports/repositories.js";
import type { Followed } from "../../ports/snapshot.js";

/** A path relative to the repository's root, without `.`, `..` and outer slashes; as in Argo CD, `..` above the root stays at the root. */
export function cleanPath(...parts: readonly string[]): string {
  const joined = parts.join("/");
  if (!UNCLEAN.test(joined)) return joined;
  const cleaned: string[] = [];
  for (const part of joined.split("/")) {
    if (part === "..") cleaned.pop();
    else if (part !== "" && part !== ".") cleaned.push(part);
  }
  return cleaned.join("/");
}

/** An empty component, `.` or `..`. Few paths have one, and a plan cleans tens of thousands. */
const UNCLEAN = /(?:^|\/)\.{0,2}(?:\/|$)/;

/** Whether a path is the directory or below it. The empty directory is the whole repository. */
export function isWithin(path: string, directory: string): boolean {
  return directory === "" || path === directory || path.startsWith(`${directory}/`);
}

/** The directory that holds a path; empty for the root. */
export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/** The directories that hold these paths, at any depth. The root is the first. */
export function directoriesAbove(paths: readonly string[]): ReadonlySet<string> {
  const directories = new Set([""]);
  for (const path of paths) {
    for (let one = parentOf(path); !directories.has(one); one = parentOf(one)) directories.add(one);
  }
  return directories;
}

/** Index of the first entry at or after this path in sorted order; the number of entries if there is none. */
export function firstAtOrAfter(entries: readonly TreeEntry[], path: string): number {
  let [low, high] = [0, entries.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((entries[middle]?.path ?? "") < path) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Index of the first entry that sorts behind everything below a directory. */
export function firstBehind(entries: readonly TreeEntry[], directory: string): number {
  // The character that follows the slash.
  return firstAtOrAfter(entries, `${directory}0`);
}

/** Decides line ends, filters and encodings of everything in its directory and below. */
export const ATTRIBUTES_FILE = ".gitattributes";
/** Where submodules come from. */
export const SUBMODULES = ".gitmodules";
/** Where submodules and large files come from, for the whole repository. */
const OF_THE_REPOSITORY = [SUBMODULES, ".lfsconfig"] as const;

/** The files outside of a path that decide what a checkout contains there, such as every `.gitattributes` above it. */
export function checkoutFilesOf(path: string): readonly string[] {
  const files: string[] = [...OF_THE_REPOSITORY];
  for (let directory = parentOf(path); ; directory = parentOf(directory)) {
    files.push(cleanPath(directory, ATTRIBUTES_FILE));
    if (directory === "") return files;
  }
}

export function isAttributesFile(path: string): boolean {
  return path === ATTRIBUTES_FILE || path.endsWith(`/${ATTRIBUTES_FILE}`);
}

/** Whether a file decides what a checkout contains at this path or below it. */
export function decidesCheckoutOf(path: string, file: string): boolean {
  const decides = isAttributesFile(file) || OF_THE_REPOSITORY.some((one) => one === file);
  return decides && (isWithin(path, parentOf(file)) || isWithin(file, path));
}

/** The longest pattern or path, in characters: Linux opens no longer path. */
export const MAX_LENGTH = 4096;
/** How many names a path may have. Only a crafted repository has more, and what is done for each folder would take long. */
const MAX_NAMES = 100;

/** Whether a path has more names than svc looks at. */
export function isDeep(path: string): boolean {
  return path.split("/", MAX_NAMES + 1).length > MAX_NAMES;
}

/** Linux's own limit. */
const MAX_LINKS = 40;
/** Characters of the targets that one tree may have followed: those of tens of thousands of usual links. */
const MAX_TARGETS = 2_000_000;

/**
 * Follows clean paths of one tree. Absolute targets and those above the root lead out of the repository: Argo CD refuses to render
 * them (`CheckOutOfBoundsSymlinks`). A path need not exist, and may lead into a submodule. What takes too long counts as unreadable.
 */
export function linkFollower(
  entryAt: (path: string) => Pick<TreeEntry, "kind"> | undefined,
  targets: ReadonlyMap<string, string>,
): (path: string) => Followed {
  const ends = new Map<string, Followed>();
  let left = MAX_TARGETS;
  return (path) => follow(path, "", 0);

  function follow(path: string, link: string, depth: number): Followed {
    const [links, asked]: [string[], string[]] = [[], []];
    const nowhere = (unreadable?: string) => ({ path: undefined, links, asked, unreadable });
    let followed = parentOf(link);
    for (const next of path.split("/")) {
      if (next === "" || next === ".") continue;
      if (next === "..") {
        if (followed === "") return nowhere();
        followed = parentOf(followed);
        continue;
      }
      const candidate = followed === "" ? next : `${followed}/${next}`;
      asked.push(candidate);
      if (asked.length > MAX_NAMES) return nowhere(links.at(-1) ?? link);
      followed = candidate;
      if (entryAt(candidate)?.kind !== "symlink") continue;
      const end = endOf(candidate, depth);
      links.push(candidate, ...end.links);
      asked.push(...end.asked);
      if (end.path === undefined || links.length > MAX_LINKS) return nowhere(end.unreadable);
      followed = end.path;
    }
    return { path: followed, links, asked, unreadable: undefined };
  }

  function endOf(link: string, depth: number): Followed {
    const known = ends.get(link);
    if (known !== undefined) return known;
    const nowhere = { path: undefined, links: [], asked: [], unreadable: undefined };
    const target = targets.get(link);
    left -= target?.length ?? 0;
    if (target === undefined || left < 0) return { ...nowhere, unreadable: link };
    if (depth === MAX_LINKS) return nowhere;
    // A link on its own way is part of a circle.
    ends.set(link, nowhere);
    if (target.startsWith("/")) return nowhere;
    const end = follow(target, link, depth + 1);
    // At the end of a long chain, a link that leads somewhere by itself may seem to lead nowhere.
    if (end.path !== undefined || depth === 0) ends.set(link, end);
    else ends.delete(link);
    return end;
  }
}

/** How many steps comparisons may still take. */
export interface Steps {
  left: number;
}

/**
 * Matches repository paths against a pattern of `*`, `?` and `[...]`, each within one path component, in time
 * proportional to the product of the two lengths. With `doubleStar` a component `**` stands for any number of
 * components and `[!...]` negates like `[^...]` (as in Argo CD's globs for Helm value files). Without it the rules are
 * those of Go's `filepath.Match`.
 *
 * A path that would take too many steps to compare gets the answer that misses no change: with `doubleStar`, where a match means
 * that an application reads the path, it matches; without it, where a match means that a change is covered, it does not.
 */
export function globMatcher(
  pattern: string,
  { doubleStar }: { doubleStar: boolean },
  steps: Steps = { left: Infinity },
): (path: string) => boolean {
  if (pattern.length > MAX_LENGTH) return () => doubleStar;
  const components = pattern.split("/").map((component) => {
    if (!hasGlob(component) || (doubleStar && component === "**")) return component;
    return readUnits(component, doubleStar);
  });
  return (path) => {
    if (path.length > MAX_LENGTH || steps.left <= 0) return doubleStar;
    const parts = path.split("/");
    steps.left -= path.length;
    // The components so far match this many of the first parts.
    let reached: readonly number[] = [0];
    for (const component of components) {
      steps.left -= 4 * reached.length;
      if (component === undefined) return false;
      if (doubleStar && component === "**") {
        const [first = 0] = reached;
        reached = Array.from({ length: parts.length - first + 1 }, (_, more) => first + more);
      } else {
        const matches = (part: string) =>
          typeof component === "string" ? component === part : matchesUnits(component, charactersOf(part), steps);
        reached = reached.filter((at) => at < parts.length && matches(parts[at] ?? "")).map((at) => at + 1);
      }
      if (reached.length === 0) return false;
    }
    return reached.at(-1) === parts.length;
  };
}

/** Whether a path contains a special character of globs. */
export function hasGlob(path: string): boolean {
  return /[*?[\\]/.test(path);
}

/** Only a text with pairs of surrogates has to be taken apart. */
function charactersOf(text: string): ArrayLike<string> {
  return /[\uD800-\uDFFF]/.test(text) ? Array.from(text) : text;
}

function matchesUnits(units: readonly Unit[], characters: ArrayLike<string>, steps: Steps): boolean {
  let [unit, at] = [0, 0];
  let retry: { readonly unit: number; at: number } | undefined;
  while (at < characters.length) {
    steps.left -= 1;
    const current = units[unit];
    if (current === "*") {
      retry = { unit: unit + 1, at };
      unit += 1;
    } else if (current?.(characters[at] ?? "") === true) {
      unit += 1;
      at += 1;
    } else if (retry !== undefined) {
      retry.at += 1;
      [unit, at] = [retry.unit, retry.at];
    } else {
      return false;
    }
  }
  return units.slice(unit).every((rest) => rest === "*");
}

type Unit = "*" | ((character: string) => boolean);

/** Undefined for a malformed pattern, which matches nothing in Go. */
function readUnits(pattern: string, bang: boolean): readonly Unit[] | undefined {
  const characters = Array.from(pattern);
  const units: Unit[] = [];
  for (let index = 0; index < characters.length; index += 1) {
    const character = characters[index] ?? "";
    if (character === "*") {
      units.push("*");
    } else if (character === "?") {
      units.push(() => true);
    } else if (character === "[") {
      const end = classEnd(characters, index, bang);
      const unit = end === undefined ? undefined : readClass(characters.slice(index + 1, end), bang);
      if (end === undefined || unit === undefined) return undefined;
      units.push(unit);
      index = end;
    } else {
      if (character === "\\") index += 1;
      const literal = characters[index];
      if (literal === undefined) return undefined;
      units.push((other) => other === literal);
    }
  }
  return units;
}

function negates(character: string | undefined, bang: boolean): boolean {
  return character === "^" || (bang && character === "!");
}

/** Undefined where Go finds no end: in Go a class has at least one member, and `]` as a member needs a backslash. */
function classEnd(characters: readonly string[], start: number, bang: boolean): number | undefined {
  const first = start + (negates(characters[start + 1], bang) ? 2 : 1);
  if (!bang && characters[first] === "]") return undefined;
  for (let index = first; index < characters.length; index += 1) {
    if (characters[index] === "\\") index += 1;
    else if (characters[index] === "]" && index > first) return index;
  }
  return undefined;
}

/** Undefined where Go finds a literal `-` without a backslash. */
function readClass(content: readonly string[], bang: boolean): Unit | undefined {
  const negated = negates(content[0], bang);
  const members = negated ? content.slice(1) : [...content];
  const ranges: (readonly [string, string])[] = [];
  let malformed = false;
  const next = (): string => {
    const character = members.shift() ?? "";
    malformed ||= !bang && character === "-";
    return character === "\\" ? (members.shift() ?? "") : character;
  };
  while (members.length > 0) {
    const low = next();
    if (members[0] === "-" && (members.length > 1 || !bang)) {
      malformed ||= members.length === 1;
      members.shift();
      ranges.push([low, next()]);
    } else {
      ranges.push([low, low]);
    }
  }
  if (malformed) return undefined;
  return (character) => ranges.some(([low, high]) => low <= character && character <= high) !== negated;
}
