import type { ApplicationName } from "../../core/model/brand.js";
import { changeRequestRef, sameChangeRequest, type ChangeRequestRef } from "../../core/model/change-request.js";
import { LOCK_LIFETIME_MS, type Lock, type LockAttempt, type LockRequest } from "../../core/model/lock.js";
import type { Clock } from "../../core/ports/clock.js";
import type { LockStore } from "../../core/ports/stores.js";
import { byApplication } from "../order.js";

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
      holder: changeRequestRef(request.holder),
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
