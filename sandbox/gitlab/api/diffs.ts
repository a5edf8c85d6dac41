import type { CommitDiffSchema } from "@gitbeaker/rest";
import { runGit } from "../../git/run-git.js";
import type { Members } from "./members.js";

type ShownDiff = Members<CommitDiffSchema> & {
  readonly collapsed: boolean;
  readonly too_large: boolean;
  readonly generated_file: boolean;
};

/** What differs between two commits, one entry per file, with the text of the difference. */
export async function readDiffs(folder: string, from: string, to: string): Promise<ShownDiff[]> {
  const args = ["diff-tree", "-r", "-z", "-M", "--raw", "--patch", "--no-abbrev", "--end-of-options", from, to];
  const { stdout } = await runGit(folder, args);
  const end = stdout.indexOf("\0\0");
  if (end < 0) return [];
  const fields = stdout.slice(0, end).split("\0");
  const patches = stdout
    .slice(end + 2)
    .split(/^diff --git .*\n/m)
    .slice(1);
  const diffs: ShownDiff[] = [];
  for (let at = 0; at < fields.length;) {
    const [a_mode = "", b_mode = "", , , letter = ""] = (fields[at++] ?? "").slice(1).split(" ");
    const old_path = fields[at++] ?? "";
    const renamed_file = letter.startsWith("R");
    diffs.push({
      diff: hunks(patches[diffs.length] ?? ""),
      a_mode,
      b_mode,
      old_path,
      new_path: renamed_file ? (fields[at++] ?? "") : old_path,
      new_file: letter === "A",
      renamed_file,
      deleted_file: letter === "D",
      collapsed: false,
      too_large: false,
      generated_file: false,
    });
  }
  return diffs;
}

/** GitLab leaves out the lines before the first hunk. */
function hunks(patch: string): string {
  const start = patch.search(/^@@/m);
  return start < 0 ? "" : patch.slice(start);
}
