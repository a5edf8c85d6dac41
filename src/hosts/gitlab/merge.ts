import { Branches, Commits, MergeRequests } from "@gitbeaker/rest";
import * as z from "zod";
import type { Revision } from "../../core/model/brand.js";
import type { ChangeRequest, Reverts, User } from "../../core/model/change-request.js";
import { HostFailure, only } from "../../core/model/errors.js";
import type { MergeIntent } from "../../core/model/result.js";
import type { Clock } from "../../core/ports/clock.js";
import type { CodeHost, MergeOutcome, RevertOutcome, UpdateOutcome } from "../../core/ports/code-host.js";
import {
  HostRefusal,
  idField,
  ifFound,
  LONG_READ_PAUSES_MS,
  MERGE_PAUSES_MS,
  numberField,
  oneLine,
  readUntil,
  revisionField,
} from "../host-answer.js";
import { revertBody, revertTitle } from "../revert-marker.js";
import { deleteSourceBranch, pushObstacle, refusalOf } from "../source-branch.js";
import { findBranch, getMergeRequest, mergeabilityOf, type MergeRequest } from "./change-request.js";
import type { GitLabClient } from "./client.js";
import { askConfirmed, hasMergeTrains, joinMergeTrain, readAccepted } from "./merge-train.js";

/** Merges a merge request, updates its branch, and reverts it. */
export function createMerges(
  client: GitLabClient,
  clock: Clock,
  self: () => Promise<User>,
): Pick<CodeHost, "merge" | "updateBranch" | "revert"> {
  return {
    merge: (change, confirm) => merge(client, change, confirm, clock),
    updateBranch: (change) => updateBranch(client, change, clock),
    revert: async (change, asker) => revert(client, change, asker, (await self()).id),
  };
}

/**
 * Merges only at the head commit of `change` and into its target branch, which GitLab's call does not guard. The project's setting decides between merge commit, semi-linear and
 * fast-forward; we only decide on squashing. Never rebases, which would change the deployed head. Where the project has merge trains,
 * it joins the train.
 */
async function merge(
  client: GitLabClient,
  change: ChangeRequest,
  confirm: () => Promise<MergeIntent | undefined>,
  clock: Clock,
): Promise<MergeOutcome> {
  if (await hasMergeTrains(client, change)) return joinMergeTrain(client, change, confirm, clock);
  let mayHaveComputed = true;
  for (let attempt = 0; ; attempt += 1) {
    const asked = await askConfirmed(client, change, confirm, (one) => tryMerge(client, change, one, clock));
    if (asked === undefined) return { kind: "barred" };
    const { intent, refusal: attempted } = asked;
    if (attempted === undefined) return afterAcceptance(client, change, intent, clock);
    const read = await getMergeRequest(client, change);
    if (isMergedHead(read, change)) return afterAcceptance(client, change, intent, clock);
    const pause = MERGE_PAUSES_MS[attempt];
    const mayBeEarly = [405, 409, 422].includes(attempted.status) && read.sha === change.headRevision;
    const computing = mayBeEarly && read.state === "opened" && isComputing(read);
    // GitLab may have finished computing after it refused: worth one more try.
    const computed = mayHaveComputed && mayBeEarly && read.detailed_merge_status === "mergeable";
    if ((!computing && !computed) || pause === undefined) {
      return { kind: "refused", reason: reasonOf(attempted, read, change) };
    }
    if (computed) mayHaveComputed = false;
    await clock.sleep(pause);
  }
}

/** Its pipeline, too, follows in the background: right after svc set its status there, it still counts as running. */
function isComputing(read: MergeRequest): boolean {
  return mergeabilityOf(read) === "unknown" || read.detailed_merge_status === "ci_still_running";
}

/** Sends the merge. @returns Why GitLab refused; undefined if it accepted the request, or may have. */
async function tryMerge(
  client: GitLabClient,
  change: ChangeRequest,
  intent: MergeIntent,
  clock: Clock,
): Promise<HostRefusal | undefined> {
  const asked = `merge ${change.repository}!${change.number}`;
  try {
    await client.ask(asked, (gitlab) =>
      new MergeRequests(gitlab).merge(change.repository, change.number, {
        sha: change.headRevision,
        squash: intent.method === "squash",
        // Otherwise GitLab does what the author ticked, and could delete a branch that we must keep.
        shouldRemoveSourceBranch: false,
      }),
    );
    return undefined;
  } catch (error) {
    // 401 here means "may not merge", unless the token is refused for reading as well.
    const mayMean = error instanceof HostRefusal && error.reason !== "rate-limited";
    if (mayMean && [401, 403, 405, 406, 409, 422].includes(error.status)) return error;
    if (error instanceof HostFailure && error.maybeDone && (await mayBeMerging(client, change, clock))) {
      return undefined;
    }
    throw error;
  }
}

