import type { ApplicationName, Revision } from "../../core/model/brand.js";
import {
  type ChangeNote,
  changeRequestKey,
  changeRequestRef,
  type ChangeRequestRef,
  headKey,
  headRef,
  type HeadRef,
  identityKey,
  sameChangeRequest,
  sameRepositoryOf,
} from "../../core/model/change-request.js";
import { PLAN_LIFETIME_MS } from "../../core/model/plan/plan.js";
import type { Clock } from "../../core/ports/clock.js";
import {
  type Mark,
  type MarkStore,
  OWN_STATUS_LIFETIME_MS,
  type OwnStatus,
  type StatusStore,
  type Surface,
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

/** What one change request concerns: it may be thousands of applications. */
interface Concerned {
  readonly change: ChangeRequestRef;
  /** Each with the time when it expires. */
  readonly applications: Map<ApplicationName, number>;
}

/** Marks of this process alone. Times are in milliseconds since 1970. */
export class MemoryMarkStore implements MarkStore {
  readonly #marks = new Map<string, { readonly mark: Mark; readonly due: number }>();
  readonly #concerned = new Map<string, Concerned>();
  readonly #written = new Map<string, { readonly digest: string; readonly expires: number }>();
  readonly #notes = new Map<string, { readonly note: ChangeNote; readonly expires: number }>();
  #turns = 0;

  constructor(private readonly clock: Clock) {}

  set(changes: readonly ChangeRequestRef[], due: Date): Promise<void> {
    for (const change of changes) {
      const key = identityKey(change);
      const earlier = this.#marks.get(key)?.due ?? Infinity;
      const mark = { change: changeRequestRef(change), turn: (this.#turns += 1) };
      this.#marks.set(key, { mark, due: Math.min(earlier, due.getTime()) });
    }
    return Promise.resolve();
  }

  take(now: Date, until: Date, most: number): Promise<readonly Mark[]> {
    const due = [...this.#marks].filter(([, one]) => one.due <= now.getTime());
    const taken = due.sort(([, left], [, right]) => left.due - right.due).slice(0, most);
    for (const [key, { mark }] of taken) this.#marks.set(key, { mark, due: until.getTime() });
    return Promise.resolve(taken.map(([, { mark }]) => mark));
  }

  remove({ change, turn }: Mark): Promise<void> {
    const key = identityKey(change);
    if (this.#marks.get(key)?.mark.turn === turn) this.#marks.delete(key);
    return Promise.resolve();
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
