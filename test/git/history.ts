import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { revision, type Revision } from "../../src/core/model/brand.js";

/** A commit that writes a file of its own name, or these; `time` in minutes, its place in the list when absent. */
export interface PlannedCommit {
  readonly parents?: readonly string[];
  readonly files?: readonly string[];
  /** Contents by path, instead of `files`; null removes a file. */
  readonly contents?: Readonly<Record<string, string | null>>;
  /** The commit contains only its own files. */
  readonly alone?: boolean;
  readonly message?: string;
  readonly time?: number;
}

/** Writes a history into a bare repository, in the order of the names; answers the commits by name. */
export async function writeHistory(
  directory: string,
  commits: Readonly<Record<string, PlannedCommit>>,
): Promise<(name: string) => Revision> {
  const names = Object.keys(commits);
  const markOf = (name: string) => `:${names.indexOf(name) + 1}`;
  const lines = Object.entries(commits).flatMap(
    ([name, { parents = [], files = [name], contents, alone, message, time }], index) => [
      "reset refs/heads/history",
      "commit refs/heads/history",
      `mark ${markOf(name)}`,
      `committer ana <ana@localhost> ${1_700_000_000 + 60 * (time ?? index)} +0000`,
      data(message ?? name),
      ...parents.map((parent, place) => `${place === 0 ? "from" : "merge"} ${markOf(parent)}`),
      ...(alone === true ? ["deleteall"] : []),
      ...Object.entries(contents ?? Object.fromEntries(files.map((file) => [file, `${name}\n`]))).flatMap(
        ([file, content]) => (content === null ? [`D ${file}`] : [`M 100644 inline ${file}`, data(content)]),
      ),
      "",
    ],
  );
  const prints = names.map((name) => `get-mark ${markOf(name)}`);
  const child = spawn("git", ["--git-dir", directory, "fast-import", "--quiet", "--force", "--done"]);
  child.stdin.end([...lines, ...prints, "done\n"].join("\n"));
  const [output] = await Promise.all([text(child.stdout), once(child, "close")]);
  const ids = output.trim().split("\n");
  return (name) => revision(ids[names.indexOf(name)] ?? "");
}

/** So many commits in a row, `<prefix>1` first. */
export function chain(prefix: string, length: number, parent?: string): Readonly<Record<string, PlannedCommit>> {
  return Object.fromEntries(
    Array.from({ length }, (_, index) => {
      const before = index === 0 ? parent : `${prefix}${index}`;
      return [`${prefix}${index + 1}`, { parents: before === undefined ? [] : [before] }];
    }),
  );
}

function data(content: string): string {
  return `data ${Buffer.byteLength(content)}\n${content}`;
}
