import { isObject } from "../examples.js";
import { deploymentStates, type Deployment, type DeploymentStatus } from "../records.js";
import { renderDeployment, renderDeploymentStatus } from "../render/deployment.js";
import { type World } from "../world.js";
import { ApiError, notFound, page, type Answer, type Call, type Route } from "./call.js";

/** https://docs.github.com/actions/how-tos/deploy/configure-and-manage-deployments/manage-environments */
const longestEnvironment = 255;
/** https://docs.github.com/rest/deployments/statuses#create-a-deployment-status */
const longestDescription = 140;

const template = "/repos/{owner}/{repo}/deployments";
const statuses = `${template}/{deployment_id}/statuses`;
const reads = { method: "get", caller: "installation", needs: [["deployments", "read"]] } as const;
const writes = { method: "post", caller: "installation", needs: [["deployments", "write"]] } as const;

export const deploymentRoutes: readonly Route[] = [
  { ...reads, template, handle: listDeployments },
  { ...writes, template, handle: createDeployment },
  { ...reads, template: statuses, handle: listStatuses },
  { ...writes, template: statuses, handle: createStatus },
];

/** Newest first. */
function listDeployments(call: Call): Answer {
  const { world, repository, query } = call;
  const fits = (name: string, value: string): boolean => {
    const wanted = query[name];
    return typeof wanted !== "string" || wanted.toLowerCase() === value.toLowerCase();
  };
  const fitting = repository.deployments.filter(
    (one) =>
      fits("sha", one.sha) && fits("ref", one.ref) && fits("task", one.task) && fits("environment", one.environment),
  );
  const { items, headers } = page(call, fitting.toReversed());
  return { status: 200, body: items.map((one) => renderDeployment(world, repository, one)), headers };
}

async function createDeployment({ world, repository, body }: Call): Promise<Answer> {
  const ref = String(body.ref);
  const sha = await shaOf(world, repository.fullName, ref);
  if (sha === undefined) throw new ApiError(422, `No ref found for: ${ref}`);
  const environment = typeof body.environment === "string" ? body.environment : "production";
  if (environment === "" || environment.length > longestEnvironment) {
    throw new ApiError(422, `Validation Failed: environment is too long (maximum is ${longestEnvironment} characters)`);
  }
  if (body.auto_merge !== false && !(await holdsDefaultBranch(world, repository, sha))) {
    return { status: 202, body: { message: `Auto-merged ${repository.defaultBranch} into ${ref} on deployment.` } };
  }
  const wanted = Array.isArray(body.required_contexts) ? body.required_contexts : undefined;
  const latest = new Map(repository.statuses.get(sha)?.map((one) => [one.context, one.state]));
  const contexts = wanted?.map(String) ?? [...latest.keys()];
  if (contexts.some((context) => latest.get(context) !== "success")) {
    throw new ApiError(409, `Conflict: Commit status checks failed for ${ref}.`);
  }
  const deployment: Deployment = {
    id: world.newId(),
    sha,
    ref,
    task: typeof body.task === "string" ? body.task : "deploy",
    payload: isObject(body.payload) || typeof body.payload === "string" ? body.payload : "",
    environment,
    description: typeof body.description === "string" ? body.description : null,
    transient: body.transient_environment === true,
    production:
      typeof body.production_environment === "boolean" ? body.production_environment : environment === "production",
    creator: world.bot,
    createdAt: world.now(),
    statuses: [],
  };
  repository.deployments.push(deployment);
  return { status: 201, body: renderDeployment(world, repository, deployment) };
}

function listStatuses(call: Call): Answer {
  const { world, repository } = call;
  const deployment = deploymentOf(call);
  const { items, headers } = page(call, deployment.statuses.toReversed());
  return { status: 200, body: items.map((one) => renderDeploymentStatus(world, repository, deployment, one)), headers };
}

function createStatus(call: Call): Answer {
  const { world, repository, body } = call;
  const deployment = deploymentOf(call);
  const text = (name: string): string => {
    const value = body[name];
    return typeof value === "string" ? value : "";
  };
  const state = deploymentStates.find((known) => known === body.state);
  if (state === undefined) throw new ApiError(422, "Validation Failed: state is not included in the list");
  if (text("description").length > longestDescription) {
    throw new ApiError(422, `Validation Failed: description is too long (maximum is ${longestDescription} characters)`);
  }
  const status = addStatus(world, deployment, {
    state,
    description: text("description"),
    logUrl: text("log_url"),
    environmentUrl: text("environment_url"),
  });
  if (state === "success" && body.auto_inactive !== false) endOthers(call, deployment);
  return { status: 201, body: renderDeploymentStatus(world, repository, deployment, status) };
}

/** What `auto_inactive` does. */
function endOthers({ world, repository }: Call, deployment: Deployment): void {
  for (const other of repository.deployments) {
    const same = other.environment.toLowerCase() === deployment.environment.toLowerCase() && other.id < deployment.id;
    if (!same || other.transient || other.production || other.statuses.at(-1)?.state !== "success") continue;
    addStatus(world, other, { state: "inactive", description: "", logUrl: "", environmentUrl: "" });
  }
}

function addStatus(
  world: World,
  { statuses: all }: Deployment,
  facts: Omit<DeploymentStatus, "id" | "createdAt">,
): DeploymentStatus {
  const status: DeploymentStatus = { id: world.newId(), createdAt: world.now(), ...facts };
  all.push(status);
  return status;
}

function deploymentOf({ repository, params }: Call): Deployment {
  const found = repository.deployments.find(({ id }) => String(id) === params.deployment_id);
  if (found === undefined) throw notFound();
  return found;
}

async function shaOf(world: World, repository: string, ref: string): Promise<string | undefined> {
  for (const name of [`refs/heads/${ref}`, `refs/tags/${ref}`, ref]) {
    const found = await world.store.resolve(repository, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function holdsDefaultBranch(
  world: World,
  { fullName, defaultBranch }: Call["repository"],
  sha: string,
): Promise<boolean> {
  const tip = await world.store.resolve(fullName, `refs/heads/${defaultBranch}`);
  return tip === undefined || (await world.store.mergeBase(fullName, tip, sha)) === tip;
}
