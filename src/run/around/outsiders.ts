import { LRUCache } from "lru-cache";
import { hasAnsweredOutsider } from "../../comments/publish.js";
import { changeRequestKey, type ChangeRequestRef, type User } from "../../core/model/change-request.js";
import type { Clock } from "../../core/ports/clock.js";
import type { CodeHost } from "../../core/ports/code-host.js";

/** How often the host is asked about the same outsider within a minute: access that was just given counts at once. */
const ASKED_PER_MINUTE = 5;
const MINUTE_MS = 60_000;
/** Limited by size: a limit of entries would allocate its memory in advance. */
const REMEMBERED = { maxSize: 10_000, sizeCalculation: () => 1 };

interface Refusals {
  readonly count: number;
  /** Milliseconds since 1970. */
  readonly endsAt: number;
}

/** What this process knows about people without write access; it is only ever used to ignore somebody without a call. */
export class Outsiders {
  /** The refusals by host, repository and account. */
  readonly #refusals = new LRUCache<string, Refusals>(REMEMBERED);
  /** Change requests on which an outsider was answered. */
  readonly #answered = new LRUCache<string, true>(REMEMBERED);

  constructor(private readonly clock: Clock) {}

  async mayCommand(host: CodeHost, change: ChangeRequestRef, user: User): Promise<boolean> {
    const key = JSON.stringify([change.host, change.repository, user.id]);
    const now = this.clock.now().getTime();
    const known = this.#refusals.get(key);
    const current = known !== undefined && known.endsAt > now ? known : { count: 0, endsAt: now + MINUTE_MS };
    if (current.count >= ASKED_PER_MINUTE) return false;
    const may = await host.mayCommand(change, user);
    this.#refusals.delete(key);
    if (!may) this.#refusals.set(key, { ...current, count: current.count + 1 });
    return may;
  }

  /** Whether an outsider was answered on this change request, whoever it was: there is one answer for all of them. */
  async wereAnswered(host: CodeHost, change: ChangeRequestRef): Promise<boolean> {
    const key = changeRequestKey(change);
    if (this.#answered.has(key)) return true;
    const answered = await hasAnsweredOutsider(host, change);
    if (answered) this.#answered.set(key, true);
    return answered;
  }
}
