import { LeaseLost } from "../core/model/errors.js";
import type { Renewed } from "./lane-store.js";

export interface LeaseParts {
  /** How long the lease lasts in Redis after each renewal, in milliseconds. */
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  renew(): Promise<Renewed>;
  /** Called after each renewal that reports that the run should stop. */
  onStop(reason: "pushed" | "closed"): void;
  onLost(): void;
}

/**
 * A run's right to act for its change request, renewed until it is closed. Its end is measured with this machine's
 * clock from before each renewal was sent, so that a process that was suspended notices that its lease may have expired.
 */
export class Lease {
  readonly #parts: LeaseParts;
  readonly #timer: NodeJS.Timeout;
  #until: number;
  #lost = false;
  #renewing: Promise<void> | undefined;

  /** @param takenAt `performance.now()` from before the lease was taken. */
  constructor(parts: LeaseParts, takenAt: number) {
    this.#parts = parts;
    this.#until = this.#endFrom(takenAt);
    this.#timer = setInterval(() => void this.#renew().catch(() => undefined), parts.heartbeatMs);
  }

  /** @throws {LeaseLost} @throws {StoreUnavailable} when the lease has expired and the store does not answer. */
  async confirm(): Promise<void> {
    if (!this.#lost && performance.now() >= this.#until) await this.#renew();
    if (this.#lost) throw new LeaseLost();
  }

  /** Stops renewing; `confirm` throws from now on. */
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
    this.#until = this.#endFrom(sent);
    if (renewed.stop === "pushed" || renewed.stop === "closed") this.#parts.onStop(renewed.stop);
  }

  /** Earlier than in Redis: clocks run at different speeds, and what `confirm` allows happens a moment later. */
  #endFrom(time: number): number {
    return time + this.#parts.leaseMs * 0.8;
  }
}