/** Whether a request without an answer took effect; false if GitLab cannot be asked. */
async function mayBeMerging(client: GitLabClient, change: ChangeRequest, clock: Clock): Promise<boolean> {
  const reading = readUntil(
    () => getMergeRequest(client, change),
    ({ state }) => state !== "opened",
    clock,
  );
  const read = await reading.catch(only(HostFailure, () => undefined));
  return read !== undefined && (isMergedHead(read, change) || read.state === "locked");
}

/** Status 200 means "accepted": GitLab merges in the background, or only scheduled it. */
async function afterAcceptance(
  client: GitLabClient,
  change: ChangeRequest,
  intent: MergeIntent,
  clock: Clock,
): Promise<MergeOutcome> {
  const read = await readAccepted(
    client,
    change,
    ({ state, merge_error: error }) =>
      state === "merged" || state === "closed" || (state === "opened" && Boolean(error)),
    clock,
  );
  if (read instanceof HostFailure) {
    return {
      kind: "refused",
      reason: `GitLab accepted the merge, but what became of it is not known: look at the merge request. ${read.message}`,
    };
  }
  if (!isMergedHead(read, change)) {
    const said = read.merge_error ? ` GitLab says: "${oneLine(read.merge_error, 300)}".` : "";
    return {
      kind: "refused",
      reason: `GitLab accepted the merge but has not carried it out.${said} Look at the merge request.`,
    };
  }
  const access = {
    find: (branch: string) => ifFound(findBranch(client, change, branch)),
    openWith: (branch: string) => openWith(client, change, branch),
    remove: (branch: string) => removeBranch(client, change, branch),
  };
  const note = await deleteSourceBranch(change, intent, access, client.pastLimit);
  return { kind: "merged", note };
}

function isMergedHead(read: MergeRequest, change: ChangeRequest): boolean {
  return read.state === "merged" && read.sha === change.headRevision;
}

/** https://docs.gitlab.com/api/merge_requests/#merge-a-merge-request */
function reasonOf(refusal: HostRefusal, read: MergeRequest, { headRevision }: ChangeRequest): string {
  const said = refusal.hostMessage === "" ? "" : ` GitLab says: "${refusal.hostMessage}".`;
  const status = read.detailed_merge_status ? ` Its merge status is "${oneLine(read.detailed_merge_status, 60)}".` : "";
  switch (refusal.status) {
    case 401:
    case 403:
      return `The account of gitlab.token may not merge into ${read.target_branch}.${said} Give it the role Maintainer or list it under "allowed to merge" of the protected branch, or merge by hand.`;
    default:
      // 409 may also be a lock: https://github.com/python-gitlab/python-gitlab/issues/2325
      if (read.sha !== headRevision) {
        return `The head commit changed before the merge.${said} Plan and sync the new head.`;
      }
      if (mergeabilityOf(read) === "conflicts") {
        return `The merge request has conflicts.${said} Resolve them, then plan and sync again.`;
      }
      if (mergeabilityOf(read) === "unknown" && read.state === "opened") {
        return "GitLab is still computing whether the merge is possible. Merge it by hand.";
      }
      if (read.detailed_merge_status === "need_rebase") {
        return "The project wants the branch rebased before a merge. Rebase it, then plan and sync the new head.";
      }
      return `GitLab does not allow this merge now.${status}${said} Look at the merge request, then merge by hand.`;
  }
}

/**
 * Rebases the source branch onto the target branch, in the background (202). GitLab's call knows no expected head, so this looks
 * at it right before: https://docs.gitlab.com/api/merge_requests/#rebase-a-merge-request
 */
