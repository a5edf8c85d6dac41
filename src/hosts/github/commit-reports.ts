import * as z from "zod";
import type { RepositoryName } from "../../core/model/brand.js";
import type { ChangeRequest, ChangeRequestRef, HeadRef, User } from "../../core/model/change-request.js";
import { allInTurns } from "../../core/model/collections.js";
import { HostFailure } from "../../core/model/errors.js";
import { listed } from "../../core/model/host-words.js";
import { parseJson } from "../../core/model/json.js";
import type {
  CodeHost,
  DeploymentState,
  MergeGroup,
  OpenWithHead,
  ShownDeployment,
  GroupMembers,
} from "../../core/ports/code-host.js";
import { DEPLOYER_TITLE, SERVICE, STATUS_NAME } from "../../names.js";
import type { ContentWrite, InTurn } from "../content-pace.js";
import { environmentName } from "../environment-name.js";
import { decodeAnswer, idField, numberField, oneLine, revisionField } from "../host-answer.js";
import type { GitHubClient } from "./client.js";
import { findInstalled } from "./installations.js";
import { GITHUB } from "./words.js";

/** https://docs.github.com/repositories/configuring-branches-and-merges-in-your-repository/configuring-pull-request-merges/managing-a-merge-queue */
export const QUEUE_BRANCHES = "gh-readonly-queue/";

/** A queue builds groups of its first hundred entries at most. */
const QUEUE_QUERY = `query ($owner: String!, $name: String!, $branch: String!) {
  repository(owner: $owner, name: $name) {
    mergeQueue(branch: $branch) {
      entries(first: 100) {
        nodes { position baseCommit { oid } headCommit { oid } pullRequest { number headRefOid } }
      }
    }
  }
}`;

const commitField = z.object({ oid: revisionField }).nullish();
const entryField = z.object({
  position: z.int(),
  baseCommit: commitField,
  headCommit: commitField,
  pullRequest: z.object({ number: numberField, headRefOid: revisionField }).nullish(),
});
const queueSchema = z.object({
  mergeQueue: z.object({ entries: z.object({ nodes: z.array(entryField.nullable()) }) }).nullish(),
});

/** Follows the entries of the queue from the group's head, each built upon the one before, to its base. */
async function mergeGroup(client: GitHubClient, group: MergeGroup): Promise<GroupMembers | undefined> {
  const { baseBranch: branch, repository, headRevision, baseRevision } = group;
  const asked = `read the merge queue of ${branch} in ${repository}`;
  const { mergeQueue } = await client.queryRepository(queueSchema, repository, asked, QUEUE_QUERY, { branch });
  if (!mergeQueue) throw new HostFailure("forbidden", `GitHub showed no queue: ${asked}`);
  const queue = mergeQueue.entries.nodes.filter((entry) => entry !== null).sort((a, b) => a.position - b.position);
  const inGroup = new Set<(typeof queue)[number]>();
  let at: string | undefined = headRevision;
  while (at !== undefined && at !== baseRevision) {
    const built = queue.filter((entry) => entry.headCommit?.oid === at && !inGroup.has(entry));
    for (const entry of built) inGroup.add(entry);
    const bases = new Set(built.map(({ baseCommit }) => baseCommit?.oid));
    at = bases.size === 1 ? [...bases][0] : undefined;
  }
  const last = queue.findLastIndex((entry) => inGroup.has(entry));
  const upToLast = queue.slice(0, last + 1);
  if (at === undefined || last < 0 || upToLast.some(({ pullRequest }) => !pullRequest)) return undefined;
  const refsOf = (entries: typeof queue) =>
    entries.flatMap(({ pullRequest: pull }) =>
      pull ? [{ ...group, number: pull.number, headRevision: pull.headRefOid }] : [],
    );
  return {
    members: refsOf(upToLast.filter((entry) => inGroup.has(entry))),
    ahead: refsOf(upToLast.filter((entry) => !inGroup.has(entry))),
  };
}

const appSchema = z.object({
  permissions: z.record(z.string(), z.string()).nullish(),
  events: z.array(z.string()).nullish(),
});
const repositorySchema = z.object({ default_branch: z.string().min(1) });
const rulesSchema = z.array(z.object({ type: z.string() }));

const MOST_NAMED = 5;

/**
 * What the App lacks for merge queues, if a ruleset gives the default branch of one of these repositories a queue. To read classic
 * branch protection an App needs more rights than svc asks for: https://docs.github.com/rest/repos/rules#get-rules-for-a-branch
 */
