import { changeRequestKey, type ChangeRequestRef, identityKey } from "../core/model/change-request.js";
import { nextTurn } from "../core/model/collections.js";
import type { HostEvent } from "../core/model/event.js";
import { hasDone, type RunNotes } from "../core/model/progress.js";
import type { Clock } from "../core/ports/clock.js";
import {
  type EventQueue,
  type QueueBacklog,
  type RunEnd,
  type RunJournal,
  type RunTicket,
  Stopped,
  type StopReason,
  IDS_KEPT_MS,
  UNTOLD_KEPT_MS,
  idsOf,
  toldLate,
  MAX_ASIDE,
} from "../core/ports/event-queue.js";
import type { Log } from "../core/ports/log.js";

export interface QueueOptions {
  readonly concurrency: number;
  /** Handles one event. A rejection counts as a failed run. */
  readonly run: (event: HostEvent, ticket: RunTicket) => Promise<RunEnd>;
  readonly log: Log;
  readonly clock: Clock;
}

/** Times of the queue in Redis, in milliseconds. */
export interface QueueTiming {
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  /** How often to look for change requests whose announcement was lost. */
  readonly lookEveryMs: number;
  /** Pauses before each retry of a failed run; after the last one it stays failed. */
  readonly retryAfterMs: readonly number[];
  /** Age at which a command that Redis may have accepted unnoticed was certainly answered as refused by its replica. */
  readonly undoubtedMs: number;
}

export function fieldsOf(event: HostEvent): object {
  return { delivery: event.delivery, kind: event.kind, change: changeRequestKey(event.change) };
}

export class MemoryJournal implements RunJournal {
  #notes: RunNotes = {};

