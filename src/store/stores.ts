import type { AuditLog } from "../core/audit.js";
import type { DeploymentStore, LockStore, PlanStore } from "../core/ports.js";

/** Whether the store can be used now; `problem` is safe to show to people. */
export type StoreStatus = { readonly kind: "ready" } | { readonly kind: "unavailable"; readonly problem: string };

/** Everything that is kept between two events. */
export interface Stores {
  readonly locks: LockStore;
  readonly plans: PlanStore;
  readonly deployments: DeploymentStore;
  readonly audit: AuditLog;
  /** Resolves when the store answers; throws `StoreUnavailable` within a second when it does not. */
  ping(): Promise<void>;
  /** What is known now, without asking the store. */
  status(): StoreStatus;
  close(): Promise<void>;
}