async function findQueueProblems(
  client: GitHubClient,
  repositories: readonly RepositoryName[],
): Promise<readonly string[]> {
  const asked = "read the App's permissions and events";
  const read = await client.asApp(asked, ({ rest }) => rest.apps.getAuthenticated());
  const { permissions, events } = decodeAnswer(appSchema, read, GITHUB, asked);
  const lacks = [
    ...(permissions?.merge_queues === undefined ? ['the permission "Merge queues: read"'] : []),
    ...(events?.includes("merge_group") === true ? [] : ['the event "Merge group"']),
  ].join(" and ");
  if (lacks === "") return [];
  const found = await allInTurns(repositories, async (repository) => {
    const look = `look for a merge queue in ${repository}`;
    const read = await client.read(repositorySchema, repository, look, ({ rest }, at) => rest.repos.get({ ...at }));
    const { default_branch: branch } = read;
    const reading = client.read(rulesSchema, repository, look, ({ rest }, at) =>
      rest.repos.getBranchRules({ ...at, branch, per_page: 100 }),
    );
    const rules = await reading.catch(ifNoRulesets);
    return rules.some(({ type }) => type === "merge_queue") ? [repository] : [];
  });
  const queued = found.flat();
  if (queued.length === 0) return [];
  return [
    `the App lacks ${lacks}, and these repositories have a merge queue: ${listed(queued, MOST_NAMED)}. A queue that requires ${STATUS_NAME} merges nothing there. Add it in the App's settings, and accept it in the installations`,
  ];
}

/** Private repositories of a free plan have none (403), nor have self-hosted servers before 3.11 (404). */
function ifNoRulesets(error: unknown): z.output<typeof rulesSchema> {
  if (error instanceof HostFailure && (error.reason === "forbidden" || error.reason === "not-found")) return [];
  throw error;
}

/** Leaves most of the limit to comments, and is skipped rather than late. */
const DEPLOYMENT_WRITE: ContentWrite = { urgency: "refusal", brief: true };

type Reports = "setStatus" | "queueProblems" | "openWithHead" | "mergeGroup";
type Deployed = "showsDeployments" | "showDeployment" | "shownDeployment" | "missingPermissions";

/** Reports on commits: as a status, and as GitHub's Deployments if `config.deployments` is set. */
export function createCommitReports(
  client: GitHubClient,
  config: { readonly deployments?: boolean; readonly environmentName?: string },
  self: () => Promise<User>,
  inTurn: InTurn,
): Pick<CodeHost, Reports | Deployed> {
  const environmentOf = async (shown: ShownDeployment): Promise<Environment> => ({
    name: environmentName(config.environmentName ?? "{application}", shown),
    self: (await self()).id,
  });
  return {
    /** In the base repository on the head commit, which works for forks as well. */
    async setStatus({ repository, number, headRevision }, status) {
      await client.inRepository(repository, `set the commit status of ${repository}#${number}`, (octokit, at) =>
        octokit.rest.repos.createCommitStatus({
          ...at,
          sha: headRevision,
          context: STATUS_NAME,
          state: status.state,
          // GitHub refuses characters beyond the basic plane here: https://github.com/ouzi-dev/commit-status-updater/issues/526
          description: oneLine(status.description, GITHUB.maxStatusDescription - 1).replace(
            /[\u{10000}-\u{10ffff}]/gu,
            "?",
          ),
          ...(status.url === undefined ? {} : { target_url: status.url }),
        }),
      );
      return true;
    },
    queueProblems: (repositories) => findQueueProblems(client, repositories),
    openWithHead: (head) => openWithHead(client, head),
    mergeGroup: (group) => mergeGroup(client, group),
    showsDeployments: config.deployments === true,
    async showDeployment(change, shown, state, known) {
      const { command, links } = shown;
      const environment = await environmentOf(shown);
      const create = () =>
        inTurn(change, DEPLOYMENT_WRITE, () => createDeployment(client, change, shown, environment.name));
      // The target branch has no Deployment of its own: what it takes the place of becomes inactive.
      const id = command === "rollback" ? undefined : (known ?? (await create()));
      if (id !== undefined) await setState(client, change, id, state, links);
      if (state === "succeeded") await retireEarlier(client, change, environment, { current: id, links });
      return id;
    },
    shownDeployment: async (change, shown) =>
      shown.command === "rollback" ? undefined : findOwn(client, change, shown, await environmentOf(shown)),
    missingPermissions: async () => (config.deployments === true ? missingForDeployments(client) : []),
  };
}

