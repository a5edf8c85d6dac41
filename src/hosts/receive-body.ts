import type { IncomingMessage } from "node:http";
import { networkOf } from "../http/listen.js";

/** Both hosts send at most 25 MB. */
export const MAX_BODY_BYTES = 25 * 1024 * 1024;

/** Verifies the body of one delivery as it arrives. Compares in constant time and never throws. */
export interface BodyCheck {
  update(piece: Buffer): void;
  /** Asked once, after the last piece: whether the sender knows the secret. */
  passes(): boolean;
}

type Received =
  | { readonly kind: "whole"; readonly pieces: readonly Buffer[] }
  | { readonly kind: "refused"; readonly reason: "too_large" | "no_room" | "too_slow" | "cut" };

/** Receives the raw bytes of a request. Stops as soon as they are too many or too slow, unlike Express's own reader. Never rejects. */
export function receiveBody(
  request: IncomingMessage,
  { check, share, limits }: { readonly check: BodyCheck; readonly share: BodyShare; readonly limits: BodyLimits },
): Promise<Received> {
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

const MIB = 1024 * 1024;

export interface BodyLimits {
  /** Bytes of all bodies together. */
  readonly all: number;
  /** Bytes of all bodies over `small` together. The rest is a reserve for small ones. */
  readonly large: number;
  /** Like `all` and `large`, but for the bodies of one address. */
  readonly perAddress: number;
  readonly largePerAddress: number;
  /** The size up to which a body counts as small. */
  readonly small: number;
  /** How long a body may take to arrive. */
  readonly deadlineMs: number;
  /** In each period a body either ends or brings at least this many bytes. */
  readonly periodMs: number;
  readonly leastPerPeriod: number;
}

/** Two addresses can each send a body of the largest size while the reserve stays free. The hosts give up on a delivery after 10 seconds. */
export const BODY_LIMITS: BodyLimits = {
  all: 64 * MIB,
  large: 52 * MIB,
  perAddress: 32 * MIB,
  largePerAddress: 26 * MIB,
  small: MIB,
  deadlineMs: 10_000,
  periodMs: 2_500,
  leastPerPeriod: 16 * 1024,
};

/** A number of bytes, and how many of them belong to large bodies. */
interface Bytes {
  readonly all: number;
  readonly large: number;
}

const NONE: Bytes = { all: 0, large: 0 };

/** The bytes that one body holds of the budget. */
export interface BodyShare {
  /** Adds a received piece. Returns false, and adds nothing, if there is no room for it. */
  take(received: number): boolean;
  /** Gives everything back. */
  release(): void;
}

/** Limits the memory for received bodies, most of all from senders that are not authenticated yet. */
export class BodyBudget {
  #held = NONE;
  /** Has only addresses that hold bytes. */
  readonly #heldBy = new Map<string, Bytes>();

  constructor(readonly limits: BodyLimits = BODY_LIMITS) {}

  /** The bytes that all bodies hold now. */
  get heldBytes(): number {
    return this.#held.all;
  }

  /**
   * The share of a body that is about to be received; undefined if there is no room for what it announces. Nothing is
   * set aside for that: only received bytes count, or a sender could occupy the budget with promises.
   * @param announced its `Content-Length`; 0 if it has none.
   */
  open(ip: string | undefined, announced: number): BodyShare | undefined {
    const address = networkOf(ip);
    let held = 0;
    let large = announced > this.limits.small;
    if (!this.#hasRoom(address, { all: announced, large: large ? announced : 0 })) return undefined;
    return {
      take: (received) => {
        const bytes = costOfPiece(received);
        const grown = !large && held + bytes > this.limits.small;
        const more = { all: bytes, large: grown ? held + bytes : large ? bytes : 0 };
        if (!this.#hasRoom(address, more)) return false;
        this.#add(address, more);
        held += bytes;
        large ||= grown;
        return true;
      },
      release: () => {
        this.#add(address, { all: -held, large: large ? -held : 0 });
        held = 0;
      },
    };
  }

  #hasRoom(address: string, more: Bytes): boolean {
    const { all, large, perAddress, largePerAddress } = this.limits;
    const held = plus(this.#held, more);
    const heldBy = plus(this.#heldBy.get(address) ?? NONE, more);
    if (held.all > all || heldBy.all > perAddress) return false;
    return more.large === 0 || (held.large <= large && heldBy.large <= largePerAddress);
  }

  #add(address: string, more: Bytes): void {
    this.#held = plus(this.#held, more);
    const heldBy = plus(this.#heldBy.get(address) ?? NONE, more);
    if (heldBy.all === 0) this.#heldBy.delete(address);
    else this.#heldBy.set(address, heldBy);
  }
}

function plus(left: Bytes, right: Bytes): Bytes {
  return { all: left.all + right.all, large: left.large + right.large };
}

/** Each piece costs Node.js the same time and several hundred bytes, however little it brings. */
const LEAST_PER_PIECE = 1024;

/** The bytes that a received piece takes of the budget. */
export function costOfPiece(bytes: number): number {
  return Math.max(bytes, LEAST_PER_PIECE);
}
