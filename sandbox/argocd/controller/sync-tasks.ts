import type { Applied } from "../../cluster/cluster.js";
import { textOf } from "../json.js";
import {
  annotation,
  annotationValues,
  hookPhases,
  imagesOf,
  versionOf,
  type Manifest,
  type ObjectKey,
} from "../manifest.js";
import type { Application, Operation, ResourceResult } from "../resource.js";
import type { World } from "../world.js";
import { compare, targetObjects } from "./compare.js";
import { ignoredFields, withLiveFields } from "./ignore-differences.js";
import { applyObject, liveObject, removeObject } from "./live-objects.js";

/** One step of a sync. Running it writes to the cluster and returns its entry in `syncResult.resources`. */
export interface SyncTask {
  readonly phase: "PreSync" | "Sync" | "PostSync" | "SyncFail";
  run(): ResourceResult;
}

/** Order of kinds within a wave, as gitops-engine applies them. */
const kindOrder = [
  "Namespace",
  "NetworkPolicy",
  "ResourceQuota",
  "LimitRange",
  "PodDisruptionBudget",
  "ServiceAccount",
  "Secret",
  "ConfigMap",
  "StorageClass",
  "PersistentVolume",
  "PersistentVolumeClaim",
  "CustomResourceDefinition",
  "ClusterRole",
  "ClusterRoleBinding",
  "Role",
  "RoleBinding",
  "Service",
  "DaemonSet",
  "Pod",
  "ReplicaSet",
  "Deployment",
  "StatefulSet",
  "Job",
  "CronJob",
  "Ingress",
  "APIService",
];

function rank(manifest: Manifest): [number, number] {
  const at = kindOrder.indexOf(textOf(manifest.kind));
  return [Number(annotation(manifest, "argocd.argoproj.io/sync-wave") ?? 0), at < 0 ? kindOrder.length : at];
}

function byOrder(a: { manifest: Manifest }, b: { manifest: Manifest }): number {
  const [left, right] = [rank(a.manifest), rank(b.manifest)];
  return left[0] - right[0] || left[1] - right[1];
}

/** The steps of a sync of these manifests, in order. Deletion hooks are left out. */
export function syncTasks(
  world: World,
  application: Application,
  manifests: readonly Manifest[],
  { sync }: Operation,
): SyncTask[] {
  const { objects, hooks } = targetObjects(world, application, manifests);
  const dryRun = sync.dryRun === true;
  const hookTasks = (phase: SyncTask["phase"]): SyncTask[] =>
    hooks
      .filter(({ phases }) => phases.includes(phase))
      .sort(byOrder)
      .map(({ key, manifest }) => ({ phase, run: () => runHook(world, key, manifest, phase, dryRun) }));
  const prunes = compare(world, application, manifests)
    .filter(({ target, live }) => target === undefined && live !== undefined && hookPhases(live) === undefined)
    .map(({ key, live }): SyncTask => ({
      phase: "Sync",
      run: () =>
        runPrune(world, key, live ?? {}, { prune: sync.prune === true, dryRun, ownOptions: sync.syncOptions ?? [] }),
    }));
  const applies = objects.sort(byOrder).map(({ key, manifest }): SyncTask => ({
    phase: "Sync",
    run: () => runApply(world, key, respecting(world, application, key, manifest), dryRun),
  }));
  return [...hookTasks("PreSync"), ...prunes, ...applies, ...hookTasks("PostSync"), ...hookTasks("SyncFail")];
}

function respecting(world: World, application: Application, key: ObjectKey, manifest: Manifest): Manifest {
  const live = liveObject(world, key);
  const respected = application.spec.syncPolicy?.syncOptions?.includes("RespectIgnoreDifferences=true") === true;
  return live === undefined || !respected ? manifest : withLiveFields(manifest, live, ignoredFields(application, key));
}

