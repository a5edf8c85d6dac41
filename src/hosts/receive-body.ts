import type { IncomingMessage } from "node:http";
import type { BodyLimits, BodyShare } from "./body-budget.js";
import type { Refused } from "./webhook-answer.js";

/** Both hosts send at most 25 MB. */
export const MAX_BODY_BYTES = 25 * 1024 * 1024;

/** Verifies the body of one delivery as it arrives. Compares in constant time and never throws. */
export interface BodyCheck {
  update(piece: Buffer): void;
  /** Asked once, after the last piece: whether the sender knows the secret. */
  passes(): boolean;
}

export type Received =
  | { readonly kind: "whole"; readonly pieces: readonly Buffer[] }
  | Refused<"too_large" | "no_room" | "too_slow" | "cut">;

export interface Reception {
  readonly check: BodyCheck;
  readonly share: BodyShare;
  readonly limits: BodyLimits;
}

/** Pieces below this size are copied together. */
const SMALL_PIECE = 1024;
const JOINT = 16 * 1024;

/** Keeps what was received of a body. Node.js holds each piece with several hundred bytes of its own. */
class Pieces {
  readonly #whole: Buffer[] = [];
  #joint = Buffer.alloc(0);
  #filled = 0;

  add(piece: Buffer): void {
    if (piece.length >= SMALL_PIECE) {
      this.#finishJoint();
      this.#whole.push(piece);
      return;
    }
    if (this.#filled + piece.length > this.#joint.length) {
      this.#finishJoint();
      this.#joint = Buffer.allocUnsafeSlow(JOINT);
    }
    this.#filled += piece.copy(this.#joint, this.#filled);
  }

  all(): readonly Buffer[] {
    this.#finishJoint();
    return this.#whole;
  }

  #finishJoint(): void {
    if (this.#filled > 0) this.#whole.push(this.#joint.subarray(0, this.#filled));
    this.#joint = this.#joint.subarray(this.#filled);
    this.#filled = 0;
  }
}

/**
 * Receives the raw bytes of a request. Stops as soon as they are too many or too slow, whatever the headers promised;
 * Express's own reader would read an oversized body to the end first. Never rejects.
 */
export function receiveBody(request: IncomingMessage, { check, share, limits }: Reception): Promise<Received> {
  const { deadlineMs, periodMs, leastPerPeriod } = limits;
  return new Promise((resolve) => {
    const pieces = new Pieces();
    let size = 0;
    let sizeBefore = 0;
    let elapsedMs = 0;
    let finished = false;
    const finish = (received: Received) => {
      finished = true;
      clearInterval(timer);
      resolve(received);
    };
    const take = (piece: Buffer) => {
      // Still listens, because Node.js would keep for later what nobody listens for.
      if (finished) return;
      size += piece.length;
      if (size > MAX_BODY_BYTES) {
        finish({ kind: "refused", reason: "too_large" });
      } else if (!share.take(piece.length)) {
        finish({ kind: "refused", reason: "no_room" });
      } else {
        check.update(piece);
        pieces.add(piece);
      }
    };
    const judge = () => {
      elapsedMs += periodMs;
      if (elapsedMs >= deadlineMs || size - sizeBefore < leastPerPeriod) {
        finish({ kind: "refused", reason: "too_slow" });
      }
      sizeBefore = size;
    };
    // Timers run before sockets are read. If the event loop was busy, what arrived meanwhile must count.
    const timer = setInterval(() => setImmediate(judge), periodMs);
    request.on("data", take);
    request.once("end", () => finish({ kind: "whole", pieces: pieces.all() }));
    request.on("error", () => finish({ kind: "refused", reason: "cut" }));
    request.once("close", () => finish({ kind: "refused", reason: "cut" }));
  });
}
