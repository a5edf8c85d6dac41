import * as z from "zod";
import { isMultiSource, projectOf } from "../../core/model/application-spec.js";
import type { Application, ApplicationSpec, LiveApplication } from "../../core/model/application.js";
import type { ApplicationName } from "../../core/model/brand.js";
import { isJsonObject, isNestedDeeper, type JsonObject } from "../../core/model/json.js";
import { nameOfInstance, nameOfResource, ownNamespace } from "./application-names.js";
import { MAX_DEPTH } from "./read-large.js";
import type { ServerSettings } from "./server-settings.js";

const texts = z
  .record(z.string(), z.string())
  .nullish()
  .transform((value) => value ?? {});

export const json = z.custom<JsonObject>(
  (value) => isJsonObject(value) && !isNestedDeeper(MAX_DEPTH, value),
  "not an object, or nested too deep",
);

const metadata = z.object({
  name: z.string().min(1),
  namespace: z.string().nullish(),
  labels: texts,
  annotations: texts,
  deletionTimestamp: z.string().nullish(),
  finalizers: z.array(z.string()).nullish(),
  ownerReferences: z
    .array(z.object({ apiVersion: z.string().nullish(), kind: z.string(), name: z.string() }))
    .nullish(),
});

/** What list items, generated and whole Applications share. A member that `fields` selects is null if it is absent. */
export const applicationItem = z.object({ metadata, spec: json });
export type ApplicationItem = z.infer<typeof applicationItem>;

/** `{"items": null}` if nothing is visible, `{}` if nothing is generated. */
export const applicationList = z.object({ items: z.array(z.unknown()).nullish() });
export const generatedList = z.object({ applications: z.array(applicationItem).nullish() });

const info = z
  .array(z.object({ name: z.string().nullish(), value: z.string().nullish() }))
  .nullish()
  .transform((value) => value ?? []);

const resource = z.object({
  group: z.string().nullish(),
  kind: z.string().nullish(),
  namespace: z.string().nullish(),
  name: z.string().nullish(),
  status: z.string().nullish(),
  message: z.string().nullish(),
});
export type SyncedObject = z.infer<typeof resource>;

/** One object as Argo CD compares it. Argo CD 3.0 and newer report its health only in the GET of one Application. */
const managedResource = resource.extend({
  health: z.object({ status: z.string().nullish(), message: z.string().nullish() }).nullish(),
});

const revisions = { revision: z.string().nullish(), revisions: z.array(z.string()).nullish() };

const operationState = z.object({
  operation: z.object({ info }).nullish(),
  phase: z.string().nullish(),
  message: z.string().nullish(),
  startedAt: z.string().nullish(),
  finishedAt: z.string().nullish(),
  syncResult: z.object({ ...revisions, resources: z.array(resource).nullish() }).nullish(),
});
export type OperationState = z.infer<typeof operationState>;

/** What hangs together with an application in its cluster: managed objects, and what they own, down to the pods. */
export const resourceTree = z.object({
  nodes: z
    .array(
      resource.extend({
        uid: z.string().nullish(),
        parentRefs: z.array(z.object({ uid: z.string().nullish() })).nullish(),
        health: z.object({ status: z.string().nullish(), message: z.string().nullish() }).nullish(),
      }),
    )
    .nullish(),
});
export type ResourceNode = NonNullable<z.infer<typeof resourceTree>["nodes"]>[number];

/** One Application from a full GET. */
export const wholeApplication = applicationItem.extend({
  operation: z.object({ info }).nullish(),
  status: z
    .object({
      sync: z.object(revisions).nullish(),
      health: z.object({ status: z.string().nullish(), lastTransitionTime: z.string().nullish() }).nullish(),
      reconciledAt: z.string().nullish(),
      resources: z.array(managedResource).nullish(),
      sourceType: z.string().nullish(),
      sourceTypes: z.array(z.string()).nullish(),
      operationState: operationState.nullish(),
      history: z.array(z.object({ ...revisions, deployedAt: z.string().nullish() })).nullish(),
    })
    .nullish(),
});
export type WholeApplication = z.infer<typeof wholeApplication>;

export const TRACKING_ANNOTATION = "argocd.argoproj.io/tracking-id";
/** https://argo-cd.readthedocs.io/en/stable/user-guide/app_deletion/ */
const CASCADING = /^resources-finalizer\.argocd\.argoproj\.io(?:\/|$)/;

export function toApplication(item: ApplicationItem, settings: ServerSettings): Application {
  const { metadata, spec } = item;
  return {
    name: nameOfResource(metadata.namespace ?? undefined, metadata.name, settings.controllerNamespace),
    resourceName: metadata.name,
    namespace: ownNamespace(metadata.namespace, settings.controllerNamespace),
    project: projectOf(spec),
    labels: metadata.labels,
    annotations: metadata.annotations,
    spec,
    parent: parentOf(item, settings),
  };
}

export function toLiveApplication(whole: WholeApplication, settings: ServerSettings): LiveApplication {
  const sync = whole.status?.sync;
  const multiple = isMultiSource(whole.spec);
  const types = multiple ? (whole.status?.sourceTypes ?? []) : [whole.status?.sourceType ?? ""];
  const one = sync?.revision ? [sync.revision] : [];
  return {
    ...toApplication(whole, settings),
    owningSet: whole.metadata.ownerReferences?.find((owner) => owner.kind === "ApplicationSet")?.name,
    sourceTypes: rawSources(whole.spec).map((_, index) => types[index] ?? ""),
    comparedRevisions: multiple ? (sync?.revisions ?? []) : one,
    lastOperation: whole.status?.operationState?.startedAt ?? undefined,
    deleting: typeof whole.metadata.deletionTimestamp === "string",
    cascades: (whole.metadata.finalizers ?? []).some((one) => CASCADING.test(one)),
  };
}

/**
 * The application whose manifests contain this Application (app of apps), by Argo CD's tracking: the annotation
 * `<instance>:<group>/<kind>:<namespace>/<name>`, or the instance label.
 */
function parentOf({ metadata }: ApplicationItem, settings: ServerSettings): ApplicationName | undefined {
  const { labels, annotations, name } = metadata;
  const namespace = metadata.namespace ?? settings.controllerNamespace;
  const [instance, kind, object] = (annotations[TRACKING_ANNOTATION] ?? "").split(":");
  // A copied annotation names another object; Argo CD ignores it as well.
  const tracked =
    instance && kind === "argoproj.io/Application" && object === `${namespace}/${name}` ? instance : undefined;
  const label = labels[settings.labelKey];
  const found = byMethod(settings.tracking, tracked, label);
  return found === undefined || found === "" ? undefined : nameOfInstance(found, settings.controllerNamespace);
}

function byMethod(
  method: ServerSettings["tracking"],
  tracked: string | undefined,
  label: string | undefined,
): string | undefined {
  switch (method) {
    case "label":
      return label;
    case "annotation":
    case "annotation+label":
      return tracked;
    case "":
      return tracked ?? label;
  }
}

/** The rendered sources, in the order of their positions; for a hydrated application its dry source. */
export function rawSources(spec: ApplicationSpec): readonly JsonObject[] {
  const { sourceHydrator: hydrator, sources, source } = spec;
  if (isJsonObject(hydrator)) return isJsonObject(hydrator.drySource) ? [hydrator.drySource] : [];
  if (Array.isArray(sources) && sources.length > 0) {
    return sources.map((one: unknown) => (isJsonObject(one) ? one : {}));
  }
  return isJsonObject(source) ? [source] : [];
}
