import { pino, type Logger } from "pino";
import { keepLog, keepsLogs, registerSecret } from "./kept-logs.js";

/**
 * A logger at debug whose lines are kept for the search, without any censorship; silent where nothing is kept. The secrets
 * are those of what logs there.
 */
export function keptLogger(...secrets: readonly string[]): Logger {
  for (const secret of secrets) registerSecret("a credential of a test", secret);
  return pino({ level: keepsLogs() ? "debug" : "silent" }, { write: keepLog });
}