/** One environment of a repository, and whose deployments in it are ours. */
interface Environment {
  readonly name: string;
  /** Id of our own account. */
  readonly self: string;
}

/** The task that GitHub records for each of our deployments; others in the environment may have another. */
const TASK = "deploy";

const STATES = { running: "in_progress", succeeded: "success", failed: "failure" } as const;

const ENDS: ReadonlyMap<string, DeploymentState> = new Map([
  ["success", "succeeded"],
  ["inactive", "succeeded"],
  ["failure", "failed"],
  ["error", "failed"],
]);

/** Earlier deployments of an environment that are checked. Only the newest of ours can be active. */
const MOST_EARLIER = 10;

const createdSchema = z.object({ id: idField });
const payloadSchema = z.object({ run: z.string() });
const deploymentsSchema = z.array(
  z.object({ id: idField, creator: z.object({ id: idField }).nullish(), payload: z.unknown() }),
);
const statusesSchema = z.array(z.object({ id: idField, state: z.string() }));

/** Creates a Deployment whatever the commit's checks say. https://docs.github.com/rest/deployments/deployments */
async function createDeployment(
  client: GitHubClient,
  change: ChangeRequest,
  { application, revision, runId }: ShownDeployment,
  environment: string,
): Promise<string> {
  const asked = `create a deployment to ${environment} in ${change.repository}`;
  const data = await client.inRepository(change.repository, asked, (octokit, at) =>
    octokit.rest.repos.createDeployment({
      ...at,
      ref: revision,
      task: TASK,
      environment,
      description: `${SERVICE} sync of #${change.number} through ${DEPLOYER_TITLE}`,
      payload: { run: runId, application },
      auto_merge: false,
      required_contexts: [],
    }),
  );
  return decodeAnswer(createdSchema, data, GITHUB, asked, true).id;
}

/** https://docs.github.com/rest/deployments/statuses */
async function setState(
  client: GitHubClient,
  { repository }: ChangeRequestRef,
  id: string,
  state: DeploymentState | "inactive",
  { application, result }: ShownDeployment["links"],
): Promise<void> {
  await client.inRepository(repository, `set the status of a deployment in ${repository}`, (octokit, at) =>
    octokit.rest.repos.createDeploymentStatus({
      ...at,
      deployment_id: Number(id),
      state: state === "inactive" ? state : STATES[state],
      log_url: result,
      environment_url: application,
      // It would end deployments of others in the environment too.
      auto_inactive: false,
    }),
  );
}

/** Finds the deployment that an earlier attempt of this run created. */
async function findOwn(
  client: GitHubClient,
  change: ChangeRequestRef,
  { revision, runId }: ShownDeployment,
  environment: Environment,
) {
  const listed = await listDeployments(client, change, environment, revision);
  const found = listed.find(({ payload }) => runOf(payload) === runId);
  if (found === undefined) return undefined;
  const state = await stateOf(client, change, found.id);
  return { id: found.id, state: ENDS.get(state ?? "") ?? "running" };
}

/** Ends the deployments to the environment before `current`; all of them after a rollback, which replaced them. */
async function retireEarlier(
  client: GitHubClient,
  change: ChangeRequestRef,
  environment: Environment,
  { current, links }: { readonly current: string | undefined; readonly links: ShownDeployment["links"] },
): Promise<void> {
  const earlier = (await listDeployments(client, change, environment))
    .filter(({ id }) => id !== current)
    .sort((one, other) => Number(other.id) - Number(one.id))
    .slice(0, MOST_EARLIER);
  for (const { id } of earlier) {
    const state = await stateOf(client, change, id);
    // What came before it was ended when this was deployed.
    if (state === "inactive") return;
    if (state !== "failure" && state !== "error") await setState(client, change, id, "inactive", links);
  }
}

/** Our own deployments in an environment, out of its newest hundred. */
async function listDeployments(
  client: GitHubClient,
  { repository }: ChangeRequestRef,
  { name, self }: Environment,
  sha?: string,
): Promise<z.output<typeof deploymentsSchema>> {
  const asked = `list the deployments to ${name} in ${repository}`;
  const listed = await client.read(deploymentsSchema, repository, asked, (octokit, at) =>
    octokit.rest.repos.listDeployments({
      ...at,
      environment: name,
      task: TASK,
      per_page: 100,
      ...(sha === undefined ? {} : { sha }),
    }),
  );
  return listed.filter(({ creator }) => creator?.id === self);
}

