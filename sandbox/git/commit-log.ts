import { runGit } from "./run-git.js";

export interface CommitFacts {
  readonly id: string;
  readonly tree: string;
  readonly parents: readonly string[];
  readonly author: string;
  readonly email: string;
  /** ISO 8601, UTC. */
  readonly date: string;
  readonly message: string;
}

const format = "--format=%H%x00%T%x00%P%x00%an%x00%ae%x00%at%x00%B%x01";

/** The commits of a range (`a..b`), oldest first, or one commit alone. */
export async function readCommits(folder: string, range: string, limit = 250): Promise<CommitFacts[]> {
  const walk = range.includes("..") ? ["--reverse"] : ["--no-walk"];
  const { stdout } = await runGit(folder, ["log", ...walk, format, "--end-of-options", range]);
  const entries = stdout.split("\x01").map((entry) => entry.trimStart().split("\0"));
  return entries.slice(0, limit).flatMap(([id, tree, parents, author, email, seconds, message]) =>
    id === undefined || tree === undefined || message === undefined
      ? []
      : [
          {
            id,
            tree,
            parents: parents?.split(" ").filter((parent) => parent !== "") ?? [],
            author: author ?? "",
            email: email ?? "",
            date: new Date(Number(seconds) * 1000).toISOString().replace(".000Z", "Z"),
            message: message.trimEnd(),
          },
        ],
  );
}
