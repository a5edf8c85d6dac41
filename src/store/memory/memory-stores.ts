import { type Account, USER_KEPT_MS } from "../../core/model/account.js";
import type { ApplicationName } from "../../core/model/brand.js";
import {
  changeRequestKey,
  type ChangeRequestRef,
  changeRequestRef,
  identityKey,
  sameChangeRequest,
} from "../../core/model/change-request.js";
import type { Deployment } from "../../core/model/deployment.js";
import {
  type Lock,
  LOCK_LIFETIME_MS,
  type LockAttempt,
  type LockRequest,
  MAX_WAITING,
  type Waiting,
  WAITING_LIFETIME_MS,
} from "../../core/model/lock.js";
import { type Plan, PLAN_LIFETIME_MS } from "../../core/model/plan/plan.js";
import type { Role } from "../../core/model/settings.js";
import {
  AUDIT_CAPACITY,
  type AuditEntry,
  type AuditLog,
  type AuditQuery,
  type AuditRecord,
  matchesAudit,
} from "../../core/ports/audit.js";
import type { Clock } from "../../core/ports/clock.js";
import type {
  AttemptCounter,
  DeploymentStore,
  LockStore,
  PlanStore,
  RoleChange,
  Standing,
  UserStore,
  WaitStore,
} from "../../core/ports/stores.js";
import { byApplication, byUsername, type Stores } from "../stores.js";
import { MemoryContentBudget } from "./content-budget.js";
import { MemoryHoldStore, MemoryRolloutStore } from "./hold-store.js";
import { MemoryLiveFeed } from "./live-feed.js";
import { MemorySessionStore } from "./session-store.js";
import { MemoryMarkStore, MemoryStatusStore } from "./status-store.js";

const MAX_WINDOWS = 10_000;

