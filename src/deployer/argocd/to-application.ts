import { isMultiSource, projectOf } from "../../core/model/application-spec.js";
import type { Application, ApplicationSpec, LiveApplication } from "../../core/model/application.js";
import type { ApplicationName } from "../../core/model/brand.js";
import { isJsonObject, type JsonObject } from "../../core/model/json.js";
import { nameOfInstance, nameOfResource, ownNamespace } from "./application-names.js";
import type { ApplicationItem, WholeApplication } from "./application-schema.js";
import type { ServerSettings } from "./server-settings.js";

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
