import type { ApplicationName, Revision } from "../../core/model/brand.js";
import {
  type ChangeNote,
  changeRequestKey,
  type ChangeRequestRef,
  changeRequestRef,
  headKey,
  headRef,
  type HeadRef,
  identityKey,
  sameChangeRequest,
  sameRepositoryOf,
} from "../../core/model/change-request.js";
import { groupedBy } from "../../core/model/collections.js";
import {
  type Lock,
  LOCK_LIFETIME_MS,
  type LockAttempt,
  type LockRequest,
  MAX_WAITING,
  type Waiting,
  WAITING_LIFETIME_MS,
} from "../../core/model/lock.js";
import { PLAN_LIFETIME_MS } from "../../core/model/plan/plan.js";
import type { Rollout } from "../../core/model/rollout.js";
import type { Clock } from "../../core/ports/clock.js";
import {
  type LockStore,
  type Mark,
  type MarkStore,
  OWN_STATUS_LIFETIME_MS,
  type OwnStatus,
  type RolloutStore,
  type StatusStore,
  type Surface,
  type WaitStore,
  WRITES_LIFETIME_MS,
} from "../../core/ports/stores.js";
import { byApplication, bySince } from "../stores.js";

/** What change requests lock, wait for and show. */
export function createLockStores(clock: Clock) {
  return {
    locks: new MemoryLockStore(clock),
    waiting: new MemoryWaitStore(clock),
    rollouts: new MemoryRolloutStore(clock),
    statuses: new MemoryStatusStore(clock),
    marks: new MemoryMarkStore(clock),
  };
}

/** A map whose entries expire a time after they were set, in that order. */
export class Expiring<K, V> {
  readonly #entries = new Map<K, { readonly value: V; readonly expires: number }>();

  constructor(
    private readonly clock: Clock,
    private readonly keptMs: number,
  ) {}

  get(key: K): V | undefined {
    this.#dropExpired();
    return this.#entries.get(key)?.value;
  }

  set(key: K, value: V): void {
    this.#dropExpired();
    this.#entries.delete(key);
    this.#entries.set(key, { value, expires: this.clock.now().getTime() + this.keptMs });
  }

  delete(key: K): boolean {
    return this.#entries.delete(key);
  }

  entries(): readonly (readonly [K, V])[] {
    this.#dropExpired();
    return [...this.#entries].map(([key, { value }]) => [key, value]);
  }

  values(): V[] {
    return this.entries().map(([, value]) => value);
  }

  #dropExpired(): void {
    const now = this.clock.now().getTime();
    for (const [oldest, { expires }] of this.#entries) {
      if (expires > now) break;
      this.#entries.delete(oldest);
    }
  }
}

/** Every method is atomic, since none of them awaits anything. */
class MemoryLockStore implements LockStore {
  readonly #locks: Expiring<ApplicationName, Lock>;

  constructor(clock: Clock) {
    this.#locks = new Expiring(clock, LOCK_LIFETIME_MS);
  }

  acquire(request: LockRequest, now: Date, from?: ChangeRequestRef): Promise<LockAttempt> {
    const found = this.#locks.get(request.application);
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
    this.#locks.set(lock.application, lock);
    return Promise.resolve({ kind: "acquired", lock, fresh: current === undefined });
  }

