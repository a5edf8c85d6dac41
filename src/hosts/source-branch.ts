import type { Revision } from "../core/model/brand.js";
import { type ChangeRequest, changeRequestName, isSharedHead } from "../core/model/change-request.js";
import { HostFailure, only } from "../core/model/errors.js";
import type { MergeIntent } from "../core/model/result.js";
import { HostRefusal } from "./host-answer.js";
import type { PastLimit } from "./host-fetch.js";

/** What `reasonOf` says of a refused request, or the failure if the host may have accepted it; undefined if it accepted. @throws the others */
export function refusalOf<R>(
  answer: Promise<unknown>,
  reasonOf: (refusal: HostRefusal) => R | undefined,
): Promise<R | HostFailure | undefined> {
  const judge = (failure: HostFailure) => {
    const reason = failure instanceof HostRefusal ? reasonOf(failure) : undefined;
    if (reason === undefined && !failure.maybeDone) throw failure;
    return reason ?? failure;
  };
  return answer.then(() => undefined, only(HostFailure, judge));
}

/** How an adapter reads and deletes a branch; an absent branch is no error. */
interface BranchAccess {
  find(branch: string): Promise<{ readonly revision: Revision; readonly protected: boolean } | undefined>;
  /** Numbers of open change requests from the branch or into it; one is enough. */
  openWith(branch: string): Promise<readonly number[]>;
  remove(branch: string): Promise<void>;
}

/**
 * Deletes the source branch of a merged change request, unless it is protected, shared or has newer commits, or another one is open
 * from it or into it: GitHub closes that for good, and GitLab leaves it without a branch.
 * @returns Why the branch was kept, as a sentence; undefined if it is deleted or `intent` keeps it.
 */
export async function deleteSourceBranch(
  change: ChangeRequest,
  intent: MergeIntent,
  branches: BranchAccess,
  pastLimit: PastLimit,
): Promise<string | undefined> {
  if (!intent.deleteSourceBranch) return undefined;
  const name = change.headBranch;
  const kept = (why: string): string => `The branch ${name} was not deleted: ${why}.`;
  if (change.fork) return kept("it is in another repository");
  if (isSharedHead(change, intent.protectedBranches)) return kept("branches of this name are never deleted");
  const look = async (): Promise<string | undefined> => {
    const branch = await branches.find(name);
    if (branch === undefined) return undefined;
    if (branch.protected) return kept("it is a protected branch");
    if (branch.revision !== change.headRevision) return kept("it has newer commits than what was merged");
    // A list may still have what was merged a moment ago.
    const number = (await branches.openWith(name)).find((one) => one !== change.number);
    if (number !== undefined) return kept(`${changeRequestName({ ...change, number })}, which is open, needs it`);
    await branches.remove(name);
    return undefined;
  };
  return await pastLimit(look).catch(only(HostFailure, ({ message }) => kept(message.replace(/\.$/, ""))));
}

/** Why our account must not push to the head branch, whatever its rights are; undefined if it may. Read right before the push. */
export async function pushObstacle(
  { headBranch }: ChangeRequest,
  find: BranchAccess["find"],
  title: string,
): Promise<string | undefined> {
  return (await find(headBranch))?.protected === true ? `${title} protects the branch ${headBranch}` : undefined;
}
