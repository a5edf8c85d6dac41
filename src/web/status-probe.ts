import { safeMessage } from "../core/model/errors.js";
import type { Clock } from "../core/ports/clock.js";

/** One outside system that the service needs. */
export interface StatusCheck {
  /** What people call it. */
  readonly name: string;
  /** Resolves with what is worth knowing when it is there; rejects when it is not. */
  readonly ask: () => Promise<string>;
}

export interface StatusRow {
  readonly name: string;
  readonly state: "there" | "away";
  /** Safe to show to people. */
  readonly detail: string;
}

export interface StatusReport {
  /** When it was asked. ISO 8601. */
  readonly at: string;
  readonly rows: readonly StatusRow[];
}

export interface StatusProbeOptions {
  readonly clock: Clock;
  /** How long an answer counts, in milliseconds: whoever reloads the page asks nobody. */
  readonly keepMs?: number;
  /** How long one check may take, in milliseconds. */
  readonly timeoutMs?: number;
}

/** Asks all systems at once, at most once at a time and not again for some seconds, however often it is looked at. */
export class StatusProbe {
  readonly #checks: readonly StatusCheck[];
  readonly #options: Required<StatusProbeOptions>;
  /** Questions without an answer yet: nothing is asked twice at a time. */
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
      return { name, state: "there", detail: await this.#inTime(check) };
    } catch (error) {
      return { name, state: "away", detail: error instanceof TooLate ? error.message : safeMessage(error) };
    }
  }

  #inTime(check: StatusCheck): Promise<string> {
    const { timeoutMs } = this.#options;
    const answer = this.#open.get(check) ?? check.ask().finally(() => this.#open.delete(check));
    this.#open.set(check, answer);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new TooLate(`no answer within ${timeoutMs / 1000} seconds`));
      }, timeoutMs);
      const done = () => clearTimeout(timer);
      answer.finally(done).then(resolve, reject);
    });
  }
}

class TooLate extends Error {
  override readonly name = "TooLate";
}