async function updateBranch(client: GitLabClient, change: ChangeRequest, clock: Clock): Promise<UpdateOutcome> {
  let earlier: MergeRequest["merge_error"];
  const unanswered = await client.pastLimit(async () => {
    const { sha, target_branch: base, merge_error: error } = await getMergeRequest(client, change);
    if (sha !== change.headRevision || base !== change.baseBranch) return "its head or target branch changed meanwhile";
    earlier = error;
    const obstacle = await pushObstacle(change, (branch) => ifFound(findBranch(client, change, branch)), "GitLab");
    if (obstacle !== undefined) return obstacle;
    const rebase = client.ask(`rebase ${change.repository}!${change.number}`, (gitlab) =>
      new MergeRequests(gitlab).rebase(change.repository, change.number),
    );
    return refusalOf(rebase, ({ status, hostMessage }) => {
      const cure = status === 403 ? ": the account of gitlab.token has to be allowed to force-push to the branch" : "";
      return [403, 409].includes(status) ? `GitLab says "${hostMessage}" (${status})${cure}` : undefined;
    });
  });
  if (typeof unanswered === "string") return { kind: "refused", reason: unanswered };
  // The new head appears after the rebase has ended, and the error of an earlier attempt may still be there.
  const hasFailed = ({ rebase_in_progress: running, merge_error: error }: MergeRequest) =>
    running === false && Boolean(error) && error !== earlier;
  const look = () =>
    readUntil(
      () => getMergeRequest(client, change, undefined, { includeRebaseInProgress: true }),
      (now) => now.sha !== change.headRevision || now.state !== "opened" || hasFailed(now),
      clock,
      undefined,
      LONG_READ_PAUSES_MS,
    );
  const read = await client.pastLimit(look);
  if (read.sha !== change.headRevision) return { kind: "moved", rewritten: true };
  if (read.merge_error && read.rebase_in_progress !== true) {
    return { kind: "refused", reason: `GitLab says "${oneLine(read.merge_error, 300)}"` };
  }
  if (unanswered !== undefined) throw unanswered;
  return { kind: "refused", reason: "GitLab accepted the rebase and has not made a new head within a minute" };
}

/** A branch keeps its name, unlike the description: it says what is reverted, and who asked for it. */
const BRANCH = /^svc-revert-([1-9]\d{0,9})-by-([1-9]\d{0,19})$/;

export function revertOf(branch: string): Reverts | undefined {
  const [, of, askedBy] = BRANCH.exec(branch) ?? [];
  return of === undefined || askedBy === undefined ? undefined : { of: Number(of), askedBy };
}

/**
 * Opens a revert, or finds the open one: https://docs.gitlab.com/api/commits/#revert-a-commit. What an interrupted attempt left
 * of the branch is made anew; after a failure it goes.
 */
async function revert(client: GitLabClient, change: ChangeRequest, asker: User, self: string): Promise<RevertOutcome> {
  const known = await findRevert(client, change, self);
  if (known !== undefined) return { kind: "opened", number: known, known: true };
  const commits = await commitsOf(client, change);
  if (commits.length === 0) return { kind: "refused", reason: "GitLab names no commit of it. Revert it with git" };
  const branch = `svc-revert-${change.number}-by-${asker.id}`;
  // A revert that was retargeted is not among those above, and people may have pushed to its branch.
  const [open] = await openWith(client, change, branch);
  if (open !== undefined) {
    return {
      kind: "refused",
      reason: `!${open} is open with the branch ${branch}, which a revert needs: close it first`,
    };
  }
  await removeBranch(client, change, branch);
  const asked = `create the branch ${branch} in ${change.repository}`;
  await client.ask(asked, (gitlab) => new Branches(gitlab).create(change.repository, branch, change.baseBranch));
  try {
    const refusal = await revertAll(client, change, commits, branch);
    if (refusal !== undefined) {
      await removeBranch(client, change, branch);
      return refusal;
    }
    return { kind: "opened", number: await openRevert(client, change, branch, asker), known: false };
  } catch (error) {
    if (!(error instanceof HostFailure)) throw error;
    const made = await findRevert(client, change, self).catch(() => undefined);
    if (made !== undefined) return { kind: "opened", number: made, known: false };
    await removeBranch(client, change, branch).catch(() => undefined);
    throw error;
  }
}

const landedSchema = z.object({
  merge_commit_sha: revisionField.nullish(),
  squash_commit_sha: revisionField.nullish(),
});
const commitsSchema = z.array(z.object({ id: revisionField }));

/** What the merge brought, newest first: one commit, unless it was fast-forward. */
async function commitsOf(client: GitLabClient, { repository, number }: ChangeRequest) {
  const asked = `read what the merge of ${repository}!${number} brought`;
  const landed = await client.read(landedSchema, asked, (gitlab) => new MergeRequests(gitlab).show(repository, number));
  const one = landed.merge_commit_sha ?? landed.squash_commit_sha;
  if (one) return [one];
  const listed = await client.read(commitsSchema, asked, (gitlab) =>
    new MergeRequests(gitlab).allCommits(repository, number, { perPage: 100 }),
  );
  return listed.map(({ id }) => id);
}

