import type { z } from "zod";
import type { JsonObject } from "./json.js";
import type { applicationSpec, source } from "./schemas/application-spec.js";
import type { metadata, operation, operationState } from "./schemas/application.js";

export type Source = z.infer<typeof source>;
export type ApplicationSpec = z.infer<typeof applicationSpec>;
export type Metadata = z.infer<typeof metadata>;
export type Operation = z.infer<typeof operation>;
export type OperationState = z.infer<typeof operationState>;
export type ResourceResult = NonNullable<NonNullable<OperationState["syncResult"]>["resources"]>[number];

/** An Application as the API server stores it. `status` excludes the operation state and the history. */
export interface Application {
  metadata: Metadata & { name: string; namespace: string };
  spec: ApplicationSpec;
  status: JsonObject;
  operation?: Operation;
  operationState?: OperationState;
  history: HistoryEntry[];
}

export interface HistoryEntry {
  readonly id: number;
  readonly deployedAt: string;
  readonly deployStartedAt: string;
  readonly revision?: string;
  readonly revisions?: string[];
  readonly source: Source;
  readonly sources?: Source[];
  readonly initiatedBy: { username?: string; automated?: boolean };
}

/** `spec.sources` takes precedence over `spec.source`, even with one element. */
export function isMultiSource(spec: ApplicationSpec): boolean {
  return spec.sourceHydrator === undefined && (spec.sources?.length ?? 0) > 0;
}

/** The sources that are deployed; with a source hydrator, the place that it writes to. */
export function sourcesOf(spec: ApplicationSpec): Source[] {
  if (spec.sourceHydrator !== undefined) {
    const { drySource, syncSource } = spec.sourceHydrator;
    const repoURL = syncSource.repoURL ?? drySource.repoURL;
    return [{ repoURL, path: syncSource.path, targetRevision: syncSource.targetBranch }];
  }
  if (spec.sources !== undefined && spec.sources.length > 0) return spec.sources;
  return spec.source === undefined ? [] : [spec.source];
}

/** The sources that `/manifests` renders; with a source hydrator, its dry source. */
export function renderedSourcesOf(spec: ApplicationSpec): Source[] {
  return spec.sourceHydrator === undefined ? sourcesOf(spec) : [spec.sourceHydrator.drySource];
}

export function isAutoSynced(spec: ApplicationSpec): boolean {
  return spec.syncPolicy?.automated !== undefined && spec.syncPolicy.automated.enabled !== false;
}

export function skipsReconcile(application: Application): boolean {
  const value = application.metadata.annotations?.["argocd.argoproj.io/skip-reconcile"] ?? "";
  return ["1", "t", "T", "TRUE", "true", "True"].includes(value);
}

/** The `status` of an Application that was never reconciled. */
export function zeroStatus(): JsonObject {
  return {
    sync: { status: "", comparedTo: { source: { repoURL: "" }, destination: {} } },
    health: {},
    summary: {},
    sourceHydrator: {},
  };
}
