import * as z from "zod";
import type { ChangeRequest, User } from "../../core/model/change-request.js";
import { HostFailure, only } from "../../core/model/errors.js";
import type { MergeIntent } from "../../core/model/result.js";
import type { Clock } from "../../core/ports/clock.js";
import type { CodeHost, MergeOutcome, RevertOutcome, UpdateOutcome } from "../../core/ports/code-host.js";
import type { ContentWrite, InTurn } from "../content-pace.js";
import {
  decodeAnswer,
  HostRefusal,
  idField,
  ifFound,
  LONG_READ_PAUSES_MS,
  MERGE_PAUSES_MS,
  numberField,
  readUntil,
} from "../host-answer.js";
import { readRevertBody, revertBody, revertTitle } from "../revert-marker.js";
import { deleteSourceBranch, pushObstacle, refusalOf } from "../source-branch.js";
import { findBranch, getPull } from "./change-request.js";
import type { GitHubClient } from "./client.js";
import { GITHUB } from "./words.js";

/**
 * Merge states in which one more try may succeed, and does no harm: GitHub may have refused before it had computed the state, or
 * before it counted the status that svc had just set (`blocked`): https://github.com/salemove/pipeline-lib/pull/88.
 */
const EARLY = ["clean", "unstable", "has_hooks", "blocked"];

export const MERGE_WRITE: ContentWrite = { urgency: "result", brief: true };

/** Merges a pull request, updates its branch, and reverts it. */
export function createMerges(
  client: GitHubClient,
  clock: Clock,
  self: () => Promise<User>,
  inTurn: InTurn,
): Pick<CodeHost, "merge" | "updateBranch" | "revert"> {
  return {
    merge: (change, confirm) =>
      inTurn(change, MERGE_WRITE, () => client.pastLimit(() => merge(client, change, confirm, clock))),
    updateBranch: (change) => updateBranch(client, change, clock),
    revert: async (change, asker) => revert(client, change, asker, (await self()).id),
  };
}

/** Merges only this head and into its base branch, which GitHub's call does not guard. Tries again only after "not yet". */
async function merge(
  client: GitHubClient,
  change: ChangeRequest,
  confirm: () => Promise<MergeIntent | undefined>,
  clock: Clock,
): Promise<MergeOutcome> {
  let mayHaveComputed = true;
  let intent: MergeIntent | undefined;
  for (let attempt = 0; ; attempt += 1) {
    intent = await confirm();
    const before = intent && (await getPull(client, change));
    if (intent === undefined || before?.base.ref !== change.baseBranch) return { kind: "barred" };
    if (before.stack) return { kind: "refused", reason: STACKED };
    const attempted = await tryMerge(client, change, intent, clock);
    if (attempted === "merged") break;
    const pause = MERGE_PAUSES_MS[attempt];
    if (attempted.status !== 405) return { kind: "refused", reason: attempted.reason };
    const pull = await getPull(client, change);
    if (pull.merged && pull.head.sha === change.headRevision) break;
    const computing = pull.state === "open" && typeof pull.mergeable !== "boolean";
    const mayRepeat = mayHaveComputed && pause !== undefined && pull.state === "open";
    const computed = mayRepeat && EARLY.includes(pull.mergeable_state ?? "");
    if (!computing && (await queueOf(client, change)) !== undefined) return enqueue(client, change, confirm, clock);
    if (!computing && !computed) return { kind: "refused", reason: attempted.reason };
    if (computed) mayHaveComputed = false;
    if (pause === undefined) {
      return { kind: "refused", reason: "GitHub is still computing whether the merge is possible. Merge it by hand." };
    }
    await clock.sleep(pause);
  }
  const access = {
    find: (branch: string) => ifFound(findBranch(client, change, branch)),
    openWith: (branch: string) => openWith(client, change, branch),
    remove: (branch: string) => removeBranch(client, change, branch),
  };
  const note = await deleteSourceBranch(change, intent, access, client.pastLimit);
  return { kind: "merged", note };
}

const STACKED =
  "It is part of a stack. GitHub merges a pull request of a stack only together with all below it, and svc does not ask for that: merge the stack by hand, beginning with the lowest.";

const QUEUED = { kind: "queued", in: "GitHub's merge queue" } as const;

