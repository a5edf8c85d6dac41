import type { Environment } from "../config/environment.js";
import type { Clock } from "../core/ports/clock.js";

/** What setup needs of the process. */
export interface SetupParts {
  readonly env: Environment;
  /** Everything that standard input holds. */
  readonly stdin: () => Promise<string>;
  /** Shows lines at once. */
  readonly print: (lines: readonly string[]) => void;
  readonly clock: Clock;
}
