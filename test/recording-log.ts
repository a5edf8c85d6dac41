import type { Log } from "../src/core/ports/log.js";

export interface LogLine {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly text: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A log that keeps its lines. */
export function recordingLog(lines: LogLine[] = [], fixed: object = {}): Log & { readonly lines: readonly LogLine[] } {
  const at = (level: LogLine["level"]) => (fields: object, text: string) => {
    lines.push({ level, text, fields: { ...fixed, ...fields } });
  };
  return {
    lines,
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: (fields) => recordingLog(lines, { ...fixed, ...fields }),
  };
}
