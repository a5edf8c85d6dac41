import type { CondensedEnvironmentSchema, DeploymentSchema, PersonalAccessTokenSchema } from "@gitbeaker/rest";
import type { Router } from "express";
import { environmentNameProblem, type Deployment, type Environment } from "../model/environment.js";
import type { Instance, TokenHolder } from "../model/instance.js";
import type { Project } from "../model/project.js";
import { ApiFailure, serve, type Call } from "./call.js";
import * as endpoints from "./endpoints.js";
import type { Members } from "./members.js";
import { page } from "./paging.js";
import { showUser, type ShownUser } from "./present-user.js";

const developer = 30;
const longestLink = 255;

/** Deployments, their environments, and what the token may do. */
export function deploymentRoutes(router: Router, instance: Instance): void {
  router.get(
    endpoints.listDeployments.path,
    serve(instance, endpoints.listDeployments, (call) => {
      const { environment, status, sort = "asc" } = call.query;
      const fitting = call
        .project()
        .deployments.filter((one) => environment === undefined || one.environment.name === environment)
        .filter((one) => status === undefined || one.statuses.at(-1) === status)
        .map((one) => showDeployment(instance, one));
      return page(call.url, sort === "asc" ? fitting : fitting.reverse(), call.query);
    }),
  );
  router.get(
    endpoints.showDeployment.path,
    serve(instance, endpoints.showDeployment, (call) => ({ body: showDeployment(instance, deploymentOf(call)) })),
  );
  router.post(
    endpoints.createDeployment.path,
    serve(instance, endpoints.createDeployment, async (call) => {
      const project = call.project();
      refuseWithoutRole(instance, project);
      const { environment: name, sha, ref, status } = call.body;
      const problem = environmentNameProblem(name);
      if (problem !== undefined) throw new ApiFailure(400, `name: ${problem}`);
      if ((await instance.store.resolve(project.path, sha)) !== sha) {
        throw new ApiFailure(400, "sha: The commit does not exist");
      }
      const at = instance.now();
      const deployment: Deployment = {
        id: instance.nextId(),
        iid: project.deployments.length + 1,
        environment: environmentNamed(instance, project, name),
        sha,
        ref,
        user: instance.bot,
        createdAt: at,
        updatedAt: at,
        statuses: [status],
      };
      project.deployments.push(deployment);
      return { status: 201, body: showDeployment(instance, deployment) };
    }),
  );
  router.put(
    endpoints.editDeployment.path,
    serve(instance, endpoints.editDeployment, (call) => {
      refuseWithoutRole(instance, call.project());
      const deployment = deploymentOf(call);
      const { status } = call.body;
      const now = deployment.statuses.at(-1);
      // Only a new deployment can begin to run; anything may end in another way than it is.
      if (status === now || status === "running") throw new ApiFailure(400, "400 Bad request - Validation failed");
      deployment.statuses.push(status);
      deployment.updatedAt = instance.now();
      return { body: showDeployment(instance, deployment) };
    }),
  );
  router.put(
    endpoints.editEnvironment.path,
    serve(instance, endpoints.editEnvironment, (call) => {
      const project = call.project();
      refuseWithoutRole(instance, project);
      const found = project.environments.find(({ id }) => String(id) === call.param("environment"));
      if (found === undefined) throw new ApiFailure(404, "404 Not found");
      const { external_url: link } = call.body;
      if ((link?.length ?? 0) > longestLink) {
        throw new ApiFailure(400, `external_url: is too long (maximum is ${longestLink} characters)`);
      }
      found.externalUrl = link ?? found.externalUrl;
      return { body: showEnvironment(found) };
    }),
  );
  router.get(
    endpoints.showToken.path,
    serve(instance, endpoints.showToken, ({ holder }) => ({ body: showToken(instance, holder) })),
  );
}

/** Deployments need the role Developer (https://docs.gitlab.com/user/permissions/). */
function refuseWithoutRole(instance: Instance, project: Project): void {
  if ((project.members.get(instance.bot.id) ?? 0) < developer) throw new ApiFailure(403, "403 Forbidden");
}

function environmentNamed(instance: Instance, project: Project, name: string): Environment {
  const known = project.environments.find((one) => one.name === name);
  if (known !== undefined) {
    known.state = "available";
    return known;
  }
  const made: Environment = {
    id: instance.nextId(),
    name,
    createdAt: instance.now(),
    externalUrl: null,
    state: "available",
  };
  project.environments.push(made);
  return made;
}

function deploymentOf(call: Pick<Call<never, never>, "project" | "param">): Deployment {
  const found = call.project().deployments.find(({ id }) => String(id) === call.param("deployment"));
  if (found === undefined) throw new ApiFailure(404, "404 Not found");
  return found;
}

/** `EnvironmentBasic`. */
type ShownBasic = Pick<Members<CondensedEnvironmentSchema>, "id" | "name" | "slug" | "created_at" | "updated_at"> & {
  readonly external_url: string | null;
};

type ShownDeployment = Members<DeploymentSchema, "user" | "deployable" | "environment"> & {
  readonly user: ShownUser;
  readonly environment: ShownBasic;
  /** A job of CI. */
  readonly deployable: null;
};

function showDeployment(instance: Instance, one: Deployment): ShownDeployment {
  const status = one.statuses.at(-1) ?? "running";
  return {
    id: one.id,
    iid: one.iid,
    ref: one.ref,
    sha: one.sha,
    created_at: one.createdAt.toISOString(),
    updated_at: one.updatedAt.toISOString(),
    status,
    user: showUser(instance, one.user),
    environment: showBasic(one.environment),
    deployable: null,
  };
}

function showBasic({ id, name, externalUrl, createdAt }: Environment): ShownBasic {
  const at = createdAt.toISOString();
  return { id, name, slug: `env-${id}`, external_url: externalUrl, created_at: at, updated_at: at };
}

type ShownEnvironment = ShownBasic &
  Pick<Members<CondensedEnvironmentSchema>, "state" | "tier" | "auto_stop_at" | "description" | "auto_stop_setting">;

function showEnvironment(environment: Environment): ShownEnvironment {
  return {
    ...showBasic(environment),
    state: environment.state,
    tier: "other",
    auto_stop_at: null,
    description: null,
    auto_stop_setting: "always",
  };
}

function showToken(
  { startedAt, tokenExpires }: Instance,
  { person, scopes }: TokenHolder,
): Members<PersonalAccessTokenSchema, "token"> {
  return {
    id: 1,
    name: "svc",
    revoked: false,
    created_at: startedAt.toISOString(),
    scopes: [...scopes],
    user_id: person.id,
    active: true,
    last_used_at: startedAt.toISOString(),
    expires_at: tokenExpires,
  };
}
