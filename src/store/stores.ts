import type { Store as SessionStore } from "express-session";
import type { Cluster, Redis } from "ioredis";
import type { AttemptCounter } from "../core/ports/attempt-counter.js";
import type { AuditLog } from "../core/ports/audit.js";
import type { DeploymentStore } from "../core/ports/deployment-store.js";
import type { LiveFeed } from "../core/ports/live-feed.js";
import type { LockStore } from "../core/ports/lock-store.js";
import type { PlanStore } from "../core/ports/plan-store.js";
import type { UserStore } from "../core/ports/user-store.js";

/** Whether the store can be used now; `problem` is safe to show to people. */
export type StoreStatus = { readonly kind: "ready" } | { readonly kind: "unavailable"; readonly problem: string };

/** A connection to Redis. */
export interface StoreConnection {
  /** Runs commands within a second. @throws {StoreUnavailable} after which a command may have been executed all the same. */
  run<T>(commands: (redis: Redis | Cluster) => Promise<T>): Promise<T>;
  /** A new connection that waits for an answer as long as it takes; the caller disconnects it. */
  patient(): Redis | Cluster;
}

/** Everything that is kept between two events. */
export interface Stores {
  /** To the same store, for what else is kept in it; undefined for the embedded one. */
  readonly connection: StoreConnection | undefined;
  readonly locks: LockStore;
  readonly plans: PlanStore;
  readonly deployments: DeploymentStore;
  readonly audit: AuditLog;
  readonly users: UserStore;
  /** Web sessions, as `session-data.ts` describes them. */
  readonly sessions: SessionStore;
  readonly attempts: AttemptCounter;
  readonly live: LiveFeed;
  /** Resolves when the store answers; throws `StoreUnavailable` within a second when it does not. */
  ping(): Promise<void>;
  /** What is known now, without asking the store. */
  status(): StoreStatus;
  close(): Promise<void>;
}
