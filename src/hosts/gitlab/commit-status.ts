import { Commits } from "@gitbeaker/rest";
import * as z from "zod";
import type { HeadRef } from "../../core/model/change-request.js";
import type { CommitStatus, OpenWithHead } from "../../core/ports/code-host.js";
import type { Log } from "../../core/ports/log.js";
import { STATUS_NAME } from "../../names.js";
import { HostRefusal, numberField, oneLine } from "../host-answer.js";
import { getMergeRequest, type MergeRequest } from "./change-request.js";
import type { GitLabClient } from "./client.js";
import { GITLAB } from "./words.js";

const STATES = { pending: "pending", success: "success", failure: "failed" } as const;

const statusesSchema = z.array(z.object({ name: z.string(), status: z.string(), pipeline_id: z.number().nullish() }));

/**
 * Adds the status to the pipeline at the merge request's head. Without a pipeline nothing is set: GitLab would create one
 * for it, which could turn a failed merge request green.
 */
export async function setStatus(
  client: GitLabClient,
  change: HeadRef,
  status: CommitStatus,
  log: Log,
): Promise<boolean> {
  const { repository, number } = change;
  const pipeline = pipelineOfHead(await getMergeRequest(client, change), change);
  if (pipeline === undefined) {
    log.info({ repository, number }, "commit status not set: the merge request has no pipeline at its head");
    return false;
  }
  const asked = `set the commit status of ${repository}!${number}`;
  const state = STATES[status.state];
  try {
    await client.ask(asked, (gitlab) =>
      new Commits(gitlab).editStatus(repository, pipeline.sha, state, {
        name: STATUS_NAME,
        ref: pipeline.ref,
        pipelineId: pipeline.id,
        description: oneLine(status.description, GITLAB.maxStatusDescription - 1),
        ...(status.url === undefined ? {} : { targetUrl: status.url }),
      }),
    );
  } catch (error) {
    // "Cannot transition status": it may be set already.
    if (!(error instanceof HostRefusal && error.status === 400)) throw error;
    const statuses = await client.read(statusesSchema, asked, (gitlab) =>
      new Commits(gitlab).allStatuses(repository, pipeline.sha, { name: STATUS_NAME, ref: pipeline.ref }),
    );
    const isSet = statuses.some(
      (one) => one.name === STATUS_NAME && one.status === state && (one.pipeline_id ?? pipeline.id) === pipeline.id,
    );
    if (!isSet) throw error;
  }
  return true;
}

/** A merged-results pipeline runs at the trial merge, not at the head. Pipelines of a fork's project cannot be set. */
function pipelineOfHead(merge: MergeRequest, change: HeadRef) {
  const pipeline = merge.head_pipeline;
  if (!pipeline || merge.sha !== change.headRevision) return undefined;
  if (pipeline.project_id && pipeline.project_id !== merge.target_project_id) return undefined;
  const merged = pipeline.ref === `refs/merge-requests/${change.number}/merge`;
  return merged || pipeline.sha === change.headRevision ? pipeline : undefined;
}

const PAGE_SIZE = 100;
/** Pages of merge requests that one call of `openWithHead` reads. */
const MAX_PAGES = 3;

const mergeRequestsSchema = z.array(z.object({ iid: numberField, state: z.string(), sha: z.string().nullish() }));

/**
 * Asks for the merge requests whose newest diff has the commit. That leaves out those that GitLab still prepares, which a
 * webhook tells of, and those that change nothing because their target branch has the commit already.
 * https://docs.gitlab.com/api/commits/#list-merge-requests-associated-with-a-commit
 */
export async function openWithHead(client: GitLabClient, { repository, headRevision }: HeadRef): Promise<OpenWithHead> {
  const asked = `list the merge requests with the commit ${headRevision} of ${repository}`;
  const numbers: number[] = [];
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    const query = { state: "opened", perPage: PAGE_SIZE, page };
    const merges = await client.read(mergeRequestsSchema, asked, (gitlab) =>
      new Commits(gitlab).allMergeRequests(repository, headRevision, query),
    );
    const open = merges.filter(({ state, sha }) => state === "opened" && sha === headRevision);
    numbers.push(...open.map(({ iid }) => iid));
    if (merges.length < PAGE_SIZE) return { numbers, cutOff: undefined };
  }
  return { numbers, cutOff: `${MAX_PAGES * PAGE_SIZE} or more have it` };
}
