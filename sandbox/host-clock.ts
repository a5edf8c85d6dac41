import type { RequestHandler } from "express";

/** The clock of a code host. It never goes back, and no two readings are the same. */
export class HostClock {
  #last = 0;
  #frozen = false;

  now(): Date {
    this.#last = Math.max(this.#last + 1, this.#frozen ? 0 : Date.now());
    return new Date(this.#last);
  }

  /** People read before they answer: what they do next is not in the same second as what happened so far. */
  passSecond(): void {
    if (!this.#frozen) this.pass(1000);
  }

  pass(ms: number): void {
    this.#last = Math.max(this.#last, Date.now()) + ms;
  }

  /** Everything happens within the present second from now on, as far as its thousand milliseconds go. */
  freeze(): void {
    this.#last = Math.floor(this.now().getTime() / 1000 + 1) * 1000;
    this.#frozen = true;
  }

  /** Answers carry the time. */
  dates(): RequestHandler {
    return (_request, response, next) => {
      response.setHeader("date", this.now().toUTCString());
      next();
    };
  }
}

/** In ISO 8601, without fractions of a second. */
export function wholeSecond(at: Date): string {
  return at.toISOString().replace(/\.\d+Z$/, "Z");
}