/** The newest state; undefined if it has none yet. */
async function stateOf(
  client: GitHubClient,
  { repository }: ChangeRequestRef,
  id: string,
): Promise<string | undefined> {
  const asked = `read the statuses of a deployment in ${repository}`;
  const statuses = await client.read(statusesSchema, repository, asked, (octokit, at) =>
    octokit.rest.repos.listDeploymentStatuses({ ...at, deployment_id: Number(id), per_page: 100 }),
  );
  return statuses.toSorted((one, other) => Number(other.id) - Number(one.id))[0]?.state;
}

/** GitHub returns a payload as it was given, older servers as JSON text. */
function runOf(payload: unknown): string | undefined {
  const value = typeof payload === "string" ? parseJson(payload) : payload;
  return payloadSchema.safeParse(value).data?.run;
}

const grantsSchema = z.object({ permissions: z.record(z.string(), z.string()) });

/** Whether the App, and each of its installations, may write deployments. */
async function missingForDeployments(client: GitHubClient): Promise<readonly string[]> {
  const asked = "read the App's permissions";
  const app = await client.asApp(asked, (octokit) => octokit.rest.apps.getAuthenticated());
  if (!mayDeploy(decodeAnswer(grantsSchema, app, GITHUB, asked))) {
    return [
      `the App lacks the permission \`Deployments: read and write\`, which github.deployments needs. Add it in the App's settings, then accept it in its installations`,
    ];
  }
  return (await findInstalled(client))
    .filter((one) => !one.suspended && !mayDeploy(one))
    .map(
      ({ owner = "an account" }) =>
        `the App's installation on ${owner} lacks the permission \`Deployments: read and write\`, which github.deployments needs. Accept it in the installation's settings`,
    );
}

function mayDeploy({ permissions }: z.output<typeof grantsSchema>): boolean {
  return permissions.deployments === "write";
}

const PAGE_SIZE = 100;
/** Pages of open pull requests that one call of `openWithHead` reads. */
const MAX_PAGES = 10;

const OPEN_QUERY = `query ($owner: String!, $name: String!, $after: String) {
  repository(owner: $owner, name: $name) {
    refs(refPrefix: "refs/heads/${QUEUE_BRANCHES}", first: ${PAGE_SIZE}) {
      pageInfo { hasNextPage }
      nodes { target { oid } }
    }
    pullRequests(states: OPEN, first: ${PAGE_SIZE}, after: $after) {
      pageInfo { hasNextPage endCursor }
      nodes { number headRefOid }
    }
  }
}`;

const openSchema = z.object({
  // Required: without an answer, the commit may be the head of a merge group.
  refs: z.object({
    pageInfo: z.object({ hasNextPage: z.boolean() }),
    nodes: z.array(z.object({ target: z.object({ oid: z.string() }).nullish() }).nullable()),
  }),
  pullRequests: z.object({
    pageInfo: z.object({ hasNextPage: z.boolean(), endCursor: z.string().nullish() }),
    nodes: z.array(z.object({ number: z.int().positive(), headRefOid: z.string() }).nullable()),
  }),
});

/**
 * Reads all open pull requests. GitHub's list for a commit leaves out those from forks, and every open one as soon as the
 * default branch has the commit: https://docs.github.com/rest/commits/commits#list-pull-requests-associated-with-a-commit
 */
async function openWithHead(client: GitHubClient, { repository, headRevision }: HeadRef): Promise<OpenWithHead> {
  const asked = `list the open pull requests of ${repository}`;
  const numbers: number[] = [];
  let after: string | null = null;
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    const variables: Record<string, unknown> = { after };
    const { pullRequests, refs } = await client.queryRepository(openSchema, repository, asked, OPEN_QUERY, variables);
    const { nodes, pageInfo } = pullRequests;
    numbers.push(...nodes.flatMap((node) => (node?.headRefOid === headRevision ? node.number : [])));
    if (!pageInfo.hasNextPage || !pageInfo.endCursor) {
      const ofQueue = refs.pageInfo.hasNextPage || refs.nodes.some((node) => node?.target?.oid === headRevision);
      return { numbers, cutOff: undefined, ...(ofQueue && { ofQueue }) };
    }
    after = pageInfo.endCursor;
  }
  return { numbers, cutOff: `more than ${(MAX_PAGES * PAGE_SIZE).toLocaleString("en")} are open` };
}
