import { Commits, MergeRequestNotes, MergeRequests, Users } from "@gitbeaker/rest";
import * as z from "zod";
import type { RepositoryName } from "../../core/model/brand.js";
import type { ChangeRequest, ChangeRequestRef, User } from "../../core/model/change-request.js";
import type {
  CodeHost,
  CommitStatus,
  RecentActivity,
  RecentComment,
  ShownDeployment,
} from "../../core/ports/code-host.js";
import type { Log } from "../../core/ports/log.js";
import { STATUS_NAME } from "../../names.js";
import { createContentPace } from "../content-pace.js";
import { environmentName } from "../environment-name.js";
import type { HostParts } from "../host-module.js";
import { HostRefusal, oneLine } from "../host-refusal.js";
import { keepAccount } from "../own-account.js";
import { commentField, idField, loginField, numberField, revisionField, timeField } from "../payload-fields.js";
import { belongsToAnyGroup, getReviews, mayRead, mayWrite } from "./approval.js";
import { getAuthorship } from "./authorship.js";
import { getChangeRequest, getMergeability, getMergeRequest, getState, type MergeRequest } from "./change-request.js";
import { createGitLabClient, type GitLabClient } from "./client.js";
import { createDeployment, findDeployment, missingForEnvironments, setDeploymentStatus } from "./deployments.js";
import { merge } from "./merge.js";
import { editNote, listNotesOf, postNote, react } from "./notes.js";
import { isBot } from "./translate-event.js";
import { GITLAB } from "./words.js";

