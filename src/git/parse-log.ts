import { revision } from "../core/model/brand.js";
import type { CommitSummary } from "../core/ports/repositories.js";
import { GitFailure } from "./git-failure.js";

/** Format for `git log`: an empty field, id, parents, seconds, message, then paths; each ends with a zero byte. */
export const LOG_FORMAT = "%x00%H%x00%P%x00%ct%x00%B";

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