const QUEUE_QUERY = `query ($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) { id headRefOid baseRefName isMergeQueueEnabled isInMergeQueue }
  }
}`;
const queueSchema = z.object({
  id: z.string().min(1),
  headRefOid: z.string(),
  baseRefName: z.string(),
  isMergeQueueEnabled: z.boolean(),
  isInMergeQueue: z.boolean(),
});

/** Undefined if the base branch has no merge queue, or GitHub does not tell: its refusal of the merge is the answer then. */
async function queueOf(client: GitHubClient, change: ChangeRequest): Promise<z.output<typeof queueSchema> | undefined> {
  const asked = `look for the merge queue of ${change.repository}#${change.number}`;
  const reading = client.queryPullRequest(queueSchema, change, asked, QUEUE_QUERY);
  const pull = await reading.catch(only(HostFailure, () => undefined));
  return pull?.isMergeQueueEnabled === true ? pull : undefined;
}

const ENQUEUE = `mutation ($pull: ID!, $head: GitObjectID!) {
  enqueuePullRequest(input: { pullRequestId: $pull, expectedHeadOid: $head }) { mergeQueueEntry { position } }
}`;
const enqueuedSchema = z.object({ enqueuePullRequest: z.object({ mergeQueueEntry: z.object({}).nullish() }) });

/**
 * Puts it into the merge queue of its base branch, and waits for a moment for the required checks, without which GitHub does not
 * take it: https://docs.github.com/graphql/reference/mutations#enqueuepullrequest
 */
async function enqueue(
  client: GitHubClient,
  change: ChangeRequest,
  confirm: () => Promise<MergeIntent | undefined>,
  clock: Clock,
): Promise<MergeOutcome> {
  const asked = `put ${change.repository}#${change.number} into the merge queue`;
  for (let attempt = 0; ; attempt += 1) {
    const intent = await confirm();
    const queue = await queueOf(client, change);
    if (intent === undefined || queue?.baseRefName !== change.baseBranch) return { kind: "barred" };
    if (queue.isInMergeQueue && queue.headRefOid === change.headRevision) return QUEUED;
    try {
      const variables = { pull: queue.id, head: change.headRevision };
      await client.read(enqueuedSchema, change.repository, asked, async (octokit) => ({
        data: await octokit.graphql<unknown>(ENQUEUE, variables),
      }));
      return QUEUED;
    } catch (error) {
      if (!(error instanceof HostFailure) || error.reason === "rate-limited") throw error;
      const pause = MERGE_PAUSES_MS[attempt];
      // It may have been queued although GitHub failed, also with status 200, or no answer came.
      if (!(error instanceof HostRefusal) || pause === undefined) {
        const now = await queueOf(client, change);
        if (now?.isInMergeQueue === true && now.headRefOid === change.headRevision) return QUEUED;
        if (!(error instanceof HostRefusal) || now === undefined) throw error;
      }
      if (error.reason === "forbidden" || pause === undefined) return { kind: "refused", reason: whyNotQueued(error) };
      await clock.sleep(pause);
    }
  }
}

function whyNotQueued({ reason, hostMessage }: HostRefusal): string {
  const said = hostMessage === "" ? "" : ` GitHub says: "${hostMessage}".`;
  return reason === "forbidden"
    ? `The GitHub App may not put this pull request into the merge queue.${said} Whether that needs Merge queues: write, GitHub does not document: give the App that permission and accept it in the installation, besides Contents: write, or press "Merge when ready".`
    : `GitHub did not take this pull request into the merge queue.${said} Look at the required checks and reviews, then press "Merge when ready".`;
}

async function tryMerge(
  client: GitHubClient,
  change: ChangeRequest,
  intent: MergeIntent,
  clock: Clock,
): Promise<"merged" | { readonly status: number; readonly reason: string }> {
  const asked = `merge ${change.repository}#${change.number}`;
  try {
    const data = await client.inRepository(change.repository, asked, (octokit, at) =>
      octokit.rest.pulls.merge({
        ...at,
        pull_number: change.number,
        sha: change.headRevision,
        merge_method: intent.method,
      }),
    );
    const { merged } = decodeAnswer(z.object({ merged: z.boolean() }), data, GITHUB, asked, true);
    return merged ? "merged" : { status: 200, reason: "GitHub did not merge and gave no reason. Merge it by hand." };
  } catch (error) {
    if (error instanceof HostRefusal) {
      const reason = reasonOf(error, intent);
      if (reason !== undefined) return { status: error.status, reason };
    }
    if (error instanceof HostFailure && error.maybeDone && (await wasMerged(client, change, clock))) return "merged";
    throw error;
  }
}

