import { ipKeyGenerator } from "express-rate-limit";

const MIB = 1024 * 1024;

export interface BodyLimits {
  /** Bytes of all bodies together. */
  readonly all: number;
  /** Bytes of all bodies over `small` together. The rest is a reserve for small ones. */
  readonly large: number;
  /** The same two for one address. */
  readonly perAddress: number;
  readonly largePerAddress: number;
  /** The size up to which a body counts as small. */
  readonly small: number;
  /** How long a body may take. */
  readonly deadlineMs: number;
  /** In each period a body either ends or brings at least this many bytes. */
  readonly periodMs: number;
  readonly leastPerPeriod: number;
}

/**
 * Two addresses can each send a body of the largest size while the reserve stays free. GitHub and GitLab themselves give
 * up on a delivery after 10 seconds.
 */
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

/** Each piece costs Node.js the same time and several hundred bytes, however little it brings. */
const LEAST_PER_PIECE = 1024;

/** What a received piece of this many bytes counts as. */
export function costOfPiece(bytes: number): number {
  return Math.max(bytes, LEAST_PER_PIECE);
}

/** A number of bytes, and how many of them belong to large bodies. */
interface Bytes {
  readonly all: number;
  readonly large: number;
}

const NONE: Bytes = { all: 0, large: 0 };

/** What one body holds of the budget. */
export interface BodyShare {
  /** Adds a received piece. Returns false, and adds nothing, if there is no room for it. */
  take(received: number): boolean;
  /** Gives everything back. */
  release(): void;
}

/** Limits the memory that received bodies take, most of all before their senders are authenticated. */
export class BodyBudget {
  #held = NONE;
  /** Only addresses that hold something. */
  readonly #heldBy = new Map<string, Bytes>();

  constructor(readonly limits: BodyLimits = BODY_LIMITS) {}

  /** What all bodies hold at the moment, in bytes. */
  get heldBytes(): number {
    return this.#held.all;
  }

  /**
   * The share of a body that is about to be received; undefined if there is no room for what it announces. Nothing is
   * set aside for that: only received bytes count, or a sender could occupy the budget with promises.
   * @param announced its `Content-Length`; 0 if it has none.
   */
  open(ip: string | undefined, announced: number): BodyShare | undefined {
    // A network of IPv6 counts as one address, as for logins.
    const address = ipKeyGenerator(ip ?? "");
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
