import { createHash, randomInt, timingSafeEqual } from "node:crypto";

/** Letters and digits that nobody takes for one another, as in Crockford's Base32. */
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const LENGTH = 8;
const MOST_WRONG = 5;

export type CodeAttempt = "accepted" | "wrong" | "used" | "expired" | "locked";

/**
 * A code of 40 random bits that a person reads in the terminal and types into a page. It works once, before its time is
 * over, and not any more after five wrong ones.
 */
export class OneTimeCode {
  /** Such as `7KQF-9M2X`. */
  readonly text: string;
  #wrong = 0;
  #used = false;

  /** @param until Epoch milliseconds. */
  constructor(private readonly until: number) {
    const letters = Array.from({ length: LENGTH }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join("");
    this.text = `${letters.slice(0, LENGTH / 2)}-${letters.slice(LENGTH / 2)}`;
  }

  attempt(given: string, now: number): CodeAttempt {
    if (now >= this.until) return "expired";
    if (this.#used) return "used";
    if (this.#wrong >= MOST_WRONG) return "locked";
    if (sameText(plain(given), plain(this.text))) {
      this.#used = true;
      return "accepted";
    }
    this.#wrong += 1;
    return this.#wrong >= MOST_WRONG ? "locked" : "wrong";
  }
}

/** As people write it: in small letters, without the dash, with a space. */
function plain(text: string): string {
  return text.toUpperCase().replace(/[^0-9A-Z]/g, "");
}

/** Compares in a time that depends on neither text. */
export function sameText(one: string, other: string): boolean {
  const [left, right] = [one, other].map((text) => createHash("sha256").update(text).digest());
  return left !== undefined && right !== undefined && timingSafeEqual(left, right);
}
