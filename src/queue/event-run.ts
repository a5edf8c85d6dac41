import { StoreUnavailable } from "../core/model/errors.js";
import type { RunEnd, StopReason } from "../core/ports/event-queue.js";
import { Stopped } from "../core/ports/stop.js";
import type { Ended, LaneStore, Taken } from "./lane-store.js";
import { Lease } from "./lease.js";
import type { QueueConnection } from "./queue-commands.js";
import { fieldsOf, type QueueOptions } from "./queue-options.js";
import type { QueueTiming } from "./queue-timing.js";
import { RedisJournal } from "./redis-journal.js";

export interface EventRunParts extends Pick<QueueOptions, "run" | "log"> {
  readonly connection: QueueConnection;
  readonly lanes: LaneStore;
  readonly timing: QueueTiming;
}

/** An event that was begun so often ends the process that runs it, it seems. */
const MOST_STARTS = 10;
/** An event that waited longer may have been refused by the replica that took it, which did not hear that it was accepted. */
const UNDOUBTED_MS = 2_000;
const END_AGAIN_AFTER_MS = 250;

const CONFIRMED_LOOK_MS = 100;

/** How a run came about. */
export interface RunBegun {
  /** `performance.now()` from before the event was taken. */
  readonly takenAt: number;
  /** Whoever took the event heard that it was accepted. */
  readonly confirmed: boolean;
}

/** What follows from a run: whether more waits, and after which pause it is to be looked at. */
export type Followed = Ended & { readonly delayMs: number };

/** One run of an event, under a lease that it renews. */
export class EventRun {
  readonly #lease: Lease;
  readonly #abort = new AbortController();
  #abandoned = false;
  #over = false;

  constructor(
    readonly taken: Taken,
    private readonly parts: EventRunParts,
    private readonly begun: RunBegun,
  ) {
    const { timing, lanes, log } = parts;
    this.#lease = new Lease(
      {
        leaseMs: timing.leaseMs,
        heartbeatMs: timing.heartbeatMs,
        renew: () => lanes.renew(taken.change, taken.fence, timing.leaseMs),
        onStop: (reason) => this.stop(reason),
        onLost: () => {
          // The end of the run, written down a moment ago, gave the lease back.
          if (this.#over) return;
          log.warn(fieldsOf(taken.event), "another replica has taken over an event");
          this.stop("handed-back");
        },
      },
      begun.takenAt,
    );
  }

  /** Nothing of the event is left to do but to write down how it ended. */
  get over(): boolean {
    return this.#over;
  }

  /** Asks the run to stop; the first reason stays. */
  stop(reason: StopReason): void {
    this.#abort.abort(new Stopped(reason));
  }

  /** Runs the event to its end; undefined when it was abandoned meanwhile. Rejects for what is broken beyond the store. */
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

  /** Leaves the event to another replica at once, whatever the run is doing: it may do nothing any more. */
  async abandon(): Promise<Followed> {
    this.#abandoned = true;
    this.#lease.close();
    return { ...(await this.parts.lanes.end(this.taken, "again")), delayMs: 0 };
  }

  async #run(): Promise<RunEnd> {
    const { event, starts, again, ageMs } = this.taken;
    const log = this.parts.log.child(fieldsOf(event));
    if (starts > MOST_STARTS) {
      log.error({ starts }, "an event was given up: it was begun too often");
      return "failed";
    }
    try {
      const doubtful = !this.begun.confirmed && event.kind === "commented" && starts === 1 && (await this.#isRefused());
      return await this.parts.run(event, {
        signal: this.#abort.signal,
        again: again || starts > 1 || doubtful || ageMs > UNDOUBTED_MS,
        confirm: () => this.#lease.confirm(),
        journal: new RedisJournal(this.parts.connection, event.delivery),
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

  /**
   * Whether a command may have been answered by a replica that did not hear that it was accepted; resolves when that
   * answer stands there.
   */
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

  /** Writes down how it ended, however long the store is away: else the event would be run once more. */
  async #end(end: RunEnd): Promise<Followed | undefined> {
    const { lanes, timing } = this.parts;
    const handedBack = isHandedBack(this.#abort.signal);
    const retryAfter = end === "failed" ? timing.retryAfterMs[this.taken.starts - 1] : undefined;
    const again = handedBack ? end !== "done" : retryAfter !== undefined;
    const how = again ? "again" : end === "failed" ? "failed" : "done";
    const delayMs = handedBack ? 0 : (retryAfter ?? 0);
    for (;;) {
      if (this.#abandoned) return undefined;
      try {
        return { ...(await lanes.end(this.taken, how)), delayMs };
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        await new Promise((resolve) => setTimeout(resolve, END_AGAIN_AFTER_MS));
      }
    }
  }
}

function isHandedBack({ reason }: AbortSignal): boolean {
  return reason instanceof Stopped && reason.reason === "handed-back";
}
