import { HostFailure } from "../../core/model/errors.js";
import type { HostId } from "../../names.js";

/** Work beside the answer whose failure does not fail the run. */
type Extra = "reaction" | "commit-status" | "environment";

/** Remembers which failures of extras were logged: one cause, such as a missing permission, fails every command. */
export class Complaints {
  readonly #causes = new Map<string, string>();

  /** Whether this failure has another cause than the last one. */
  isNew(extra: Extra, host: HostId, error: unknown): boolean {
    const cause = error instanceof HostFailure ? error.reason : error instanceof Error ? error.name : "";
    const key = `${extra} ${host}`;
    if (this.#causes.get(key) === cause) return false;
    this.#causes.set(key, cause);
    return true;
  }

  /** Forgets the last failure after a success, so that the next one is logged. */
  settle(extra: Extra, host: HostId): void {
    this.#causes.delete(`${extra} ${host}`);
  }
}
