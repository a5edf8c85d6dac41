import { LeaseLost, StoreUnavailable } from "../core/model/errors.js";
import { type RunEnd, Stopped, type StopReason } from "../core/ports/event-queue.js";
import type { StoreConnection } from "../http/redis.js";
import { RedisJournal } from "./journal.js";
import type { Ended, Ending, LaneStore, Renewed, Taken } from "./lane-store.js";
import { fieldsOf, type QueueOptions, type QueueTiming } from "./queue-options.js";

interface EventRunParts extends Pick<QueueOptions, "run" | "log"> {
  readonly connection: StoreConnection;
  readonly lanes: LaneStore;
  readonly timing: QueueTiming;
  readonly mayStepAside: () => boolean;
}

/** An event that ended this many processes is answered, and not run again. */
const MAX_KILLS = 10;
/** An event whose answer ended processes too is dropped. */
const MAX_KILLS_ANSWERED = 12;
/** An event that waited longer may have been refused by a replica that could not learn that Redis had accepted it. */
const SURELY_ACCEPTED_MS = 2_000;
const CONFIRMED_LOOK_MS = 100;
const END_RETRY_MS = 250;

/** How the run of an event was started. */
export interface RunStart {
  /** `performance.now()` from before the event was taken. */
  readonly takenAt: number;
  /** The replica that accepted the event knows that it did. */
  readonly confirmed: boolean;
}

/** Whether more events wait after a run, and how long to wait before the next one starts. */
type Followed = Ended & { readonly delayMs: number };

/** One run of an event, under a lease that it renews. */
export class EventRun {
  readonly #lease: Lease;
  readonly #abort = new AbortController();
  #abandoned = false;
  #over = false;
  #isAside = false;
  #leavePlace: () => void = () => undefined;
  /** Resolves when another run may start in this one's place. */
  readonly aside = new Promise<void>((resolve) => {
    this.#leavePlace = resolve;
  });

  constructor(
    readonly taken: Taken,
    private readonly parts: EventRunParts,
    private readonly start: RunStart,
  ) {
    const { timing, lanes, log } = parts;
    this.#lease = new Lease(
      {
        leaseMs: timing.leaseMs,
        heartbeatMs: timing.heartbeatMs,
        renew: () => lanes.renew(taken.change, taken.fence, timing.leaseMs),
        onStop: (reason) => this.stop(reason),
        onLost: () => {
          // Recording the end of the run releases the lease, which may overtake a renewal.
          if (this.#over) return;
          log.warn(fieldsOf(taken.event), "another replica took over an event");
          this.stop("handed-back");
        },
      },
      start.takenAt,
    );
  }

  /** Only recording how the run ended is left to do. */
  get over(): boolean {
    return this.#over;
  }

  get isAside(): boolean {
    return this.#isAside;
  }

  /** Asks the run to stop. Only the first reason counts. */
  stop(reason: StopReason): void {
    this.#abort.abort(new Stopped(reason));
  }

  /** Runs the event to its end; returns undefined if it was abandoned meanwhile. Rejects only for unexpected errors. */
  async work(onOver: () => void): Promise<Followed | undefined> {
    try {
      const end = await this.#run();
      this.#over = true;
      onOver();
      return await this.#end(end);
    } finally {
      this.#lease.close();
    }
  }

  /** Hands the event to another replica at once, whatever the run is doing; from now on the run may not act. */
  async abandon(): Promise<Followed> {
    this.#abandoned = true;
    this.#lease.close();
    return { ...(await this.parts.lanes.end(this.taken, "again")), delayMs: 0 };
  }

  #stepAside(): void {
    if (this.#isAside || !this.parts.mayStepAside()) return;
    this.#isAside = true;
    this.#leavePlace();
  }

  async #run(): Promise<RunEnd> {
    const { event, starts, kills, again, ageMs } = this.taken;
    const log = this.parts.log.child(fieldsOf(event));
    const givenUp = kills >= MAX_KILLS;
    if (givenUp) log.error({ kills }, "gave up on an event: the processes that ran it ended");
    if (kills >= MAX_KILLS_ANSWERED) return "failed";
    try {
      const doubtful = !this.start.confirmed && event.kind === "commented" && starts === 1 && (await this.#isRefused());
      return await this.parts.run(event, {
        signal: this.#abort.signal,
        again: again || starts > 1 || doubtful || ageMs > SURELY_ACCEPTED_MS,
        givenUp,
        confirm: () => this.#lease.confirm(),
        journal: new RedisJournal(this.parts.connection, event.delivery),
        stepAside: () => this.#stepAside(),
      });
    } catch (error) {
      if (error instanceof Stopped) {
        log.info({ reason: error.reason }, "run stopped");
        return "stopped";
      }
      log.error({ err: error }, "run failed");
      return "failed";
    }
  }

