import type { Revision } from "../core/model/brand.js";
import type { CloneSource } from "../core/ports/code-host.js";
import type { CommitRange, CommitSummary } from "../core/ports/repositories.js";
import { GitFailure } from "./git-failure.js";
import type { MirrorRepository } from "./mirror-repository.js";
import type { LoggedCommit } from "./parse-log.js";

const MAX_COMMITS = 200;
/** Commits are fetched without history. It is fetched in these steps, counted in parents, until the answer is known. */
export const DEPTHS = [32, 256, 1024];

interface Question {
  readonly folder: MirrorRepository;
  readonly source: CloneSource;
  readonly from: Revision;
  readonly to: Revision;
  readonly signal: AbortSignal;
}

/** The commits that `to` has and `from` lacks; incomplete if history cannot be fetched. @throws {GitFailure} without a commit. */
export async function commitsBetween(question: Question): Promise<CommitRange> {
  const { folder, source, from, to, signal } = question;
  if (from === to) return { commits: [], complete: true };
  let range = await knownRange(question);
  for (const depth of DEPTHS) {
    if (range?.complete === true || range?.commits.length === MAX_COMMITS) return range;
    try {
      await folder.deepen(source, [from, to], depth, signal);
    } catch (error) {
      if (!(error instanceof GitFailure)) throw error;
      break;
    }
    range = await knownRange(question);
  }
  if (range === undefined) throw new GitFailure("unknown-commit", "");
  return range;
}

/** The answer from the history on disk; undefined if it lacks one of the two commits. */
async function knownRange({ folder, from, to, signal }: Question): Promise<CommitRange | undefined> {
  if (!(await folder.hasCommits([from, to], signal))) return undefined;
  const cut = await folder.shallowCommits();
  if (cut.has(to)) return { commits: [], complete: false };
  const logged = await folder.log(from, to, MAX_COMMITS + 1, signal);
  const doubtful = newestCut(await folder.oldestCommits(from, signal), cut);
  const sure = logged.filter(({ id, time }) => !cut.has(id) && time > doubtful);
  return {
    commits: sure
      .slice(0, MAX_COMMITS)
      .map(({ id, parents, subject, paths }): CommitSummary => ({ id, parents, subject, paths })),
    complete: sure.length === logged.length && sure.length <= MAX_COMMITS,
  };
}

/** The newest time at which the history of `from` was cut. Older commits may be part of it. */
function newestCut(oldest: readonly Pick<LoggedCommit, "id" | "time">[], cut: ReadonlySet<string>): number {
  return Math.max(-Infinity, ...oldest.filter(({ id }) => cut.has(id)).map(({ time }) => time));
}
