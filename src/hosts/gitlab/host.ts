import { Commits, Users } from "@gitbeaker/rest";
import * as z from "zod";
import type { ChangeRequest, ChangeRequestRef, Mergeability, User } from "../../core/model/change-request.js";
import type { Clock } from "../../core/ports/clock.js";
import type { CodeHost, CommitStatus } from "../../core/ports/code-host.js";
import type { Log } from "../../core/ports/log.js";
import { STATUS_NAME } from "../../names.js";
import { createContentPace } from "../content-pace.js";
import { HostRefusal, idField, keepAccount, loginField, oneLine, readUntil } from "../host-answer.js";
import type { HostParts } from "../host-module.js";
import { belongsToAnyGroup, getReviews, mayRead, mayWrite } from "./approval.js";
import { getAuthorship } from "./authorship.js";
import { getChangeRequest, getMergeRequest, getState, mergeabilityOf, type MergeRequest } from "./change-request.js";
import { createGitLabClient, type GitLabClient } from "./client.js";
import { createDeployments } from "./deployments.js";
import { merge } from "./merge.js";
import { createNotes, createRecentActivity } from "./notes.js";
import { GITLAB } from "./words.js";

interface GitLabConfig {
  /** Root of the instance, with its path prefix if it has one. */
  readonly url: string;
  /** Access token of a project, a group or a dedicated account, with the scope `api`. */
  readonly token: string;
  /** Other host names of the same server, for repository URLs. */
  readonly aliases: readonly string[];
  /** Deadline of one request in milliseconds; 30 seconds when absent. */
  readonly requestTimeoutMs?: number;
  readonly environments?: boolean;
  /** The template of `environmentName`. */
  readonly environmentName?: string;
}

type GitLabParts = Pick<HostParts, "clock" | "budget" | "waits"> & { readonly log: Log };

/** GitLab, through an access token. Sends no request before the first call. */
export function createGitLabHost(config: GitLabConfig, parts: GitLabParts): CodeHost {
  const { clock, waits, log } = parts;
  const url = config.url.replace(/\/+$/, "");
  const { token, requestTimeoutMs = 30_000 } = config;
  const client = createGitLabClient({ url, token, requestTimeoutMs, clock, waits });
  const self = keepAccount(() => findSelf(client, log));
  const windows = [new URL(url).hostname === "gitlab.com" ? NOTES_ON_GITLAB_COM : NOTES_BY_DEFAULT];
  const pace = createContentPace({ ...parts, host: "hostb", windows: () => windows });

  return {
    id: "hostb",
    self,
    reach: async () => {
      await findSelf(client, log);
    },
    getChangeRequest: (change, signal) => getChangeRequest(client, change, config.aliases, clock, signal),
    state: (change) => getState(client, change),
    recentActivity: createRecentActivity(client),
    mergeability: (change, signal) => getMergeability(client, change, clock, signal),
    reviews: async (change) => getReviews(client, change, (await self()).id, clock),
    authorship: (change) => getAuthorship(client, change),
    mayCommand: (change, user) => mayWrite(client, change, user),
    mayRead: (change, person) => mayRead(client, change, person),
    cloneSource: (change) =>
      Promise.resolve({
        url: `${url}/${change.repository}.git`,
        // With an access token, GitLab accepts any user name.
        authorization: `Basic ${Buffer.from(`oauth2:${token}`).toString("base64")}`,
        headRef: `refs/merge-requests/${change.number}/head`,
      }),
    ...createNotes(client, self, pace),
    commitUrl: ({ webUrl }, commit) => `${webUrl.replace(/\/merge_requests\/\d+$/, "")}/commit/${commit}`,
    setStatus: (change, status) => setStatus(client, change, status, log),
    belongsToAny: (_change, user, groups) => belongsToAnyGroup(client, user, groups),
    merge: (change, intent) => merge(client, change, intent, clock),
    ...createDeployments(client, config, self, log),
  };
}

/** New notes per account; other writes have no limit of their own: https://docs.gitlab.com/user/gitlab_com/rate_limits/ */
const NOTES_ON_GITLAB_COM = { windowMs: 60_000, max: 60 };
/** https://docs.gitlab.com/administration/settings/rate_limit_on_notes_creation/ */
const NOTES_BY_DEFAULT = { windowMs: 60_000, max: 300 };

const accountSchema = z.object({ id: idField, username: loginField, bot: z.boolean().nullish() });

/** The account counts as a bot even if GitLab shows it as a person, because svc writes with it. */
async function findSelf(client: GitLabClient, log: Log): Promise<User> {
  const asked = "read the token's own account";
  const { id, username, bot } = await client.read(accountSchema, asked, (gitlab) =>
    new Users(gitlab).showCurrentUser(),
  );
  if (bot !== true) {
    log.debug({ account: username }, "the GitLab token belongs to an account that looks like a person's");
  }
  return { id, login: username, bot: true };
}

const STATES = { pending: "pending", success: "success", failure: "failed" } as const;

const statusesSchema = z.array(z.object({ name: z.string(), status: z.string(), pipeline_id: z.number().nullish() }));

/**
 * Adds the status to the pipeline at the merge request's head. Without a pipeline nothing is set: GitLab would create one
 * for it, which could turn a failed merge request green.
 */
async function setStatus(
  client: GitLabClient,
  change: ChangeRequest,
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
function pipelineOfHead(merge: MergeRequest, change: ChangeRequest) {
  const pipeline = merge.head_pipeline;
  if (!pipeline || merge.sha !== change.headRevision) return undefined;
  if (pipeline.project_id && pipeline.project_id !== merge.target_project_id) return undefined;
  const merged = pipeline.ref === `refs/merge-requests/${change.number}/merge`;
  return merged || pipeline.sha === change.headRevision ? pipeline : undefined;
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
