import { revision, type Revision } from "../core/model/brand.js";
import type { CloneSource } from "../core/ports/code-host.js";
import type { CommitRange, CommitSummary } from "../core/ports/repositories.js";
import { GitFailure, remoteProblem } from "./git-process.js";
import type { MirrorRepository } from "./mirror-repository.js";
import type { LoggedCommit } from "./parse-log.js";

/** A mirror, and the host that its missing history comes from. */
export interface History {
  readonly folder: MirrorRepository;
  readonly source: CloneSource;
  readonly signal: AbortSignal;
}

/**
 * Whether git itself merges the two parents of this commit to just its tree. False for a conflict, for several merge
 * bases, and where the history cannot be fetched. @throws {GitFailure} if the host does not answer.
 */
export async function isCleanMerge(history: History, commit: Revision): Promise<boolean> {
  const header = await headerOf(history, commit);
  const tree = /^tree ([0-9a-f]+)$/m.exec(header)?.[1];
  const [one, other, third] = [...header.matchAll(/^parent ([0-9a-f]+)$/gm)].map(([, id = ""]) => revision(id));
  if (tree === undefined || one === undefined || other === undefined || third !== undefined) return false;
  for (const depth of [0, ...DEPTHS]) {
    if (depth > 0 && !(await couldDeepen(history, [commit], depth))) return false;
    if (await isHistoryKnown(history, one, other)) return (await mergedTree(history, one, other)) === tree;
  }
  return false;
}

/** False if the host does not give the history. */
async function couldDeepen(
  { folder, source, signal }: History,
  commits: readonly Revision[],
  depth: number,
): Promise<boolean> {
  try {
    await folder.deepen(source, commits, depth, signal);
    return true;
  } catch (error) {
    if (error instanceof GitFailure) return false;
    throw error;
  }
}

/** The lines of a commit before its message (gitformat-signature(5) shows them). */
async function headerOf({ folder, signal }: History, commit: Revision): Promise<string> {
  const [found] = await folder.contents([commit], signal);
  if (found?.type !== "commit") return "";
  const text = found.content.toString("latin1");
  return text.slice(0, text.indexOf("\n\n"));
}

/** Whether the history down to the only merge base is here: with a part of it, git would take an older base. */
async function isHistoryKnown(history: History, one: Revision, other: Revision): Promise<boolean> {
  const { folder, signal } = history;
  if (!(await folder.hasCommits([one, other], signal))) return false;
  const cut = await folder.shallowCommits();
  const unshared = await folder.lines(["rev-list", "--end-of-options", `${one}...${other}`], signal);
  if (unshared.some((id) => cut.has(id))) return false;
  return (await mergeBases(history, one, other)).length === 1;
}

async function mergeBases({ folder, signal }: History, one: Revision, other: Revision): Promise<readonly string[]> {
  try {
    return await folder.lines(["merge-base", "--all", "--end-of-options", one, other], signal);
  } catch (error) {
    // git exits with 1, without a word, if there are none.
    if (error instanceof GitFailure && error.kind === "exit" && error.stderr === "") return [];
    throw error;
  }
}

/** The tree of the merge; undefined if the two conflict. */
async function mergedTree({ folder, source, signal }: History, one: Revision, other: Revision) {
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

/** The commits that `to` has and `from` lacks; incomplete if history cannot be fetched. @throws {GitFailure} without a commit. */
export async function commitsBetween(history: History, from: Revision, to: Revision): Promise<CommitRange> {
  if (from === to) return { commits: [], complete: true };
  let range = await knownRange(history, from, to);
  for (const depth of DEPTHS) {
    if (range?.complete === true || range?.commits.length === MAX_COMMITS) return range;
    if (!(await couldDeepen(history, [from, to], depth))) break;
    range = await knownRange(history, from, to);
  }
  if (range === undefined) throw new GitFailure("unknown-commit", "");
  return range;
}

/** Reads the range from the history on disk; undefined if it lacks one of the two commits. */
async function knownRange({ folder, signal }: History, from: Revision, to: Revision): Promise<CommitRange | undefined> {
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

/** The newest time at which the history of `from` was cut. Commits that are older may belong to that history. */
function newestCut(oldest: readonly Pick<LoggedCommit, "id" | "time">[], cut: ReadonlySet<string>): number {
  return Math.max(-Infinity, ...oldest.filter(({ id }) => cut.has(id)).map(({ time }) => time));
}

/**
 * Ids of the regular files that a path was along the first parents of a commit, newest first, each once. Looks at most
 * `MAX_COMMITS` commits back, and fetches their history unless it is on disk.
 */
export async function fileVersions(
  { folder, source, signal }: History,
  of: Revision,
  path: string,
): Promise<readonly string[]> {
  let log = await folder.fileLog(of, path, MAX_COMMITS + 1, signal);
  const last = log.commits.at(-1);
  const cut = last === undefined || (await folder.shallowCommits()).has(last);
  if (cut && log.commits.length <= MAX_COMMITS) {
    await folder.deepen(source, [of], MAX_COMMITS + 1, signal);
    log = await folder.fileLog(of, path, MAX_COMMITS + 1, signal);
  }
  return [...new Set(log.versions)];
}
