import { LRUCache } from "lru-cache";
import { RE2JS } from "re2js";

const LONGEST_PATTERN = 512;
const MARK = "(redacted)";
/** Longer lines are data that nobody reads, and matching them takes long. */
const LONGEST_LINE = 16 * 1024;

const compiled = new LRUCache<string, RE2JS>({ max: 1000 });

/**
 * Explains why a text is not a pattern of `redact`; undefined if it is one. RE2's syntax
 * (https://github.com/google/re2/wiki/Syntax) matches in linear time.
 */
export function redactionProblem(pattern: string): string | undefined {
  if (pattern.trim() === "") return "the expression is empty";
  if (pattern.length > LONGEST_PATTERN) return `the expression is longer than ${LONGEST_PATTERN} characters`;
  try {
    return compile(pattern).matcher("").find() ? "the expression matches the empty text" : undefined;
  } catch {
    return "not a regular expression as RE2 takes it, which has neither look-around nor back-references";
  }
}

/** Replaces what the patterns match in each line. Lines too long to match are left out. */
export function redact(text: string, patterns: readonly string[]): string {
  if (patterns.length === 0) return text;
  return text
    .split("\n")
    .map((line) => redactLine(line, patterns))
    .join("\n");
}

/** Redacts unified hunks: keeps each line's first character, and the sentences behind `#`. */
export function redactHunks(hunks: string, patterns: readonly string[]): string {
  if (patterns.length === 0) return hunks;
  return hunks
    .split("\n")
    .map((line) => (/^(?:@@ |#(?! {2}))/.test(line) ? line : line.slice(0, 1) + redactLine(line.slice(1), patterns)))
    .join("\n");
}

function redactLine(line: string, patterns: readonly string[]): string {
  if (line.length > LONGEST_LINE) return `(a line of ${line.length} characters, too long to look for what to redact)`;
  return patterns.reduce((left, pattern) => compile(pattern).matcher(left).replaceAll(MARK), line);
}

function compile(pattern: string): RE2JS {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  const fresh = RE2JS.compile(pattern);
  compiled.set(pattern, fresh);
  return fresh;
}
