import { Commits, Deployments, Environments, Events, MergeRequests, PersonalAccessTokens } from "@gitbeaker/rest";
import * as z from "zod";
import type {
  Authorship,
  ChangeRequest,
  ChangeRequestRef,
  CommitAccounts,
  HeadRef,
  Push,
  User,
} from "../../core/model/change-request.js";
import { HostFailure } from "../../core/model/errors.js";
import type {
  CodeHost,
  CommitStatus,
  DeploymentState,
  OpenWithHead,
  ShownDeployment,
} from "../../core/ports/code-host.js";
import type { Log } from "../../core/ports/log.js";
import { STATUS_NAME } from "../../names.js";
import { environmentName } from "../environment-name.js";
import { decodeAnswer, HostRefusal, idField, ifFound, loginField, numberField, oneLine } from "../host-answer.js";
import { getMergeRequest, type MergeRequest } from "./change-request.js";
import type { GitLabClient } from "./client.js";
import { revertOf } from "./merge.js";
import { isBot, userField } from "./webhook.js";
import { GITLAB } from "./words.js";

type Reports = "setStatus" | "openWithHead" | "authorship";
type Deployed = "showsDeployments" | "showDeployment" | "shownDeployment" | "missingPermissions";

/** Reports on commits: as a status, and as deployments if `config.environments` is set. Reads whose commits they are. */
export function createCommitReports(
  client: GitLabClient,
  config: { readonly environments?: boolean; readonly environmentName?: string },
  self: () => Promise<User>,
  log: Log,
): Pick<CodeHost, Reports | Deployed> {
  const environmentOf = (shown: ShownDeployment) => environmentName(config.environmentName ?? "{application}", shown);
  return {
    setStatus: (change, status) => setStatus(client, change, status, { self, log }),
    openWithHead: (head) => openWithHead(client, head),
    authorship: async (change) => getAuthorship(client, change, (await self()).id),
    showsDeployments: config.environments === true,
    async showDeployment(change, shown, state, id) {
      if (id === undefined) {
        return createDeployment(client, change, shown, { environment: environmentOf(shown), state, log });
      }
      await setDeploymentStatus(client, change, id, state);
      return id;
    },
    shownDeployment: async (change, shown) =>
      findNewest(client, change, shown, { environment: environmentOf(shown), self: (await self()).id }),
    missingPermissions: async () => (config.environments === true ? missingForEnvironments(client) : []),
  };
}

const DEPLOYMENT_STATUSES = { running: "running", succeeded: "success", failed: "failed" } as const;

/** The longest link that GitLab accepts for an environment or a commit status (`app/models/generic_commit_status.rb` of GitLab). */
const LONGEST_LINK = 255;

const deploymentSchema = z.object({
  id: idField,
  sha: z.string(),
  status: z.string(),
  user: z.object({ id: idField }).nullish(),
  environment: z.object({ id: idField, external_url: z.string().nullish() }),
});

/**
 * Creates a deployment, and its environment with it. Its branch is the target branch: GitLab stops an environment when the
 * branch of its last deployment is deleted, and shows the environment in the merge request.
 * https://docs.gitlab.com/api/deployments/#create-a-deployment
 */
async function createDeployment(
  client: GitLabClient,
  { repository, baseBranch }: ChangeRequest,
  { revision, links }: ShownDeployment,
  { environment, state, log }: { readonly environment: string; readonly state: DeploymentState; readonly log: Log },
): Promise<string> {
  const asked = `create a deployment to ${environment} in ${repository}`;
  const data = await client.ask(asked, (gitlab) =>
    new Deployments(gitlab).create(repository, environment, revision, baseBranch, false, {
      status: DEPLOYMENT_STATUSES[state],
    }),
  );
  const created = decodeAnswer(deploymentSchema, data, GITLAB, asked, true);
  if (created.environment.external_url !== links.application && links.application.length <= LONGEST_LINK) {
    // A deployment has no link of its own, an environment has one: https://docs.gitlab.com/api/environments/
    const link = client.ask(`set the link of an environment of ${repository}`, (gitlab) =>
      new Environments(gitlab).edit(repository, Number(created.environment.id), { externalUrl: links.application }),
    );
    await link.catch((error: unknown) => {
      log.info({ environment, err: error }, "could not set the link of an environment");
    });
  }
  return created.id;
}

