import type { FileChanges } from "../forge.js";
import { runGit } from "./run-git.js";

export interface NewCommit {
  readonly branch: string;
  readonly message: string;
  readonly author: string;
  /** Seconds since 1970. */
  readonly time: number;
  readonly parents: readonly string[];
  /** The whole content of the commit; the first parent's when absent. */
  readonly tree?: string;
  readonly changes?: FileChanges;
}

/**
 * Writes one commit and moves the branch to it, all in one process (git-fast-import(1)); answers the commit's id.
 * Fails when the branch would not be moved forward.
 */
export async function fastImport(folder: string, commit: NewCommit): Promise<string> {
  const name = commit.author.replace(/[<>\n]/g, "");
  const lines = [
    `commit refs/heads/${commit.branch}`,
    "mark :1",
    `committer ${name} <${name.replace(/\s/g, ".")}@users.noreply.localhost> ${commit.time} +0000`,
    data(commit.message),
    ...commit.parents.map((parent, index) => `${index === 0 ? "from" : "merge"} ${parent}`),
    ...(commit.tree === undefined ? [] : ["deleteall", `M 040000 ${commit.tree} ""`]),
    ...Object.entries(commit.changes ?? {}).map(([path, content]) => fileChange(path, content)),
    "",
    "get-mark :1",
    "done",
    "",
  ];
  const { stdout } = await runGit(folder, ["fast-import", "--quiet", "--done"], { input: lines.join("\n") });
  return stdout.trim();
}

function fileChange(path: string, content: FileChanges[string]): string {
  const quoted = `"${path.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n")}"`;
  if (content === null) return `D ${quoted}`;
  if (typeof content === "string") return `M 100644 inline ${quoted}\n${data(content)}`;
  if ("submodule" in content) return `M 160000 ${content.submodule} ${quoted}`;
  if ("symlink" in content) return `M 120000 inline ${quoted}\n${data(content.symlink)}`;
  return `M 100755 inline ${quoted}\n${data(content.executable)}`;
}

function data(text: string): string {
  return `data ${Buffer.byteLength(text)}\n${text}`;
}
