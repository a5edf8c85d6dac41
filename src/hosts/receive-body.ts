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

/**
 * Receives the raw bytes of a request. Stops as soon as they are too many or too slow, whatever the headers promised;
 * Express's own reader would read an oversized body to the end first. Never rejects.
 */
export function receiveBody(request: IncomingMessage, { check, share, limits }: Reception): Promise<Received> {
  const { deadlineMs, periodMs, leastPerPeriod } = limits;
  return new Promise((resolve) => {
    const pieces: Buffer[] = [];
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
        pieces.push(piece);
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
    request.once("end", () => finish({ kind: "whole", pieces }));
    request.on("error", () => finish({ kind: "refused", reason: "cut" }));
    request.once("close", () => finish({ kind: "refused", reason: "cut" }));
  });
}
