import type { OnUnreadable } from "../model/errors.js";

/** Structured log lines: static text with fields, as pino writes them. Never log a secret or the text of a comment. */
export interface Log {
  debug(fields: object, text: string): void;
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
  error(fields: object, text: string): void;
  /** A logger that adds `fields` to each line. */
  child(fields: object): Log;
}

/** Logs what a list leaves out, so that one damaged record does not hold up the others. */
export function leavesOut(log: Log): OnUnreadable {
  return (err) => log.error({ err }, "could not read a record in the store; it is left out");
}
