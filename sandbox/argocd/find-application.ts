import { mayDo, type Account } from "./accounts.js";
import { applicationNotFound, invalid, permissionDenied } from "./api-error.js";
import { admitsNamespace, type Project } from "./projects.js";
import type { Application } from "./resource.js";
import { controlNamespace, type World } from "./world.js";

export interface Wanted {
  readonly name: string;
  readonly namespace: string | undefined;
  /** Without it, a missing application looks like a forbidden one. */
  readonly project: string | undefined;
}

/** https://github.com/argoproj/argo-cd/blob/v3.5.1/server/application/application.go, getAppEnforceRBAC */
export function findApplication(world: World, account: Account, action: string, wanted: Wanted): Application {
  const namespace = wanted.namespace ?? controlNamespace;
  const { name, project } = wanted;
  if (!world.isEnabled(namespace)) throw permissionDenied();
  if (project !== undefined && !mayDo(account, "applications", action, world.rbacName(namespace, name, project))) {
    throw permissionDenied();
  }
  const application = world.find(namespace, name);
  if (application === undefined) throw project === undefined ? permissionDenied() : applicationNotFound(name);
  if (project !== undefined && world.projectOf(application.spec) !== project) throw applicationNotFound(name);
  if (!mayDo(account, "applications", action, world.rbacNameOf(application))) throw permissionDenied();
  projectFor(world, world.projectOf(application.spec), namespace);
  return application;
}

/** The AppProject. @throws {ApiError} if it does not exist or does not admit Applications of the namespace. */
export function projectFor(world: World, name: string, namespace: string): Project {
  const project = world.projects.get(name);
  if (project === undefined || !admitsNamespace(project, namespace, controlNamespace) || !world.isEnabled(namespace)) {
    throw invalid(`app is not allowed in project "${name}", or the project does not exist`);
  }
  return project;
}