/** Stores of this process alone; everything is lost when it ends. */
export function createMemoryStores(clock: Clock): Stores {
  const sessions = new MemorySessionStore(clock);
  return {
    connection: undefined,
    locks: new MemoryLockStore(clock),
    waiting: new MemoryWaitStore(clock),
    holds: new MemoryHoldStore(clock),
    rollouts: new MemoryRolloutStore(clock),
    plans: new MemoryPlanStore(clock),
    deployments: new MemoryDeploymentStore(),
    statuses: new MemoryStatusStore(clock),
    marks: new MemoryMarkStore(clock),
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

class MemoryPlanStore implements PlanStore {
  /** In the order in which they were saved; `expires` is in milliseconds since 1970. */
  readonly #entries = new Map<string, { readonly plan: Plan; readonly expires: number }>();

  constructor(private readonly clock: Clock) {}

  save(plan: Plan): Promise<void> {
    const now = this.clock.now().getTime();
    for (const [key, entry] of this.#entries) if (entry.expires <= now) this.#entries.delete(key);
    const key = identityKey(plan.change);
    this.#entries.delete(changeRequestKey(plan.change));
    this.#entries.delete(key);
    this.#entries.set(key, { plan, expires: now + PLAN_LIFETIME_MS });
    return Promise.resolve();
  }

  find(change: ChangeRequestRef): Promise<Plan | undefined> {
    const entry = this.#entries.get(identityKey(change)) ?? this.#lastByName(change);
    const alive = entry !== undefined && entry.expires > this.clock.now().getTime();
    return Promise.resolve(alive ? entry.plan : undefined);
  }

  #lastByName(change: ChangeRequestRef) {
    return [...this.#entries.values()].filter(({ plan }) => sameChangeRequest(plan.change, change)).at(-1);
  }
}

/** Deployments that are not merged; records do not expire. */
class MemoryDeploymentStore implements DeploymentStore {
  readonly #records = new Map<ApplicationName, Map<string, Deployment>>();

  save(deployment: Deployment): Promise<void> {
    const records = this.#records.get(deployment.application) ?? new Map<string, Deployment>();
    for (const [key, { change }] of records) if (sameChangeRequest(change, deployment.change)) records.delete(key);
    records.set(identityKey(deployment.change), deployment);
    this.#records.set(deployment.application, records);
    return Promise.resolve();
  }

  remove(application: ApplicationName, change: ChangeRequestRef, uid?: string): Promise<void> {
    const records = this.#records.get(application);
    for (const [key, record] of records ?? []) {
      const wanted = sameChangeRequest(record.change, change) && (uid === undefined || record.uid === uid);
      if (wanted) records?.delete(key);
    }
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

interface Entry {
  readonly lock: Lock;
  /** Milliseconds since 1970. */
  readonly expires: number;
}

/** Every method is atomic, since none of them awaits anything. */
class MemoryLockStore implements LockStore {
  readonly #entries = new Map<ApplicationName, Entry>();

  constructor(private readonly clock: Clock) {}

  acquire(request: LockRequest, now: Date, from?: ChangeRequestRef): Promise<LockAttempt> {
    const found = this.#current(request.application);
    const takesOver = found !== undefined && from !== undefined && sameChangeRequest(found.holder, from);
    const current = takesOver && !sameChangeRequest(from, request.holder) ? undefined : found;
    if (current !== undefined && !sameChangeRequest(current.holder, request.holder)) {
      return Promise.resolve({ kind: "held", lock: current });
    }
    const lock: Lock = {
      application: request.application,
      holder: changeRequestRef({ ...current?.holder, ...changeRequestRef(request.holder) }),
      user: request.user,
      timestamp: current?.timestamp ?? now.toISOString(),
      planRevision: request.planRevision ?? current?.planRevision,
      sourceFile: request.sourceFile ?? (request.planRevision === undefined ? current?.sourceFile : undefined),
    };
    this.#entries.set(lock.application, { lock, expires: this.clock.now().getTime() + LOCK_LIFETIME_MS });
    return Promise.resolve({ kind: "acquired", lock, fresh: current === undefined });
  }

  release(application: ApplicationName, by: ChangeRequestRef | "anyone"): Promise<boolean> {
    const current = this.#current(application);
    if (current === undefined) return Promise.resolve(false);
    if (by !== "anyone" && !sameChangeRequest(current.holder, by)) return Promise.resolve(false);
    return Promise.resolve(this.#entries.delete(application));
  }

  find(application: ApplicationName): Promise<Lock | undefined> {
    return Promise.resolve(this.#current(application));
  }

  list(holder?: ChangeRequestRef): Promise<readonly Lock[]> {
    const locks = [...this.#entries.keys()].flatMap((application) => this.#current(application) ?? []);
    const wanted = locks.filter((lock) => holder === undefined || sameChangeRequest(lock.holder, holder));
    return Promise.resolve(wanted.sort(byApplication));
  }

  ping(): Promise<void> {
    return Promise.resolve();
  }

  #current(application: ApplicationName): Lock | undefined {
    const entry = this.#entries.get(application);
    if (entry === undefined) return undefined;
    if (entry.expires > this.clock.now().getTime()) return entry.lock;
    this.#entries.delete(application);
    return undefined;
  }
}

interface Queue {
  readonly places: { readonly change: ChangeRequestRef; readonly since: string }[];
  /** Milliseconds since 1970. */
  expires: number;
}

/** Every method is atomic, since none of them awaits anything. */
class MemoryWaitStore implements WaitStore {
  readonly #queues = new Map<ApplicationName, Queue>();

  constructor(private readonly clock: Clock) {}

  join(application: ApplicationName, change: ChangeRequestRef, where?: "first"): Promise<number | undefined> {
    const now = this.clock.now();
    const { places } = this.#current(application) ?? { places: [] };
    const found = places.findIndex((one) => sameChangeRequest(one.change, change));
    if (found === -1 && where === undefined && places.length >= MAX_WAITING) return Promise.resolve(undefined);
    const [known] = found === -1 ? [] : places.splice(found, 1);
    const index = where === "first" ? 0 : found === -1 ? places.length : found;
    const whose = changeRequestRef({ ...known?.change, ...changeRequestRef(change) });
    places.splice(index, 0, { change: whose, since: known?.since ?? now.toISOString() });
    this.#queues.set(application, { places, expires: now.getTime() + WAITING_LIFETIME_MS });
    return Promise.resolve(index + 1);
  }

  leave(application: ApplicationName, change: ChangeRequestRef): Promise<boolean> {
    const queue = this.#current(application);
    const index = queue?.places.findIndex((one) => sameChangeRequest(one.change, change)) ?? -1;
    if (index !== -1) queue?.places.splice(index, 1);
    if (queue?.places.length === 0) this.#queues.delete(application);
    return Promise.resolve(index !== -1);
  }

  of(application: ApplicationName): Promise<readonly ChangeRequestRef[]> {
    return Promise.resolve((this.#current(application)?.places ?? []).map(({ change }) => change));
  }

  list(): Promise<readonly Waiting[]> {
    const queues = [...this.#queues.keys()].map((application) => {
      const places = this.#current(application)?.places ?? [];
      return { application, changes: places.map(({ change }) => change), since: places.map(({ since }) => since) };
    });
    return Promise.resolve(queues.filter(({ changes }) => changes.length > 0).sort(byApplication));
  }

  #current(application: ApplicationName): Queue | undefined {
    const queue = this.#queues.get(application);
    if (queue === undefined || queue.expires > this.clock.now().getTime()) return queue;
    this.#queues.delete(application);
    return undefined;
  }
}

interface KnownUser {
  readonly profile: Account | undefined;
  readonly given: Role | undefined;
  /** Milliseconds since 1970. */
  readonly keptUntil: number;
}

/** Users who have logged in since this process started. */
class MemoryUserStore implements UserStore {
  readonly #users = new Map<string, KnownUser>();
  readonly #standings = new Map<string, { readonly standing: Standing; readonly keptUntil: number }>();

  constructor(
    private readonly sessions: MemorySessionStore,
    private readonly clock: Clock,
  ) {}

  signIn(account: Account, sessionMs: number, standing?: Standing): Promise<Account> {
    const now = this.clock.now().getTime();
    for (const id of this.#users.keys()) if (this.#known(id) === undefined) this.#users.delete(id);
    for (const [id, { keptUntil }] of this.#standings) if (keptUntil <= now) this.#standings.delete(id);
    const { given, keptUntil = 0 } = this.#known(account.id) ?? {};
    this.#keep(account.id, { profile: account, given, keptUntil }, sessionMs);
    if (standing === undefined) this.#standings.delete(account.id);
    else this.#standings.set(account.id, { standing, keptUntil: now + sessionMs });
    return Promise.resolve(effective(account, given));
  }

  find(id: string): Promise<Account | undefined> {
    return Promise.resolve(this.#account(id));
  }

  async list(): Promise<readonly Account[]> {
    const found = await Promise.all([...this.sessions.accountIds()].map((id) => this.find(id)));
    return found.filter((account) => account !== undefined).sort(byUsername);
  }

  setRole(id: string, role: Role): Promise<RoleChange> {
    const [known, account] = [this.#known(id), this.#account(id)];
    if (known?.profile === undefined) return Promise.resolve({ kind: "unknown" });
    const others = [...this.#users.keys()].filter((other) => other !== id);
    if (
      role === "user" &&
      account?.role === "admin" &&
      !others.some((other) => this.#account(other)?.role === "admin")
    ) {
      return Promise.resolve({ kind: "last-admin" });
    }
    this.#keep(id, { ...known, given: role }, 0);
    return Promise.resolve({ kind: "set", account: effective(known.profile, role) });
  }

  standing(id: string): Promise<Standing | undefined> {
    return Promise.resolve(this.#standing(id));
  }

  renew(id: string, before: Standing, after: Standing, account?: Account): Promise<boolean> {
    const kept = this.#standings.get(id);
    if (kept === undefined || !isSame(this.#standing(id), before)) return Promise.resolve(false);
    this.#standings.set(id, { ...kept, standing: after });
    const known = this.#known(id);
    if (account !== undefined && known?.profile !== undefined) this.#users.set(id, { ...known, profile: account });
    return Promise.resolve(true);
  }

  end(id: string, before: Standing): Promise<boolean> {
    if (!isSame(this.#standing(id), before)) return Promise.resolve(false);
    this.#standings.delete(id);
    const known = this.#known(id);
    if (known?.given === undefined) this.#users.delete(id);
    else this.#users.set(id, { ...known, profile: undefined });
    return Promise.resolve(true);
  }

  #standing(id: string): Standing | undefined {
    const kept = this.#standings.get(id);
    return kept !== undefined && kept.keptUntil > this.clock.now().getTime() ? kept.standing : undefined;
  }

  #account(id: string): Account | undefined {
    const known = this.#known(id);
    return known?.profile && effective(known.profile, known.given);
  }

  #known(id: string): KnownUser | undefined {
    const known = this.#users.get(id);
    const kept = known?.given === "user" || (known?.keptUntil ?? 0) > this.clock.now().getTime();
    return kept ? known : undefined;
  }

  #keep(id: string, user: KnownUser, sessionMs: number): void {
    const keptUntil = Math.max(user.keptUntil, this.clock.now().getTime() + sessionMs + USER_KEPT_MS);
    this.#users.set(id, { ...user, keptUntil });
  }
}

function effective(profile: Account, given: Role | undefined): Account {
  return { ...profile, role: given ?? profile.role };
}

function isSame(standing: Standing | undefined, other: Standing): boolean {
  const { sealed, askedAt, provenAt } = other;
  return standing?.sealed === sealed && standing.askedAt === askedAt && standing.provenAt === provenAt;
}
