import { appendFileSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { perProcess } from "../../sandbox/per-process.js";

/** Names the folder in which a test run leaves what its services log and the secrets it used; unset: nothing is kept. */
export const LOG_FOLDER = "SVC_TEST_LOG_FOLDER";
/** What a run leaves there: one pair of files for each process that runs tests. */
export const LOG_ENDING = ".log";
export const SECRETS_ENDING = ".secrets.jsonl";

/** A shorter text is in every log by chance. */
export const SHORTEST_SECRET = 8;

/** One secret as the search reads it back. */
export interface KnownSecret {
  /** What it is, for people. */
  readonly name: string;
  readonly value: string;
}

const registered = new Set<string>();

/** Whether this run keeps its logs. */
export function keepsLogs(): boolean {
  return folder() !== undefined;
}

/** Keeps lines of a log; each ends with a line break. */
export function keepLog(lines: string): void {
  const to = folder();
  if (to === undefined || lines === "") return;
  // Written at once: a process that runs tests may be ended without a word.
  writeSync(opened(join(to, `${process.pid}${LOG_ENDING}`)), lines);
}

/** Stays open until the process ends, which writes tens of thousands of lines. */
function opened(path: string): number {
  return perProcess(`open ${path}`, () => openSync(path, "a"));
}

/**
 * Makes a secret known to the search. Of one with several lines, such as a key in PEM, each line counts; what is too
 * short to be told from other text is left out.
 */
export function registerSecret(name: string, value: string): void {
  const to = folder();
  if (to === undefined) return;
  for (const line of value.split(/\r?\n/)) {
    if (line.length < SHORTEST_SECRET || line.startsWith("-----") || registered.has(line)) continue;
    registered.add(line);
    const secret: KnownSecret = { name, value: line };
    appendFileSync(join(to, `${process.pid}${SECRETS_ENDING}`), `${JSON.stringify(secret)}\n`);
  }
}

function folder(): string | undefined {
  const named = process.env[LOG_FOLDER];
  return named === "" ? undefined : named;
}
