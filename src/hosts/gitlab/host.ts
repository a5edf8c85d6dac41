import { Users } from "@gitbeaker/rest";
import * as z from "zod";
import type { User } from "../../core/model/change-request.js";
import type { CodeHost, ShownDeployment } from "../../core/ports/code-host.js";
import type { Log } from "../../core/ports/log.js";
import { createContentPace } from "../content-pace.js";
import { environmentName } from "../environment-name.js";
import type { HostParts } from "../host-module.js";
import { keepAccount } from "../own-account.js";
import { idField, loginField } from "../payload-fields.js";
import { getReviews } from "./approval.js";
import { getAuthorship } from "./authorship.js";
import { getChangeRequest, getMergeability, getState } from "./change-request.js";
import { createGitLabClient, type GitLabClient } from "./client.js";
import { setStatus } from "./commit-status.js";
import { createDeployment, findDeployment, missingForEnvironments, setDeploymentStatus } from "./deployments.js";
import { belongsToAnyGroup, mayRead, mayWrite } from "./members.js";
import { merge } from "./merge.js";
import { editNote, listNotesOf, postNote, react } from "./notes.js";
import { recentActivity } from "./recent-activity.js";

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
