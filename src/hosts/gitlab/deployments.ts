import { Deployments, Environments, PersonalAccessTokens } from "@gitbeaker/rest";
import * as z from "zod";
import type { ChangeRequest, ChangeRequestRef, User } from "../../core/model/change-request.js";
import type { CodeHost, DeploymentState, ShownDeployment } from "../../core/ports/code-host.js";
import type { Log } from "../../core/ports/log.js";
import { environmentName } from "../environment-name.js";
import { decodeAnswer, HostRefusal, idField, ifFound } from "../host-answer.js";
import type { GitLabClient } from "./client.js";
import { GITLAB } from "./words.js";

type DeploymentMethods = Pick<
  CodeHost,
  "showsDeployments" | "showDeployment" | "shownDeployment" | "missingPermissions"
>;

/** Shows deployments as GitLab's deployments and environments, if `config.environments` is set. */
export function createDeployments(
  client: GitLabClient,
  config: { readonly environments?: boolean; readonly environmentName?: string },
  self: () => Promise<User>,
  log: Log,
): DeploymentMethods {
  const environmentOf = (shown: ShownDeployment) => environmentName(config.environmentName ?? "{application}", shown);
  return {
    showsDeployments: config.environments === true,
    async showDeployment(change, shown, state, id) {
      if (id === undefined) {
        return createDeployment(client, change, shown, { environment: environmentOf(shown), state, log });
      }
      await setStatus(client, change, id, state);
      return id;
    },
    shownDeployment: async (change, shown) =>
      findNewest(client, change, shown, { environment: environmentOf(shown), self: (await self()).id }),
    missingPermissions: async () => (config.environments === true ? missingForEnvironments(client) : []),
  };
}

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
async function createDeployment(
  client: GitLabClient,
  { repository, baseBranch }: ChangeRequest,
  { revision, links }: ShownDeployment,
  { environment, state, log }: { readonly environment: string; readonly state: DeploymentState; readonly log: Log },
): Promise<string> {
  const asked = `create a deployment to ${environment} in ${repository}`;
  const data = await client.ask(asked, (gitlab) =>
    new Deployments(gitlab).create(repository, environment, revision, baseBranch, false, { status: STATUSES[state] }),
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
async function setStatus(
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

/** Our newest deployment in the environment, if it is of this commit: GitLab keeps nothing that names the run. */
async function findNewest(
  client: GitLabClient,
  { repository }: ChangeRequestRef,
  { revision }: ShownDeployment,
  { environment, self }: { readonly environment: string; readonly self: string },
): ReturnType<DeploymentMethods["shownDeployment"]> {
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
    `the token of hostb.token lacks the scope \`api\`, which hostb.environments needs. Give svc a token that has it`,
  ];
}
