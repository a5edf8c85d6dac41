import type { ApplicationName } from "../../core/model/brand.js";
import {
  type ChangeRequestRef,
  changeRequestRef,
  identityKey,
  sameChangeRequest,
} from "../../core/model/change-request.js";
import type { Hold } from "../../core/model/hold.js";
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
import type { HoldStore, LockStore, RolloutStore, WaitStore } from "../../core/ports/stores.js";
import { byApplication, byBegin, bySince } from "../stores.js";

interface Entry {
  readonly lock: Lock;
  /** Milliseconds since 1970. */
  readonly expires: number;
}

/** Every method is atomic, since none of them awaits anything. */
export class MemoryLockStore implements LockStore {
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
export class MemoryWaitStore implements WaitStore {
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

export class MemoryHoldStore implements HoldStore {
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
