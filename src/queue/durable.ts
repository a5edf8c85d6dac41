import type { ChangeRequestRef } from "../core/model/change-request.js";
import { StoreUnavailable, only } from "../core/model/errors.js";
import type { HostEvent } from "../core/model/event.js";
import { type EventQueue, type QueueBacklog, MAX_ASIDE, toldLate } from "../core/ports/event-queue.js";
import {
  keepSubscribed,
  type RedisClient,
  responsiveTimeout,
  type StoreConnection,
  withoutArguments,
} from "../http/redis.js";
import { EventRun } from "./event-run.js";
import { createInProcessQueue, fieldsOf, type QueueOptions, type QueueTiming } from "./in-process.js";
import {
  BELL_CHANNEL,
  eventsKey,
  LaneStore,
  type Pushed,
  readEventRecord,
  type Taken,
  UNTOLD_KEY,
} from "./lane-store.js";

/** The events of a killed replica resume after its lease and at most two looks: within 20 seconds. */
const QUEUE_TIMING: QueueTiming = {
  leaseMs: 10_000,
  heartbeatMs: 1_000,
  lookEveryMs: 5_000,
  retryAfterMs: [2_000, 10_000, 30_000],
  undoubtedMs: 5_000,
};

const STOP_WITHIN_MS = 1_000;
/** Time limits of the two attempts to push an event: under a second together. */
const FIRST_PUSH_MS = 500;
const SECOND_PUSH_MS = 300;
/** Redis accepts an event only within this share of the limit, so that its answer can still arrive. */
const ACCEPTED_WITHIN_SHARE = 0.9;
const PUSH_RETRY_MS = 150;
const IDLE_LOOK_MS = 20;

/**
 * A queue in Redis, shared by all replicas: an accepted event outlives each of them. A run holds a lease on its change
 * request; if its process dies, another replica starts the event again. Events that come while Redis is unavailable are
 * refused: answered from this process's memory, and not run.
 */
export function createDurableQueue(options: DurableQueueOptions): EventQueue {
  return new DurableQueue(options);
}

class DurableQueue implements EventQueue {
  readonly #options: DurableQueueOptions;
  readonly #timing: QueueTiming;
  readonly #lanes: LaneStore;
  readonly #bell: RedisClient;
  readonly #refused: EventQueue;
  readonly #runs = new Map<string, EventRun>();
  readonly #timer: NodeJS.Timeout;
  readonly #reported = new Set<string>();
  /** Next runs that wait, so that a failed one is not repeated at once. */
  readonly #delayed = new Set<NodeJS.Timeout>();
  /** How many change requests this replica works on; those whose run stepped aside do not count. */
  #busy = 0;
  #rung = false;
  #isStarting = false;
  #waiters: (() => void)[] = [];
  #closed: Promise<void> | undefined;