  /** Whether the accepting replica may have refused a command because Redis did not answer in time. Waits for its confirmation. */
  async #isRefused(): Promise<boolean> {
    const { lanes, timing } = this.parts;
    const { event, ageMs } = this.taken;
    const until = performance.now() + timing.undoubtedMs - ageMs;
    for (;;) {
      if (await lanes.isConfirmed(event).catch(() => false)) return false;
      const left = until - performance.now();
      if (left <= 0) return true;
      await new Promise((resolve) => setTimeout(resolve, Math.min(left, CONFIRMED_LOOK_MS)));
      if (isHandedBack(this.#abort.signal)) throw this.#abort.signal.reason;
    }
  }

  /** Records how the run ended, and retries while the store is unavailable: otherwise the event would run again. */
  async #end(end: RunEnd): Promise<Followed | undefined> {
    const { lanes, timing } = this.parts;
    const handedBack = isHandedBack(this.#abort.signal);
    const { kills, failures } = this.taken;
    const retryAfter = kills < MAX_KILLS_ANSWERED ? timing.retryAfterMs[failures] : undefined;
    const how = handedBack && end !== "done" ? "again" : endingOf(end, retryAfter !== undefined);
    const delayMs = how === "retry" ? (retryAfter ?? 0) : 0;
    for (;;) {
      if (this.#abandoned) return undefined;
      try {
        return { ...(await lanes.end(this.taken, how)), delayMs };
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        await new Promise((resolve) => setTimeout(resolve, END_RETRY_MS));
      }
    }
  }
}

function isHandedBack({ reason }: AbortSignal): boolean {
  return reason instanceof Stopped && reason.reason === "handed-back";
}

function endingOf(end: RunEnd, mayRetry: boolean): Ending {
  if (end !== "failed") return "done";
  return mayRetry ? "retry" : "failed";
}

interface LeaseParts {
  /** How long the lease lasts in Redis after each renewal, in milliseconds. */
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  renew(): Promise<Renewed>;
  /** Called after each renewal that reports that the run should stop. */
  onStop(reason: "pushed" | "closed"): void;
  onLost(): void;
}

/**
 * A run's right to act for its change request, renewed until it is closed. Its end is measured with this machine's
 * clock from before each renewal was sent, so that a process that was suspended notices that its lease may have expired.
 */
class Lease {
  readonly #parts: LeaseParts;
  readonly #timer: NodeJS.Timeout;
  #until: number;
  #lost = false;
  #renewing: Promise<void> | undefined;

  /** @param takenAt `performance.now()` from before the lease was taken. */
  constructor(parts: LeaseParts, takenAt: number) {
    this.#parts = parts;
    this.#until = this.#endFrom(takenAt);
    this.#timer = setInterval(() => void this.#renew().catch(() => undefined), parts.heartbeatMs);
  }

  /** @throws {LeaseLost} @throws {StoreUnavailable} when the lease has expired and the store does not answer. */
  async confirm(): Promise<void> {
    if (!this.#lost && performance.now() >= this.#until) await this.#renew();
    if (this.#lost) throw new LeaseLost();
  }

  /** Stops renewing; `confirm` throws from now on. */
  close(): void {
    clearInterval(this.#timer);
    this.#lost = true;
  }

  #renew(): Promise<void> {
    this.#renewing ??= this.#renewNow().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  async #renewNow(): Promise<void> {
    const sent = performance.now();
    const renewed = await this.#parts.renew();
    if (this.#lost) return;
    if (renewed.kind === "lost") {
      this.close();
      this.#parts.onLost();
      return;
    }
    this.#until = this.#endFrom(sent);
    if (renewed.stop === "pushed" || renewed.stop === "closed") this.#parts.onStop(renewed.stop);
  }

  /** Earlier than in Redis: clocks run at different speeds, and what `confirm` allows happens a moment later. */
  #endFrom(time: number): number {
    return time + this.#parts.leaseMs * 0.8;
  }
}
