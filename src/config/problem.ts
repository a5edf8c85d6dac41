/** A position in a configuration file; lines and columns count from 1. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** A mistake in a configuration file. It never contains a value: values may be secrets. */
export interface ConfigProblem extends Place {
  /** Path of the key, such as `auth.basic.users[0].role`; empty for the file as a whole. */
  readonly key: string;
  /** What is wrong and what is allowed. */
  readonly message: string;
}

/** Further mistakes are counted, not listed. */
export const MOST_PROBLEMS = 50;

/** One line for people: `file:line:column key: message`. The caller escapes it for where it is shown. */
export function describeProblem(problem: ConfigProblem): string {
  const key = problem.key === "" ? "" : `${problem.key}: `;
  return `${problem.file}:${problem.line}:${problem.column} ${key}${problem.message}`.replace(/\p{Cc}+/gu, " ");
}

/** Formats a path of keys and positions: `auth.basic.users[0].role`. */
export function keyPath(path: readonly PropertyKey[]): string {
  return path.map(pathPart).join("").replace(/^\./, "");
}

/** Sorts mistakes by file and line, without duplicates, up to `MOST_PROBLEMS`. */
export function orderedProblems(
  problems: readonly ConfigProblem[],
  files: readonly string[],
): readonly ConfigProblem[] {
  const unique = new Map(problems.map((problem) => [describeProblem(problem), problem]));
  const sorted = [...unique.values()].sort(
    (left, right) =>
      files.indexOf(left.file) - files.indexOf(right.file) || left.line - right.line || left.column - right.column,
  );
  const last = sorted[MOST_PROBLEMS];
  if (last === undefined) return sorted;
  const rest = sorted.length - MOST_PROBLEMS;
  return [...sorted.slice(0, MOST_PROBLEMS), { ...last, key: "", message: `${rest} more mistakes from here on` }];
}

function pathPart(part: PropertyKey): string {
  if (typeof part === "number") return `[${part}]`;
  const text = String(part);
  if (/^[\w-]{1,60}$/.test(text)) return `.${text}`;
  return `[${JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)}]`;
}
