import * as z from "zod";
import type { ChangeRequest, ChangeRequestRef } from "../../core/model/change-request.js";
import { parseJson } from "../../core/model/json.js";
import type { DeploymentState, ShownDeployment } from "../../core/ports/code-host.js";
import { DEPLOYER_TITLE, SERVICE } from "../../names.js";
import { decodeAnswer } from "../json-answer.js";
import { idField, loginField } from "../payload-fields.js";
import type { GitHubClient } from "./client.js";
import { GITHUB } from "./words.js";

/** One environment of a repository, and whose deployments in it are ours. */
export interface Environment {
  readonly name: string;
  /** Id of our own account. */
  readonly self: string;
}

/** GitHub's word for what every deployment of ours is; others in the environment may have another. */
const TASK = "deploy";

const STATES = { running: "in_progress", succeeded: "success", failed: "failure" } as const;

const ENDS: ReadonlyMap<string, DeploymentState> = new Map([
  ["success", "succeeded"],
  ["inactive", "succeeded"],
  ["failure", "failed"],
  ["error", "failed"],
]);

/** Earlier deployments of an environment that are looked at. Only the newest of ours can be active. */
const MOST_EARLIER = 10;

const createdSchema = z.object({ id: idField });
const payloadSchema = z.object({ run: z.string() });
const deploymentsSchema = z.array(
  z.object({ id: idField, creator: z.object({ id: idField }).nullish(), payload: z.unknown() }),
);
const statusesSchema = z.array(z.object({ id: idField, state: z.string() }));

/** Creates a Deployment; the commit's own checks are none of its business. https://docs.github.com/rest/deployments/deployments */
export async function createDeployment(
  client: GitHubClient,
  change: ChangeRequest,
  { application, revision, runId }: ShownDeployment,
  { name }: Environment,
): Promise<string> {
  const asked = `create a deployment to ${name} in ${change.repository}`;
  const data = await client.inRepository(change.repository, asked, (octokit, at) =>
    octokit.rest.repos.createDeployment({
      ...at,
      ref: revision,
      task: TASK,
      environment: name,
      description: `${SERVICE} sync of #${change.number} through ${DEPLOYER_TITLE}`,
      payload: { run: runId, application },
      auto_merge: false,
      required_contexts: [],
    }),
  );
  return decodeAnswer(createdSchema, data, GITHUB, asked, true).id;
}

/** https://docs.github.com/rest/deployments/statuses */
export async function setDeploymentState(
  client: GitHubClient,
  change: ChangeRequestRef,
  id: string,
  state: DeploymentState | "inactive",
  { application, result }: ShownDeployment["links"],
): Promise<void> {
  await client.inRepository(
    change.repository,
    `set the status of a deployment in ${change.repository}`,
    (octokit, at) =>
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

/** The deployment that this run created. */
export async function findDeployment(
  client: GitHubClient,
  change: ChangeRequestRef,
  { revision, runId }: ShownDeployment,
  environment: Environment,
): Promise<{ readonly id: string; readonly state: DeploymentState } | undefined> {
  const found = (await listDeployments(client, change, environment, revision)).find(
    ({ payload }) => runOf(payload) === runId,
  );
  if (found === undefined) return undefined;
  const state = await stateOf(client, change, found.id);
  return { id: found.id, state: ENDS.get(state ?? "") ?? "running" };
}

/** Ends what was deployed to the environment before `current`, or everything: a rollback took it out of the cluster. */
export async function retireDeployments(
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
    if (state !== "failure" && state !== "error") await setDeploymentState(client, change, id, "inactive", links);
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
const installationsSchema = z.array(
  grantsSchema.extend({
    account: z.object({ login: loginField }).nullish().catch(undefined),
    suspended_at: z.string().nullish(),
  }),
);

/** Whether the App, and each of its first hundred installations, may write deployments. */
export async function missingForDeployments(client: GitHubClient): Promise<readonly string[]> {
  const asked = "read the App's permissions";
  const app = await client.asApp(asked, (octokit) => octokit.rest.apps.getAuthenticated());
  if (!mayDeploy(decodeAnswer(grantsSchema, app, GITHUB, asked))) {
    return [
      `the App lacks the permission \`Deployments: read and write\`, which hosta.deployments needs. Add it in the App's settings, then accept it in its installations`,
    ];
  }
  const listed = await client.asApp(asked, (octokit) => octokit.rest.apps.listInstallations({ per_page: 100 }));
  return decodeAnswer(installationsSchema, listed, GITHUB, asked)
    .filter((one) => !one.suspended_at && !mayDeploy(one))
    .map(
      ({ account }) =>
        `the App's installation on ${account?.login ?? "an account"} lacks the permission \`Deployments: read and write\`, which hosta.deployments needs. Accept it in the installation's settings`,
    );
}

function mayDeploy({ permissions }: z.output<typeof grantsSchema>): boolean {
  return permissions.deployments === "write";
}
