import { LeaseLost } from "../core/model/errors.js";
import type { Renewed } from "./lane-store.js";

export interface LeaseParts {
  /** How long it holds in Redis after each renewal, in milliseconds. */
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  renew(): Promise<Renewed>;
  /** Told at each renewal why the run is asked to stop. */
  onStop(reason: "pushed" | "closed"): void;
  onLost(): void;
}

/**
 * A run's right to act for its change request, renewed until it is closed. It is measured by this machine's own clock,
 * from before each renewal was sent, so that a process that slept knows that it may have lost it.
 */
export class Lease {
  readonly #parts: LeaseParts;
  readonly #timer: NodeJS.Timeout;
  #until: number;
  #lost = false;
  #renewing: Promise<void> | undefined;

  /** @param takenAt `performance.now()` from before it was taken. */
  constructor(parts: LeaseParts, takenAt: number) {
    this.#parts = parts;
    this.#until = this.#end(takenAt);
    this.#timer = setInterval(() => void this.#renew().catch(() => undefined), parts.heartbeatMs);
  }

  /** @throws {LeaseLost} @throws {StoreUnavailable} when the lease ran out and the store does not answer. */
  async confirm(): Promise<void> {
    if (!this.#lost && performance.now() >= this.#until) await this.#renew();
    if (this.#lost) throw new LeaseLost();
  }

  /** Nothing may be done under it any more. */
  close(): void {
    clearInterval(this.#timer);
    this.#lost = true;
  }

  #renew(): Promise<void> {
    this.#renewing ??= this.#renewNow().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  async #renewNow(): Promise<void> {
    const sent = performance.now();
    const renewed = await this.#parts.renew();
    if (this.#lost) return;
    if (renewed.kind === "lost") {
      this.close();
      this.#parts.onLost();
      return;
    }
    this.#until = this.#end(sent);
    if (renewed.stop === "pushed" || renewed.stop === "closed") this.#parts.onStop(renewed.stop);
  }

  /** A little less than Redis counts: clocks do not run at the same speed, and what is confirmed is done a moment later. */
  #end(from: number): number {
    return from + this.#parts.leaseMs * 0.8;
  }
}