  read(): Promise<RunNotes> {
    return Promise.resolve(this.#notes);
  }

  write(value: RunNotes): Promise<void> {
    this.#notes = value;
    return Promise.resolve();
  }
}

const STOP_WITHIN_MS = 1000;

const MAX_IDS = 100_000;
const MAX_FAILED = 1000;

class QueueClosed extends Error {
  override readonly name = "QueueClosed";
  constructor() {
    super("the service is shutting down and accepts no more events");
  }
}

/** A run that failed, by which an event that comes again goes on; `at` is when its first attempt began, in milliseconds since 1970. */
interface FailedRun {
  readonly event: HostEvent;
  readonly journal: MemoryJournal;
  readonly at: number;
}

/** A queue in memory: events that have not run are lost when the process ends. */
export function createInProcessQueue(options: QueueOptions): EventQueue {
  return new InProcessQueue(options);
}

class InProcessQueue implements EventQueue {
  readonly #options: QueueOptions;
  readonly #accepted = new AcceptedIds();
  /** Lanes with waiting or running events, by change request. */
  readonly #lanes = new Map<string, Lane>();
  /** Keys of the lanes whose next event may start, in order. */
  readonly #ready = new Set<string>();
  readonly #failed = new Map<string, FailedRun>();
  #running = 0;
  #aside = 0;
  #whenIdle: (() => void)[] = [];
  #closed: Promise<void> | undefined;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** @throws {QueueClosed} */
  push(event: HostEvent): Promise<boolean> {
    const { log, clock } = this.#options;
    if (this.#closed !== undefined) return Promise.reject(new QueueClosed());
    const key = identityKey(event.change);
    if (!this.#accepted.add(idsOf(event), clock.now())) return Promise.resolve(false);
    const lane = this.#lanes.get(key) ?? new Lane();
    this.#lanes.set(key, lane);
    for (const superseded of lane.add(event)) log.debug(fieldsOf(superseded), "superseded by a newer event");
    if (!lane.running) this.#ready.add(key);
    this.#startReady();
    return Promise.resolve(true);
  }

  async knows(event: HostEvent): Promise<boolean> {
    const ids = idsOf(event);
    if (ids.some((id) => this.#accepted.timeOf(id) !== undefined)) return true;
    return (await this.#untold()).some((one) => idsOf(one).some((id) => ids.includes(id)));
  }

  async pushUntold(): Promise<void> {
    for (const event of await this.#untold()) await this.push(event);
  }

  async #untold(): Promise<readonly HostEvent[]> {
    const since = this.#options.clock.now().getTime() - UNTOLD_KEPT_MS;
    const failed = [...this.#failed.values()].filter(({ at }) => at > since);
    const done = await Promise.all(failed.map(async ({ journal }) => hasDone(await journal.read())));
    return failed.filter((_run, index) => done[index]).map(({ event, at }) => toldLate(event, at));
  }

  isBusy(change: ChangeRequestRef): Promise<boolean> {
    return Promise.resolve(this.#lanes.has(identityKey(change)));
  }

  idle(): Promise<void> {
    if (this.#lanes.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  backlog(): Promise<QueueBacklog> {
    const waiting = [...this.#lanes.values()].flatMap((lane) => lane.waiting);
    const now = this.#options.clock.now().getTime();
    const ages = waiting.map(({ delivery }) => now - (this.#accepted.timeOf(delivery) ?? now));
    const running = [...this.#lanes.values()].filter((lane) => lane.running).length;
    return Promise.resolve({ waiting: waiting.length, running, oldestMs: Math.max(0, ...ages) });
  }

  close(graceMs: number): Promise<void> {
    this.#closed ??= this.#drain(graceMs);
    return this.#closed;
  }

  async #drain(graceMs: number): Promise<void> {
    if (await this.#idleWithin(graceMs)) return;
    this.#ready.clear();
    for (const [key, lane] of this.#lanes) {
      for (const event of lane.clear()) this.#options.log.warn(fieldsOf(event), "event dropped at shutdown");
      if (lane.running) lane.stop("shutdown");
      else this.#lanes.delete(key);
    }
    if (!(await this.#idleWithin(STOP_WITHIN_MS))) {
      this.#options.log.warn({ running: this.#running }, "shut down without waiting for runs that do not stop");
    }
  }

  async #idleWithin(ms: number): Promise<boolean> {
    const timer = new AbortController();
    const late = this.#options.clock.sleep(ms, timer.signal).then(
      () => false,
      () => true,
    );
    const idle = this.idle().then(() => true);
    const inTime = await Promise.race([idle, late]);
    timer.abort();
    return inTime;
  }

  #startReady(): void {
    for (const key of this.#ready) {
      if (this.#running >= this.#options.concurrency) return;
      this.#ready.delete(key);
      const lane = this.#lanes.get(key);
      const next = lane?.start();
      if (lane === undefined || next === undefined) continue;
      this.#running += 1;
      void this.#run(key, lane, next.event, next.signal);
    }
  }

  async #run(key: string, lane: Lane, event: HostEvent, signal: AbortSignal): Promise<void> {
    const failed = this.#failed.get(event.delivery) ?? {
      event,
      journal: new MemoryJournal(),
      at: this.#options.clock.now().getTime(),
    };
    const { journal } = failed;
    const again = this.#failed.delete(event.delivery);
    const confirm = () => Promise.resolve();
    let end: RunEnd = "failed";
    const place = { left: false };
    const stepAside = () => {
      if (place.left || this.#aside >= MAX_ASIDE) return;
      place.left = true;
      this.#aside += 1;
      this.#running -= 1;
      this.#startReady();
    };
    try {
      end = await this.#options.run(event, { signal, again, givenUp: false, confirm, journal, stepAside });
    } catch (error) {
      const log = this.#options.log.child(fieldsOf(event));
      if (error instanceof Stopped) log.info({ reason: error.reason }, "run stopped");
      else log.error({ err: error }, "run failed");
      if (error instanceof Stopped) end = "stopped";
    }
    if (end === "failed") this.#allowRedelivery(failed);
    // A lane may hold a thousand comments, and everybody else needs the event loop between them.
    if (lane.waiting.length > 0) await nextTurn();
    lane.done();
    if (place.left) this.#aside -= 1;
    else this.#running -= 1;
    if (lane.waiting.length > 0) this.#ready.add(key);
    else this.#lanes.delete(key);
    this.#startReady();
    if (this.#lanes.size === 0) for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  #allowRedelivery(run: FailedRun): void {
    this.#accepted.remove(idsOf(run.event));
    this.#failed.set(run.event.delivery, run);
    for (const oldest of this.#failed.keys()) {
      if (this.#failed.size <= MAX_FAILED) break;
      this.#failed.delete(oldest);
    }
  }
}

export class AcceptedIds {
  readonly #times = new Map<string, number>();

  constructor(private readonly limit = MAX_IDS) {}

  /** Adds the ids of an event, and returns false if one of them was accepted before. */
  add(ids: readonly string[], now: Date): boolean {
    for (const [oldest, time] of this.#times) {
      if (this.#times.size < this.limit && time > now.getTime() - IDS_KEPT_MS) break;
      this.#times.delete(oldest);
    }
    if (ids.some((id) => this.#times.has(id))) return false;
    for (const id of ids) this.#times.set(id, now.getTime());
    return true;
  }

  timeOf(id: string): number | undefined {
    return this.#times.get(id);
  }

  remove(ids: readonly string[]): void {
    for (const id of ids) this.#times.delete(id);
  }
}

/** The events of one change request: at most one runs, the others wait in order. */
class Lane {
  #waiting: HostEvent[] = [];
  #running: AbortController | undefined;

  get waiting(): readonly HostEvent[] {
    return this.#waiting;
  }

  get running(): boolean {
    return this.#running !== undefined;
  }

  /** Appends an event. An update or a close removes waiting updates, which are returned: every run reads fresh facts. */
  add(event: HostEvent): readonly HostEvent[] {
    const superseding = event.kind === "updated" || event.kind === "closed";
    const superseded: readonly HostEvent[] = superseding
      ? this.#waiting.filter((earlier) => earlier.kind === "updated")
      : [];
    this.#waiting = [...this.#waiting.filter((earlier) => !superseded.includes(earlier)), event];
    if (superseding) this.stop(event.kind === "closed" ? "closed" : "pushed");
    return superseded;
  }

  start(): { readonly event: HostEvent; readonly signal: AbortSignal } | undefined {
    const event = this.#waiting.shift();
    if (event === undefined) return undefined;
    this.#running = new AbortController();
    return { event, signal: this.#running.signal };
  }

  done(): void {
    this.#running = undefined;
  }

  stop(reason: StopReason): void {
    this.#running?.abort(new Stopped(reason));
  }

  clear(): readonly HostEvent[] {
    return this.#waiting.splice(0);
  }
}
