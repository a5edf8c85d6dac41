import { keyOf, type Manifest } from "../manifest.js";
import { permitsClusterResource } from "../projects.js";
import type { SourceAt } from "../render/render-source.js";
import type { Application, Operation, ResourceResult } from "../resource.js";
import type { World } from "../world.js";
import { comparedRevisions, type Controller } from "./controller.js";
import type { Outcome } from "./operation-result.js";
import { syncTasks } from "./sync-tasks.js";

export interface Pace {
  /** Awaited before each object. */
  readonly pause?: () => Promise<void>;
  /** Checked before each object. */
  readonly isTerminated: () => boolean;
}

const INVALID_TASKS = "one or more synchronization tasks are not valid";

/** Renders at these commits and applies phase by phase until something fails. @throws {SourceFailure} */
export async function applyOperation(
  world: World,
  controller: Controller,
  application: Application,
  operation: Operation,
  at: readonly SourceAt[],
  pace: Pace,
): Promise<Outcome> {
  const { manifests } = await controller.target(application, at, comparedRevisions(application));
  if (operation.sync.syncOptions?.includes("CreateNamespace=true") === true) {
    world.cluster.createNamespace(application.spec.destination.namespace ?? "");
  }
  const forbidden = forbiddenKinds(world, application, manifests);
  if (forbidden.length > 0) return { phase: "Failed", message: `${INVALID_TASKS}: ${forbidden.join(", ")}` };
  const tasks = syncTasks(world, application, manifests, operation);
  const resources: ResourceResult[] = [];
  let reason: string | undefined;
  for (const phase of ["PreSync", "Sync", "PostSync"] as const) {
    if (reason !== undefined) break;
    for (const task of tasks.filter((one) => one.phase === phase)) {
      await pace.pause?.();
      if (pace.isTerminated()) return { phase: "Failed", message: "Operation terminated", resources };
      const done = task.run();
      resources.push(done);
      if (done.hookPhase === "Failed") reason ??= done.message ?? "";
    }
  }
  if (reason === undefined) {
    const which = operation.sync.dryRun === true ? "no more tasks" : "all tasks run";
    return { phase: "Succeeded", message: `successfully synced (${which})`, resources };
  }
  for (const task of tasks) if (task.phase === "SyncFail") resources.push(task.run());
  return { phase: "Failed", message: `one or more objects failed to apply, reason: ${reason}`, resources };
}

/** Resources without a namespace that the project does not allow, in Argo CD's words. */
function forbiddenKinds(world: World, { spec }: Application, manifests: readonly Manifest[]): string[] {
  const project = world.projects.get(world.projectOf(spec));
  if (project === undefined) return [];
  return manifests
    .map((manifest) => keyOf(manifest, spec.destination.namespace ?? "default"))
    .filter(({ namespace, group, kind }) => namespace === "" && !permitsClusterResource(project, group, kind))
    .map(({ group, kind }) => `resource ${group}:${kind} is not permitted in project ${project.name}`);
}
