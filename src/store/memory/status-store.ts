import type { Revision } from "../../core/model/brand.js";
import {
  changeRequestKey,
  type ChangeRequestRef,
  changeRequestRef,
  headKey,
  type HeadRef,
  headRef,
  sameChangeRequest,
  sameRepositoryOf,
} from "../../core/model/change-request.js";
import type { Clock } from "../../core/ports/clock.js";
import {
  OWN_STATUS_LIFETIME_MS,
  type OwnStatus,
  type StatusStore,
  WRITES_LIFETIME_MS,
} from "../../core/ports/stores.js";

interface Entry {
  readonly status: OwnStatus;
  /** Milliseconds since 1970. */
  readonly expires: number;
}

/** The last status of each change request. */
export class MemoryStatusStore implements StatusStore {
  readonly #entries = new Map<string, Entry>();
  readonly #writes = new Map<string, { readonly count: number; readonly expires: number }>();
  /** By head: resolves when everybody who has asked so far has had their turn. */
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
    const byHead = new Map<string, OwnStatus[]>();
    for (const status of this.#alive()) {
      const key = headKey(status.change);
      byHead.set(key, [...(byHead.get(key) ?? []), status]);
    }
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