/** https://docs.gitlab.com/api/deployments/#update-a-deployment */
async function setDeploymentStatus(
  client: GitLabClient,
  { repository }: ChangeRequestRef,
  id: string,
  state: DeploymentState,
): Promise<void> {
  const asked = `set the status of a deployment in ${repository}`;
  const status = DEPLOYMENT_STATUSES[state];
  try {
    await client.ask(asked, (gitlab) => new Deployments(gitlab).edit(repository, Number(id), status));
  } catch (error) {
    // GitLab refuses the status that the deployment has.
    if (!(error instanceof HostRefusal && error.status === 400)) throw error;
    const found = await client.read(deploymentSchema, asked, (gitlab) =>
      new Deployments(gitlab).show(repository, Number(id)),
    );
    if (found.status !== status) throw error;
  }
}

/** Our newest deployment in the environment, if it is of this commit: GitLab keeps nothing that names the run. */
async function findNewest(
  client: GitLabClient,
  { repository }: ChangeRequestRef,
  { revision }: ShownDeployment,
  { environment, self }: { readonly environment: string; readonly self: string },
): ReturnType<CodeHost["shownDeployment"]> {
  const asked = `list the deployments to ${environment} in ${repository}`;
  const newest = { environment, orderBy: "id", sort: "desc", perPage: 20, page: 1 } as const;
  const listed = await client.read(z.array(deploymentSchema), asked, (gitlab) =>
    new Deployments(gitlab).all(repository, newest),
  );
  const last = listed.find(({ user }) => user?.id === self);
  if (last?.sha !== revision) return undefined;
  switch (last.status) {
    case "success":
      return { id: last.id, state: "succeeded" };
    case "failed":
    case "canceled":
      return { id: last.id, state: "failed" };
    default:
      return { id: last.id, state: "running" };
  }
}

const tokenSchema = z.object({ scopes: z.array(z.string()) });

/** Checks the token's scope; roles differ by project. GitLab before 15.5 does not report scopes. */
async function missingForEnvironments(client: GitLabClient): Promise<readonly string[]> {
  const asked = "read the token's scopes";
  const token = await ifFound(client.read(tokenSchema, asked, (gitlab) => new PersonalAccessTokens(gitlab).show()));
  if (token === undefined || token.scopes.includes("api")) return [];
  return [
    `the token of gitlab.token lacks the scope \`api\`, which gitlab.environments needs. Give svc a token that has it`,
  ];
}

const STATES = { pending: "pending", success: "success", failure: "failed" } as const;

const statusesSchema = z.array(
  z.object({
    name: z.string(),
    status: z.string(),
    pipeline_id: z.number().nullish(),
    author: z.object({ id: idField }).nullish(),
  }),
);

