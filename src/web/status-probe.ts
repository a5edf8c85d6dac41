import { safeMessage } from "../core/model/errors.js";
import type { Clock } from "../core/ports/clock.js";
import { TooSlow, within } from "./time-limit.js";

/** One external system that the service needs. */
export interface StatusCheck {
  readonly name: string;
  /** Resolves with a short description if the system is available; rejects otherwise. */
  readonly ask: () => Promise<string>;
}

interface StatusRow {
  readonly name: string;
  readonly state: "available" | "unavailable";
  /** Safe to show to people. */
  readonly detail: string;
}

interface StatusReport {
  /** When the systems were checked. ISO 8601. */
  readonly at: string;
  readonly rows: readonly StatusRow[];
}

interface StatusProbeOptions {
  readonly clock: Clock;
  /** How long a report is reused, in milliseconds, so that reloading the page sends no requests. */
  readonly keepMs?: number;
  /** How long one check may take, in milliseconds. */
  readonly timeoutMs?: number;
}

/** Checks all systems in parallel. Reuses the report for some seconds and never runs the same check twice at a time. */
export class StatusProbe {
  readonly #checks: readonly StatusCheck[];
  readonly #options: Required<StatusProbeOptions>;
  /** Checks in flight. */
  readonly #open = new Map<StatusCheck, Promise<string>>();
  #last: { readonly until: number; readonly report: Promise<StatusReport> } | undefined;

  constructor(checks: readonly StatusCheck[], { clock, keepMs = 10_000, timeoutMs = 3_000 }: StatusProbeOptions) {
    this.#checks = checks;
    this.#options = { clock, keepMs, timeoutMs };
  }

  look(): Promise<StatusReport> {
    const now = this.#options.clock.now();
    if (this.#last === undefined || this.#last.until <= now.getTime()) {
      this.#last = { until: now.getTime() + this.#options.keepMs, report: this.#ask(now.toISOString()) };
    }
    return this.#last.report;
  }

  async #ask(at: string): Promise<StatusReport> {
    return { at, rows: await Promise.all(this.#checks.map((check) => this.#row(check))) };
  }

  async #row(check: StatusCheck): Promise<StatusRow> {
    const { name } = check;
    try {
      return { name, state: "available", detail: await this.#inTime(check) };
    } catch (error) {
      return { name, state: "unavailable", detail: error instanceof TooSlow ? error.message : safeMessage(error) };
    }
  }

  #inTime(check: StatusCheck): Promise<string> {
    const { timeoutMs } = this.#options;
    const answer = this.#open.get(check) ?? check.ask().finally(() => this.#open.delete(check));
    this.#open.set(check, answer);
    return within(timeoutMs, answer);
  }
}
