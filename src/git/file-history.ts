import type { Revision } from "../core/model/brand.js";
import type { CloneSource } from "../core/ports/code-host.js";
import type { MirrorRepository } from "./mirror-repository.js";

/** How many commits back versions are looked for. */
const MAX_COMMITS = 200;

interface Question {
  readonly folder: MirrorRepository;
  readonly source: CloneSource;
  readonly of: Revision;
  readonly path: string;
  readonly signal: AbortSignal;
}

/**
 * Ids of the regular files that a path was along the first parents of a commit, newest first, each once. Commits are
 * fetched without history, so it is fetched unless it is there.
 */
export async function fileVersions({ folder, source, of, path, signal }: Question): Promise<readonly string[]> {
  let history = await folder.fileLog(of, path, MAX_COMMITS + 1, signal);
  const last = history.commits.at(-1);
  const cut = last === undefined || (await folder.shallowCommits()).has(last);
  if (cut && history.commits.length <= MAX_COMMITS) {
    await folder.deepen(source, [of], MAX_COMMITS + 1, signal);
    history = await folder.fileLog(of, path, MAX_COMMITS + 1, signal);
  }
  return [...new Set(history.versions)];
}