/** Adds the status to the pipeline at the head. Without one nothing is set: a new one could turn a failed merge request green. */
async function setStatus(
  client: GitLabClient,
  change: HeadRef,
  status: CommitStatus,
  { self, log }: { readonly self: () => Promise<User>; readonly log: Log },
): Promise<boolean> {
  const { repository, number } = change;
  const pipeline = pipelineOfHead(await getMergeRequest(client, change), change);
  if (pipeline === undefined) {
    log.info({ repository, number }, "commit status not set: the merge request has no pipeline at its head");
    return false;
  }
  const asked = `set the commit status of ${repository}!${number}`;
  const state = STATES[status.state];
  const link = status.url !== undefined && status.url.length <= LONGEST_LINK ? { targetUrl: status.url } : {};
  try {
    await client.ask(asked, (gitlab) =>
      new Commits(gitlab).editStatus(repository, pipeline.sha, state, {
        name: STATUS_NAME,
        ref: pipeline.ref,
        pipelineId: pipeline.id,
        description: oneLine(status.description, GITLAB.maxStatusDescription - 1),
        ...link,
      }),
    );
  } catch (error) {
    if (!(error instanceof HostRefusal)) throw error;
    // Another program is setting a status of this commit: `app/services/ci/create_commit_status_service.rb` of GitLab.
    if (error.status === 409) throw new HostFailure("failed", error.message, { cause: error });
    // "Cannot transition status": svc may have set it already. Others can set one of the same name.
    if (error.status !== 400) throw error;
    const { id } = await self();
    const statuses = await client.read(statusesSchema, asked, (gitlab) =>
      new Commits(gitlab).allStatuses(repository, pipeline.sha, { name: STATUS_NAME, ref: pipeline.ref }),
    );
    const own = statuses.filter(({ name, author }) => name === STATUS_NAME && author?.id === id);
    const isSet = own.some((one) => one.status === state && (one.pipeline_id ?? pipeline.id) === pipeline.id);
    if (!isSet) throw error;
  }
  return true;
}

