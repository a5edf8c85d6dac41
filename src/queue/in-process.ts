import { changeRequestKey } from "../core/change-request.js";
import type { Clock } from "../core/clock.js";
import type { HostEvent } from "../core/event.js";
import type { Log } from "../core/log.js";
import type { EventQueue } from "../core/ports.js";
import { Stopped } from "../core/stop.js";
import { DeliveryMemory } from "./delivery-memory.js";
import { Lane } from "./lane.js";
import { QueueClosed } from "./queue-closed.js";

export interface QueueOptions {
  /** How many change requests are worked on at once. */
  readonly concurrency: number;
  /** Works on one event. The signal asks it to stop, with a `Stopped` as its reason; the run decides whether to heed it. */
  readonly run: (event: HostEvent, signal: AbortSignal) => Promise<void>;
  readonly log: Log;
  readonly clock: Clock;
}

/** How long `close` waits for runs that were told to stop, in milliseconds. */
const LAST_WAIT_MS = 1000;

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
    // The delivery's id is not signed everywhere; the comment's is part of the body.
    const ids = event.kind === "commented" ? [event.delivery, `${key} comment ${event.commentId}`] : [event.delivery];
    if (!this.#deliveries.accept(ids, clock.now())) return Promise.resolve(false);
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
    try {
      await this.#options.run(event, signal);
    } catch (error) {
      const log = this.#options.log.child(fieldsOf(event));
      if (error instanceof Stopped) log.info({ reason: error.reason }, "run stopped");
      else log.error({ err: error }, "run failed");
    }
    lane.done();
    this.#running -= 1;
    if (lane.waiting.length > 0) this.#ready.add(key);
    else this.#lanes.delete(key);
    this.#startWaiting();
    if (this.#lanes.size === 0) for (const resolve of this.#whenIdle.splice(0)) resolve();
  }
}

function fieldsOf(event: HostEvent): object {
  return { delivery: event.delivery, kind: event.kind, change: changeRequestKey(event.change) };
}
