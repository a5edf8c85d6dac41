import { AccessLevel, Branches, MergeRequests, MergeTrains, Projects } from "@gitbeaker/rest";
import * as z from "zod";
import type { RepositoryName, Revision } from "../../core/model/brand.js";
import type { ChangeRequest } from "../../core/model/change-request.js";
import { allInTurns } from "../../core/model/collections.js";
import { HostFailure, only } from "../../core/model/errors.js";
import type { MergeIntent } from "../../core/model/result.js";
import type { Clock } from "../../core/ports/clock.js";
import type { MergeOutcome } from "../../core/ports/code-host.js";
import { HostRefusal, ifFound, MERGE_PAUSES_MS, oneLine, readUntil } from "../host-answer.js";
import { refusalOf } from "../source-branch.js";
import { getMergeRequest, mergeabilityOf, type MergeRequest, mergeRequestSchema } from "./change-request.js";
import type { GitLabClient } from "./client.js";

const QUEUED = { kind: "queued", in: "GitLab's merge train, or in line for it until its own checks pass" } as const;

/** Without the feature, below Premium, GitLab leaves the field out: https://docs.gitlab.com/api/projects/ */
const projectSchema = z.object({ merge_trains_enabled: z.boolean().nullish() });

const MAINTAINER: number = AccessLevel.MAINTAINER;
const roleField = z.object({ access_level: z.number() }).nullish();
const checkedSchema = projectSchema.extend({
  default_branch: z.string().nullish(),
  only_allow_merge_if_pipeline_succeeds: z.boolean().nullish(),
  permissions: z.object({ project_access: roleField, group_access: roleField }).nullish(),
});
const branchSchema = z.object({ protected: z.boolean().nullish(), developers_can_merge: z.boolean().nullish() });

/** What is missing where one of these projects merges in trains. */
export async function findTrainProblems(
  client: GitLabClient,
  projects: readonly RepositoryName[],
): Promise<readonly string[]> {
  return (await allInTurns(projects, (path) => problemsOf(client, path))).flat();
}

/**
 * Only Maintainers see who else may merge into a protected branch, so any lower role gets the warning:
 * https://docs.gitlab.com/api/branches/#get-single-repository-branch
 */
async function problemsOf(client: GitLabClient, path: RepositoryName): Promise<readonly string[]> {
  const asked = `look for merge trains in ${path}`;
  const project = await client.read(checkedSchema, asked, (gitlab) => new Projects(gitlab).show(path));
  if (project.merge_trains_enabled !== true) return [];
  const problems: string[] = [];
  if (project.only_allow_merge_if_pipeline_succeeds !== true) {
    problems.push(
      `${path} has merge trains, and GitLab puts on them what svc has not deployed: tick "Pipelines must succeed" in its merge request settings`,
    );
  }
  const { project_access: own, group_access: inherited } = project.permissions ?? {};
  const level = Math.max(own?.access_level ?? 0, inherited?.access_level ?? 0);
  const { default_branch: branch } = project;
  if (level >= MAINTAINER || !branch) return problems;
  // An empty project has the name of a default branch, and no branch.
  const found = await ifFound(client.read(branchSchema, asked, (gitlab) => new Branches(gitlab).show(path, branch)));
  if (found?.protected === true && found.developers_can_merge !== true) {
    problems.push(
      `${path} has merge trains, and auto_merge cannot use them unless the account of gitlab.token may merge into ${branch}: give it the role Maintainer, or list it under "allowed to merge" of that branch`,
    );
  }
  return problems;
}

/** Whether the project merges in trains. `PUT …/merge` would merge at once, past what is on the train. */
export async function hasMergeTrains(client: GitLabClient, { repository }: ChangeRequest): Promise<boolean> {
  const project = await client.read(projectSchema, `look for merge trains in ${repository}`, (gitlab) =>
    new Projects(gitlab).show(repository),
  );
  return project.merge_trains_enabled === true;
}

/**
 * Confirms a merge and sends it; again, with a new confirmation, after the pause that a limit asks for.
 * @param send returns why GitLab refused, if it did.
 * @returns Undefined if it is not confirmed, or if the target branch has changed.
 */
export async function askConfirmed<R extends HostFailure>(
  client: GitLabClient,
  change: ChangeRequest,
  confirm: () => Promise<MergeIntent | undefined>,
  send: (intent: MergeIntent) => Promise<R | undefined>,
): Promise<{ readonly intent: MergeIntent; readonly refusal: R | undefined } | undefined> {
  return client.pastLimit(async () => {
    const intent = await confirm();
    if (intent === undefined) return undefined;
    const isOurs = ({ target_branch: target }: MergeRequest) => target === change.baseBranch;
    const read = await getMergeRequest(client, change);
    if (!isOurs(read)) return undefined;
    // GitLab ignores `squash: false` in the request to merge: https://gitlab.com/gitlab-org/gitlab/-/blob/master/lib/api/merge_requests.rb
    const isTicked = read.squash === true && intent.method !== "squash";
    if (isTicked && !isOurs(await untickSquash(client, change))) return undefined;
    return { intent, refusal: await send(intent) };
  });
}

function untickSquash(client: GitLabClient, { repository, number }: ChangeRequest): Promise<MergeRequest> {
  return client.read(mergeRequestSchema, `keep ${repository}!${number} from being squashed`, (gitlab) =>
    new MergeRequests(gitlab).edit(repository, number, { squash: false }),
  );
}