/** A merged-results pipeline runs at the trial merge, not at the head. Pipelines of a fork's project cannot be set. */
function pipelineOfHead(merge: MergeRequest, change: HeadRef) {
  const pipeline = merge.head_pipeline;
  if (!pipeline || merge.sha !== change.headRevision) return undefined;
  if (pipeline.project_id && pipeline.project_id !== merge.target_project_id) return undefined;
  // A status that svc leaves pending there would hold up the train.
  if (pipeline.ref === `refs/merge-requests/${change.number}/train`) return undefined;
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
async function openWithHead(client: GitLabClient, { repository, headRevision }: HeadRef): Promise<OpenWithHead> {
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

/** A page has 100 commits, or 100 pushes to any branch of the project. */
const MOST_PAGES = 5;

/** Only GraphQL names accounts, and committers only for the whole merge request, without merge commits. */
const COMMITS_QUERY = `query ($path: ID!, $iid: String!, $after: String) {
  project(fullPath: $path) {
    mergeRequest(iid: $iid) {
      committers(first: 100) {
        pageInfo { hasNextPage }
        nodes { id username }
      }
      commits(first: 100, after: $after) {
        pageInfo { hasNextPage endCursor }
        nodes { sha authorEmail committerEmail author { id username } }
      }
    }
  }
}`;

/** A global id, such as `gid://gitlab/User/7`. */
const globalIdField = z
  .string()
  .regex(/^gid:\/\/gitlab\/User\/[1-9]\d*$/)
  .transform((id) => id.slice(id.lastIndexOf("/") + 1));
const graphqlUserSchema = z
  .object({ id: globalIdField, username: loginField })
  .transform(({ id, username }): User => ({ id, login: username, bot: isBot(username) }));
const commitSchema = z.object({
  sha: z.string(),
  authorEmail: z.string().nullish(),
  committerEmail: z.string().nullish(),
  author: graphqlUserSchema.nullish(),
});
const commitsSchema = z.object({
  project: z.object({
    mergeRequest: z.object({
      committers: z.object({ nodes: z.array(graphqlUserSchema) }),
      commits: z.object({
        pageInfo: z.object({ hasNextPage: z.boolean(), endCursor: z.string().nullish() }),
        nodes: z.array(commitSchema),
      }),
    }),
  }),
});
type Commit = z.output<typeof commitSchema>;

const versionsSchema = z.array(z.object({ id: z.number(), head_commit_sha: z.string().nullish() }));

/** https://docs.gitlab.com/api/events/: a push that moved more than three branches is one event without `ref`. */
const eventsSchema = z.array(
  z.object({
    author: userField.nullish(),
    push_data: z
      .object({
        ref_type: z.string().nullish(),
        ref: z.string().nullish(),
        commit_from: z.string().nullish(),
        commit_to: z.string().nullish(),
      })
      .nullish(),
  }),
);

async function getAuthorship(client: GitLabClient, change: ChangeRequest, self: string): Promise<Authorship> {
  const [accounts, pushes, opened] = await Promise.all([
    getAccounts(client, change),
    // The token need not see the source project of a fork.
    change.fork ? [] : getPushes(client, change),
    getOpened(client, change),
  ]);
  const reverts = revertOf(change.headBranch) ?? (change.author?.id === self ? "unknown" : undefined);
  return { accounts, pushes, opened, reverts };
}

async function getAccounts(client: GitLabClient, change: ChangeRequest): Promise<Authorship["accounts"]> {
  const asked = `read the commits of ${change.repository}!${change.number}`;
  const commits: Commit[] = [];
  let committers: readonly User[] = [];
  let after: string | null = null;
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const variables: Record<string, unknown> = { path: change.repository, iid: String(change.number), after };
    const { project } = await client.query(commitsSchema, asked, COMMITS_QUERY, variables);
    const { mergeRequest } = project;
    committers = mergeRequest.committers.nodes;
    commits.push(...mergeRequest.commits.nodes);
    const { hasNextPage, endCursor } = mergeRequest.commits.pageInfo;
    if (!hasNextPage || !endCursor) break;
    after = endCursor;
  }
  return accountsOf(commits, committers);
}

/** A committer whose address belongs to no author may be any committer of the merge request that matched no commit. */
export function accountsOf(commits: readonly Commit[], committers: readonly User[]): Authorship["accounts"] {
  const byEmail = new Map(
    commits.flatMap(({ authorEmail, author }) => (authorEmail && author ? [[authorEmail, author]] : [])),
  );
  const matched = new Set(commits.map(({ committerEmail }) => byEmail.get(committerEmail ?? "")?.id));
  const others = committers.filter(({ id }) => !matched.has(id));
  return new Map(
    commits.map(({ sha, author, committerEmail }): [string, CommitAccounts] => {
      const committer = byEmail.get(committerEmail ?? "");
      const people = [...(author ? [author] : []), ...(committer === undefined ? others : [committer])];
      return [sha, { people, unknown: !author || committer === undefined }];
    }),
  );
}

/** Pushes to the head branch, newest first, back to its creation. */
async function getPushes(client: GitLabClient, change: ChangeRequest): Promise<readonly Push[]> {
  const asked = `read who pushed to ${change.headBranch} of ${change.repository}`;
  const pushes: Push[] = [];
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const events = await client.read(eventsSchema, asked, (gitlab) =>
      new Events(gitlab).all({ projectId: change.repository, action: "pushed", sort: "desc", perPage: 100, page }),
    );
    const found = events.flatMap((event) => pushOf(event, change.headBranch));
    pushes.push(...found);
    const isCreated = found.some(({ before, after }) => before === undefined && after !== undefined);
    if (isCreated || events.length < 100) break;
  }
  return pushes;
}

function pushOf({ author, push_data: push }: z.output<typeof eventsSchema>[number], branch: string): readonly Push[] {
  if (!push) return [];
  const by = author ?? undefined;
  if (!push.ref) return [{ by, before: undefined, after: undefined }];
  if (push.ref !== branch || (push.ref_type ?? "branch") !== "branch") return [];
  return [{ by, before: push.commit_from ?? undefined, after: push.commit_to ?? "deleted" }];
}

/** The head of the oldest version of the diff. */
async function getOpened(client: GitLabClient, change: ChangeRequest): Promise<string | undefined> {
  const asked = `read the versions of ${change.repository}!${change.number}`;
  const versions = await client.read(versionsSchema, asked, (gitlab) =>
    new MergeRequests(gitlab).allDiffVersions(change.repository, change.number),
  );
  const [oldest] = versions.toSorted((one, other) => one.id - other.id);
  return oldest?.head_commit_sha ?? undefined;
}
