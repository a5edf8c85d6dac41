import { HostFailure } from "../../core/model/errors.js";
import type { HostId } from "../../names.js";

/** What a run does beside its answer, and goes on without. */
type Extra = "reaction" | "commit-status" | "environment";

/** Which failures of extras were logged: one cause, such as a missing permission, meets every command. */
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

  /** It worked: the next failure is news. */
  settle(extra: Extra, host: HostId): void {
    this.#causes.delete(`${extra} ${host}`);
  }
}