/** Whether a request without an answer merged; false if GitHub cannot be asked. */
async function wasMerged(client: GitHubClient, change: ChangeRequest, clock: Clock): Promise<boolean> {
  const reading = readUntil(
    () => getPull(client, change),
    ({ state }) => state === "closed",
    clock,
  );
  const pull = await reading.catch(only(HostFailure, () => undefined));
  return pull?.merged === true && pull.head.sha === change.headRevision;
}

/** https://docs.github.com/rest/pulls/pulls#merge-a-pull-request */
function reasonOf(refusal: HostRefusal, intent: MergeIntent): string | undefined {
  if (refusal.reason === "rate-limited") return undefined;
  const said = refusal.hostMessage === "" ? "" : ` GitHub says: "${refusal.hostMessage}".`;
  switch (refusal.status) {
    case 403:
      return `The GitHub App may not merge this pull request.${said} It needs Contents: write (and Workflows: write when workflow files change), or merge by hand.`;
    case 405:
      return `GitHub does not allow this merge now.${said} Look at the required checks and reviews, the merge queue, and whether the repository allows the method "${intent.method}"; then merge by hand.`;
    case 409:
      return `The head commit changed before the merge.${said} Plan and sync the new head.`;
    case 422:
      return `GitHub found the merge invalid.${said} Merge it by hand.`;
    default:
      return undefined;
  }
}

const besideSchema = z.array(
  z.object({ number: numberField, head: z.object({ ref: z.string() }), base: z.object({ ref: z.string() }) }),
);

async function openWith(
  client: GitHubClient,
  { repository }: ChangeRequest,
  branch: string,
): Promise<readonly number[]> {
  const asked = `list the open pull requests from or into ${branch} of ${repository}`;
  const list = (filter: { readonly head?: string; readonly base?: string }) =>
    client.read(besideSchema, repository, asked, ({ rest }, at) =>
      rest.pulls.list({ ...at, ...filter, state: "open", per_page: 10 }),
    );
  const [owner = ""] = repository.split("/");
  const [from, into] = await Promise.all([list({ head: `${owner}:${branch}` }), list({ base: branch })]);
  return [...from.filter(({ head }) => head.ref === branch), ...into.filter(({ base }) => base.ref === branch)].map(
    ({ number }) => number,
  );
}

async function removeBranch(client: GitHubClient, change: ChangeRequest, branch: string): Promise<void> {
  try {
    const asked = `delete the branch ${branch} of ${change.repository}`;
    await client.inRepository(change.repository, asked, (octokit, at) =>
      octokit.rest.git.deleteRef({ ...at, ref: `heads/${branch}` }),
    );
  } catch (error) {
    if (!(error instanceof HostRefusal && [404, 422].includes(error.status))) throw error;
    // 422 means "Reference does not exist", or a ruleset that forbids the deletion.
    if ((await ifFound(findBranch(client, change, branch))) !== undefined) throw error;
  }
}

/**
 * Merges the base branch into the head branch, in the background (202), and only into `change.headRevision`. GitHub's call
 * does not guard the base branch: https://docs.github.com/rest/pulls/pulls#update-a-pull-request-branch
 */
