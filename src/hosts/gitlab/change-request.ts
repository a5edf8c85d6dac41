import { Branches, MergeRequests, Projects, Repositories } from "@gitbeaker/rest";
import * as z from "zod";
import type { Revision } from "../../core/model/brand.js";
import type { ChangeRequest, ChangeRequestRef, InRepository, Mergeability } from "../../core/model/change-request.js";
import { BaseBranchGone, HostFailure } from "../../core/model/errors.js";
import type { Clock } from "../../core/ports/clock.js";
import type { CodeHost } from "../../core/ports/code-host.js";
import {
  type HostServer,
  idField,
  ifFound,
  readUntil,
  repositoryField,
  revisionField,
  underPresentName,
  urlsAtAliases,
} from "../host-answer.js";
import type { GitLabClient } from "./client.js";
import { userField } from "./webhook.js";
import { GITLAB } from "./words.js";

/** A merge request in GitLab's answers. */
export const mergeRequestSchema = z.object({
  title: z.string(),
  web_url: z.string().max(2000),
  /** `locked` while a merge is in progress. */
  state: z.enum(["opened", "closed", "merged", "locked"]),
  draft: z.boolean().nullish(),
  work_in_progress: z.boolean().nullish(),
  author: userField.nullish(),
  source_branch: z.string().min(1).max(1000),
  target_branch: z.string().min(1).max(1000),
  source_project_id: idField.nullish(),
  target_project_id: idField,
  /** Null until GitLab has computed the diff. */
  sha: revisionField.nullish(),
  merge_commit_sha: revisionField.nullish(),
  /** What its author ticked, or its project by default. */
  squash: z.boolean().nullish(),
  squash_commit_sha: revisionField.nullish(),
  detailed_merge_status: z.string().nullish(),
  merge_status: z.string().nullish(),
  has_conflicts: z.boolean().nullish(),
  merge_error: z.string().nullish(),
  /** GitLab merges it by itself: on a merge train, or once its checks pass. */
  merge_when_pipeline_succeeds: z.boolean().nullish(),
  /** Only if it was asked for. */
  rebase_in_progress: z.boolean().nullish(),
  /** `start_sha` is the tip of the target branch at the time of the diff. */
  diff_refs: z.object({ start_sha: revisionField }).nullish().catch(undefined),
  head_pipeline: z
    .object({
      id: z.int().positive(),
      sha: revisionField,
      ref: z.string().min(1).max(1000),
      project_id: idField.nullish(),
    })
    .nullish()
    .catch(undefined),
});
export type MergeRequest = z.output<typeof mergeRequestSchema>;

const projectSchema = z.object({
  path_with_namespace: repositoryField,
  default_branch: z.string().min(1).max(1000).nullish(),
  web_url: z.string().max(2000).nullish(),
  http_url_to_repo: z.string().max(2000).nullish(),
  ssh_url_to_repo: z.string().max(2000).nullish(),
});
const branchSchema = z.object({
  commit: z.object({ id: revisionField }),
  protected: z.boolean().nullish(),
  default: z.boolean().nullish(),
});
const commitSchema = z.object({ id: revisionField });

/** Reads how a merge request stands. */
export function createChangeRequests(
  client: GitLabClient,
  server: HostServer,
  clock: Clock,
): Pick<CodeHost, "getChangeRequest" | "state" | "mergeability"> {
  return {
    getChangeRequest: (change, signal) => getChangeRequest(client, change, server, clock, signal),
    state: async (change) => stateOf(await findMergeRequest(client, change)),
    mergeability: (change, signal) => getMergeability(client, change, clock, signal),
  };
}

/** Four reads: the merge request, then its project and the tip of its target branch, then where the two branched. */
async function getChangeRequest(
  client: GitLabClient,
  given: ChangeRequestRef,
  server: HostServer,
  clock: Clock,
  signal?: AbortSignal,
): Promise<ChangeRequest> {
  // A new merge request has no diff yet, which must not be taken for "nothing changed".
  const merge = await readUntil(
    () => findMergeRequest(client, given, signal),
    (read) => Boolean(read.sha) && read.detailed_merge_status !== "preparing",
    clock,
    signal,
  );
  if (!merge.sha) {
    throw new HostFailure(
      "failed",
      `GitLab has not prepared the merge request ${given.repository}!${given.number} yet, or it has no commits. Try again later.`,
    );
  }
  const { repositoryId, at } = merge;
  const [project, found] = await Promise.all([
    client.read(
      projectSchema,
      `read the project ${at.repository}`,
      (gitlab) => new Projects(gitlab).show(at.repository),
      signal,
    ),
    ifFound(findBranch(client, at, merge.target_branch, signal)),
  ]);
  const change = { ...given, repository: project.path_with_namespace, repositoryId };
  const known = { ...merge, sha: merge.sha, project, server };
  const last = merge.diff_refs?.start_sha ?? merge.sha;
  // If the target branch of a closed merge request was deleted, its last known tip counts.
  if (found === undefined && (merge.state === "opened" || merge.diff_refs?.start_sha === undefined)) {
    throw new BaseBranchGone(changeOf(known, change, { baseRevision: last, mergeBase: last }));
  }
  const base = found?.revision ?? last;
  const refs: [string, string] = [base, merge.sha];
  const mergeBase = await client.read(
    commitSchema,
    `find the merge base of ${change.repository}!${change.number}`,
    (gitlab) => new Repositories(gitlab).mergeBase(change.repository, refs),
    signal,
  );
  return changeOf(known, change, { baseRevision: base, mergeBase: mergeBase.id });
}

