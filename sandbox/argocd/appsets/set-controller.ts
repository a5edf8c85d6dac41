import type { Controller } from "../controller/controller.js";
import { isResourcesFinalizer, removeTracked } from "../controller/live-objects.js";
import { objectAt, stringAt, type JsonObject } from "../json.js";
import type { Application, ApplicationSpec, Metadata } from "../resource.js";
import { applicationSet, type ApplicationSet } from "../schemas/application-set.js";
import { controlNamespace, type World } from "../world.js";
import { generatedBy } from "./generate.js";

/** Runs the sets that syncs have applied, as Argo CD's controller does within seconds. */
export async function runAppliedSets(world: World, controller: Controller): Promise<void> {
  if (world.setsPaused) return;
  for (const { kind, group, namespace, object } of world.cluster.list()) {
    if (kind !== "ApplicationSet" || group !== "argoproj.io") continue;
    const { apiVersion, metadata, spec } = object;
    const name = stringAt(object, "metadata", "name") ?? "";
    const annotations = objectAt(metadata, "annotations");
    const read = applicationSet.safeParse({ apiVersion, kind, metadata: { name, namespace, annotations }, spec });
    if (read.success) await runSet(world, controller, read.data);
  }
}

/** Creates, updates and deletes what a set generates. One that fails keeps what is there, and says so in its status. */
async function runSet(world: World, controller: Controller, set: ApplicationSet): Promise<void> {
  const namespace = set.metadata.namespace ?? controlNamespace;
  const name = set.metadata.name ?? "";
  const key = `${namespace}/${name}`;
  let wanted: JsonObject[];
  try {
    wanted = await generatedBy(world, set);
  } catch (error) {
    const message = error instanceof Error ? error.message : "";
    const condition = {
      type: "ErrorOccurred",
      status: "True",
      reason: "ApplicationGenerationFromParamsError",
      message,
    };
    world.sets.set(key, { ...set, status: { conditions: [condition] } });
    return;
  }
  world.sets.set(key, set);
  const policy = set.spec.syncPolicy?.applicationsSync ?? "sync";
  const kept = new Set(wanted.map((one) => stringAt(one, "metadata", "name")));
  const owned = [...world.applications.values()].filter((one) => isOwned(one, namespace, name));
  if (policy === "sync" || policy === "create-delete") {
    for (const one of owned) if (!kept.has(one.metadata.name)) remove(world, one);
  }
  for (const one of wanted) {
    write(world, controller, one, { namespace, name, updates: policy !== "create-only" && policy !== "create-delete" });
  }
}

function isOwned({ metadata }: Application, namespace: string, set: string): boolean {
  const owns = metadata.ownerReferences?.some(({ kind, name }) => kind === "ApplicationSet" && name === set);
  return metadata.namespace === namespace && owns === true;
}

function remove(world: World, application: Application): void {
  if (application.metadata.finalizers?.some(isResourcesFinalizer) === true) removeTracked(world, application);
  world.remove(application);
}

interface Owner {
  readonly namespace: string;
  readonly name: string;
  readonly updates: boolean;
}

function write(
  world: World,
  controller: Controller,
  wanted: JsonObject,
  { namespace, name: set, updates }: Owner,
): void {
  const metadata = wanted.metadata as Metadata;
  const spec = wanted.spec as ApplicationSpec;
  const name = metadata.name ?? "";
  const existing = world.find(namespace, name);
  if (existing === undefined) {
    const owner = { apiVersion: "argoproj.io/v1alpha1", kind: "ApplicationSet", name: set, uid: set, controller: true };
    controller.noteGenerated(world.store({ ...metadata, name, namespace, ownerReferences: [owner] }, spec));
  } else if (updates && isOwned(existing, namespace, set)) {
    existing.spec = structuredClone(spec);
    controller.noteGenerated(existing);
    world.touch(existing);
    controller.markStale(existing);
  }
}
