import { objectAt, omit, same, textOf, type JsonObject } from "../json.js";
import {
  hookPhases,
  imagesOf,
  keyOf,
  textOfKey,
  versionOf,
  withNamespace,
  type Manifest,
  type ObjectKey,
} from "../manifest.js";
import type { Application } from "../resource.js";
import { tracked } from "../tracking.js";
import type { World } from "../world.js";
import { ignoredFields, withoutFields } from "./ignore-differences.js";
import { liveObject, objectsTrackedBy, predictObject } from "./live-objects.js";

/** One object of an application, as wanted and as it is. */
export interface Managed {
  readonly key: ObjectKey;
  readonly target: Manifest | undefined;
  readonly live: Manifest | undefined;
  /** The live object as it is compared. */
  readonly normalized: Manifest | undefined;
  /** The live object after applying the target. */
  readonly predicted: Manifest | undefined;
  /** Whether applying the target would change the live object. */
  readonly modified: boolean;
}

const IN_CLUSTER = "https://kubernetes.default.svc";

export interface TargetObject {
  readonly key: ObjectKey;
  readonly manifest: Manifest;
}

/** Rendered manifests as the controller applies them: tracked, with namespaces, without duplicates, hooks apart. */
export function targetObjects(
  world: World,
  application: Application,
  manifests: readonly Manifest[],
): { objects: TargetObject[]; hooks: (TargetObject & { phases: string[] })[] } {
  const { namespace = "", server = IN_CLUSTER } = application.spec.destination;
  const instance = world.instanceOf(application);
  const objects = new Map<string, TargetObject>();
  const hooks: (TargetObject & { phases: string[] })[] = [];
  for (const rendered of manifests.filter(({ kind }) => !world.excludedKinds.has(textOf(kind)))) {
    const key = { ...keyOf(rendered, namespace), ...(server === IN_CLUSTER ? {} : { elsewhere: true }) };
    const manifest = withNamespace(tracked(rendered, instance, namespace, world.tracking), key.namespace);
    const phases = hookPhases(rendered);
    if (phases !== undefined) hooks.push({ key, manifest, phases });
    else objects.set(textOfKey(key), { key, manifest });
  }
  return { objects: [...objects.values()], hooks };
}

/** Pairs targets with live objects, and lists live objects that have no target any more. */
export function compare(world: World, application: Application, manifests: readonly Manifest[]): Managed[] {
  const { objects } = targetObjects(world, application, manifests);
  const wanted = new Set(objects.map(({ key }) => textOfKey(key)));
  const managed = objects.map(({ key, manifest }): Managed => {
    const live = liveObject(world, key);
    const predicted = predictObject(world, manifest, key);
    const ignored = ignoredFields(application, key);
    return {
      key,
      target: manifest,
      live,
      normalized: live && normalizedLive(live, ignored),
      predicted,
      modified: live === undefined || !same(withoutFields(live, ignored), withoutFields(predicted, ignored)),
    };
  });
  const extra = objectsTrackedBy(world, world.instanceOf(application))
    .filter(({ key, object }) => !wanted.has(textOfKey(key)) && hookPhases(object) === undefined)
    .map(({ key, object }): Managed => ({
      key,
      target: undefined,
      live: object,
      normalized: normalizedLive(object, ignoredFields(application, key)),
      predicted: undefined,
      modified: false,
    }));
  return [...managed, ...extra].sort((a, b) => (textOfKey(a.key) < textOfKey(b.key) ? -1 : 1));
}

const withHealth = new Set([
  "Deployment",
  "StatefulSet",
  "DaemonSet",
  "ReplicaSet",
  "Service",
  "Pod",
  "Job",
  "Ingress",
  "PersistentVolumeClaim",
]);

/** `status.resources`, `status.sync.status`, `status.health` and `status.summary` of a comparison. */
export function summarise(managed: readonly Managed[]): {
  resources: JsonObject[];
  sync: string;
  health: string;
  summary: JsonObject;
} {
  const resources = managed.map(({ key, target, live, modified }): JsonObject => {
    const health = live === undefined ? "Missing" : withHealth.has(key.kind) ? "Healthy" : undefined;
    return {
      ...(key.group === "" ? {} : { group: key.group }),
      version: versionOf(target ?? live ?? {}),
      kind: key.kind,
      ...(key.namespace === "" ? {} : { namespace: key.namespace }),
      name: key.name,
      status: target === undefined || live === undefined || modified ? "OutOfSync" : "Synced",
      ...(health === undefined ? {} : { health: { status: health } }),
      ...(target === undefined ? { requiresPruning: true } : {}),
    };
  });
  const images = [...new Set(managed.flatMap(({ live }) => (live === undefined ? [] : imagesOf(live))))].sort();
  const isAppOfApps = managed.some(({ key }) => key.group === "argoproj.io" && key.kind === "Application");
  return {
    resources,
    sync: resources.some(({ status }) => status === "OutOfSync") ? "OutOfSync" : "Synced",
    // What is missing makes the application OutOfSync, but counts for its health only if nothing is there (controller/health.go).
    health: managed.length > 0 && managed.every(({ live }) => live === undefined) ? "Missing" : "Healthy",
    summary: { ...(images.length === 0 ? {} : { images }), ...(isAppOfApps ? { isAppOfApps } : {}) },
  };
}

/** The hooks that the cluster has, which count as to be pruned and have no status (controller/state.go), though no sync prunes them. */
export function leftHooks(world: World, application: Application): JsonObject[] {
  const hooks = objectsTrackedBy(world, world.instanceOf(application)).filter(({ object }) => hookPhases(object));
  return hooks.map(({ key, object }) => ({
    ...(key.group === "" ? {} : { group: key.group }),
    version: versionOf(object),
    kind: key.kind,
    ...(key.namespace === "" ? {} : { namespace: key.namespace }),
    name: key.name,
    hook: true,
    requiresPruning: true,
  }));
}

/** Live state without what Kubernetes adds and what is ignored. */
function normalizedLive(live: Manifest, ignored: ReturnType<typeof ignoredFields>): Manifest {
  const kept = { ...omit(live, "status"), metadata: omit(objectAt(live, "metadata"), "creationTimestamp") };
  return withoutFields(kept, ignored);
}
