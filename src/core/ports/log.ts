/** Structured log lines: static text with fields, as pino writes them. Never log a secret or the text of a comment. */
export interface Log {
  debug(fields: object, text: string): void;
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
  error(fields: object, text: string): void;
  /** A logger that adds `fields` to each line. */
  child(fields: object): Log;
}
