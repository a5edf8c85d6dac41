import type { ApplicationName } from "../../core/model/brand.js";
import { changeRequestKey, sameChangeRequest, type ChangeRequestRef } from "../../core/model/change-request.js";
import type { Deployment } from "../../core/model/deployment.js";
import { PLAN_LIFETIME_MS, type Plan } from "../../core/model/plan.js";
import {
  AUDIT_CAPACITY,
  matchesAudit,
  type AuditEntry,
  type AuditLog,
  type AuditQuery,
  type AuditRecord,
} from "../../core/ports/audit.js";
import type { Clock } from "../../core/ports/clock.js";
import type { AttemptCounter, DeploymentStore, PlanStore } from "../../core/ports/stores.js";
import { byApplication } from "../order.js";
import type { Stores } from "../stores.js";
import { MemoryContentBudget } from "./content-budget.js";
import { MemoryLiveFeed } from "./live-feed.js";
import { MemoryLockStore } from "./lock-store.js";
import { MemorySessionStore } from "./session-store.js";
import { MemoryUserStore } from "./user-store.js";
import { MemoryWaitStore } from "./wait-store.js";

const MAX_WINDOWS = 10_000;

/** Stores of this process alone; everything is lost when it ends. */
export function createMemoryStores(clock: Clock): Stores {
  const sessions = new MemorySessionStore(clock);
  return {
    connection: undefined,
    locks: new MemoryLockStore(clock),
    waiting: new MemoryWaitStore(clock),
    plans: new MemoryPlanStore(clock),
    deployments: new MemoryDeploymentStore(),
    audit: new MemoryAuditLog(),
    users: new MemoryUserStore(sessions, clock),
    sessions,
    attempts: new MemoryAttemptCounter(clock),
    live: new MemoryLiveFeed(),
    content: new MemoryContentBudget(() => clock.now().getTime()),
    ping: () => Promise.resolve(),
    status: () => ({ kind: "ready" }),
    close: () => Promise.resolve(),
  };
}

/** The last plan of each change request. */
class MemoryPlanStore implements PlanStore {
  /** `expires` is in milliseconds since 1970. */
  readonly #entries = new Map<string, { readonly plan: Plan; readonly expires: number }>();

  constructor(private readonly clock: Clock) {}

  save(plan: Plan): Promise<void> {
    const now = this.clock.now().getTime();
    for (const [key, entry] of this.#entries) if (entry.expires <= now) this.#entries.delete(key);
    this.#entries.set(changeRequestKey(plan.change), { plan, expires: now + PLAN_LIFETIME_MS });
    return Promise.resolve();
  }

  find(change: ChangeRequestRef): Promise<Plan | undefined> {
    const entry = this.#entries.get(changeRequestKey(change));
    const alive = entry !== undefined && entry.expires > this.clock.now().getTime();
    return Promise.resolve(alive ? entry.plan : undefined);
  }
}

/** What is deployed and not merged; records do not expire. */
class MemoryDeploymentStore implements DeploymentStore {
  /** By application, then by change request. */
  readonly #records = new Map<ApplicationName, Map<string, Deployment>>();

  save(deployment: Deployment): Promise<void> {
    const records = this.#records.get(deployment.application) ?? new Map<string, Deployment>();
    records.set(changeRequestKey(deployment.change), deployment);
    this.#records.set(deployment.application, records);
    return Promise.resolve();
  }

  remove(application: ApplicationName, change: ChangeRequestRef): Promise<void> {
    const records = this.#records.get(application);
    records?.delete(changeRequestKey(change));
    if (records?.size === 0) this.#records.delete(application);
    return Promise.resolve();
  }

  ofApplication(application: ApplicationName): Promise<readonly Deployment[]> {
    return Promise.resolve([...(this.#records.get(application)?.values() ?? [])].sort(byApplication));
  }

  async ofChange(change: ChangeRequestRef): Promise<readonly Deployment[]> {
    return (await this.list()).filter((deployment) => sameChangeRequest(deployment.change, change));
  }

  list(): Promise<readonly Deployment[]> {
    const all = [...this.#records.values()].flatMap((records) => [...records.values()]);
    return Promise.resolve(all.sort(byApplication));
  }
}

class MemoryAuditLog implements AuditLog {
  /** Oldest first, with increasing numbers as ids. */
  readonly #records: AuditRecord[] = [];
  #last = 0;

  record(entry: AuditEntry): Promise<void> {
    this.#last += 1;
    this.#records.push({ ...entry, id: String(this.#last) });
    if (this.#records.length > AUDIT_CAPACITY) this.#records.shift();
    return Promise.resolve();
  }

  list({ limit, before, filter }: AuditQuery): Promise<readonly AuditRecord[]> {
    const older = this.#records.filter(({ id }) => before === undefined || Number(id) < Number(before));
    const found = older.filter((record) => matchesAudit(record, filter));
    return Promise.resolve(found.reverse().slice(0, limit));
  }
}

interface AttemptWindow {
  count: number;
  /** Milliseconds since 1970. */
  readonly endsAt: number;
}

/** Beyond `MAX_WINDOWS` addresses the oldest windows are dropped. */
class MemoryAttemptCounter implements AttemptCounter {
  readonly #windows = new Map<string, AttemptWindow>();

  constructor(private readonly clock: Clock) {}

  add(key: string, windowMs: number): ReturnType<AttemptCounter["add"]> {
    const now = this.clock.now().getTime();
    let window = this.#windows.get(key);
    if (window === undefined || window.endsAt <= now) {
      this.#windows.delete(key);
      const oldest = this.#windows.keys().next();
      if (this.#windows.size >= MAX_WINDOWS && oldest.done !== true) this.#windows.delete(oldest.value);
      window = { count: 0, endsAt: now + windowMs };
      this.#windows.set(key, window);
    }
    window.count += 1;
    return Promise.resolve({ count: window.count, resetsInMs: window.endsAt - now });
  }
}