async function updateBranch(client: GitHubClient, change: ChangeRequest, clock: Clock): Promise<UpdateOutcome> {
  const asked = `update the branch of ${change.repository}#${change.number}`;
  const unanswered = await client.pastLimit(async () => {
    if ((await getPull(client, change)).base.ref !== change.baseBranch) return "its base branch changed meanwhile";
    const obstacle = await pushObstacle(change, (branch) => ifFound(findBranch(client, change, branch)), "GitHub");
    if (obstacle !== undefined) return obstacle;
    const update = client.inRepository(change.repository, asked, ({ rest }, at) =>
      rest.pulls.updateBranch({ ...at, pull_number: change.number, expected_head_sha: change.headRevision }),
    );
    return refusalOf(update, ({ status, hostMessage }) =>
      status === 422 ? `GitHub says "${hostMessage}"` : undefined,
    );
  });
  if (typeof unanswered === "string") return { kind: "refused", reason: unanswered };
  const look = () =>
    readUntil(
      () => getPull(client, change),
      ({ head, state }) => head.sha !== change.headRevision || state !== "open",
      clock,
      undefined,
      LONG_READ_PAUSES_MS,
    );
  const pull = await client.pastLimit(look);
  if (pull.head.sha !== change.headRevision) return { kind: "moved", rewritten: false };
  if (unanswered !== undefined) throw unanswered;
  return { kind: "refused", reason: "GitHub accepted the update and has not made a new head within a minute" };
}

const ID_QUERY = `query ($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) { id } }
}`;
const idSchema = z.object({ id: z.string().min(1) });

/** Only GraphQL reverts; it makes the branch, the commit and the pull request: https://docs.github.com/graphql/reference/mutations#revertpullrequest */
const REVERT = `mutation ($pull: ID!, $title: String!, $body: String!) {
  revertPullRequest(input: { pullRequestId: $pull, title: $title, body: $body }) { revertPullRequest { number } }
}`;
const revertedSchema = z.object({
  revertPullRequest: z.object({ revertPullRequest: z.object({ number: numberField }) }),
});

/** Opens a revert, or finds the open one. Whatever failed, it looks whether the revert is there before it says so. */
async function revert(client: GitHubClient, change: ChangeRequest, asker: User, self: string): Promise<RevertOutcome> {
  const known = await findRevert(client, change, self);
  if (known !== undefined) return { kind: "opened", number: known, known: true };
  const asked = `revert ${change.repository}#${change.number}`;
  const { id } = await client.queryPullRequest(idSchema, change, asked, ID_QUERY);
  const variables = {
    pull: id,
    title: revertTitle(change.title),
    body: revertBody(`#${change.number}`, change.number, asker),
  };
  try {
    const { revertPullRequest: made } = await client.read(
      revertedSchema,
      change.repository,
      asked,
      async (octokit) => ({
        data: await octokit.graphql<unknown>(REVERT, variables),
      }),
    );
    return { kind: "opened", number: made.revertPullRequest.number, known: false };
  } catch (error) {
    if (!(error instanceof HostFailure)) throw error;
    const made = await findRevert(client, change, self).catch(() => undefined);
    if (made !== undefined) return { kind: "opened", number: made, known: false };
    if (!(error instanceof HostRefusal && error.status === 200 && error.reason === "failed")) throw error;
    const { mergedAs } = change;
    const tried = mergedAs === undefined ? undefined : { newest: mergedAs, oldest: mergedAs };
    return { kind: "refused", reason: `GitHub says "${error.hostMessage}". Revert it with git`, tried };
  }
}

const MOST_PAGES = 10;
const listSchema = z.array(
  z.object({
    number: numberField,
    body: z.string().nullish(),
    user: z.object({ id: idField }).nullish(),
    base: z.object({ ref: z.string() }),
  }),
);

/** Finds the open revert that svc has made before. @throws {HostFailure} if too many pull requests are open to read them all. */
async function findRevert(client: GitHubClient, change: ChangeRequest, self: string): Promise<number | undefined> {
  const asked = `list the open pull requests into ${change.baseBranch} of ${change.repository}`;
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const listed = await client.read(listSchema, change.repository, asked, ({ rest }, at) =>
      rest.pulls.list({ ...at, state: "open", base: change.baseBranch, per_page: 100, page }),
    );
    const found = listed.find(
      ({ user, body, base }) =>
        user?.id === self && base.ref === change.baseBranch && readRevertBody(body ?? "")?.of === change.number,
    );
    if (found !== undefined) return found.number;
    if (listed.length < 100) return undefined;
  }
  throw new HostFailure(
    "failed",
    `${change.repository} has too many open pull requests into ${change.baseBranch} to find out whether one reverts #${change.number} already: close some, or revert it with git.`,
  );
}
