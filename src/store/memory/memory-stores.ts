import { Store, type SessionData } from "express-session";
import { type Account, USER_KEPT_MS } from "../../core/model/account.js";
import type { ApplicationName } from "../../core/model/brand.js";
import {
  changeRequestKey,
  type ChangeRequestRef,
  identityKey,
  sameChangeRequest,
} from "../../core/model/change-request.js";
import type { Deployment } from "../../core/model/deployment.js";
import type { Hold } from "../../core/model/hold.js";
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
import type { LiveFeed, LiveRun } from "../../core/ports/live-feed.js";
import type {
  AttemptCounter,
  DeploymentStore,
  HoldStore,
  PlanStore,
  RoleChange,
  Standing,
  UserStore,
} from "../../core/ports/stores.js";
import { byApplication, byBegin, byUsername, type Stores } from "../stores.js";
import { createLockStores, Expiring } from "./lock-store.js";
import { MemoryContentBudget } from "./outbox.js";

const MAX_WINDOWS = 10_000;

/** Stores of this process alone; everything is lost when it ends. */
export function createMemoryStores(clock: Clock): Stores {
  const sessions = new MemorySessionStore(clock);
  return {
    connection: undefined,
    ...createLockStores(clock),
    holds: new MemoryHoldStore(clock),
    plans: new MemoryPlanStore(clock),
    deployments: new MemoryDeploymentStore(),
    audit: new MemoryAuditLog(),
    users: new MemoryUserStore(sessions, clock),
    sessions,
    attempts: new MemoryAttemptCounter(clock),
    live: new MemoryLiveFeed(),
    content: new MemoryContentBudget(() => clock.now().getTime()),
    reindex: () => Promise.resolve(),
    ping: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}

class MemoryPlanStore implements PlanStore {
  readonly #plans: Expiring<string, Plan>;

  constructor(clock: Clock) {
    this.#plans = new Expiring(clock, PLAN_LIFETIME_MS);
  }

  save(plan: Plan): Promise<void> {
    this.#plans.set(identityKey(plan.change), plan);
    return Promise.resolve();
  }

  find(change: ChangeRequestRef): Promise<Plan | undefined> {
    if (change.repositoryId !== undefined) return Promise.resolve(this.#plans.get(identityKey(change)));
    return Promise.resolve(this.#plans.values().findLast((plan) => sameChangeRequest(plan.change, change)));
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

class MemoryHoldStore implements HoldStore {
  readonly #holds = new Map<string, Hold>();

  constructor(private readonly clock: Clock) {}

  save(hold: Hold): Promise<void> {
    this.#holds.set(hold.id, hold);
    return Promise.resolve();
  }

  async remove(id: string): Promise<Hold | undefined> {
    const hold = (await this.list()).find((one) => one.id === id);
    this.#holds.delete(id);
    return hold;
  }

  list(): Promise<readonly Hold[]> {
    const now = this.clock.now().getTime();
    for (const { id, until } of this.#holds.values()) if (Date.parse(until) <= now) this.#holds.delete(id);
    return Promise.resolve([...this.#holds.values()].sort(byBegin));
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

  async list(wanted?: string): Promise<readonly Account[]> {
    const ids = [...this.sessions.accountIds()].filter((id) => id === (wanted ?? id));
    const found = await Promise.all(ids.map((id) => this.find(id)));
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
    this.sessions.endOf(id);
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

const MAX_SESSIONS = 10_000;

type Callback<T = void> = (error: unknown, value?: T) => void;

/** Web sessions. Beyond `MAX_SESSIONS` the oldest are dropped, sessions without a login first. */
class MemorySessionStore extends Store {
  /** Sessions as JSON, so that a caller cannot change a stored one by accident; oldest first. */
  readonly #sessions = new Map<string, { readonly json: string; readonly endsAt: number; readonly guest: boolean }>();

  constructor(private readonly clock: Clock) {
    super();
  }

  override get(sid: string, callback: Callback<SessionData | null>): void {
    const found = this.#sessions.get(sid);
    if (found === undefined || !this.#isLive(found)) {
      this.#sessions.delete(sid);
      callback(null, null);
      return;
    }
    callback(null, JSON.parse(found.json) as SessionData);
  }

  override set(sid: string, session: SessionData, callback?: Callback): void {
    this.#sessions.delete(sid);
    if (this.#sessions.size >= MAX_SESSIONS) this.#makeRoom();
    const endsAt = this.clock.now().getTime() + (session.lifetimeMs ?? 0);
    this.#sessions.set(sid, { json: JSON.stringify(session), endsAt, guest: session.accountId === undefined });
    callback?.(null);
  }

  override destroy(sid: string, callback?: Callback): void {
    this.#sessions.delete(sid);
    callback?.(null);
  }

  accountIds(): ReadonlySet<string> {
    const live = [...this.#sessions.values()].filter((entry) => !entry.guest && this.#isLive(entry));
    return new Set(live.flatMap(({ json }) => accountIn(json) ?? []));
  }

  endOf(account: string): void {
    for (const [sid, { json }] of this.#sessions) if (accountIn(json) === account) this.#sessions.delete(sid);
  }

  #isLive({ endsAt }: { readonly endsAt: number }): boolean {
    return endsAt > this.clock.now().getTime();
  }

  #makeRoom(): void {
    for (const [sid, entry] of this.#sessions) if (!this.#isLive(entry)) this.#sessions.delete(sid);
    if (this.#sessions.size < MAX_SESSIONS) return;
    const [oldest] = this.#sessions.keys();
    const guest = [...this.#sessions].find(([, entry]) => entry.guest)?.[0];
    const leaving = guest ?? oldest;
    if (leaving !== undefined) this.#sessions.delete(leaving);
  }
}

function accountIn(json: string): string | undefined {
  return (JSON.parse(json) as SessionData).accountId;
}

type Listener = (run: LiveRun) => void;

/** Publishes the runs of this process to the pages that it serves. */
export class MemoryLiveFeed implements LiveFeed {
  readonly #running = new Map<string, LiveRun>();
  readonly #listeners = new Map<string, Set<Listener>>();

  publish(change: ChangeRequestRef, run: LiveRun): void {
    const key = changeRequestKey(change);
    if (run.ended) this.#running.delete(key);
    else this.#running.set(key, run);
    for (const listener of this.#listeners.get(key) ?? []) listener(run);
  }

  subscribe(change: ChangeRequestRef, listener: Listener): () => void {
    const key = changeRequestKey(change);
    const listeners = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, listeners);
    listeners.add(listener);
    const running = this.#running.get(key);
    if (running !== undefined) listener(running);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(key) === listeners) this.#listeners.delete(key);
    };
  }
}