  release(application: ApplicationName, by: ChangeRequestRef): Promise<boolean> {
    const current = this.#locks.get(application);
    const isAllowed = current !== undefined && sameChangeRequest(current.holder, by);
    return Promise.resolve(isAllowed && this.#locks.delete(application));
  }

  find(application: ApplicationName): Promise<Lock | undefined> {
    return Promise.resolve(this.#locks.get(application));
  }

  list(holder?: ChangeRequestRef): Promise<readonly Lock[]> {
    const wanted = this.#locks
      .values()
      .filter((lock) => holder === undefined || sameChangeRequest(lock.holder, holder));
    return Promise.resolve(wanted.sort(byApplication));
  }

  ping(): Promise<void> {
    return Promise.resolve();
  }
}

interface Place {
  readonly change: ChangeRequestRef;
  readonly since: string;
}

/** Every method is atomic, since none of them awaits anything. */
class MemoryWaitStore implements WaitStore {
  readonly #queues: Expiring<ApplicationName, Place[]>;

  constructor(private readonly clock: Clock) {
    this.#queues = new Expiring(clock, WAITING_LIFETIME_MS);
  }

  join(application: ApplicationName, change: ChangeRequestRef, where?: "first"): Promise<number | undefined> {
    const places = this.#queues.get(application) ?? [];
    const found = places.findIndex((one) => sameChangeRequest(one.change, change));
    if (found === -1 && where === undefined && places.length >= MAX_WAITING) return Promise.resolve(undefined);
    const [known] = found === -1 ? [] : places.splice(found, 1);
    const index = where === "first" ? 0 : found === -1 ? places.length : found;
    const whose = changeRequestRef({ ...known?.change, ...changeRequestRef(change) });
    places.splice(index, 0, { change: whose, since: known?.since ?? this.clock.now().toISOString() });
    this.#queues.set(application, places);
    return Promise.resolve(index + 1);
  }

  leave(application: ApplicationName, change: ChangeRequestRef): Promise<boolean> {
    const places = this.#queues.get(application) ?? [];
    const index = places.findIndex((one) => sameChangeRequest(one.change, change));
    if (index !== -1) places.splice(index, 1);
    if (places.length === 0) this.#queues.delete(application);
    return Promise.resolve(index !== -1);
  }

  of(application: ApplicationName): Promise<readonly ChangeRequestRef[]> {
    return Promise.resolve((this.#queues.get(application) ?? []).map(({ change }) => change));
  }

  list(): Promise<readonly Waiting[]> {
    const queues = this.#queues.entries().map(([application, places]) => {
      return { application, changes: places.map(({ change }) => change), since: places.map(({ since }) => since) };
    });
    return Promise.resolve(queues.sort(byApplication));
  }
}

/** The rollouts of merged change requests. */
export class MemoryRolloutStore implements RolloutStore {
  readonly #rollouts = new Map<string, Rollout>();

  constructor(private readonly clock: Clock) {}

  save(rollout: Rollout): Promise<void> {
    this.#rollouts.set(identityKey(rollout.change), rollout);
    return Promise.resolve();
  }

  find(change: ChangeRequestRef): Promise<Rollout | undefined> {
    return Promise.resolve(this.#present().get(identityKey(change)));
  }

  list(): Promise<readonly Rollout[]> {
    const followed = [...this.#present().values()].filter(({ ended }) => ended === undefined);
    return Promise.resolve(followed.sort(bySince));
  }

  #present(): ReadonlyMap<string, Rollout> {
    const now = this.clock.now().getTime();
    for (const [key, { until }] of this.#rollouts) {
      if (Date.parse(until) + PLAN_LIFETIME_MS <= now) this.#rollouts.delete(key);
    }
    return this.#rollouts;
  }
}

/** The last status of each change request. */
export class MemoryStatusStore implements StatusStore {
  readonly #statuses: Expiring<string, OwnStatus>;
  readonly #writes: Expiring<string, number>;
  /** A promise by head, which resolves when everybody who has asked so far has had their turn. */
  readonly #turns = new Map<string, Promise<void>>();

  constructor(clock: Clock) {
    this.#statuses = new Expiring(clock, OWN_STATUS_LIFETIME_MS);
    this.#writes = new Expiring(clock, WRITES_LIFETIME_MS);
  }

  save(status: OwnStatus): Promise<Revision | undefined> {
    const key = changeRequestKey(status.change);
    const before = this.#statuses.get(key)?.change.headRevision;
    this.#statuses.set(key, { ...status, change: headRef(status.change) });
    return Promise.resolve(before === status.change.headRevision ? undefined : before);
  }

  remove(change: ChangeRequestRef): Promise<Revision | undefined> {
    const key = changeRequestKey(change);
    const before = this.#statuses.get(key)?.change;
    if (before !== undefined && !sameChangeRequest(before, change)) return Promise.resolve(undefined);
    this.#statuses.delete(key);
    return Promise.resolve(before?.headRevision);
  }

  ofHead(head: HeadRef): Promise<readonly OwnStatus[]> {
    const key = headKey(head);
    const found = this.#statuses
      .values()
      .filter(({ change }) => headKey(change) === key && sameRepositoryOf(change, head));
    return Promise.resolve(found.sort((left, right) => left.change.number - right.change.number));
  }

  listShared(): Promise<readonly ChangeRequestRef[]> {
    const byHead = groupedBy(this.#statuses.values(), ({ change }) => headKey(change));
    const shared = [...byHead.values()].filter((statuses) => statuses.length > 1).flat();
    return Promise.resolve(shared.map(({ change }) => changeRequestRef(change)));
  }

  countWrite(head: HeadRef): Promise<number> {
    const count = (this.#writes.get(headKey(head)) ?? 0) + 1;
    this.#writes.set(headKey(head), count);
    return Promise.resolve(count);
  }

  async exclusively<T>(head: HeadRef, work: (isOurs: () => Promise<boolean>) => Promise<T>): Promise<T> {
    const key = headKey(head);
    const before = this.#turns.get(key) ?? Promise.resolve();
    const turn = before.then(() => work(() => Promise.resolve(true)));
    const ended = turn.then(
      () => undefined,
      () => undefined,
    );
    this.#turns.set(key, ended);
    try {
      return await turn;
    } finally {
      if (this.#turns.get(key) === ended) this.#turns.delete(key);
    }
  }
}

/** What one change request concerns: it may be thousands of applications. */
interface Concerned {
  readonly change: ChangeRequestRef;
  /** Each with the time when it expires. */
  readonly applications: Map<ApplicationName, number>;
}

/** Keeps marks in memory, for a single replica: they end with the process. */
export class MemoryMarkStore implements MarkStore {
  readonly #marks = new Map<string, Omit<Mark, "patient">>();
  /** When each mark that somebody waits for may be taken, in milliseconds since 1970. */
  readonly #due = new Map<string, number>();
  /** When each patient mark may be taken. A change request may be in both. */
  readonly #patient = new Map<string, number>();
  readonly #concerned = new Map<string, Concerned>();
  readonly #written: Expiring<string, string>;
  readonly #notes: Expiring<string, ChangeNote>;
  #turns = 0;

  constructor(private readonly clock: Clock) {
    this.#written = new Expiring(clock, PLAN_LIFETIME_MS);
    this.#notes = new Expiring(clock, PLAN_LIFETIME_MS);
  }

  set(changes: readonly ChangeRequestRef[], due: Date, patient = false): Promise<void> {
    const times = patient ? this.#patient : this.#due;
    for (const change of changes) {
      const key = identityKey(change);
      this.#marks.set(key, { change: changeRequestRef(change), turn: (this.#turns += 1) });
      times.set(key, Math.min(times.get(key) ?? Infinity, due.getTime()));
    }
    return Promise.resolve();
  }

  take(now: Date, until: Date, most: number): Promise<readonly Mark[]> {
    const taken: Mark[] = [];
    for (const times of [this.#due, this.#patient]) {
      const due = [...times].filter(([, time]) => time <= now.getTime()).sort(([, left], [, right]) => left - right);
      for (const [key] of due.slice(0, most - taken.length)) {
        if (times === this.#due) this.#patient.delete(key);
        times.set(key, until.getTime());
        const mark = this.#marks.get(key);
        if (mark !== undefined) taken.push({ ...mark, patient: times === this.#patient });
      }
    }
    return Promise.resolve(taken);
  }

  remove({ change, turn }: Mark): Promise<void> {
    const key = identityKey(change);
    if (this.#marks.get(key)?.turn === turn) for (const one of [this.#marks, this.#due, this.#patient]) one.delete(key);
    return Promise.resolve();
  }

  postpone({ change, turn }: Mark, until: Date): Promise<void> {
    const key = identityKey(change);
    if (this.#marks.get(key)?.turn !== turn) return Promise.resolve();
    this.#patient.delete(key);
    return this.set([change], until, true);
  }

  concern(change: ChangeRequestRef, applications: readonly ApplicationName[]): Promise<void> {
    const expires = this.clock.now().getTime() + PLAN_LIFETIME_MS;
    const key = identityKey(change);
    const known = this.#concerned.get(key)?.applications ?? new Map<ApplicationName, number>();
    for (const application of applications) known.set(application, expires);
    this.#concerned.set(key, { change: changeRequestRef(change), applications: known });
    return Promise.resolve();
  }

  forget(change: ChangeRequestRef): Promise<void> {
    this.#concerned.delete(identityKey(change));
    return Promise.resolve();
  }

  concernedBy(application: ApplicationName): Promise<readonly ChangeRequestRef[]> {
    const now = this.clock.now().getTime();
    const concerned = [...this.#concerned.values()].filter((one) => (one.applications.get(application) ?? 0) > now);
    return Promise.resolve(concerned.map(({ change }) => change));
  }

  applications(): Promise<readonly ApplicationName[]> {
    const every = [...this.#concerned.values()].flatMap(({ applications }) => [...applications.keys()]);
    return Promise.resolve([...new Set(every)]);
  }

  written(change: ChangeRequestRef, surface: Surface): Promise<string | undefined> {
    return Promise.resolve(this.#written.get(`${surface} ${identityKey(change)}`));
  }

  wrote(change: ChangeRequestRef, surface: Surface, digest: string | undefined): Promise<void> {
    const key = `${surface} ${identityKey(change)}`;
    if (digest === undefined) this.#written.delete(key);
    else this.#written.set(key, digest);
    return Promise.resolve();
  }

  describe(change: ChangeRequestRef, { title, state, draft }: ChangeNote): Promise<void> {
    this.#notes.set(identityKey(change), { title, state, draft });
    return Promise.resolve();
  }

  described(changes: readonly ChangeRequestRef[]): Promise<readonly (ChangeNote | undefined)[]> {
    return Promise.resolve(changes.map((one) => this.#notes.get(identityKey(one))));
  }
}
