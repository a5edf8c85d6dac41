import type { HostEvent } from "../core/model/event.js";
import type { StopReason } from "../core/ports/event-queue.js";
import { Stopped } from "../core/ports/stop.js";

/** The events of one change request: one runs, the others wait in order. */
export class Lane {
  #waiting: HostEvent[] = [];
  #running: AbortController | undefined;

  get waiting(): readonly HostEvent[] {
    return this.#waiting;
  }

  get running(): boolean {
    return this.#running !== undefined;
  }

  /**
   * Adds an event at the end and takes out those that it makes needless: an update stands for every update that
   * waits, since each run reads fresh facts, and so does a close. Comments always stay. Returns what was taken out.
   */
  add(event: HostEvent): readonly HostEvent[] {
    const superseding = event.kind === "updated" || event.kind === "closed";
    const needless: readonly HostEvent[] = superseding
      ? this.#waiting.filter((earlier) => earlier.kind === "updated")
      : [];
    this.#waiting = [...this.#waiting.filter((earlier) => !needless.includes(earlier)), event];
    if (superseding) this.stop(event.kind === "closed" ? "closed" : "pushed");
    return needless;
  }

  /** Takes the next event to run; its signal is aborted by `stop` until `done` is called. */
  start(): { readonly event: HostEvent; readonly signal: AbortSignal } | undefined {
    const event = this.#waiting.shift();
    if (event === undefined) return undefined;
    this.#running = new AbortController();
    return { event, signal: this.#running.signal };
  }

  done(): void {
    this.#running = undefined;
  }

  /** Asks the running event to stop; the first reason stays. */
  stop(reason: StopReason): void {
    this.#running?.abort(new Stopped(reason));
  }

  /** Takes out everything that waits. */
  clear(): readonly HostEvent[] {
    const dropped = this.#waiting;
    this.#waiting = [];
    return dropped;
  }
}
