import { changeRequestKey } from "../core/model/change-request.js";
import type { HostEvent } from "../core/model/event.js";
import type { EventQueue, QueueBacklog, RunEnd } from "../core/ports/event-queue.js";
import { Stopped } from "../core/ports/stop.js";
import { DeliveryMemory } from "./delivery-memory.js";
import { Lane } from "./lane.js";
import { MemoryJournal } from "./memory-journal.js";
import { QueueClosed } from "./queue-closed.js";
import { fieldsOf, idsOf, type QueueOptions } from "./queue-options.js";

/** How long `close` waits for runs that were told to stop, in milliseconds. */
const LAST_WAIT_MS = 1000;

const JOURNALS_KEPT = 1000;

/** A queue in this process's memory: what waits is lost when the process is killed. */
export function createInProcessQueue(options: QueueOptions): EventQueue {
  return new InProcessQueue(options);
}

class InProcessQueue implements EventQueue {
  readonly #options: QueueOptions;
  readonly #deliveries = new DeliveryMemory();
  /** Lanes that have something waiting or running, by change request. */
  readonly #lanes = new Map<string, Lane>();
  /** Keys of lanes whose next event can start as soon as there is room, in order. */
  readonly #ready = new Set<string>();
  /** Notes of runs that failed, by delivery, the oldest first. */
  readonly #journals = new Map<string, MemoryJournal>();
  #running = 0;
  #whenIdle: (() => void)[] = [];
  #closed: Promise<void> | undefined;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** @throws {QueueClosed} */
  push(event: HostEvent): Promise<boolean> {
    const { log, clock } = this.#options;
    if (this.#closed !== undefined) return Promise.reject(new QueueClosed());
    const key = changeRequestKey(event.change);
    if (!this.#deliveries.accept(idsOf(event), clock.now())) return Promise.resolve(false);
    const lane = this.#lanes.get(key) ?? new Lane();
    this.#lanes.set(key, lane);
    for (const needless of lane.add(event)) log.debug(fieldsOf(needless), "superseded by a newer event");
    if (!lane.running) this.#ready.add(key);
    this.#startWaiting();
    return Promise.resolve(true);
  }

  idle(): Promise<void> {
    if (this.#lanes.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  backlog(): Promise<QueueBacklog> {
    const waiting = [...this.#lanes.values()].flatMap((lane) => lane.waiting);
    const now = this.#options.clock.now().getTime();
    const ages = waiting.map(({ delivery }) => now - (this.#deliveries.acceptedAt(delivery) ?? now));
    return Promise.resolve({ waiting: waiting.length, running: this.#running, oldestMs: Math.max(0, ...ages) });
  }

  close(graceMs: number): Promise<void> {
    this.#closed ??= this.#drain(graceMs);
    return this.#closed;
  }

  async #drain(graceMs: number): Promise<void> {
    if (await this.#idleWithin(graceMs)) return;
    this.#ready.clear();
    for (const [key, lane] of this.#lanes) {
      for (const event of lane.clear()) this.#options.log.warn(fieldsOf(event), "dropped by the shutdown");
      if (lane.running) lane.stop("shutdown");
      else this.#lanes.delete(key);
    }
    if (!(await this.#idleWithin(LAST_WAIT_MS))) {
      this.#options.log.warn({ running: this.#running }, "the shutdown did not wait for runs that do not end");
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

  #startWaiting(): void {
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
    const journal = this.#journals.get(event.delivery) ?? new MemoryJournal();
    const again = this.#journals.delete(event.delivery);
    const confirm = () => Promise.resolve();
    let end: RunEnd = "failed";
    try {
      end = await this.#options.run(event, { signal, again, confirm, journal });
    } catch (error) {
      const log = this.#options.log.child(fieldsOf(event));
      if (error instanceof Stopped) log.info({ reason: error.reason }, "run stopped");
      else log.error({ err: error }, "run failed");
      if (error instanceof Stopped) end = "stopped";
    }
    if (end === "failed") this.#mayComeAgain(event, journal);
    lane.done();
    this.#running -= 1;
    if (lane.waiting.length > 0) this.#ready.add(key);
    else this.#lanes.delete(key);
    this.#startWaiting();
    if (this.#lanes.size === 0) for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  /** A host sends what failed once more when somebody asks it to. */
  #mayComeAgain(event: HostEvent, journal: MemoryJournal): void {
    this.#deliveries.forget(idsOf(event));
    this.#journals.set(event.delivery, journal);
    for (const oldest of this.#journals.keys()) {
      if (this.#journals.size <= JOURNALS_KEPT) break;
      this.#journals.delete(oldest);
    }
  }
}
