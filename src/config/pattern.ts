import { LRUCache } from "lru-cache";
import micromatch from "micromatch";

const LONGEST_PATTERN = 256;
const MOST_STARS_IN_A_PART = 3;
const MOST_ALTERNATIVES = 16;
/** How micromatch writes a `*`. */
const STAR = "[^/]*?";

/** The JSON Schema of a pattern. It accepts more than `patternProblem`, since it cannot expand braces. */
export const PATTERN_FORM = {
  type: "string",
  maxLength: LONGEST_PATTERN,
  pattern: [
    "^(?!!|/)", // begins with neither `!` nor a slash
    "(?!.*(?:[\\\\\\[\\]]|//|/$|[@?!+*]\\())", // no backslash, brackets, empty parts, slash at the end, `+(…)`
    "(?!(?:.*/)?\\.{1,2}(?:/|$))", // no part is `.` or `..`
    "[^\\x00-\\x1f\\x7f-\\x9f]+$", // no control characters
  ].join(""),
} as const;

/** Matches one part of a path; `**` matches any number of parts. */
type PartMatcher = "**" | ((part: string) => boolean);

/** The alternatives of a pattern, split at slashes. */
type Compiled = readonly (readonly PartMatcher[])[];

const compiled = new LRUCache<string, Compiled>({ max: 10_000 });

/**
 * Explains why a text is not a pattern; undefined if it is one. Anyone who can open a pull request can write patterns,
 * so only `*` and `?` (within a part), `**` (as a part) and `{a,b}` are allowed: nothing that its author could
 * misunderstand.
 */
export function patternProblem(pattern: string): string | undefined {
  if (pattern === "") return "the pattern is empty";
  if (pattern.length > LONGEST_PATTERN) return `the pattern is longer than ${LONGEST_PATTERN} characters`;
  if (/\p{Cc}/u.test(pattern)) return "the pattern contains a control character";
  if (pattern.includes("\\")) return "the pattern contains a backslash; separate its parts with `/`";
  if (pattern.startsWith("!")) return "a pattern cannot begin with `!`: write what matches, not what does not";
  if (/[[\]]/.test(pattern)) return "`[` and `]` are not supported; use `?` or `{a,b}`";
  if (/[@?!+*]\(/.test(pattern)) return "patterns such as `+(…)` are not supported; use `*` or `{a,b}`";
  return bracesProblem(pattern) ?? partsProblem(pattern);
}

/**
 * Explains why a text is not a pattern of names in Kubernetes; undefined if it is one. These have no white space, braces or commas, so
 * that what was meant as a list, or `{a, b}`, `{a}` or `${NAME}`, would silently match less than its author believes.
 */
export function namePatternProblem(pattern: string): string | undefined {
  const problem = patternProblem(pattern);
  if (problem !== undefined) return problem;
  if (/\s/.test(pattern)) return "no name has white space in it: alternatives are written as `{a,b}`";
  if (/\{[^,}]*\}/.test(pattern)) return "no name has braces in it: `{a,b}` stands for two names or more";
  return /,(?![^{]*\})/.test(pattern) ? "no name has a comma in it: write several entries, or `{a,b}`" : undefined;
}

/** Whether a path, relative to the repository's root, matches; dot files are ordinary. Invalid patterns match nothing. */
export function matchesPath(pattern: string, path: string): boolean {
  const parts = path.split("/");
  return compile(pattern).some((alternative) => matchesParts(alternative, parts) !== "no");
}

/**
 * Whether the name of an application (`web`, `team-a/web`) or repository matches; the pattern `*` matches every name. `team-a/**` does
 * not match `team-a`, as it does for paths: a path may be a link to a folder, but an application `team-a` is not in that namespace.
 */
export function matchesName(pattern: string, name: string): boolean {
  if (pattern === name || pattern === "*") return true;
  const parts = name.split("/");
  return compile(pattern).some((alternative) => matchesParts(alternative, parts) === "yes");
}

/** Whether somebody may have meant this name too, as `team-a` by `team-a/**`; only for where a match adds something, such as a check. */
export function mayMeanName(pattern: string, name: string): boolean {
  return matchesName(pattern, name) || matchesPath(pattern, name);
}

