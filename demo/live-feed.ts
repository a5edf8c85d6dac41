import type { Response } from "express";
import type { Snapshot } from "./snapshot.js";

const LOOK_EVERY_MS = 150;
/** Keeps idle connections alive. */
const BEAT_EVERY_LOOKS = 100;

/** Sends each new snapshot to every open page as a server-sent event. */
export class LiveFeed {
  readonly #read: () => Promise<Snapshot>;
  readonly #pages = new Set<Response>();
  readonly #timer: NodeJS.Timeout;
  #last = "";
  #looks = 0;
  #looking = false;

  constructor(read: () => Promise<Snapshot>) {
    this.#read = read;
    this.#timer = setInterval(() => void this.#look(), LOOK_EVERY_MS);
  }

  add(response: Response): void {
    response.set({ "content-type": "text/event-stream", "cache-control": "no-store" });
    response.flushHeaders();
    this.#pages.add(response);
    response.on("close", () => this.#pages.delete(response));
    // Forces the next snapshot to be sent to every page. Pages that have it already draw nothing new.
    this.#last = "";
  }

  stop(): void {
    clearInterval(this.#timer);
    for (const page of this.#pages) page.end();
    this.#pages.clear();
  }

  async #look(): Promise<void> {
    if (this.#pages.size === 0 || this.#looking) return;
    this.#looking = true;
    const event = await this.#event();
    this.#looking = false;
    this.#looks += 1;
    if (event !== this.#last) this.#send(event);
    else if (this.#looks % BEAT_EVERY_LOOKS === 0) this.#send(": still here\n\n");
    this.#last = event;
  }

  async #event(): Promise<string> {
    try {
      return `data: ${JSON.stringify(await this.#read())}\n\n`;
    } catch (error) {
      const reason = error instanceof Error ? error.message : "unknown";
      return `event: problem\ndata: ${JSON.stringify(reason)}\n\n`;
    }
  }

  #send(event: string): void {
    for (const page of this.#pages) page.write(event);
  }
}
