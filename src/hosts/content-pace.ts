import type { ChangeRequestRef } from "../core/model/change-request.js";
import { HostFailure } from "../core/model/errors.js";
import { type Posting, URGENCIES, type Urgency } from "../core/ports/code-host.js";
import { HOST_TITLES, type HostId } from "../names.js";
import { HostRefusal } from "./host-answer.js";
import type { HostParts } from "./host-module.js";
import { REPORTED_WAIT_MS, type ReportedWait } from "./limit-waits.js";

/** How many new comments and merges a host accepts in a period. */
export interface ContentWindow {
  readonly windowMs: number;
  readonly max: number;
}

interface ContentPaceParts extends Omit<HostParts, "log"> {
  readonly host: HostId;
  /** The host's limits now; none if it has none. */
  readonly windows: () => readonly ContentWindow[];
}

/** Sends writes of content in the order of their urgency and below the host's limits. */
interface ContentPace {
  /** Sends a write when there is room, and again if the host's limit refused it. @throws {HostFailure}, the signal's reason, or what `send` throws. */
  send<T>(account: string, write: ContentWrite, send: () => Promise<T>): Promise<T>;
}

export interface ContentWrite extends Posting {
  /** Waits at most a minute. Not repeated once the host's limit refused it: the checks before it would be outdated. */
  readonly brief?: true;
}

/** Sends a write when the limit of the change request's account leaves room for it. */
export type InTurn = <T>(change: ChangeRequestRef, write: ContentWrite, send: () => Promise<T>) => Promise<T>;

/** The part of a limit that writes of an urgency and all lower ones share, so that they cannot block more urgent ones. */
const SHARES: Readonly<Record<Urgency, number>> = { result: 1, plan: 0.8, refusal: 0.4, help: 0.2 };

const HOUR_MS = 60 * 60_000;
/** How long a write waits before it fails. Results and plans wait longer than any limit lasts. */
const PATIENCE_MS: Readonly<Record<Urgency, number>> = {
  result: 3 * HOUR_MS,
  plan: 3 * HOUR_MS,
  refusal: 60_000,
  help: 0,
};
/** https://docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api#handle-rate-limit-errors-appropriately */
const DEFAULT_PAUSE_MS = 60_000;
/** Doubles after each refusal, for a host that asks for a shorter pause than it needs. */
const FIRST_PAUSE_MS = 5_000;

export function createContentPace(parts: ContentPaceParts): ContentPace {
  const lines = new Map<string, Line>();
  return {
    async send(account, write, send) {
      const line = lines.get(account) ?? new Line(account, parts);
      lines.set(account, line);
      const since = parts.clock.now().getTime();
      for (let tries = 1; ; tries += 1) {
        await line.turn(write, since);
        try {
          return await send();
        } catch (error) {
          if (!(error instanceof HostRefusal) || error.reason !== "rate-limited") throw error;
          const pause = Math.max(error.retryAfterMs ?? DEFAULT_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (tries - 1));
          line.hold(pause);
          const patient = isPatient(write, since, parts.clock.now().getTime() + pause);
          if (write.brief === true || !patient) throw error;
        }
      }
    },
  };
}

function isPatient({ urgency, brief }: ContentWrite, since: number, until: number): boolean {
  return until - since <= (brief === true ? 60_000 : PATIENCE_MS[urgency]);
}

interface Waiter {
  readonly write: ContentWrite;
  readonly rank: number;
  /** Milliseconds since 1970. */
  readonly since: number;
  readonly pass: () => void;
  readonly fail: (reason: Error) => void;
  reported: ReportedWait | undefined;
}

/** The writes that one account has yet to send, the most urgent first. */
class Line {
  #waiters: readonly Waiter[] = [];
  #heldUntil = 0;
  #working = false;
  #nap = new AbortController();

  constructor(
    private readonly account: string,
    private readonly parts: ContentPaceParts,
  ) {}

  /** Resolves when the write may be sent. */
  turn(write: ContentWrite, since: number): Promise<void> {
    const { signal } = write;
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(signal.reason as Error);
        return;
      }
      const leave = () => {
        waiter.reported?.end();
        signal?.removeEventListener("abort", onAbort);
        this.#waiters = this.#waiters.filter((one) => one !== waiter);
      };
      const waiter: Waiter = {
        write,
        rank: rankOf(write.urgency),
        since,
        pass: () => {
          leave();
          resolve();
        },
        fail: (reason) => {
          leave();
          reject(reason);
        },
        reported: undefined,
      };
      const onAbort = () => waiter.fail(signal?.reason as Error);
      signal?.addEventListener("abort", onAbort, { once: true });
      const after = this.#waiters.findIndex(({ rank }) => rank < waiter.rank);
      this.#waiters = this.#waiters.toSpliced(after === -1 ? this.#waiters.length : after, 0, waiter);
      // There may be room for this write although the others wait.
      this.#nap.abort();
      if (!this.#working) void this.#work();
    });
  }

  hold(ms: number): void {
    this.#heldUntil = Math.max(this.#heldUntil, this.parts.clock.now().getTime() + ms);
  }

  async #work(): Promise<void> {
    const { clock } = this.parts;
    this.#working = true;
    for (let first = this.#waiters[0]; first !== undefined; first = this.#waiters[0]) {
      this.#nap = new AbortController();
      const nap = this.#nap.signal;
      const freeInMs = await this.#take(first);
      if (freeInMs > 0) {
        this.#announce(clock.now().getTime() + freeInMs);
        if (this.#waiters.length > 0) await clock.sleep(freeInMs, nap).catch(() => undefined);
      } else if (this.#waiters.includes(first)) first.pass();
      // Otherwise it ended while the budget was asked; what it took stays counted.
    }
    this.#working = false;
  }

  /** Takes room for a write. @returns In how many milliseconds there may be room for it; 0 if it was taken. */
  async #take({ rank }: Waiter): Promise<number> {
    const { host, budget, clock, windows } = this.parts;
    const held = this.#heldUntil - clock.now().getTime();
    if (held > 0) return held;
    const limits = windows()
      .flatMap(({ windowMs, max }) =>
        URGENCIES.map((urgency) => ({
          windowMs,
          max: Math.max(1, Math.floor(max * SHARES[urgency])),
          rank: rankOf(urgency),
        })),
      )
      .filter((limit) => limit.rank >= rank);
    if (limits.length === 0) return 0;
    const taken = await budget.take(`${host}:${this.account}`, rank, limits);
    return taken.kind === "taken" ? 0 : Math.max(1, taken.freeInMs);
  }

  /** Reports a wait for every waiting write: what holds the most urgent one until `until` holds the others as well. */
  #announce(until: number): void {
    const { host, waits, clock } = this.parts;
    const reason = this.#heldUntil > clock.now().getTime() ? "asked" : "budget";
    for (const waiter of this.#waiters) {
      const { write, since, reported } = waiter;
      if (!isPatient(write, since, until)) waiter.fail(tooLong(host));
      else if (reported !== undefined) reported.extend(new Date(until));
      else if (until - since > REPORTED_WAIT_MS) {
        waiter.reported = waits.begin({ host, account: this.account, reason, until: new Date(until) });
        write.onWait?.();
      }
    }
  }
}

function rankOf(urgency: Urgency): number {
  return URGENCIES.length - 1 - URGENCIES.indexOf(urgency);
}

function tooLong(host: HostId): HostFailure {
  const title = HOST_TITLES[host];
  return new HostFailure("rate-limited", `${title}'s limit of new comments and merges is used up. Try again later.`);
}
