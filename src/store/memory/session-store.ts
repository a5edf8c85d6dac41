import { Store, type SessionData } from "express-session";
import type { Clock } from "../../core/ports/clock.js";

const MAX_SESSIONS = 10_000;

type Callback<T = void> = (error: unknown, value?: T) => void;

/** Web sessions. Beyond `MAX_SESSIONS` the oldest are dropped, sessions without a login first. */
export class MemorySessionStore extends Store {
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
    return new Set(live.flatMap(({ json }) => (JSON.parse(json) as SessionData).accountId ?? []));
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
