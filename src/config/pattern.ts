const LONGEST_PATTERN = 256;
const MOST_STARS_IN_A_PART = 3;
const MOST_ALTERNATIVES = 16;
const MOST_COMPILED = 1000;
const ALTERNATIVES = /\{[^{}]*,[^{}]*\}/;

/** The ways a pattern can be met, each as its parts between slashes. */
type Compiled = readonly (readonly string[])[];

const compiled = new Map<string, Compiled>();

/**
 * Why a text is no usable pattern; undefined when it is one. Patterns may come from anybody's pull request. They know `*`
 * and `?` (within one part between slashes), `**` as a whole part, and `{a,b}`; what other globs know beyond that is
 * refused, so that nothing is silently read as something else.
 */
export function patternProblem(pattern: string): string | undefined {
  if (pattern === "") return "the pattern is empty";
  if (pattern.length > LONGEST_PATTERN) return `the pattern is longer than ${LONGEST_PATTERN} characters`;
  if (/\p{Cc}/u.test(pattern)) return "the pattern holds a control character";
  if (pattern.includes("\\")) return "the pattern holds a backslash; parts are separated by `/`";
  if (pattern.startsWith("!")) return "a pattern cannot begin with `!`: say what matches, not what does not";
  if (/[[\]]/.test(pattern)) return "`[` and `]` are not supported; use `?` or `{a,b}`";
  if (/[@?!+*]\(/.test(pattern)) return "patterns such as `+(…)` are not supported; use `*` or `{a,b}`";
  return bracesProblem(pattern) ?? partsProblem(pattern);
}

/**
 * Whether a file's path, relative to the root of its repository, matches. `<dir>/**` matches everything below `<dir>`, and
 * `<dir>` itself; dot files are files like any other. A text that is no pattern matches nothing.
 */
export function matchesPath(pattern: string, path: string): boolean {
  const parts = path.split("/");
  return compile(pattern).some((way) => wildcardMatch(way, parts, isGlobstar, matchesPart));
}

/**
 * Whether a name (an application `web` or `team-a/web`, a repository `acme/deploy`) matches: exactly, or by wildcard.
 * `*` stays within one part between slashes, but a lone `*` means every name.
 */
export function matchesName(pattern: string, name: string): boolean {
  return pattern === name || pattern === "*" || matchesPath(pattern, name);
}

function bracesProblem(pattern: string): string | undefined {
  if (/[{}]/.test(pattern.replace(/\{[^{}]*\}/g, ""))) return "the braces are nested or not closed";
  if (/\{[^{}]*\.\.[^{}]*\}/.test(pattern)) return "ranges in braces are not supported; write `{a,b}`";
  const groups = pattern.match(new RegExp(ALTERNATIVES, "g")) ?? [];
  const alternatives = groups.reduce((product, group) => product * group.split(",").length, 1);
  return alternatives > MOST_ALTERNATIVES
    ? `the braces stand for more than ${MOST_ALTERNATIVES} patterns; write several patterns`
    : undefined;
}

function partsProblem(pattern: string): string | undefined {
  for (const parts of expandBraces(pattern).map((way) => way.split("/"))) {
    if (parts.some((part) => part === "." || part === "..")) return "`.` and `..` cannot be parts of a pattern";
    if (parts[0] === "") {
      return "the pattern begins with a slash or an empty part; paths begin at the root of the repository";
    }
    if (parts.at(-1) === "") return "the pattern ends with a slash; write `<dir>/**` for everything below a folder";
    if (parts.includes("")) return "the pattern holds an empty part between slashes";
    if (parts.some((part) => part !== "**" && part.split("*").length - 1 > MOST_STARS_IN_A_PART)) {
      return `more than ${MOST_STARS_IN_A_PART} \`*\` between two slashes`;
    }
  }
  return undefined;
}

function compile(pattern: string): Compiled {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  const fresh = patternProblem(pattern) === undefined ? expandBraces(pattern).map((way) => way.split("/")) : [];
  const oldest = compiled.keys().next();
  if (compiled.size >= MOST_COMPILED && oldest.done !== true) compiled.delete(oldest.value);
  compiled.set(pattern, fresh);
  return fresh;
}

/** Braces without a comma are plain characters. */
function expandBraces(pattern: string): readonly string[] {
  const found = ALTERNATIVES.exec(pattern);
  if (found === null) return [pattern];
  const [group] = found;
  const before = pattern.slice(0, found.index);
  const tails = expandBraces(pattern.slice(found.index + group.length));
  const alternatives = group.slice(1, -1).split(",");
  return alternatives.flatMap((alternative) => tails.map((tail) => `${before}${alternative}${tail}`));
}

function isGlobstar(part: string): boolean {
  return part === "**";
}

function matchesPart(pattern: string, part: string): boolean {
  if (pattern === part) return true;
  return /[*?]/.test(pattern) && wildcardMatch(pattern, part, (token) => token === "*", matchesCharacter);
}

function matchesCharacter(token: string, character: string): boolean {
  return token === "?" || token === character;
}

/**
 * Wildcard matching that goes back to the last star only: at worst pattern times text, whereas the regular expressions of
 * glob libraries backtrack with a power that grows with each star. Used on parts of a path and on characters of a part.
 */
function wildcardMatch<T extends string | readonly string[]>(
  pattern: T,
  text: T,
  isStar: (token: string) => boolean,
  matches: (token: string, item: string) => boolean,
): boolean {
  let at = 0;
  let star = -1;
  let resume = 0;
  let position = 0;
  while (position < text.length) {
    const token = pattern[at];
    if (token !== undefined && isStar(token)) {
      star = at++;
      resume = position;
    } else if (token !== undefined && matches(token, text[position] ?? "")) {
      at++;
      position++;
    } else if (star >= 0) {
      at = star + 1;
      position = ++resume;
    } else {
      return false;
    }
  }
  return Array.from(pattern.slice(at)).every(isStar);
}
