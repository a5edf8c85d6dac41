import { GENERATE_PATHS_ANNOTATION } from "../../core/detect/inputs/input-set.js";
import {
  type Application,
  type ApplicationSpec,
  isHydrated,
  isMultiSource,
  type LiveApplication,
  readSource,
  specEqual,
} from "../../core/model/application.js";
import { only } from "../../core/model/errors.js";
import { hasLargeNumber, isJsonObject, type Json, jsonEqual, withoutNulls } from "../../core/model/json.js";
import { isLeftAlone, LEFT_ALONE } from "../../core/model/subject.js";
import { isOlder, type SyncLookup } from "../../core/ports/deployer.js";
import { type OperationState, rawSources } from "./application-api.js";
import { ArgoCdFailure } from "./argocd-failure.js";

/**
 * Whether a sync deployed the sources that were planned, with their options. Argo CD takes the sources from the definition as it is
 * when the operation starts, and keeps them whole with the result (`SyncAppState` in `controller/sync.go`), but for members that it
 * does not know.
 */
export function areSourcesOf(
  { syncResult }: Pick<OperationState, "syncResult">,
  { application: { spec }, at, readLater }: SyncLookup,
): boolean {
  const deployed = isMultiSource(spec) ? asConfigured(syncResult?.sources, spec, at) : syncResult?.source;
  if (deployed === undefined || deployed === null || isHydrated(spec)) return true;
  const identities = (sources: readonly unknown[]) =>
    sources.map((one, index) => {
      const { repoURL, path, targetRevision, chart = "", ref = "", helm } = readSource(one, index + 1, "plain");
      return [repoURL, path, targetRevision, chart, ref, helm?.valueFiles ?? []];
    });
  if (!jsonEqual(identities([deployed].flat()), identities(rawSources(spec)))) return false;
  if (readLater === true) return true;
  const { source, sources } = spec;
  const [planned, name] = isMultiSource(spec) ? [sources, "sources"] : [source, "source"];
  // Argo CD writes the result with a merge patch, which drops nulls (`setOperationState` in controller/appcontroller.go).
  const stored = withoutNulls(deployed as Json);
  return specEqual({ [name]: stored }, { [name]: withoutNulls(asStored(planned, stored)) });
}

/**
 * Sources with the target revisions of the definition. Before v3.3 Argo CD replaced those of several sources by the commits that a
 * sync asks for, in its operation alone (`resolveSourceRevisions` in `server/application/application.go`).
 */
function asConfigured(deployed: unknown, spec: ApplicationSpec, at: SyncLookup["at"]): unknown {
  const configured = rawSources(spec);
  if (!Array.isArray(deployed)) return deployed;
  return deployed.map((one: unknown, index) => {
    const pin = at === "target" ? undefined : at.find(({ position }) => position === index + 1);
    if (pin === undefined || !isJsonObject(one) || one.targetRevision !== pin.revision) return one;
    return { ...one, targetRevision: configured[index]?.targetRevision ?? "" };
  });
}

/** What somebody may write into a source. All Argo CDs that svc supports store these; others have to be there to count. */
const OPTIONS: ReadonlySet<string> = new Set([
  ...["helm", "parameters", "fileParameters", "values", "valuesObject", "valueFiles", "releaseName", "value"],
  ...["forceString", "passCredentials", "skipCrds", "ignoreMissingValueFiles", "version"],
  ...["kustomize", "namePrefix", "nameSuffix", "images", "commonLabels", "commonAnnotations", "components"],
  ...["forceCommonLabels", "forceCommonAnnotations", "patches", "patch", "target", "replicas", "count"],
  ...["directory", "recurse", "include", "exclude", "jsonnet", "extVars", "tlas", "libs", "code"],
  ...["plugin", "env", "string", "array", "map"],
]);
/** More options, below the top of a source: there, only newer Argo CDs know a `name`. */
const BELOW: ReadonlySet<string> = new Set([
  ...["name", "path", "group", "kind", "labelSelector", "annotationSelector", "options", "commonAnnotationsEnvsubst"],
]);
/** Members whose keys people choose. */
const FREE: ReadonlySet<string> = new Set(["valuesObject", "commonLabels", "commonAnnotations", "map"]);

/** A planned source without the members that are no options and that Argo CD did not store. */
function asStored(planned: Json | undefined, stored: Json | undefined, block?: string): Json {
  if (Array.isArray(planned)) {
    const all: readonly Json[] = Array.isArray(stored) ? stored : [];
    return planned.map((one: Json, index) => asStored(one, all[index], block));
  }
  if (!isJsonObject(planned)) return planned ?? null;
  const known = isJsonObject(stored) ? stored : {};
  return Object.fromEntries(
    Object.entries(planned).flatMap(([key, one = null]): readonly [string, Json][] => {
      // All of them store the namespace of Kustomize, and only newer ones that of Helm.
      const isOption = OPTIONS.has(key) || (block !== undefined && BELOW.has(key));
      if (!(key in known) && !isOption && !(block === "kustomize" && key === "namespace")) return [];
      return [[key, FREE.has(key) ? one : asStored(one, known[key], block ?? key)]];
    }),
  );
}

/** Refuses to replace a definition that Argo CD leaves alone, or one with an integer that svc could not put back. @throws {ArgoCdFailure} */
export function requireWritable(application: Application, written: ApplicationSpec): void {
  requireReconciled(application);
  const { name, spec } = application;
  if (![spec, written].some(hasLargeNumber)) return;
  const message = `the definition of ${name} has an integer of more than 53 bits, which svc could not put back as it is: write it as text, in quotes`;
  throw new ArgoCdFailure("refused", message);
}

/** Refuses an operation that Argo CD would only note, and start as soon as somebody lets it see to the application again. @throws {ArgoCdFailure} */
export function requireReconciled(application: Application): void {
  if (!isLeftAlone(application)) return;
  const message = `${LEFT_ALONE}, and would start the operation once that annotation is removed. Remove it, then run the command again`;
  throw new ArgoCdFailure("refused", message);
}

/** An application with `manifest-generate-paths` as this Argo CD reads it: from v3.4 on, without the spaces around entries. */
export async function withReadPaths(
  live: LiveApplication | undefined,
  version: () => Promise<string>,
): Promise<LiveApplication | undefined> {
  const entries = live?.annotations[GENERATE_PATHS_ANNOTATION]?.split(";") ?? [];
  if (live === undefined || entries.every((entry) => entry.trim() === entry)) return live;
  const known = await version().catch(only(ArgoCdFailure, () => ""));
  if (isOlder(known, "3.4") !== false) return live;
  const read = entries.map((entry) => entry.trim()).join(";");
  return { ...live, annotations: { ...live.annotations, [GENERATE_PATHS_ANNOTATION]: read } };
}
