import type { Store as SessionStore } from "express-session";
import type { Account, LoginProvider } from "../core/model/account.js";
import type { ApplicationName } from "../core/model/brand.js";
import { identityKey } from "../core/model/change-request.js";
import type { Hold } from "../core/model/hold.js";
import type { Rollout } from "../core/model/rollout.js";
import type { RunPorts } from "../core/ports/reach.js";
import type { AttemptCounter, ContentBudget, MarkStore, UserStore } from "../core/ports/stores.js";
import type { StoreConnection } from "../http/redis.js";

/** Everything that the service keeps from one event to the next. */
export interface Stores extends Omit<RunPorts, "host" | "repositories" | "deployer" | "notifications"> {
  /** The connection to Redis, for the queue; undefined for the stores in memory. */
  readonly connection: StoreConnection | undefined;
  readonly marks: MarkStore;
  readonly users: UserStore;
  /** Web sessions; `session-data.ts` describes their content. */
  readonly sessions: SessionStore;
  readonly attempts: AttemptCounter;
  readonly content: ContentBudget;
  /** Searches the whole store for records that its lists lack after a failover or by another program, and lists them. @throws {StoreUnavailable} */
  reindex(): Promise<void>;
  /** Resolves if the store answers. @throws {StoreUnavailable} within a second if it does not. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** Sorts records by application, in the same order on every machine. */
export function byApplication(
  left: { readonly application: ApplicationName },
  right: { readonly application: ApplicationName },
): number {
  if (left.application === right.application) return 0;
  return left.application < right.application ? -1 : 1;
}

/** Sorts holds by when they began, then by id. */
export function byBegin(left: Hold, right: Hold): number {
  return left.since.localeCompare(right.since) || (left.id < right.id ? -1 : 1);
}

/** Sorts rollouts by when they began, then by change request. */
export function bySince(left: Rollout, right: Rollout): number {
  return left.since.localeCompare(right.since) || (identityKey(left.change) < identityKey(right.change) ? -1 : 1);
}

/** Sorts accounts by username, and those with the same name by id. */
export function byUsername(left: Account, right: Account): number {
  return left.username.localeCompare(right.username, "en") || (left.id < right.id ? -1 : 1);
}

/** A login that was started at a provider and has not come back yet. */
export interface LoginAttempt {
  readonly provider: Exclude<LoginProvider, "basic">;
  readonly state: string;
  readonly codeVerifier: string;
  readonly nonce?: string;
  /** Path of the page to show after the login. */
  readonly returnTo: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

declare module "express-session" {
  /** Everything that a web session holds. Roles and the providers' tokens are never stored in it. */
  interface SessionData {
    /** Milliseconds since 1970. After that the session is invalid, whether or not the store has dropped it. */
    expiresAt?: number;
    /** How long the store keeps the session after a write, in milliseconds. Set whenever anything else is set. */
    lifetimeMs?: number;
    /** Absent before the login. */
    accountId?: string;
    attempts?: readonly LoginAttempt[];
  }
}
