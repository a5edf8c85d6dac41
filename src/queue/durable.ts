import { changeRequestKey } from "../core/model/change-request.js";
import { StoreUnavailable } from "../core/model/errors.js";
import type { HostEvent } from "../core/model/event.js";
import type { EventQueue, QueueBacklog } from "../core/ports/event-queue.js";
import { DrainJobs, type DrainJob } from "./drain-jobs.js";
import { EventRun, type RunBegun } from "./event-run.js";
import { createInProcessQueue } from "./in-process.js";
import { LaneStore, type Attempt, type Pushed, type Taken } from "./lane-store.js";
import type { QueueConnection } from "./queue-commands.js";
import { fieldsOf, type QueueOptions } from "./queue-options.js";
import { QUEUE_TIMING, type QueueTiming } from "./queue-timing.js";

export interface DurableQueueOptions extends QueueOptions {
  readonly connection: QueueConnection;
  /** Answers an event that was not taken, because the store was away when it came. */
  readonly refuse: QueueOptions["run"];
  readonly timing?: Partial<QueueTiming>;
}

/** How long `close` waits for runs that were told to stop, in milliseconds. */
const LAST_WAIT_MS = 1_000;
/** Both together under a second. */
const FIRST_PUSH_MS = 500;
const SECOND_PUSH_MS = 300;
const TAKEN_WITHIN_SHARE = 0.9;
const PUSHED_AGAIN_AFTER_MS = 150;
const IDLE_LOOK_MS = 20;

/**
 * A queue in Redis, shared by all replicas: what was accepted outlives any of them. A run holds a lease of its change
 * request; when its process is gone another one begins the event anew. Events that come while Redis is away are answered
 * from this process's memory, and not run.
 */
export function createDurableQueue(options: DurableQueueOptions): EventQueue {
  return new DurableQueue(options);
}

class DurableQueue implements EventQueue {
  readonly #options: DurableQueueOptions;
  readonly #timing: QueueTiming;
  readonly #lanes: LaneStore;
  readonly #jobs: DrainJobs;
  readonly #refused: EventQueue;
  /** By change request. */
  readonly #runs = new Map<string, EventRun>();
  readonly #timer: NodeJS.Timeout;
  /** Records of another version that were reported. */
  readonly #reported = new Set<string>();
  #whenChanged: (() => void)[] = [];
  #closed: Promise<void> | undefined;

  constructor(options: DurableQueueOptions) {
    const { connection, concurrency, log } = options;
    this.#options = options;
    this.#timing = { ...QUEUE_TIMING, ...options.timing };
    const { leaseMs, lookEveryMs } = this.#timing;
    this.#lanes = new LaneStore(connection);
    this.#refused = createInProcessQueue({ ...options, run: options.refuse });
    const work = (job: DrainJob) => this.#work(job);
    this.#jobs = new DrainJobs({ connection, concurrency, lockMs: leaseMs, lookEveryMs, work, log });
    this.#timer = setInterval(() => void this.#addLostJobs(), lookEveryMs);
    this.#timer.unref();
  }

  /**
   * Resolves when Redis has the event, or within a second when it is away. What comes while this replica is closing is
   * for the others, or for the next start.
   * @throws {QueueClosed} when Redis is away and this replica is closing.
   */
  async push(event: HostEvent): Promise<boolean> {
    const { log } = this.#options;
    const pushed = await this.#pushInTime(event);
    if (pushed === undefined) {
      log.error(fieldsOf(event), "the store was away when an event came: it is answered and not run");
      return this.#refused.push(event);
    }
    if (pushed.kind === "known") return false;
    for (const needless of pushed.superseded) log.debug(fieldsOf(needless), "superseded by a newer event");
    const change = changeRequestKey(event.change);
    if (pushed.generation !== undefined) void this.#jobs.add({ change, accepted: event.delivery }, pushed.generation);
    else if (event.kind === "commented") void this.#confirm(event);
    // Another replica hears it with the next renewal of its lease.
    if (event.kind === "updated") this.#runs.get(change)?.stop("pushed");
    if (event.kind === "closed") this.#runs.get(change)?.stop("closed");
    return true;
  }

