import { revision, type Revision } from "../core/model/brand.js";
import type { CloneSource } from "../core/ports/code-host.js";
import type { CommitRange, CommitSummary } from "../core/ports/repositories.js";
import { GitFailure, remoteProblem } from "./git-process.js";
import type { MirrorRepository } from "./mirror-repository.js";
import type { LoggedCommit } from "./parse-log.js";

interface Question {
  readonly folder: MirrorRepository;
  readonly source: CloneSource;
  readonly commit: Revision;
  readonly signal: AbortSignal;
}

/**
 * Whether git itself merges the two parents of this commit to just its tree. False for a conflict, for several merge
 * bases, and where the history cannot be fetched. @throws {GitFailure} if the host does not answer.
 */
export async function isCleanMerge(question: Question): Promise<boolean> {
  const { folder, signal } = question;
  const header = await headerOf(question);
  const tree = /^tree ([0-9a-f]+)$/m.exec(header)?.[1];
  const [one, other, third] = [...header.matchAll(/^parent ([0-9a-f]+)$/gm)].map(([, id = ""]) => revision(id));
  if (tree === undefined || one === undefined || other === undefined || third !== undefined) return false;
  for (const depth of [0, ...DEPTHS]) {
    if (depth > 0 && !(await couldDeepen(question, depth))) return false;
    if (await isHistoryKnown(folder, one, other, signal)) {
      return (await mergedTree(question, one, other)) === tree;
    }
  }
  return false;
}

async function couldDeepen({ folder, source, commit, signal }: Question, depth: number): Promise<boolean> {
  try {
    await folder.deepen(source, [commit], depth, signal);
    return true;
  } catch (error) {
    if (error instanceof GitFailure) return false;
    throw error;
  }
}

/** The lines of a commit before its message (gitformat-signature(5) shows them). */
async function headerOf({ folder, commit, signal }: Question): Promise<string> {
  const [found] = await folder.contents([commit], signal);
  if (found?.type !== "commit") return "";
  const text = found.content.toString("latin1");
  return text.slice(0, text.indexOf("\n\n"));
}

/** Whether the history down to the only merge base is here: with a part of it, git would take an older base. */
async function isHistoryKnown(
  folder: MirrorRepository,
  one: Revision,
  other: Revision,
  signal: AbortSignal,
): Promise<boolean> {
  if (!(await folder.hasCommits([one, other], signal))) return false;
  const cut = await folder.shallowCommits();
  const unshared = await folder.lines(["rev-list", "--end-of-options", `${one}...${other}`], signal);
  if (unshared.some((id) => cut.has(id))) return false;
  return (await mergeBases(folder, one, other, signal)).length === 1;
}

async function mergeBases(folder: MirrorRepository, one: Revision, other: Revision, signal: AbortSignal) {
  try {
    return await folder.lines(["merge-base", "--all", "--end-of-options", one, other], signal);
  } catch (error) {
    // git exits with 1, without a word, if there are none.
    if (error instanceof GitFailure && error.kind === "exit" && error.stderr === "") return [];
    throw error;
  }
}

/** Undefined if the two conflict. */
async function mergedTree(
  { folder, source, signal }: Question,
  one: Revision,
  other: Revision,
): Promise<string | undefined> {
  try {
    return await folder.mergedTree(source, one, other, signal);
  } catch (error) {
    if (error instanceof GitFailure && error.kind === "exit" && remoteProblem(error) === undefined) return undefined;
    throw error;
  }
}

const MAX_COMMITS = 200;
/** Commits are fetched without history. It is fetched in these steps, counted in parents, until the answer is known. */
const DEPTHS = [32, 256, 1024];

interface RangeQuestion {
  readonly folder: MirrorRepository;
  readonly source: CloneSource;
  readonly from: Revision;
  readonly to: Revision;
  readonly signal: AbortSignal;
}

/** The commits that `to` has and `from` lacks; incomplete if history cannot be fetched. @throws {GitFailure} without a commit. */
export async function commitsBetween(question: RangeQuestion): Promise<CommitRange> {
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
async function knownRange({ folder, from, to, signal }: RangeQuestion): Promise<CommitRange | undefined> {
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
