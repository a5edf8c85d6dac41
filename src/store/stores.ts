import type { Store as SessionStore } from "express-session";
import type { AuditLog } from "../core/ports/audit.js";
import type { ContentBudget } from "../core/ports/content-budget.js";
import type { LiveFeed } from "../core/ports/live-feed.js";
import type {
  AttemptCounter,
  DeploymentStore,
  LockStore,
  PlanStore,
  UserStore,
  WaitStore,
} from "../core/ports/stores.js";
import type { StoreConnection } from "../http/redis.js";

/** Whether the store is usable now; `problem` is safe to show to users. */
export type StoreStatus = { readonly kind: "ready" } | { readonly kind: "unavailable"; readonly problem: string };

/** Everything that the service keeps from one event to the next. */
export interface Stores {
  /** The connection to Redis, for the queue; undefined for the stores in memory. */
  readonly connection: StoreConnection | undefined;
  readonly locks: LockStore;
  readonly waiting: WaitStore;
  readonly plans: PlanStore;
  readonly deployments: DeploymentStore;
  readonly audit: AuditLog;
  readonly users: UserStore;
  /** Web sessions; `session-data.ts` describes their content. */
  readonly sessions: SessionStore;
  readonly attempts: AttemptCounter;
  readonly live: LiveFeed;
  readonly content: ContentBudget;
  /** Resolves if the store answers. @throws {StoreUnavailable} within a second if it does not. */
  ping(): Promise<void>;
  /** The last known status, without asking the store. */
  status(): StoreStatus;
  close(): Promise<void>;
}
