import type { Clock } from "../../core/clock.js";
import type { Stores } from "../stores.js";
import { MemoryAuditLog } from "./audit-log.js";
import { MemoryDeploymentStore } from "./deployment-store.js";
import { MemoryLockStore } from "./lock-store.js";
import { MemoryPlanStore } from "./plan-store.js";

/** The embedded store: everything is lost when the process ends, and nothing is shared with another one. */
export function createMemoryStores(clock: Clock): Stores {
  return {
    locks: new MemoryLockStore(clock),
    plans: new MemoryPlanStore(clock),
    deployments: new MemoryDeploymentStore(),
    audit: new MemoryAuditLog(),
    ping: () => Promise.resolve(),
    status: () => ({ kind: "ready" }),
    close: () => Promise.resolve(),
  };
}