/** Tries the first one before it commits anything. @returns Why one of them cannot be reverted. */
async function revertAll(
  client: GitLabClient,
  change: ChangeRequest,
  commits: readonly Revision[],
  branch: string,
): Promise<Extract<RevertOutcome, { readonly kind: "refused" }> | undefined> {
  for (const dryRun of [true, false]) {
    for (const commit of dryRun ? commits.slice(0, 1) : commits) {
      const reason = await revertCommit(client, change, commit, branch, dryRun);
      const newest = commits[0] ?? commit;
      if (reason !== undefined) return { kind: "refused", reason, tried: { newest, oldest: commit } };
    }
  }
  return undefined;
}

/** @returns Why it cannot be reverted there. */
async function revertCommit(
  client: GitLabClient,
  { repository }: ChangeRequest,
  commit: string,
  branch: string,
  dryRun: boolean,
): Promise<string | undefined> {
  const asked = `revert ${commit.slice(0, 8)} on ${branch} of ${repository}`;
  try {
    await client.ask(asked, (gitlab) =>
      new Commits(gitlab).revert(repository, commit, branch, dryRun ? { dryRun } : {}),
    );
    return undefined;
  } catch (error) {
    if (error instanceof HostRefusal && error.status === 400) {
      return `GitLab says "${error.hostMessage}". Revert it with git`;
    }
    throw error;
  }
}

const openedSchema = z.object({ iid: numberField });

async function openRevert(client: GitLabClient, change: ChangeRequest, branch: string, asker: User): Promise<number> {
  const { repository, number, baseBranch, title } = change;
  const asked = `open a merge request for ${branch} of ${repository}`;
  const { iid } = await client.read(openedSchema, asked, (gitlab) =>
    new MergeRequests(gitlab).create(repository, branch, baseBranch, revertTitle(title), {
      description: revertBody(`!${number}`, number, asker),
      removeSourceBranch: true,
    }),
  );
  return iid;
}

/** A branch that is not there is gone. */
async function removeBranch(client: GitLabClient, { repository }: ChangeRequest, branch: string): Promise<void> {
  const asked = `delete the branch ${branch} of ${repository}`;
  await ifFound(client.ask(asked, (gitlab) => new Branches(gitlab).remove(repository, branch)));
}

const besideSchema = z.array(z.object({ iid: numberField }));

/** The open merge requests from or into a branch of the repository itself. Forks do not count: anybody can open many from a branch of that name there. */
async function openWith(
  client: GitLabClient,
  { repository, repositoryId = "" }: ChangeRequest,
  branch: string,
): Promise<readonly number[]> {
  const asked = `list the open merge requests from or into ${branch} of ${repository}`;
  const open = { projectId: repository, state: "opened", perPage: 100, page: 1 } as const;
  const list = (filter: Readonly<Record<string, string>>) =>
    client.read(besideSchema, asked, (gitlab) => new MergeRequests(gitlab).all({ ...open, ...filter }));
  const [from, into] = await Promise.all([
    list({ sourceProjectId: repositoryId, sourceBranch: branch }),
    list({ targetBranch: branch }),
  ]);
  return [...from, ...into].map(({ iid }) => iid);
}

const MOST_PAGES = 10;
const listSchema = z.array(
  z.object({
    iid: numberField,
    source_branch: z.string(),
    target_branch: z.string(),
    author: z.object({ id: idField }).nullish(),
  }),
);

/** Finds the open revert that svc has made before. @throws {HostFailure} if svc has too many open merge requests to read them all. */
async function findRevert(client: GitLabClient, change: ChangeRequest, self: string): Promise<number | undefined> {
  const asked = `list our open merge requests of ${change.repository}`;
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const listed = await client.read(listSchema, asked, (gitlab) =>
      new MergeRequests(gitlab).all({
        projectId: change.repository,
        state: "opened",
        authorId: Number(self),
        targetBranch: change.baseBranch,
        perPage: 100,
        page,
      }),
    );
    const found = listed.find(
      ({ author, source_branch: branch, target_branch: target }) =>
        author?.id === self && target === change.baseBranch && revertOf(branch)?.of === change.number,
    );
    if (found !== undefined) return found.iid;
    if (listed.length < 100) return undefined;
  }
  throw new HostFailure(
    "failed",
    `svc has too many open merge requests in ${change.repository} to find out whether one reverts !${change.number} already: close those that nobody needs.`,
  );
}
