import type { Clock } from "../../core/ports/clock.js";
import type { Stores } from "../stores.js";
import { MemoryAttemptCounter } from "./attempt-counter.js";
import { MemoryAuditLog } from "./audit-log.js";
import { MemoryDeploymentStore } from "./deployment-store.js";
import { MemoryLiveFeed } from "./live-feed.js";
import { MemoryLockStore } from "./lock-store.js";
import { MemoryPlanStore } from "./plan-store.js";
import { MemorySessionStore } from "./session-store.js";
import { MemoryUserStore } from "./user-store.js";

/** The embedded store: everything is lost when the process ends, and nothing is shared with another one. */
export function createMemoryStores(clock: Clock): Stores {
  const sessions = new MemorySessionStore(clock);
  return {
    connection: undefined,
    locks: new MemoryLockStore(clock),
    plans: new MemoryPlanStore(clock),
    deployments: new MemoryDeploymentStore(),
    audit: new MemoryAuditLog(),
    users: new MemoryUserStore(sessions),
    sessions,
    attempts: new MemoryAttemptCounter(clock),
    live: new MemoryLiveFeed(),
    ping: () => Promise.resolve(),
    status: () => ({ kind: "ready" }),
    close: () => Promise.resolve(),
  };
}