function result(key: ObjectKey, manifest: Manifest, rest: Partial<ResourceResult>): ResourceResult {
  const images = imagesOf(manifest);
  const { group, kind, namespace, name } = key;
  return {
    group,
    version: versionOf(manifest),
    kind,
    namespace,
    name,
    ...rest,
    ...(images.length === 0 ? {} : { images }),
  };
}

/** `configmap/plain configured`, `deployment.apps/web created`. */
function kubectlMessage({ group, kind, name }: ObjectKey, outcome: Applied, dryRun: boolean): string {
  const type = group === "" ? kind.toLowerCase() : `${kind.toLowerCase()}.${group}`;
  return `${type}/${name} ${outcome}${dryRun ? " (dry run)" : ""}`;
}

function runApply(world: World, key: ObjectKey, manifest: Manifest, dryRun: boolean): ResourceResult {
  try {
    const message = kubectlMessage(key, applied(world, key, manifest, dryRun), dryRun);
    return result(key, manifest, {
      status: "Synced",
      message,
      hookPhase: dryRun ? "Succeeded" : "Running",
      syncPhase: "Sync",
    });
  } catch (error) {
    const message = error instanceof Error ? error.message : "";
    return result(key, manifest, { status: "SyncFailed", message, hookPhase: "Failed", syncPhase: "Sync" });
  }
}

/** With `Force=true`, what Kubernetes refuses is deleted and created anew. */
function applied(world: World, key: ObjectKey, manifest: Manifest, dryRun: boolean): Applied {
  try {
    return applyObject(world, manifest, key, dryRun);
  } catch (error) {
    const options = annotationValues(manifest, "argocd.argoproj.io/sync-options");
    if (!options.includes("Force=true") || liveObject(world, key) === undefined) throw error;
    removeObject(world, key);
    return applyObject(world, manifest, key, dryRun);
  }
}

/** Since v3.4 the first `Prune` among the application's own options counts where the object has none. */
function runPrune(
  world: World,
  key: ObjectKey,
  live: Manifest,
  { prune, dryRun, ownOptions }: { prune: boolean; dryRun: boolean; ownOptions: readonly string[] },
): ResourceResult {
  const isPrune = (option: string) => option.startsWith("Prune=");
  const options = annotationValues(live, "argocd.argoproj.io/sync-options").filter(isPrune);
  const own = /^v(?:2|3\.[0-3])\./.test(world.options.version) ? undefined : ownOptions.find(isPrune);
  const never = options.includes("Prune=false") || (options.length === 0 && own === "Prune=false");
  const done = { hookPhase: "Succeeded", syncPhase: "Sync" } as const;
  if (!prune || never) {
    const message = never ? "ignored (no prune)" : "ignored (requires pruning)";
    return result(key, live, { status: "PruneSkipped", message, ...done });
  }
  if (!dryRun) removeObject(world, key);
  return result(key, live, { status: "Pruned", message: dryRun ? "pruned (dry run)" : "pruned", ...done });
}

function runHook(
  world: World,
  key: ObjectKey,
  manifest: Manifest,
  phase: SyncTask["phase"],
  dryRun: boolean,
): ResourceResult {
  // The default policy deletes the last sync's hook before creating a new one.
  if (!dryRun && liveObject(world, key) !== undefined) removeObject(world, key);
  const applied = runApply(world, key, manifest, dryRun);
  const failed = applied.status === "SyncFailed";
  return {
    ...applied,
    status: undefined,
    hookType: phase,
    syncPhase: phase,
    hookPhase: failed ? "Failed" : "Succeeded",
  };
}

/** Runs the application's deletion hooks of one phase. */
export function runDeletionHooks(
  world: World,
  application: Application,
  manifests: readonly Manifest[],
  phase: "PreDelete" | "PostDelete",
): void {
  for (const { key, manifest, phases } of targetObjects(world, application, manifests).hooks) {
    if (phases.includes(phase)) applyObject(world, manifest, key, false);
  }
}
