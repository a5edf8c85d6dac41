import { setTimeout as delay } from "node:timers/promises";

/** Delays renders, by a time or until released. */
export class RenderGate {
  #ms = 0;
  readonly #holds = new Set<Promise<void>>();

  /** Delays every render from now on, in real milliseconds. */
  slow(ms: number): void {
    this.#ms = ms;
  }

  /** Renders wait until the returned function is called. */
  hold(): () => void {
    let release = (): void => undefined;
    const hold = new Promise<void>((resolve) => {
      release = () => {
        this.#holds.delete(hold);
        resolve();
      };
    });
    this.#holds.add(hold);
    return release;
  }

  async pass(): Promise<void> {
    if (this.#ms > 0) await delay(this.#ms, undefined, { ref: false });
    while (this.#holds.size > 0) await Promise.all(this.#holds);
  }
}
