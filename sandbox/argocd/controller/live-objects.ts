import type { Applied } from "../../cluster/cluster.js";
import { applied } from "../../cluster/cluster.js";
import { isObject, objectAt, omit, same, sortedText } from "../json.js";
import { withAnnotation, withNamespace, type Manifest, type ObjectKey } from "../manifest.js";
import { lastAppliedAnnotation } from "../masking.js";
import { knownTo } from "../present.js";
import { repaired } from "../read-request.js";
import type { Application, ApplicationSpec, Metadata } from "../resource.js";
import { applicationSpec } from "../schemas/application-spec.js";
import { metadata as metadataSchema } from "../schemas/application.js";
import { trackedBy } from "../tracking.js";
import type { World } from "../world.js";

/*
 * The objects that syncs write. Applications are cluster objects too (app of apps) but live in the API server's own
 * store; these functions treat both alike.
 */

function isApplication(key: ObjectKey): boolean {
  return key.group === "argoproj.io" && key.kind === "Application" && key.elsewhere !== true;
}

export function keyOfApplication({ metadata }: Application): ObjectKey {
  return { group: "argoproj.io", kind: "Application", namespace: metadata.namespace, name: metadata.name };
}

function manifestOf({ metadata, spec }: Application): Manifest {
  return {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Application",
    metadata: omit(metadata, "managedFields"),
    spec: spec,
  };
}

export function liveObject(world: World, key: ObjectKey): Manifest | undefined {
  if (!isApplication(key)) return world.cluster.get(key);
  const application = world.find(key.namespace, key.name);
  return application === undefined ? undefined : manifestOf(application);
}

/** Every live object that is tracked as part of the instance. */
export function objectsTrackedBy(world: World, instance: string): { key: ObjectKey; object: Manifest }[] {
  const isTracked = (object: Manifest, key: ObjectKey) => trackedBy(object, key, world.tracking) === instance;
  const applications = [...world.applications.values()]
    .filter((one) => isTracked({ metadata: one.metadata }, keyOfApplication(one)))
    .map((one) => ({ key: keyOfApplication(one), object: manifestOf(one) }));
  const others = world.cluster.list().filter((one) => isTracked(one.object, one));
  return [...applications, ...others.map(({ object, ...key }) => ({ key: { ...key, elsewhere: true }, object }))];
}

export function predictObject(world: World, manifest: Manifest, key: ObjectKey): Manifest {
  if (!isApplication(key)) return world.cluster.predict(manifest, key);
  const live = liveObject(world, key);
  const target = withNamespace(manifest, key.namespace);
  return live === undefined ? target : applied(target, live);
}

export function applyObject(world: World, manifest: Manifest, key: ObjectKey, dryRun: boolean): Applied {
  if (!isApplication(key)) return world.cluster.apply(manifest, key, { dryRun });
  const live = liveObject(world, key);
  const predicted = predictObject(world, manifest, key);
  const outcome = live === undefined ? "created" : same(live, predicted) ? "unchanged" : "configured";
  if (dryRun || outcome === "unchanged") return outcome;
  const note = `${sortedText(withNamespace(manifest, key.namespace))}\n`;
  const written = withAnnotation(predicted, lastAppliedAnnotation, note);
  const ignore = (): void => undefined;
  const metadata = repaired(metadataSchema, objectAt(written, "metadata"), "ObjectMeta", ignore) as Metadata;
  const asked = isObject(written.spec) ? written.spec : {};
  const read = repaired(applicationSpec, asked, "ApplicationSpec", ignore) as ApplicationSpec;
  const spec = knownTo(world.options.version, read);
  const existing = world.find(key.namespace, key.name);
  if (existing === undefined) {
    world.store({ ...metadata, name: key.name, namespace: key.namespace }, spec);
    return outcome;
  }
  existing.spec = spec;
  existing.metadata.labels = metadata.labels;
  existing.metadata.annotations = metadata.annotations;
  world.touch(existing);
  return outcome;
}

/** Deletes an object. Deleting an Application deletes what it deployed only if it has that finalizer. */
export function removeObject(world: World, key: ObjectKey): void {
  if (!isApplication(key)) {
    world.cluster.remove(key);
    return;
  }
  const application = world.find(key.namespace, key.name);
  if (application === undefined) return;
  if (application.metadata.finalizers?.some(isResourcesFinalizer) === true) removeTracked(world, application);
  world.remove(application);
}

export function isResourcesFinalizer(finalizer: string): boolean {
  return finalizer.startsWith("resources-finalizer.argocd.argoproj.io");
}

/** Deletes everything that the application deployed. */
export function removeTracked(world: World, application: Application): void {
  for (const { key } of objectsTrackedBy(world, world.instanceOf(application))) removeObject(world, key);
}