/** Whether a valid pattern may match other texts than itself, because it has wildcards or alternatives. */
export function isPattern(text: string): boolean {
  return /[*?{]/.test(text);
}

function bracesProblem(pattern: string): string | undefined {
  if (/[{}]/.test(pattern.replace(/\{[^{}]*\}/g, ""))) return "the braces are nested or not closed";
  if (/\{[^{}]*\.\.[^{}]*\}/.test(pattern)) return "ranges in braces are not supported; write `{a,b}`";
  if (/\$\{[^{}]*,/.test(pattern)) return "`$` cannot come before `{a,b}`";
  const groups = pattern.match(/\{[^{}]*,[^{}]*\}/g) ?? [];
  const alternatives = groups.reduce((product, group) => product * group.split(",").length, 1);
  return alternatives > MOST_ALTERNATIVES
    ? `the braces stand for more than ${MOST_ALTERNATIVES} patterns; write several patterns`
    : undefined;
}

function partsProblem(pattern: string): string | undefined {
  for (const parts of alternativesOf(pattern)) {
    if (parts.some((part) => part === "." || part === "..")) return "`.` and `..` cannot be parts of a pattern";
    if (parts[0] === "") {
      return "the pattern begins with a slash or an empty part; paths begin at the root of the repository";
    }
    if (parts.at(-1) === "") return "the pattern ends with a slash; write `<dir>/**` for everything below a folder";
    if (parts.includes("")) return "the pattern contains an empty part between slashes";
    if (parts.some((part) => part !== "**" && part.split("*").length - 1 > MOST_STARS_IN_A_PART)) {
      return `more than ${MOST_STARS_IN_A_PART} \`*\` between two slashes`;
    }
  }
  return undefined;
}

function compile(pattern: string): Compiled {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  const alternatives = patternProblem(pattern) === undefined ? alternativesOf(pattern) : [];
  const fresh = alternatives.map((parts) => parts.map(partMatcher));
  compiled.set(pattern, fresh);
  return fresh;
}

/** Splits each alternative into parts, and escapes what micromatch could take for syntax. */
function alternativesOf(pattern: string): readonly (readonly string[])[] {
  const escaped = pattern.replace(/[^\w{},*?/.-]/g, "\\$&");
  return micromatch.braces(escaped, { expand: true, keepEscaping: true }).map((each) => each.split("/"));
}

function partMatcher(glob: string): PartMatcher {
  if (glob === "**") return glob;
  if (!/[*?]/.test(glob)) {
    const name = glob.replace(/\\(.)/gs, "$1");
    return (part) => part === name;
  }
  // micromatch 4.0.8 loses the text between `***` and a backslash.
  const regExp = micromatch.makeRe(glob.replace(/\*+/g, "*"), { dot: true, fastpaths: false, strictSlashes: true });
  const linear = withoutBacktracking(regExp);
  return (part) => linear.test(part);
}

/** Makes each star but the last keep its first match, instead of trying every combination: what follows a star has a fixed length. */
function withoutBacktracking({ source }: RegExp): RegExp {
  const [start = "", ...rest] = source.split(STAR);
  const end = rest.pop();
  if (end === undefined) return new RegExp(source, "s");
  const middle = rest.map((piece, index) => `(?=(${STAR}${piece}))\\${index + 1}`).join("");
  return new RegExp(start + middle + STAR + end, "s");
}

/** Answers `as-folder` if the pattern matches only what is below these parts. The time is at most the product of both lengths. */
function matchesParts(pattern: readonly PartMatcher[], parts: readonly string[]): "yes" | "as-folder" | "no" {
  let [at, part] = [0, 0];
  let retry: { readonly at: number; part: number } | undefined;
  while (part < parts.length) {
    const matcher = pattern[at];
    if (matcher === "**") {
      retry = { at: ++at, part };
    } else if (matcher?.(parts[part] ?? "") === true) {
      at++;
      part++;
    } else if (retry !== undefined) {
      [at, part] = [retry.at, ++retry.part];
    } else {
      return "no";
    }
  }
  if (at === pattern.length) return "yes";
  return pattern.slice(at).every((rest) => rest === "**") ? "as-folder" : "no";
}