  constructor(options: DurableQueueOptions) {
    const { connection, log } = options;
    this.#options = options;
    this.#timing = { ...QUEUE_TIMING, ...options.timing };
    this.#lanes = new LaneStore(connection);
    this.#refused = createInProcessQueue({ ...options, run: options.refuse });
    this.#bell = connection.patient();
    // The store's own connection reports outages.
    const problem = (error: unknown) => ({ err: withoutArguments(error) });
    this.#bell.on("error", (error: unknown) => log.debug(problem(error), "the queue's connection failed"));
    this.#bell.on("message", () => void this.#startAnnounced());
    keepSubscribed(this.#bell, BELL_CHANNEL, {
      // What rang before, and while the connection was lost, was not heard.
      done: () => void this.#startAnnounced(),
      failed: (error) => log.debug(problem(error), "the queue cannot hear of new events"),
    });
    this.#timer = setInterval(() => void this.#look(), this.#timing.lookEveryMs);
    this.#timer.unref();
  }

  /** Resolves once Redis has the event, or within a second if it is unavailable. @throws {QueueClosed} if this replica is closing then. */
  async push(event: HostEvent): Promise<boolean> {
    const { log } = this.#options;
    const pushed = await this.#pushInTime(event);
    if (pushed === undefined) {
      log.error(fieldsOf(event), "event refused: the store is unavailable");
      return this.#refused.push(event);
    }
    if (pushed.kind === "known") return false;
    for (const superseded of pushed.superseded) log.debug(fieldsOf(superseded), "superseded by a newer event");
    const { lane } = pushed;
    void this.#confirm(event, pushed.isFirst ? [lane] : []);
    // If another replica runs the change request, it learns this at the next renewal of its lease.
    if (event.kind === "updated") this.#runs.get(lane)?.stop("pushed");
    if (event.kind === "closed") this.#runs.get(lane)?.stop("closed");
    return true;
  }

  /** Includes events that this replica refused, since it answers them. */
  async knows(event: HostEvent): Promise<boolean> {
    return (await this.#refused.knows(event)) || this.#lanes.knows(event);
  }

  async isBusy(change: ChangeRequestRef): Promise<boolean> {
    return (await this.#refused.isBusy(change)) || this.#lanes.isBusy(change);
  }

  async pushUntold(): Promise<void> {
    const { connection } = this.#options;
    const untold = await connection.run((redis) => redis.hgetall(UNTOLD_KEY));
    for (const [key, text] of Object.entries(untold)) {
      const record = readEventRecord(text);
      if (record === undefined) continue;
      const event = toldLate(record.event, record.at);
      // Pushed straight into its lane: if that fails, the next look tries again, and nobody must be told of a refusal.
      const { lane } = await this.#lanes.push(event, FIRST_PUSH_MS);
      await connection.run((redis) => redis.hdel(UNTOLD_KEY, key));
      void this.#confirm(event, [lane]);
    }
  }

  async idle(): Promise<void> {
    do {
      await Promise.all([this.#until(() => this.#isQuiet()), this.#refused.idle()]);
      await new Promise((resolve) => setTimeout(resolve, IDLE_LOOK_MS));
    } while (this.#closed === undefined && (!this.#isQuiet() || (await this.#lanes.count().catch(() => 0)) > 0));
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
    for (const timer of this.#delayed) clearTimeout(timer);
    await Promise.all([this.#refused.close(graceMs), this.#runsEndWithin(graceMs)]);
    for (const run of this.#runs.values()) run.stop("handed-back");
    await this.#runsEndWithin(STOP_WITHIN_MS);
    await Promise.all([...this.#runs].map(([change, run]) => this.#abandon(change, run)));
    this.#bell.disconnect();
  }

  async #abandon(change: string, run: EventRun): Promise<void> {
    const { log } = this.#options;
    log.warn(fieldsOf(run.taken.event), "event handed back at shutdown: another replica resumes it");
    try {
      if ((await run.abandon()).hasMore) await this.#lanes.announce([change]);
    } catch (error) {
      log.warn({ change, err: error }, "could not hand back an event: it resumes when its lease expires");
    }
  }

  async #pushInTime(event: HostEvent): Promise<Pushed | undefined> {
    const began = performance.now();
    const pushed = await this.#attemptPush(event, FIRST_PUSH_MS);
    if (pushed !== undefined) return pushed;
    if (performance.now() - began < PUSH_RETRY_MS) await new Promise((resolve) => setTimeout(resolve, PUSH_RETRY_MS));
    const again = await this.#attemptPush(event, SECOND_PUSH_MS);
    // One of the two calls was executed, so Redis has the event.
    return again?.kind === "known" ? { ...again, kind: "accepted", isFirst: true, superseded: [] } : again;
  }

  /** Returns undefined after `ms`; shortly before that, Redis stops accepting the event. */
  async #attemptPush(event: HostEvent, ms: number): Promise<Pushed | undefined> {
    const pushed = this.#lanes.push(event, ms * ACCEPTED_WITHIN_SHARE).catch(only(StoreUnavailable, () => undefined));
    let cancel: () => void = () => undefined;
    // An answer that is there counts, although this process was too busy to read it.
    const late = new Promise<undefined>((resolve) => {
      cancel = responsiveTimeout(ms, () => resolve(undefined));
    });
    try {
      return await Promise.race([pushed, late]);
    } finally {
      cancel();
    }
  }

  /** Not awaited: an event that is not announced still runs, a little later, and so does a command that is not confirmed. */
  async #confirm(event: HostEvent, lanes: readonly string[]): Promise<void> {
    try {
      // In this order, so that the run finds the confirmation.
      const confirmed = event.kind === "commented" ? this.#lanes.confirm(event) : undefined;
      await Promise.all([confirmed, this.#lanes.announce(lanes)]);
    } catch (error) {
      this.#options.log.debug({ ...fieldsOf(event), err: error }, "could not announce an event");
    }
  }

  /** Starts what is announced, as far as there is room. Never rejects: the next look tries again. */
  async #startAnnounced(): Promise<void> {
    this.#rung = true;
    if (this.#isStarting) return;
    this.#isStarting = true;
    try {
      while (this.#rung && this.#closed === undefined) {
        this.#rung = false;
        const room = this.#options.concurrency - this.#busy;
        const changes = room > 0 ? await this.#lanes.next(room) : [];
        for (const change of changes) void this.#work(change);
      }
    } catch (error) {
      this.#options.log.debug({ err: error }, "could not look for announced events");
    } finally {
      this.#isStarting = false;
    }
  }

  async #work(change: string): Promise<void> {
    const { log } = this.#options;
    this.#busy += 1;
    try {
      if (this.#closed !== undefined) {
        await this.#lanes.announce([change]);
        return;
      }
      const takenAt = performance.now();
      const attempt = await this.#lanes.take(change, this.#timing.leaseMs);
      switch (attempt.kind) {
        case "held":
        case "empty":
          break;
        case "unreadable":
          await this.#leave(change, attempt.text, attempt.fence);
          break;
        case "taken":
          await this.#run(attempt, takenAt);
      }
    } catch (error) {
      log.warn({ change, err: error }, "could not start an event");
    } finally {
      this.#busy -= 1;
      this.#wakeWaiters();
      void this.#startAnnounced();
    }
  }

  async #leave(change: string, text: string, fence: string): Promise<void> {
    if (!this.#reported.has(text)) {
      const key = eventsKey(change);
      this.#options.log.error({ change, key }, "event of another version of this service: run one version everywhere");
    }
    this.#reported.add(text);
    await this.#lanes.leave(change, fence);
  }

  async #run(taken: Taken, takenAt: number): Promise<void> {
    // It was closed while it took the event.
    if (this.#closed !== undefined) {
      await this.#lanes.leave(taken.change, taken.fence);
      return this.#lanes.announce([taken.change]);
    }
    if (taken.kills > 0) this.#options.onTakeOver?.();
    const mayStepAside = () => [...this.#runs.values()].filter((run) => run.isAside).length < MAX_ASIDE;
    const parts = { ...this.#options, lanes: this.#lanes, timing: this.#timing, mayStepAside };
    const run = new EventRun(taken, parts, takenAt);
    this.#runs.set(taken.change, run);
    // A run that stepped aside leaves its place to another change request; the lease still keeps its own.
    await Promise.race([run.aside, this.#follow(run)]);
  }

  async #follow(run: EventRun, { change } = run.taken): Promise<void> {
    try {
      const followed = await run.work(() => this.#wakeWaiters());
      if (followed?.hasMore === true) await this.#announceAfter(followed.delayMs, change);
    } catch (error) {
      this.#options.log.warn({ change, err: error }, "could not record how an event ended");
    } finally {
      this.#runs.delete(change);
      this.#wakeWaiters();
    }
  }

  async #announceAfter(delayMs: number, change: string): Promise<void> {
    if (delayMs === 0) return this.#lanes.announce([change]);
    const timer = setTimeout(() => {
      this.#delayed.delete(timer);
      this.#lanes.announce([change]).catch((error: unknown) => {
        this.#options.log.debug({ change, err: error }, "could not announce an event");
      });
    }, delayMs);
    this.#delayed.add(timer);
  }

  /** Finds what was announced in vain, and what this replica did not hear. */
  async #look(): Promise<void> {
    try {
      await this.#lanes.announceLost(this.#timing.lookEveryMs);
      await this.#startAnnounced();
    } catch (error) {
      this.#options.log.debug({ err: error }, "could not look for events without a run");
    }
  }

  /** Runs that are over may still be waiting for the store, to record how they ended. */
  #isQuiet(): boolean {
    return [...this.#runs.values()].every(({ over }) => over);
  }

  async #until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.#waiters.push(resolve));
  }

  #wakeWaiters(): void {
    for (const wake of this.#waiters.splice(0)) wake();
  }

  async #runsEndWithin(ms: number): Promise<void> {
    const timer = new AbortController();
    const late = this.#options.clock.sleep(ms, timer.signal).catch(() => undefined);
    await Promise.race([this.#until(() => this.#runs.size + this.#busy === 0), late]);
    timer.abort();
  }
}

export interface DurableQueueOptions extends QueueOptions {
  readonly connection: StoreConnection;
  /** Answers an event that was refused because the store was unavailable when it came. */
  readonly refuse: QueueOptions["run"];
  readonly timing?: Partial<QueueTiming>;
  /** Called when this replica starts an event whose last run was killed with its replica. */
  readonly onTakeOver?: () => void;
}
