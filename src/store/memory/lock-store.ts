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

  release(application: ApplicationName, by: ChangeRequestRef): Promise<boolean> {
    const current = this.#current(application);
    const isAllowed = current !== undefined && sameChangeRequest(current.holder, by);
    return Promise.resolve(isAllowed && this.#entries.delete(application));
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

interface Statuses {
  readonly status: OwnStatus;
  /** Milliseconds since 1970. */
  readonly expires: number;
}

/** The last status of each change request. */
export class MemoryStatusStore implements StatusStore {
  readonly #entries = new Map<string, Statuses>();
  readonly #writes = new Map<string, { readonly count: number; readonly expires: number }>();
  /** A promise by head, which resolves when everybody who has asked so far has had their turn. */
  readonly #turns = new Map<string, Promise<void>>();

  constructor(private readonly clock: Clock) {}

  save(status: OwnStatus): Promise<Revision | undefined> {
    const now = this.clock.now().getTime();
    for (const [key, { expires }] of this.#entries) if (expires <= now) this.#entries.delete(key);
    const key = changeRequestKey(status.change);
    const before = this.#entries.get(key)?.status.change.headRevision;
    const kept = { ...status, change: headRef(status.change) };
    this.#entries.set(key, { status: kept, expires: now + OWN_STATUS_LIFETIME_MS });
    return Promise.resolve(before === status.change.headRevision ? undefined : before);
  }

  remove(change: ChangeRequestRef): Promise<Revision | undefined> {
    const key = changeRequestKey(change);
    const before = this.#alive().find((one) => changeRequestKey(one.change) === key)?.change;
    if (before !== undefined && !sameChangeRequest(before, change)) return Promise.resolve(undefined);
    this.#entries.delete(key);
    return Promise.resolve(before?.headRevision);
  }

  ofHead(head: HeadRef): Promise<readonly OwnStatus[]> {
    const key = headKey(head);
    const found = this.#alive().filter(({ change }) => headKey(change) === key && sameRepositoryOf(change, head));
    return Promise.resolve(found.sort((left, right) => left.change.number - right.change.number));
  }

  listShared(): Promise<readonly ChangeRequestRef[]> {
    const byHead = groupedBy(this.#alive(), ({ change }) => headKey(change));
    const shared = [...byHead.values()].filter((statuses) => statuses.length > 1).flat();
    return Promise.resolve(shared.map(({ change }) => changeRequestRef(change)));
  }

  countWrite(head: HeadRef): Promise<number> {
    const now = this.clock.now().getTime();
    for (const [key, { expires }] of this.#writes) if (expires <= now) this.#writes.delete(key);
    const count = (this.#writes.get(headKey(head))?.count ?? 0) + 1;
    this.#writes.set(headKey(head), { count, expires: now + WRITES_LIFETIME_MS });
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

  #alive(): OwnStatus[] {
    const now = this.clock.now().getTime();
    return [...this.#entries.values()].filter(({ expires }) => expires > now).map(({ status }) => status);
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
  readonly #written = new Map<string, { readonly digest: string; readonly expires: number }>();
  readonly #notes = new Map<string, { readonly note: ChangeNote; readonly expires: number }>();
  #turns = 0;

  constructor(private readonly clock: Clock) {}

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
    const found = this.#written.get(`${surface} ${identityKey(change)}`);
    const alive = found !== undefined && found.expires > this.clock.now().getTime();
    return Promise.resolve(alive ? found.digest : undefined);
  }

  wrote(change: ChangeRequestRef, surface: Surface, digest: string | undefined): Promise<void> {
    const key = `${surface} ${identityKey(change)}`;
    const now = this.clock.now().getTime();
    this.#written.delete(key);
    dropExpired(this.#written, now);
    if (digest !== undefined) this.#written.set(key, { digest, expires: now + PLAN_LIFETIME_MS });
    return Promise.resolve();
  }

  describe(change: ChangeRequestRef, { title, state, draft }: ChangeNote): Promise<void> {
    const now = this.clock.now().getTime();
    const key = identityKey(change);
    this.#notes.delete(key);
    dropExpired(this.#notes, now);
    this.#notes.set(key, { note: { title, state, draft }, expires: now + PLAN_LIFETIME_MS });
    return Promise.resolve();
  }

  described(changes: readonly ChangeRequestRef[]): Promise<readonly (ChangeNote | undefined)[]> {
    const now = this.clock.now().getTime();
    const notes = changes.map((one) => this.#notes.get(identityKey(one)));
    return Promise.resolve(notes.map((one) => (one !== undefined && one.expires > now ? one.note : undefined)));
  }
}

/** Deletes what has expired. @param kept Its entries are in the order in which they expire. */
function dropExpired(kept: Map<string, { readonly expires: number }>, now: number): void {
  for (const [oldest, { expires }] of kept) {
    if (expires > now) break;
    kept.delete(oldest);
  }
}
