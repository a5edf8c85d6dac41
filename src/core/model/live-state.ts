import type { Manifest } from "./application.js";

/** The objects of an application in the cluster. */
export interface LiveState {
  readonly resources: readonly LiveResource[];
  /** A sentence for people on why the state may be outdated; undefined if Argo CD just compared it. */
  readonly stale: string | undefined;
}

/** One object that Argo CD manages for an application. */
export interface LiveResource {
  readonly group: string;
  readonly kind: string;
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
  /** As Argo CD compares it, without ignored fields. Undefined if it is not in the cluster. */
  readonly live: Manifest | undefined;
  /** Its last-applied annotation; undefined without one, as after a server-side apply. */
  readonly lastApplied: Manifest | undefined;
  readonly hook: boolean;
}
