import type { ApplicationName } from "../../core/model/brand.js";
import { type ChangeRequestRef, changeRequestRef, identityKey } from "../../core/model/change-request.js";
import { PLAN_LIFETIME_MS } from "../../core/model/plan.js";
import type { Clock } from "../../core/ports/clock.js";
import type { Mark, MarkStore, Surface } from "../../core/ports/stores.js";

/** Marks of this process alone. Times are in milliseconds since 1970. */
export class MemoryMarkStore implements MarkStore {
  readonly #marks = new Map<string, { readonly mark: Mark; readonly due: number }>();
  readonly #concerned = new Map<
    ApplicationName,
    Map<string, { readonly change: ChangeRequestRef; readonly expires: number }>
  >();
  readonly #written = new Map<string, { readonly digest: string; readonly expires: number }>();
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
    for (const application of applications) {
      const concerned =
        this.#concerned.get(application) ?? new Map<string, { change: ChangeRequestRef; expires: number }>();
      concerned.set(identityKey(change), { change: changeRequestRef(change), expires });
      this.#concerned.set(application, concerned);
    }
    return Promise.resolve();
  }

  forget(change: ChangeRequestRef): Promise<void> {
    for (const [application, concerned] of this.#concerned) {
      concerned.delete(identityKey(change));
      if (concerned.size === 0) this.#concerned.delete(application);
    }
    return Promise.resolve();
  }

  concernedBy(application: ApplicationName): Promise<readonly ChangeRequestRef[]> {
    const now = this.clock.now().getTime();
    const concerned = [...(this.#concerned.get(application)?.values() ?? [])];
    return Promise.resolve(concerned.filter(({ expires }) => expires > now).map(({ change }) => change));
  }

  applications(): Promise<readonly ApplicationName[]> {
    return Promise.resolve([...this.#concerned.keys()]);
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
    for (const [oldest, { expires }] of this.#written) {
      if (expires > now) break;
      this.#written.delete(oldest);
    }
    if (digest !== undefined) this.#written.set(key, { digest, expires: now + PLAN_LIFETIME_MS });
    return Promise.resolve();
  }
}
