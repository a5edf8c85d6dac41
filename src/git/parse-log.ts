import { revision } from "../core/model/brand.js";
import type { CommitSummary } from "../core/ports/repositories.js";
import { GitFailure } from "./git-process.js";

/** Format for `git log`: an empty field, id, parents, seconds, message, then paths; each ends with a zero byte. */
export const LOG_FORMAT = "%x00%H%x00%P%x00%ct%x00%B";

/** Compares a merge with its first parent (git-log(1)). */
const LOG_PATHS = ["--name-only", "--no-renames", "--diff-merges=first-parent", "--ignore-submodules=none"];

/** For the commits of `to` that `from` lacks, newest first. */
export function logArguments(from: string, to: string, most: number): readonly string[] {
  const args = ["log", "-z", "--date-order", `--max-count=${most}`, `--format=${LOG_FORMAT}`, ...LOG_PATHS];
  return [...args, "--end-of-options", to, `^${from}`, "--"];
}

export interface LoggedCommit extends CommitSummary {
  /** Commit time in seconds since 1970. */
  readonly time: number;
}

const MAX_SUBJECT = 100;

/** Parses `git log -z --name-only` with `LOG_FORMAT`. */
export function parseLog(output: Buffer): readonly LoggedCommit[] {
  const fields = fieldsOf(output);
  const commits: LoggedCommit[] = [];
  let at = 0;
  while (at < fields.length) {
    const [start, id = "", parents = "", seconds = "", message = ""] = fields.slice(at, at + 5);
    if (start !== "" || !/^[0-9a-f]{40,64}$/.test(id) || !/^[0-9a-f ]*$/.test(parents) || !/^-?\d+$/.test(seconds)) {
      throw new GitFailure("unexpected-answer", "git gave an unexpected answer");
    }
    at += 5;
    const end = fields.indexOf("", at);
    const paths = fields.slice(at, end < 0 ? undefined : end);
    at += paths.length;
    // git puts a line break before the first path of a commit.
    const named = paths.map((path, index) => (index === 0 ? path.replace(/^\n/, "") : path));
    commits.push({
      id: revision(id),
      parents: parents === "" ? [] : parents.split(" ").map(revision),
      time: Number(seconds),
      subject: subjectOf(message),
      paths: [...new Set(named)].sort(),
    });
  }
  return commits;
}

/** Removes control characters and those that change the direction of writing: they could disguise a line. */
function subjectOf(message: string): string {
  const [line = ""] = message.trimStart().split(/[\r\n]/, 1);
  const plain = line.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "").trim();
  return Array.from(plain).slice(0, MAX_SUBJECT).join("");
}

/** Bytes that are not UTF-8 become U+FFFD. */
function fieldsOf(output: Buffer): string[] {
  const fields = output.toString("utf8").split("\0");
  if (fields.pop() !== "") throw new GitFailure("unexpected-answer", "git's answer is incomplete");
  return fields;
}

/** Format for `git log --raw`: an empty field and the id; each ends with a zero byte. */
const FILE_LOG_FORMAT = "%x00%H";

/** For all first parents of a commit (`--sparse`), with what changes about one path. */
export function fileLogArguments(of: string, path: string, most: number): readonly string[] {
  const args = ["log", "-z", "--first-parent", "--sparse", `--max-count=${most}`, `--format=${FILE_LOG_FORMAT}`];
  const changes = ["--raw", "--no-abbrev", "--no-renames", "--diff-merges=first-parent"];
  return [...args, ...changes, "--end-of-options", of, "--", `:(literal)${path}`];
}

export interface FileLog {
  readonly commits: readonly string[];
  /** Ids of regular files, newest first. */
  readonly versions: readonly string[];
}

/** Reads `git log -z --raw --no-abbrev` with `FILE_LOG_FORMAT`, of one path. */
export function parseFileLog(output: Buffer): FileLog {
  const fields = output.toString("latin1").split("\0");
  const [commits, versions]: [string[], string[]] = [[], []];
  for (const [index, field] of fields.entries()) {
    if (/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(field) && fields[index - 1] === "") commits.push(field);
    const [, oldMode, newMode, oldId, newId] =
      /^\n?:([0-7]{6}) ([0-7]{6}) ([0-9a-f]{40,64}) ([0-9a-f]{40,64}) [A-Z]/.exec(field) ?? [];
    if (isRegular(newMode) && newId !== undefined) versions.push(newId);
    if (isRegular(oldMode) && oldId !== undefined) versions.push(oldId);
  }
  if (commits.length === 0) throw new GitFailure("unexpected-answer", "git gave an unexpected answer");
  return { commits, versions };
}

function isRegular(mode: string | undefined): boolean {
  return mode === "100644" || mode === "100755" || mode === "100664";
}

/** The lines of an answer, such as ids. */
export function linesIn(output: Buffer): readonly string[] {
  return output
    .toString("latin1")
    .split("\n")
    .filter((line) => line !== "");
}

/** Ids by the full names of refs, from what git-ls-remote(1) prints. A tag's commit follows it, marked by `^{}`. */
export function parseRefs(output: Buffer): ReadonlyMap<string, string> {
  const lines = output
    .toString("utf8")
    .split("\n")
    .map((line) => /^([0-9a-f]{40}|[0-9a-f]{64})\t(refs\/.+?)(?:\^\{\})?$/.exec(line));
  return new Map(
    lines.flatMap((line) => (line?.[1] === undefined || line[2] === undefined ? [] : [[line[2], line[1]]])),
  );
}
