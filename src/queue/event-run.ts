import * as z from "zod";
import type { ApplicationName } from "../core/model/brand.js";
import { ifReadable, LeaseLost, StoredValueUnreadable, StoreUnavailable } from "../core/model/errors.js";
import { isJsonObject, parseJson } from "../core/model/json.js";
import type { Lock } from "../core/model/lock.js";
import { hasDone, isNoted, type RunNotes, type StartedApplication } from "../core/model/progress.js";
import { type RunEnd, type RunJournal, Stopped, type StopReason, IDS_KEPT_MS } from "../core/ports/event-queue.js";
import type { StoreConnection } from "../http/redis.js";
import { STORE_TITLE } from "../names.js";
import { fieldsOf, type QueueOptions, type QueueTiming } from "./in-process.js";
import { journalKey, type LaneStore, type Taken } from "./lane-store.js";

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

/** What follows a run: whether events are waiting, and how long the next one should wait. */
interface Followed {
  readonly hasMore: boolean;
  readonly delayMs: number;
}

/**
 * One run of an event, under a lease that it renews: the right to act for its change request. The end of the lease is measured
 * with this machine's clock from before each renewal was sent, so that a process that was suspended notices that it may have
 * expired.
 */
export class EventRun {
  readonly #abort = new AbortController();
  readonly #heartbeat: NodeJS.Timeout;
  #leaseEnds: number;
  #leaseLost = false;
  #renewing: Promise<void> | undefined;
  #abandoned = false;
  #over = false;
  #isAside = false;
  #leavePlace: () => void = () => undefined;
  /** Resolves when another run may start in this one's place. */
  readonly aside = new Promise<void>((resolve) => {
    this.#leavePlace = resolve;
  });

  /** @param takenAt `performance.now()` from before the event was taken. */
  constructor(
    readonly taken: Taken,
    private readonly parts: EventRunParts,
    takenAt: number,
  ) {
    this.#leaseEnds = this.#leaseEndFrom(takenAt);
    const { heartbeatMs } = parts.timing;
    this.#heartbeat = setInterval(() => void this.#renew().catch(() => undefined), heartbeatMs);
  }

  get over(): boolean {
    return this.#over;
  }

  get isAside(): boolean {
    return this.#isAside;
  }

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
      this.#endLease();
    }
  }

  /** Hands the event to another replica at once, whatever the run is doing; from now on the run may not act. */
  async abandon(): Promise<Followed> {
    this.#abandoned = true;
    this.#endLease();
    return { hasMore: (await this.parts.lanes.end(this.taken, "again")) === "more", delayMs: 0 };
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
      const doubtful = event.kind === "commented" && starts === 1 && (await this.#isRefused());
      return await this.parts.run(event, {
        signal: this.#abort.signal,
        again: again || starts > 1 || doubtful || ageMs > SURELY_ACCEPTED_MS,
        givenUp,
        confirm: () => this.#confirmLease(),
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
    const retryAfter = kills >= MAX_KILLS_ANSWERED ? undefined : timing.retryAfterMs[failures];
    const failed = retryAfter === undefined ? "failed" : "retry";
    const how = handedBack && end !== "done" ? "again" : end === "failed" ? failed : "done";
    const delayMs = how === "retry" ? (retryAfter ?? 0) : 0;
    for (;;) {
      if (this.#abandoned) return undefined;
      try {
        const ending = how === "failed" ? await this.#failure() : how;
        return { hasMore: (await lanes.end(this.taken, ending, delayMs)) === "more", delayMs };
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        await new Promise((resolve) => setTimeout(resolve, END_RETRY_MS));
      }
    }
  }

  /** What becomes of an event that is not retried any more. */
  async #failure(): Promise<"failed" | "untold" | "dropped"> {
    const { kills, event } = this.taken;
    // It would end as many processes again.
    if (kills >= MAX_KILLS) return "dropped";
    const journal = new RedisJournal(this.parts.connection, event.delivery);
    const notes = await ifReadable(journal.read(), undefined);
    // What nobody can read may be about a deployment.
    if (notes === undefined) return "dropped";
    return hasDone(notes) ? "untold" : "failed";
  }

  /** @throws {LeaseLost} @throws {StoreUnavailable} when the lease has expired and the store does not answer. */
  async #confirmLease(): Promise<void> {
    if (!this.#leaseLost && performance.now() >= this.#leaseEnds) await this.#renew();
    if (this.#leaseLost) throw new LeaseLost();
  }

  #endLease(): void {
    clearInterval(this.#heartbeat);
    this.#leaseLost = true;
  }

  #renew(): Promise<void> {
    this.#renewing ??= this.#renewNow().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  async #renewNow(): Promise<void> {
    const { lanes, timing, log } = this.parts;
    const { change, fence, event } = this.taken;
    const sent = performance.now();
    const renewed = await lanes.renew(change, fence, timing.leaseMs);
    if (this.#leaseLost) return;
    if (renewed.kind === "kept") {
      this.#leaseEnds = this.#leaseEndFrom(sent);
      if (renewed.stop === "pushed" || renewed.stop === "closed") this.stop(renewed.stop);
      return;
    }
    this.#endLease();
    // Recording the end of the run releases the lease, which may overtake a renewal.
    if (this.#over) return;
    log.warn(fieldsOf(event), "another replica took over an event");
    this.stop("handed-back");
  }

  /** Earlier than in Redis: clocks run at different speeds, and what a confirmation allows happens a moment later. */
  #leaseEndFrom(time: number): number {
    return time + this.parts.timing.leaseMs * 0.8;
  }
}

function isHandedBack({ reason }: AbortSignal): boolean {
  return reason instanceof Stopped && reason.reason === "handed-back";
}

/** Only this service writes notes, so the version vouches for the rest of their shape. */
const notes = z.object({
  v: z.literal(1),
  started: z.array(z.custom<StartedApplication>(isJsonObject)).optional(),
  skipped: z.array(z.custom<ApplicationName>((name) => typeof name === "string")).optional(),
  takenOver: z.array(z.custom<Lock>(isJsonObject)).optional(),
  result: z.custom<RunNotes["result"]>((value) => isJsonObject(value) && isNoted(value)).optional(),
});

/** A run's notes in Redis, one value per delivery. */
class RedisJournal implements RunJournal {
  readonly #key: string;

  constructor(
    private readonly connection: StoreConnection,
    delivery: string,
  ) {
    this.#key = journalKey(delivery);
  }

  async read(): Promise<RunNotes> {
    const text = await this.connection.run((redis) => redis.get(this.#key));
    if (text === null) return {};
    const parsed = notes.safeParse(parseJson(text));
    if (!parsed.success) {
      throw new StoredValueUnreadable(
        `the notes of a run in ${STORE_TITLE} are damaged or were written by another version of this service. ` +
          `Run one version everywhere, or delete the key ${this.#key}.`,
        { cause: parsed.error },
      );
    }
    const { started, skipped, takenOver, result } = parsed.data;
    return { started, skipped, takenOver, result };
  }

  async write({ started, skipped, takenOver, result }: RunNotes): Promise<void> {
    const text = JSON.stringify({ v: 1, started, skipped, takenOver, result });
    await this.connection.run((redis) => redis.set(this.#key, text, "PX", IDS_KEPT_MS));
  }
}
