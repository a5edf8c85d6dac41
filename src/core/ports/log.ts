/** Structured log lines: static text with fields. pino's logger is one. Never a secret, never a comment's text. */
export interface Log {
  debug(fields: object, text: string): void;
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
  error(fields: object, text: string): void;
  /** A logger that adds these fields to each line. */
  child(fields: object): Log;
}