export interface GitLabConfig {
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

export interface GitLabParts extends Pick<HostParts, "clock" | "budget" | "waits"> {
  readonly log: Log;
}

/** GitLab, through an access token. Sends no request before the first call. */
export function createGitLabHost(config: GitLabConfig, parts: GitLabParts): CodeHost {
  const { clock, waits, log } = parts;
  const url = config.url.replace(/\/+$/, "");
  const { token, requestTimeoutMs = 30_000 } = config;
  const client = createGitLabClient({ url, token, requestTimeoutMs, clock, waits });
  const ownAccount = keepAccount(() => findSelf(client, log));
  const windows = [new URL(url).hostname === "gitlab.com" ? NOTES_ON_GITLAB_COM : NOTES_BY_DEFAULT];
  const pace = createContentPace({ ...parts, host: "hostb", windows: () => windows });
  const environmentOf = (shown: ShownDeployment) => environmentName(config.environmentName ?? "{application}", shown);

  return {
    id: "hostb",
    self: ownAccount,
    reach: async () => {
      await findSelf(client, log);
    },
    getChangeRequest: (change, signal) => getChangeRequest(client, change, config.aliases, clock, signal),
    state: (change) => getState(client, change),
    recentActivity: (repository, since) => recentActivity(client, repository, since),
    mergeability: (change, signal) => getMergeability(client, change, clock, signal),
    reviews: async (change) => getReviews(client, change, (await ownAccount()).id, clock),
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
    listOwnComments: async (change) => listNotesOf(client, change, (await ownAccount()).id),
    postComment: (change, body, posting) => pace.send("token", posting, () => postNote(client, change, body)),
    editComment: (change, commentId, body) => editNote(client, change, commentId, body),
    commentUrl: (change, commentId) => `${change.webUrl}#note_${commentId}`,
    commitUrl: ({ webUrl }, commit) => `${webUrl.replace(/\/merge_requests\/\d+$/, "")}/commit/${commit}`,
    react: async (change, commentId, reaction) => react(client, change, commentId, reaction, (await ownAccount()).id),
    minimise: () => Promise.resolve(),
    setStatus: (change, status) => setStatus(client, change, status, log),
    belongsToAny: (_change, user, groups) => belongsToAnyGroup(client, user, groups),
    merge: (change, intent) => merge(client, change, intent, clock),
    showsDeployments: config.environments === true,
    async showDeployment(change, shown, state, id) {
      if (id === undefined) {
        return createDeployment(client, change, shown, { environment: environmentOf(shown), state, log });
      }
      await setDeploymentStatus(client, change, id, state);
      return id;
    },
    shownDeployment: async (change, shown) =>
      findDeployment(client, change, shown, { environment: environmentOf(shown), self: (await ownAccount()).id }),
    missingPermissions: async () => (config.environments === true ? missingForEnvironments(client) : []),
  };
}

/** New notes per account; other writes have no limit of their own: https://docs.gitlab.com/user/gitlab_com/rate_limits/ */
const NOTES_ON_GITLAB_COM = { windowMs: 60_000, max: 60 };
/** https://docs.gitlab.com/administration/settings/rate_limit_on_notes_creation/ */
const NOTES_BY_DEFAULT = { windowMs: 60_000, max: 300 };

const accountSchema = z.object({ id: idField, username: loginField, bot: z.boolean().nullish() });

/** Always a bot to us, even if the account looks like a person's: svc writes with it. */
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

/** The commit of a merged-results pipeline is the trial merge, not the head. A fork's own pipeline is out of reach. */
function pipelineOfHead(merge: MergeRequest, change: ChangeRequest) {
  const pipeline = merge.head_pipeline;
  if (!pipeline || merge.sha !== change.headRevision) return undefined;
  if (pipeline.project_id && pipeline.project_id !== merge.target_project_id) return undefined;
  const merged = pipeline.ref === `refs/merge-requests/${change.number}/merge`;
  return merged || pipeline.sha === change.headRevision ? pipeline : undefined;
}

/** Merge requests of one look; each costs a call. */
const MAX_MERGE_REQUESTS = 50;
/** The newest notes of each. */
const MAX_NOTES = 100;

const mergeRequestsSchema = z.array(
  z.object({
    iid: numberField,
    state: z.string(),
    sha: revisionField.nullish(),
    updated_at: timeField,
  }),
);

const notesSchema = z.array(
  z.object({
    id: idField,
    body: commentField.nullish(),
    type: z.string().nullish(),
    system: z.boolean().nullish(),
    internal: z.boolean().nullish(),
    confidential: z.boolean().nullish(),
    author: z.object({ id: idField, username: loginField }).nullish(),
    created_at: timeField,
    updated_at: timeField,
  }),
);

/** One call for the merge requests, and one for each that changed. A note updates its merge request, as a push does. */
async function recentActivity(client: GitLabClient, repository: RepositoryName, since: Date): Promise<RecentActivity> {
  const merges = await client.read(mergeRequestsSchema, `list the merge requests of ${repository}`, (gitlab) =>
    new MergeRequests(gitlab).all({
      projectId: repository,
      updatedAfter: since.toISOString(),
      orderBy: "updated_at",
      sort: "asc",
      perPage: MAX_MERGE_REQUESTS,
      page: 1,
    }),
  );
  const changed = merges.map((one) => ({ ...one, change: { host: "hostb", repository, number: one.iid } as const }));
  const comments: RecentComment[] = [];
  for (const { change } of changed) comments.push(...(await notesSince(client, change, since)));
  return {
    heads: changed.flatMap(({ change, state, sha, updated_at }) =>
      state === "opened" && sha ? [{ change, headRevision: sha, updatedAt: updated_at }] : [],
    ),
    comments: comments.sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime()),
  };
}

async function notesSince(
  client: GitLabClient,
  change: ChangeRequestRef,
  since: Date,
): Promise<readonly RecentComment[]> {
  const { repository, number } = change;
  const notes = await client.read(notesSchema, `list the comments of ${repository}!${number}`, (gitlab) =>
    new MergeRequestNotes(gitlab).all(repository, number, {
      sort: "desc",
      orderBy: "created_at",
      perPage: MAX_NOTES,
      page: 1,
    }),
  );
  return notes.flatMap(({ id, body, type, system, internal, confidential, author, created_at, updated_at }) => {
    if (system === true || internal === true || confidential === true || type === "DiffNote" || !author) return [];
    if (created_at < since || updated_at.getTime() !== created_at.getTime()) return [];
    const by = { id: author.id, login: author.username, bot: isBot(author.username) };
    return [{ change, id, body: body ?? "", author: by, createdAt: created_at }];
  });
}