interface Known extends MergeRequest {
  readonly sha: Revision;
  readonly project: z.output<typeof projectSchema>;
  readonly server: HostServer;
}

function changeOf(
  { project, server, ...merge }: Known,
  change: ChangeRequestRef,
  at: Pick<ChangeRequest, "baseRevision" | "mergeBase">,
): ChangeRequest {
  // After a fast-forward, the target branch has the head itself, unless GitLab has rebased it right before.
  const forwarded = at.mergeBase === merge.sha ? merge.sha : undefined;
  return {
    host: "hostb",
    repository: change.repository,
    repositoryId: change.repositoryId,
    number: change.number,
    title: merge.title.slice(0, 1000),
    webUrl: merge.web_url,
    author: merge.author ?? undefined,
    state: stateOf(merge),
    draft: merge.draft ?? merge.work_in_progress ?? false,
    fork: merge.source_project_id !== merge.target_project_id,
    headBranch: merge.source_branch,
    baseBranch: merge.target_branch,
    defaultBranch: project.default_branch ?? merge.target_branch,
    headRevision: merge.sha,
    ...at,
    ...(merge.state === "merged" ? { mergedAs: merge.merge_commit_sha ?? merge.squash_commit_sha ?? forwarded } : {}),
    pipeline: merge.head_pipeline?.id.toString(),
    mergeability: mergeabilityOf(merge),
    repositoryUrls: [
      ...[project.http_url_to_repo, project.ssh_url_to_repo, project.web_url].filter((url) => typeof url === "string"),
      ...urlsAtAliases(server, project.path_with_namespace),
    ],
  };
}

function stateOf({ state }: MergeRequest): ChangeRequest["state"] {
  return state === "opened" || state === "locked" ? "open" : state;
}

/** GitLab reports one reason at a time, so `has_conflicts` counts too; it is false until GitLab has checked. */
async function getMergeability(
  client: GitLabClient,
  change: ChangeRequestRef,
  clock: Clock,
  signal?: AbortSignal,
): Promise<Mergeability> {
  const merge = await readUntil(
    () => getMergeRequest(client, change, signal),
    (read) => mergeabilityOf(read) !== "unknown" || read.state !== "opened",
    clock,
    signal,
  );
  return mergeabilityOf(merge);
}

/** The merge request, and the change request with the name that its project has now. */
async function findMergeRequest(client: GitLabClient, change: ChangeRequestRef, signal?: AbortSignal) {
  const read = async (at: ChangeRequestRef) => {
    const merge = await getMergeRequest(client, at, signal);
    return { ...merge, repositoryId: merge.target_project_id, at };
  };
  return underPresentName(change, read, (id) => nameOf(client, id), GITLAB);
}

/** A reference with the name that its project has now; undefined if there is no such project, or we may not see it. */
export async function withPresentName<R extends InRepository>(client: GitLabClient, change: R): Promise<R | undefined> {
  if (change.repositoryId === undefined) return change;
  const repository = await nameOf(client, change.repositoryId);
  return repository && { ...change, repository };
}

const nameSchema = z.object({ path_with_namespace: repositoryField });

async function nameOf(client: GitLabClient, repositoryId: string) {
  const asked = "find a project that was renamed or transferred";
  const found = client.read(nameSchema, asked, (gitlab) => new Projects(gitlab).show(Number(repositoryId)));
  return (await ifFound(found))?.path_with_namespace;
}

/** https://docs.gitlab.com/api/merge_requests/#merge-status; `merge_status` is older and only about conflicts. */
export const PENDING = ["unchecked", "checking", "preparing", "approvals_syncing"];
const PENDING_CONFLICT_CHECK = [
  "unchecked",
  "checking",
  "preparing",
  "cannot_be_merged_recheck",
  "cannot_be_merged_rechecking",
];

export function mergeabilityOf(merge: MergeRequest): Mergeability {
  const status = merge.detailed_merge_status ?? "";
  if (merge.state !== "opened") return "unknown";
  if (merge.has_conflicts === true || status === "conflict" || status === "broken_status") return "conflicts";
  if (PENDING.includes(status) || PENDING_CONFLICT_CHECK.includes(merge.merge_status ?? "")) return "unknown";
  return "mergeable";
}

export async function getMergeRequest(
  client: GitLabClient,
  change: ChangeRequestRef,
  signal?: AbortSignal,
  options: { readonly includeRebaseInProgress?: true } = {},
): Promise<MergeRequest> {
  const asked = `read the merge request ${change.repository}!${change.number}`;
  return client.read(
    mergeRequestSchema,
    asked,
    (gitlab) => new MergeRequests(gitlab).show(change.repository, change.number, options),
    signal,
  );
}

export async function findBranch(client: GitLabClient, change: ChangeRequestRef, branch: string, signal?: AbortSignal) {
  const asked = `read the branch ${branch} of ${change.repository}`;
  const found = await client.read(
    branchSchema,
    asked,
    (gitlab) => new Branches(gitlab).show(change.repository, branch),
    signal,
  );
  return { revision: found.commit.id, protected: found.protected === true || found.default === true };
}