/** Reads what became of an accepted request, which must not be judged and sent again. @returns The failure if GitLab does not tell. */
export async function readAccepted(
  client: GitLabClient,
  change: ChangeRequest,
  settled: (read: MergeRequest) => boolean,
  clock: Clock,
): Promise<MergeRequest | HostFailure> {
  const read = () => readUntil(() => getMergeRequest(client, change), settled, clock);
  return await client.pastLimit(read).catch(only(HostFailure, (error) => error));
}

/**
 * Puts it on the merge train of its target branch, now or once its own pipeline has passed (202). `sha` is more than a guard: without
 * it GitLab takes the merge request off again at the end of the train (https://gitlab.com/gitlab-org/gitlab/-/issues/409339).
 * `auto_merge` came with GitLab 17.11; earlier ones ignore it: https://docs.gitlab.com/api/merge_trains/
 */
export async function joinMergeTrain(
  client: GitLabClient,
  change: ChangeRequest,
  confirm: () => Promise<MergeIntent | undefined>,
  clock: Clock,
): Promise<MergeOutcome> {
  const { repository, number, headRevision: sha, baseBranch } = change;
  const send = ({ method }: MergeIntent) => {
    const options = { sha, squash: method === "squash", autoMerge: true };
    const joined = client.ask(`put ${repository}!${number} on the merge train`, (gitlab) =>
      new MergeTrains(gitlab).addMergeRequest(repository, number, options),
    );
    return refusalOf(joined, (refusal) => ([400, 401, 403, 404, 409].includes(refusal.status) ? refusal : undefined));
  };
  for (let attempt = 0; ; attempt += 1) {
    const asked = await askConfirmed(client, change, confirm, send);
    if (asked === undefined) return { kind: "barred" };
    const { refusal: failure } = asked;
    // A failure like 502 is no refusal: GitLab may have accepted.
    const refusal = failure instanceof HostRefusal && !failure.maybeDone ? failure : undefined;
    const hasSettled = (now: MergeRequest) => refusal !== undefined || now.state !== "opened" || isQueued(now);
    const read = await readAccepted(client, change, hasSettled, clock);
    if (read instanceof HostFailure) {
      if (failure !== undefined) throw refusal === undefined ? failure : read;
      return { kind: "refused", reason: `${NOT_TOLD} ${read.message}` };
    }
    if (read.sha === sha && read.state === "merged") return { kind: "merged", note: undefined };
    if (refusal === undefined && read.target_branch !== baseBranch) {
      await leaveOtherTrain(client, change, read);
      return { kind: "barred" };
    }
    if (read.sha === sha && read.target_branch === baseBranch && isQueued(read)) return QUEUED;
    if (failure === undefined) return { kind: "refused", reason: NOT_TAKEN };
    if (refusal === undefined) throw failure;
    const pause = MERGE_PAUSES_MS[attempt];
    const isComputing = refusal.status === 400 && mergeabilityOf(read) === "unknown";
    // 409 may also be a lock: https://github.com/python-gitlab/python-gitlab/issues/2325
    const isEarly = read.state === "opened" && read.sha === sha && (isComputing || refusal.status === 409);
    if (!isEarly || pause === undefined) return { kind: "refused", reason: reasonOf(refusal, read, sha) };
    await clock.sleep(pause);
  }
}

/**
 * Takes the merge request off the train of another target branch, which somebody chose while it joined: the call that joins names
 * the head alone. https://docs.gitlab.com/api/merge_requests/#cancel-merge-when-pipeline-succeeds
 */
async function leaveOtherTrain(client: GitLabClient, change: ChangeRequest, read: MergeRequest): Promise<void> {
  const { repository, number } = change;
  if (!isQueued(read)) return;
  await client.ask(`take ${repository}!${number} off the merge train of ${read.target_branch}`, (gitlab) =>
    new MergeRequests(gitlab).cancelOnPipelineSuccess(repository, number),
  );
}

const NOT_TOLD =
  "GitLab accepted this merge request for the merge train, but what became of it is not known: look at the merge request.";
const NOT_TAKEN =
  "GitLab accepted this merge request for the merge train, but it is neither on it nor in line for it. Look at the merge request, then put it on the train by hand.";

/** GitLab shows what is on a train, and what joins it once its pipeline passes, as set to auto-merge. */
function isQueued({ state, merge_when_pipeline_succeeds: queued }: MergeRequest): boolean {
  return state === "opened" && queued === true;
}

function reasonOf({ status, hostMessage }: HostRefusal, read: MergeRequest, head: Revision): string {
  const said = hostMessage === "" ? "" : ` GitLab says: "${hostMessage}".`;
  switch (status) {
    case 401:
    case 403:
      return `The account of gitlab.token may not put merge requests on the merge train of ${read.target_branch}.${said} Allow it to merge into that branch, or put the merge request on the train by hand.`;
    default: {
      if (read.sha !== head) {
        return `The head commit changed before it was put on the merge train.${said} Plan and sync the new head.`;
      }
      const mergeStatus = read.detailed_merge_status;
      const now = mergeStatus ? ` Its merge status is "${oneLine(mergeStatus, 60)}".` : "";
      return `GitLab did not put this merge request on the merge train.${now}${said} Look at the merge request, then put it on the train by hand.`;
    }
  }
}
