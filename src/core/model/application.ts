import type { ApplicationName, Revision } from "./brand.js";
import type { Json, JsonObject } from "./json.js";

/** The `spec` of an Application resource as it stands; read its sources through `application-spec.ts`. */
export type ApplicationSpec = JsonObject;

/** An Application, live or from a file. */
export interface Application {
  readonly name: ApplicationName;
  /** `metadata.name`. */
  readonly resourceName: string;
  /** `metadata.namespace`; undefined when it is Argo CD's own. */
  readonly namespace: string | undefined;
  /** `spec.project`, `default` when empty. */
  readonly project: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: ApplicationSpec;
}

/** An Application as Argo CD runs it, from one fresh GET. */
export interface LiveApplication extends Application {
  /** Name of the ApplicationSet that owns it. */
  readonly owningSet: string | undefined;
  /** The parent application that tracks it (app of apps), as svc names it. */
  readonly parent: ApplicationName | undefined;
  /** `status.sourceType(s)`: `Helm`, `Kustomize`, `Directory`, `Plugin` or empty, one per source. */
  readonly sourceTypes: readonly string[];
  /** `status.sync.revision(s)`: what Argo CD compared last, one per source. */
  readonly comparedRevisions: readonly string[];
  readonly deleting: boolean;
  /** When its last operation began, in Argo CD's words (`status.operationState.startedAt`): another one has another time. */
  readonly lastOperation?: string | undefined;
}

/** One source of this application to be read at a given commit instead of its target revision. */
export interface Pin {
  /** 1-based position in the list of sources. */
  readonly position: number;
  readonly revision: Revision;
}

/** A rendered Kubernetes object. */
export type Manifest = JsonObject;

/** An ApplicationSet, whole; as Argo CD runs it without what Argo CD adds to its metadata. */
export interface ApplicationSet {
  readonly name: string;
  readonly namespace: string | undefined;
  readonly resource: Json & JsonObject;
}

/** Names an ApplicationSet; no namespace means Argo CD's own. */
export type SetId = Pick<ApplicationSet, "name" | "namespace">;
