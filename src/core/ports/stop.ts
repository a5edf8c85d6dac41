import type { StopReason } from "./event-queue.js";

/** The reason of an aborted run's signal. */
export class Stopped extends Error {
  override readonly name = "Stopped";
  constructor(readonly reason: StopReason) {
    super(`stopped: ${reason}`);
  }
}
