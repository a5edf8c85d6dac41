import type { StopReason } from "./event-queue.js";

/** Thrown out of a run whose signal was aborted; carries why. */
export class Stopped extends Error {
  override readonly name = "Stopped";
  constructor(readonly reason: StopReason) {
    super(`stopped: ${reason}`);
  }
}
