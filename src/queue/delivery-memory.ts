/** Hosts repeat a delivery for up to three days (https://docs.github.com/en/webhooks/testing-and-troubleshooting-webhooks/redelivering-webhooks). */
const KEPT_MS = 4 * 24 * 60 * 60 * 1000;
const KEPT_COUNT = 100_000;

/** Ids of the deliveries that were accepted, the oldest forgotten first. */
export class DeliveryMemory {
  /** Id to when it was accepted, in milliseconds since 1970; oldest first. */
  readonly #accepted = new Map<string, number>();

  constructor(private readonly limit = KEPT_COUNT) {}

  /** True when all ids of this delivery are new. */
  accept(ids: readonly string[], now: Date): boolean {
    for (const [oldest, time] of this.#accepted) {
      if (this.#accepted.size < this.limit && time > now.getTime() - KEPT_MS) break;
      this.#accepted.delete(oldest);
    }
    if (ids.some((id) => this.#accepted.has(id))) return false;
    for (const id of ids) this.#accepted.set(id, now.getTime());
    return true;
  }

  /** When a delivery was accepted, in milliseconds since 1970. */
  acceptedAt(id: string): number | undefined {
    return this.#accepted.get(id);
  }

  /** The delivery failed: the same one is accepted again. */
  forget(ids: readonly string[]): void {
    for (const id of ids) this.#accepted.delete(id);
  }
}