  async idle(): Promise<void> {
    do {
      await Promise.all([this.#until(() => this.#isQuiet()), this.#refused.idle()]);
      await new Promise((resolve) => setTimeout(resolve, IDLE_LOOK_MS));
    } while (this.#closed === undefined && (!this.#isQuiet() || (await this.#waiting())));
  }

  backlog(): Promise<QueueBacklog> {
    return this.#lanes.backlog();
  }

  close(graceMs: number): Promise<void> {
    this.#closed ??= this.#drain(graceMs);
    return this.#closed;
  }

  async #drain(graceMs: number): Promise<void> {
    clearInterval(this.#timer);
    await this.#jobs.pause();
    await Promise.all([this.#refused.close(graceMs), this.#emptyWithin(graceMs)]);
    for (const run of this.#runs.values()) run.stop("handed-back");
    await this.#emptyWithin(LAST_WAIT_MS);
    await Promise.all([...this.#runs].map(([change, run]) => this.#abandon(change, run)));
    await this.#jobs.close();
  }

  async #abandon(change: string, run: EventRun): Promise<void> {
    const { log } = this.#options;
    log.warn(fieldsOf(run.taken.event), "handed back by the shutdown: another replica goes on with it");
    try {
      const left = await run.abandon();
      if (left.kind === "more") await this.#jobs.add({ change }, left.generation);
    } catch (error) {
      log.warn({ change, err: error }, "could not be handed back: it goes on when the lease has run out");
    }
  }

  /** Undefined when the store is away. A call that was cut off, or not answered, is repeated once, to hear whether it was done. */
  async #pushInTime(event: HostEvent): Promise<Pushed | undefined> {
    const began = performance.now();
    const pushed = await this.#attemptPush(event, FIRST_PUSH_MS);
    if (pushed !== undefined) return pushed;
    if (performance.now() - began < PUSHED_AGAIN_AFTER_MS) {
      await new Promise((resolve) => setTimeout(resolve, PUSHED_AGAIN_AFTER_MS));
    }
    const again = await this.#attemptPush(event, SECOND_PUSH_MS);
    // Whichever call it was: Redis has the event.
    return again?.kind === "known" ? { kind: "accepted", generation: undefined, superseded: [] } : again;
  }

  /** Undefined after so many milliseconds; Redis takes nothing of it any more a little before. */
  async #attemptPush(event: HostEvent, ms: number): Promise<Pushed | undefined> {
    const pushed = this.#lanes.push(event, ms * TAKEN_WITHIN_SHARE).catch((error: unknown) => {
      if (error instanceof StoreUnavailable) return undefined;
      throw error;
    });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), ms);
    });
    try {
      return await Promise.race([pushed, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Nobody waits for that: a command that is not confirmed is run all the same, a little later. */
  async #confirm(event: HostEvent): Promise<void> {
    try {
      await this.#lanes.confirm(event);
    } catch (error) {
      this.#options.log.debug(
        { ...fieldsOf(event), err: error },
        "that a command was accepted could not be written down",
      );
    }
  }

  /** Runs the next event of a change request, if nobody else does. */
  async #work({ change, accepted }: DrainJob): Promise<void> {
    const { log } = this.#options;
    try {
      if (this.#closed !== undefined) return;
      const takenAt = performance.now();
      const attempt = await this.#lanes.take(change, this.#timing.leaseMs);
      switch (attempt.kind) {
        case "held":
        case "empty":
          break;
        case "unreadable":
          await this.#leave(change, attempt);
          break;
        case "taken":
          await this.#run(attempt, { takenAt, confirmed: accepted === attempt.event.delivery });
      }
    } catch (error) {
      log.warn({ change, err: error }, "an event could not be begun, or its end not be written down");
    }
  }

  async #leave(change: string, { text, fence }: Extract<Attempt, { kind: "unreadable" }>): Promise<void> {
    if (!this.#reported.has(text)) {
      const advice = "an event of another version of this service waits: run one version everywhere";
      this.#options.log.error({ change }, advice);
    }
    this.#reported.add(text);
    await this.#lanes.leave(change, fence);
  }

  async #run(taken: Taken, begun: RunBegun): Promise<void> {
    const { change } = taken;
    const parts = { ...this.#options, lanes: this.#lanes, timing: this.#timing };
    const run = new EventRun(taken, parts, begun);
    this.#runs.set(change, run);
    try {
      const followed = await run.work(() => this.#tellChange());
      if (followed?.kind === "more") void this.#jobs.add({ change }, followed.generation, followed.delayMs);
    } finally {
      this.#runs.delete(change);
      this.#tellChange();
    }
  }

  /** Whoever added a job may have been killed before; and one that met a dead replica's lease is gone. */
  async #addLostJobs(): Promise<void> {
    try {
      const free = await this.#lanes.free(this.#timing.lookEveryMs);
      if (this.#closed !== undefined) return;
      await Promise.all(free.map(({ change, generation }) => this.#jobs.add({ change }, generation)));
    } catch (error) {
      this.#options.log.debug({ err: error }, "could not look for events whose job was lost");
    }
  }

  async #waiting(): Promise<boolean> {
    return (await this.#lanes.count().catch(() => 0)) > 0;
  }

  /** While the store is away a run that has come to its end cannot be taken off the list. */
  #isQuiet(): boolean {
    return [...this.#runs.values()].every(({ over }) => over);
  }

  async #until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.#whenChanged.push(resolve));
  }

  #tellChange(): void {
    for (const resolve of this.#whenChanged.splice(0)) resolve();
  }

  async #emptyWithin(ms: number): Promise<void> {
    const timer = new AbortController();
    const late = this.#options.clock.sleep(ms, timer.signal).catch(() => undefined);
    await Promise.race([this.#until(() => this.#runs.size === 0), late]);
    timer.abort();
  }
}
