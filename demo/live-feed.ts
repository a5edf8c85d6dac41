import type { Response } from "express";
import type { Snapshot } from "./snapshot.js";

/** Changes come in bursts; a page draws at most this often. */
const PACE_MS = 150;

/** Sends each new snapshot to every open page as a server-sent event. Does nothing while nothing happens. */
export class LiveFeed {
  readonly #read: () => Promise<Snapshot>;
  readonly #pages = new Set<Response>();
  #timer: NodeJS.Timeout | undefined;
  #last = "";
  #looking = false;

  constructor(read: () => Promise<Snapshot>) {
    this.#read = read;
  }

  add(response: Response): void {
    response.set({ "content-type": "text/event-stream", "cache-control": "no-store" });
    response.flushHeaders();
    this.#pages.add(response);
    response.on("close", () => this.#pages.delete(response));
    // Forces the next snapshot to be sent to every page. Pages that have it already draw nothing new.
    this.#last = "";
    this.wake();
  }

  /** Something may have changed. */
  wake(): void {
    if (this.#pages.size === 0 || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => void this.#look(), PACE_MS);
  }

  stop(): void {
    clearTimeout(this.#timer);
    for (const page of this.#pages) page.end();
    this.#pages.clear();
  }

  async #look(): Promise<void> {
    this.#timer = undefined;
    if (this.#looking) {
      this.wake();
      return;
    }
    this.#looking = true;
    const event = await this.#event();
    this.#looking = false;
    if (event === this.#last) return;
    this.#last = event;
    for (const page of this.#pages) page.write(event);
  }

  async #event(): Promise<string> {
    try {
      return `data: ${JSON.stringify(await this.#read())}\n\n`;
    } catch (error) {
      const reason = error instanceof Error ? error.message : "unknown";
      return `event: problem\ndata: ${JSON.stringify(reason)}\n\n`;
    }
  }
}
