import { Deployments, Environments, PersonalAccessTokens } from "@gitbeaker/rest";
import * as z from "zod";
import type { ChangeRequest, ChangeRequestRef } from "../../core/model/change-request.js";
import type { DeploymentState, ShownDeployment } from "../../core/ports/code-host.js";
import type { Log } from "../../core/ports/log.js";
import { HostRefusal, ifFound } from "../host-refusal.js";
import { decodeAnswer } from "../json-answer.js";
import { idField } from "../payload-fields.js";
import type { GitLabClient } from "./client.js";
import { GITLAB } from "./words.js";

const STATUSES = { running: "running", succeeded: "success", failed: "failed" } as const;

/** GitLab refuses a longer link of an environment. */
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
export async function createDeployment(
  client: GitLabClient,
  change: ChangeRequest,
  { revision, links }: ShownDeployment,
  { environment, state, log }: { readonly environment: string; readonly state: DeploymentState; readonly log: Log },
): Promise<string> {
  const { repository, baseBranch } = change;
  const asked = `create a deployment to ${environment} in ${repository}`;
  const data = await client.ask(asked, (gitlab) =>
    new Deployments(gitlab).create(repository, environment, revision, baseBranch, false, { status: STATUSES[state] }),
  );
  const created = decodeAnswer(deploymentSchema, data, GITLAB, asked, true);
  if (created.environment.external_url !== links.application && links.application.length <= LONGEST_LINK) {
    await linkEnvironment(client, change, created.environment.id, links.application).catch((error: unknown) => {
      log.info({ environment, err: error }, "could not set the link of an environment");
    });
  }
  return created.id;
}

/** A deployment has no link of its own, an environment has one. https://docs.gitlab.com/api/environments/ */
async function linkEnvironment(
  client: GitLabClient,
  { repository }: ChangeRequestRef,
  id: string,
  externalUrl: string,
): Promise<void> {
  await client.ask(`set the link of an environment of ${repository}`, (gitlab) =>
    new Environments(gitlab).edit(repository, Number(id), { externalUrl }),
  );
}

/** https://docs.gitlab.com/api/deployments/#update-a-deployment */
export async function setDeploymentStatus(
  client: GitLabClient,
  { repository }: ChangeRequestRef,
  id: string,
  state: DeploymentState,
): Promise<void> {
  const asked = `set the status of a deployment in ${repository}`;
  const status = STATUSES[state];
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

/** The newest deployment of ours in the environment, if it is of this commit: GitLab keeps nothing that names the run. */
export async function findDeployment(
  client: GitLabClient,
  { repository }: ChangeRequestRef,
  { revision }: ShownDeployment,
  { environment, self }: { readonly environment: string; readonly self: string },
): Promise<{ readonly id: string; readonly state: DeploymentState } | undefined> {
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

/** Whether the token has the scope; roles differ by project. Older than GitLab 15.5: not known. */
export async function missingForEnvironments(client: GitLabClient): Promise<readonly string[]> {
  const asked = "read the token's scopes";
  const token = await ifFound(client.read(tokenSchema, asked, (gitlab) => new PersonalAccessTokens(gitlab).show()));
  if (token === undefined || token.scopes.includes("api")) return [];
  return [
    `the token of hostb.token lacks the scope \`api\`, which hostb.environments needs. Give svc a token that has it`,
  ];
}
