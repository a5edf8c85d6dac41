import type { Manifest } from "./application.js";

/** What an application has in the cluster. */
export interface LiveState {
  readonly resources: readonly LiveResource[];
  /** Why the state may be older than now, as a sentence for people; undefined when it was just compared. */
  readonly stale: string | undefined;
}

/** One object that Argo CD manages for an application. */
export interface LiveResource {
  readonly group: string;
  readonly kind: string;
  /** Empty for objects of the cluster. */
  readonly namespace: string;
  readonly name: string;
  /** As Argo CD compares it: without ignored fields. Undefined when it is not in the cluster. */
  readonly live: Manifest | undefined;
  /** What was applied last, as the object itself tells; undefined when it does not, as after a server-side apply. */
  readonly lastApplied: Manifest | undefined;
  readonly hook: boolean;
}
