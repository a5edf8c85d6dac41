import { safeMessage } from "../core/model/errors.js";
import type { Clock } from "../core/ports/clock.js";
import { TooSlow, within } from "./time-limit.js";

/** One external system that the service needs. */
interface StatusCheck {
  readonly name: string;
  /** Resolves with a short description if the system is available; rejects otherwise. */
  readonly ask: () => Promise<string>;
}

interface StatusRow {
  readonly name: string;
  readonly state: "available" | "unavailable";
  readonly detail: string;
}

interface StatusProbeOptions {
  /** Rows that need no question. */
  readonly known?: () => readonly StatusRow[];
  readonly clock: Clock;
  /** How long a report is reused, in milliseconds, so that reloading the page sends no requests. */
  readonly keepMs?: number;
  /** How long one check may take, in milliseconds. */
  readonly timeoutMs?: number;
}

/** Checks all systems in parallel. Reuses the report for some seconds and never runs the same check twice at a time. */
export class StatusProbe {
  readonly #open = new Map<StatusCheck, Promise<string>>();
  #last: { readonly until: number; readonly report: ReturnType<StatusProbe["ask"]> } | undefined;

  constructor(
    private readonly checks: readonly StatusCheck[],
    private readonly options: StatusProbeOptions,
  ) {}

  look() {
    const { clock, keepMs = 10_000 } = this.options;
    const now = clock.now();
    if (this.#last === undefined || this.#last.until <= now.getTime()) {
      this.#last = { until: now.getTime() + keepMs, report: this.ask(now.toISOString()) };
    }
    return this.#last.report;
  }

  /** The state of each system, safe to show to people. @param at ISO 8601. */
  private async ask(at: string) {
    const asked = await Promise.all(this.checks.map((check) => this.#row(check)));
    return { at, rows: [...asked, ...(this.options.known?.() ?? [])] };
  }

  async #row(check: StatusCheck): Promise<StatusRow> {
    const { name } = check;
    try {
      const answer = this.#open.get(check) ?? check.ask().finally(() => this.#open.delete(check));
      this.#open.set(check, answer);
      return { name, state: "available", detail: await within(this.options.timeoutMs ?? 3_000, answer) };
    } catch (error) {
      return { name, state: "unavailable", detail: error instanceof TooSlow ? error.message : safeMessage(error) };
    }
  }
}
