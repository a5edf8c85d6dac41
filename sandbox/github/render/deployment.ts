import type { JsonObject } from "../examples.js";
import type { Deployment, DeploymentStatus } from "../records.js";
import { nodeId, type Repository, type World } from "../world.js";
import { renderUser } from "./user.js";

export function renderDeployment(world: World, repository: Repository, deployment: Deployment): JsonObject {
  const { id, sha, ref, task, payload, environment, description, creator, createdAt, transient, production } =
    deployment;
  const url = addressOf(world, repository, deployment);
  return {
    url,
    id,
    node_id: nodeId("DE", id),
    sha,
    ref,
    task,
    payload,
    original_environment: environment,
    environment,
    description,
    creator: renderUser(world, creator),
    created_at: createdAt,
    updated_at: deployment.statuses.at(-1)?.createdAt ?? createdAt,
    statuses_url: `${url}/statuses`,
    repository_url: `${world.apiUrl}/repos/${repository.fullName}`,
    transient_environment: transient,
    production_environment: production,
  };
}

export function renderDeploymentStatus(
  world: World,
  repository: Repository,
  deployment: Deployment,
  { id, state, description, logUrl, environmentUrl, createdAt }: DeploymentStatus,
): JsonObject {
  const url = addressOf(world, repository, deployment);
  return {
    url: `${url}/statuses/${id}`,
    id,
    node_id: nodeId("DES", id),
    state,
    creator: renderUser(world, deployment.creator),
    description,
    environment: deployment.environment,
    target_url: logUrl,
    created_at: createdAt,
    updated_at: createdAt,
    deployment_url: url,
    repository_url: `${world.apiUrl}/repos/${repository.fullName}`,
    environment_url: environmentUrl,
    log_url: logUrl,
  };
}

function addressOf(world: World, repository: Repository, { id }: Deployment): string {
  return `${world.apiUrl}/repos/${repository.fullName}/deployments/${id}`;
}
