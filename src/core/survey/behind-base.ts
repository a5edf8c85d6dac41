import { touchedPaths } from "../detect/inputs/input-set.js";
import type { ChangeRequest } from "../model/change-request.js";
import { RepositoryFailure } from "../model/errors.js";
import type { InputSet } from "../model/input-set.js";
import type { BehindBase } from "../model/subject.js";
import type { CommitRange, CommitSummary } from "../ports/repositories.js";
import type { Snapshot } from "../ports/snapshot.js";

const MAX_FILES = 3;
const MAX_COMMITS = 5;
/** Keeps the sentence within what a comment shows of a warning. */
const MAX_SUBJECT = 60;

/**
 * What a sync of the head would revert: files among `inputs`, or the file of the definition that it writes, that changed on
 * the base branch since the head branched off and differ from the head's, with the commits that changed them. Undefined if
 * there are none.
 * @param inputs what the application reads at the base branch's tip and at the head.
 */
export async function behindBase(
  inputs: InputSet,
  definition: string | undefined,
  change: ChangeRequest,
  snapshot: Snapshot,
): Promise<BehindBase | undefined> {
  if (change.mergeBase === change.baseRevision) return undefined;
  const changes = await snapshot.lostChanges(change);
  const written = definition !== undefined && changes.paths.includes(definition) ? [definition] : [];
  const lost = [...new Set([...written, ...touchedPaths(inputs, changes)])];
  if (lost.length === 0) return undefined;
  const range = await commitsOf(change, snapshot);
  const lostPaths = new Set(lost);
  const commits = range?.commits.filter(({ paths }) => paths.some((path) => lostPaths.has(path))) ?? [];
  const changed = `the base branch ${change.baseBranch} changed ${listed(lost, MAX_FILES)} since this branch left it`;
  if (range === undefined || commits.length === 0) {
    const span = `${change.mergeBase.slice(0, 8)} to ${change.baseRevision.slice(0, 8)}`;
    return sentences(`${changed} (${span})`, "that");
  }
  const which = commits.length === 1 && range.complete ? "this commit" : "these commits";
  const others = range.complete ? "" : " and perhaps others";
  const names = listed(commits.map(named), MAX_COMMITS);
  return sentences(changed, `${which}: ${names}${others}`);
}

function sentences(changed: string, what: string): BehindBase {
  return {
    wouldRevert: `${changed}: a sync would revert ${what}. Update the branch first`,
    reverted: `${changed}: this sync reverted ${what}. Update the branch and sync again`,
  };
}

/** Undefined if the history could not be fetched: the sentence then names no commits. */
async function commitsOf(change: ChangeRequest, snapshot: Snapshot): Promise<CommitRange | undefined> {
  try {
    return await snapshot.commitsBetween(change.headRevision, change.baseRevision);
  } catch (error) {
    if (error instanceof RepositoryFailure) return undefined;
    throw error;
  }
}

function named({ id, subject }: CommitSummary): string {
  const short = Array.from(subject);
  const text = short.length > MAX_SUBJECT ? `${short.slice(0, MAX_SUBJECT).join("")}…` : subject;
  return `${id.slice(0, 8)} "${text}"`;
}

/** Names the first `most` texts and counts the rest. */
export function listed(texts: readonly string[], most: number): string {
  const more = texts.length - most;
  const first = texts.slice(0, most).join(", ");
  return more > 0 ? `${first} and ${more} more` : first;
}
