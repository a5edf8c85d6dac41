import type { HostEvent } from "../core/model/event.js";
import { Stopped, type StopReason } from "../core/ports/event-queue.js";

/** The events of one change request: at most one runs, the others wait in order. */
export class Lane {
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

  /** Takes the next event to run. `stop` aborts its signal until `done` is called. */
  start(): { readonly event: HostEvent; readonly signal: AbortSignal } | undefined {
    const event = this.#waiting.shift();
    if (event === undefined) return undefined;
    this.#running = new AbortController();
    return { event, signal: this.#running.signal };
  }

  done(): void {
    this.#running = undefined;
  }

  /** Asks the running event to stop. Only the first reason counts. */
  stop(reason: StopReason): void {
    this.#running?.abort(new Stopped(reason));
  }

  /** Removes and returns all waiting events. */
  clear(): readonly HostEvent[] {
    return this.#waiting.splice(0);
  }
}
