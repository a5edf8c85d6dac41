import type { ApplicationName, Revision } from "./brand.js";
import { type Json, type JsonObject, isJsonObject } from "./json.js";

/** The unchanged `spec` of an Application resource. `application-spec.ts` reads its sources. */
export type ApplicationSpec = JsonObject;

/** An Application, live or from a file. */
export interface Application {
  readonly name: ApplicationName;
  /** `metadata.name`. */
  readonly resourceName: string;
  /** `metadata.namespace`; undefined for Argo CD's own. */
  readonly namespace: string | undefined;
  /** `spec.project`, or `default` if empty. */
  readonly project: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: ApplicationSpec;
  /** The parent application that tracks it (app of apps); undefined if there is none, and for one from a file. */
  readonly parent?: ApplicationName | undefined;
}

/** A definition among the manifests of a parent's head. */
export interface GivenDefinition {
  readonly parent: ApplicationName;
  readonly spec: ApplicationSpec;
  /** The one on the target branch. */
  readonly base: ApplicationSpec;
}

/** An Application as Argo CD runs it, from one uncached GET. */
export interface LiveApplication extends Application {
  /** Name of the ApplicationSet that owns it. */
  readonly owningSet: string | undefined;
  /** `status.sourceType(s)`, one per source: `Helm`, `Kustomize`, `Directory`, `Plugin` or empty. */
  readonly sourceTypes: readonly string[];
  /** `status.sync.revision(s)`, one per source: what Argo CD compared last. */
  readonly comparedRevisions: readonly string[];
  readonly deleting: boolean;
  /** Argo CD deletes its objects with it, as its finalizers say. */
  readonly cascades: boolean;
  /** When its last operation started, as Argo CD writes it (`status.operationState.startedAt`). Identifies the operation. */
  readonly lastOperation?: string | undefined;
}

/** Reads one source of the application at a commit instead of its target revision. */
export interface Pin {
  /** 1-based position in the list of sources. */
  readonly position: number;
  readonly revision: Revision;
}

/** A rendered Kubernetes object. */
export type Manifest = JsonObject;

/** A whole ApplicationSet, without what Argo CD adds to its metadata. */
export interface ApplicationSet {
  readonly name: string;
  readonly namespace: string | undefined;
  readonly resource: Json & JsonObject;
}

/** Identifies an ApplicationSet; no namespace means Argo CD's own. */
export type SetId = Pick<ApplicationSet, "name" | "namespace">;

/** Where an Application deploys to. */
export interface Destination {
  /** The cluster's address or name as the definition writes it. */
  readonly cluster: string;
  /** The namespace of objects that name none; empty if the definition has none. */
  readonly namespace: string;
}

/** Argo CD's own cluster has both: https://argo-cd.readthedocs.io/en/stable/operator-manual/declarative-setup/#clusters */
export const IN_CLUSTER = "https://kubernetes.default.svc";

/** Reads `spec.destination`; members that are absent or of the wrong type are empty. */
export function destinationOf({ destination }: ApplicationSpec): Destination {
  const { server, name, namespace } = isJsonObject(destination) ? destination : {};
  const cluster = text(server) || text(name);
  return { cluster: cluster === "in-cluster" ? IN_CLUSTER : cluster.replace(/\/+$/, ""), namespace: text(namespace) };
}

/** Whether a cluster is written as its address, and not as its name. */
export function isUrl(cluster: string): boolean {
  return /^https?:\/\//i.test(cluster);
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
