import { AsyncLocalStorage } from "node:async_hooks";
import type { HostEvent } from "../../core/model/event.js";
import type { AuditEntry } from "../../core/ports/audit.js";
import type { RunEnd } from "../../core/ports/event-queue.js";
import type { Metrics } from "./metrics.js";
import { PLAN_PHASES, planPhases } from "./plan-phases.js";

/** What is noted of one run while it goes on; times are `performance.now()`. */
interface RunNotes {
  readonly began: number;
  fetched?: number;
  firstRenderBegan?: number;
  lastRenderEnded?: number;
  diffed?: number;
  /** The first entry of the audit trail that names a command. */
  command?: { readonly name: string; readonly outcome: CommandOutcome; readonly planned: boolean };
}

/** `incomplete`: a sync or a rollback that did not succeed for every application. */
type CommandOutcome = "done" | "incomplete" | "refused" | "failed";

/** Measures runs by what they do at the ports, so that nothing in them knows of it. */
export class RunMeasure {
  readonly #current = new AsyncLocalStorage<RunNotes>();

  constructor(private readonly metrics: Metrics) {}

  async measure(event: HostEvent, run: () => Promise<RunEnd>): Promise<RunEnd> {
    const notes: RunNotes = { began: performance.now() };
    let outcome: RunEnd = "failed";
    try {
      outcome = await this.#current.run(notes, run);
      return outcome;
    } finally {
      const { host } = event.change;
      this.metrics.events.inc({ host, kind: event.kind, outcome });
      this.#observe(notes, performance.now());
    }
  }

  fetched(): void {
    this.#note((notes) => (notes.fetched ??= performance.now()));
  }

  /** Returns what is to be called at the render's end. */
  rendering(): () => void {
    const notes = this.#current.getStore();
    if (notes === undefined) return () => undefined;
    notes.firstRenderBegan ??= performance.now();
    return () => {
      notes.lastRenderEnded = performance.now();
    };
  }

  diffed(): void {
    this.#note((notes) => (notes.diffed = performance.now()));
  }

  audited(entry: Pick<AuditEntry, "command" | "action" | "applications">): void {
    const { command, action } = entry;
    if (command === undefined) return;
    this.#note((notes) => {
      notes.command ??= { name: command, outcome: outcomeOf(entry), planned: action === "planned" };
    });
  }

  #note(write: (notes: RunNotes) => void): void {
    const notes = this.#current.getStore();
    if (notes !== undefined) write(notes);
  }

  #observe(notes: RunNotes, ended: number): void {
    const { command, diffed, began, fetched, firstRenderBegan, lastRenderEnded } = notes;
    if (command === undefined) return;
    this.metrics.commandDuration.observe({ command: command.name, outcome: command.outcome }, (ended - began) / 1000);
    if (!command.planned || diffed === undefined) return;
    const phases = planPhases({ began, fetched, firstRenderBegan, lastRenderEnded, diffed, ended });
    for (const phase of PLAN_PHASES) this.metrics.planPhaseDuration.observe({ phase }, phases[phase] / 1000);
  }
}

/** Outcomes of an application that leave nothing to be done. */
const SUCCESSES: ReadonlySet<string> = new Set(["succeeded", "skipped", "new", "deleted"]);

function outcomeOf({ action, applications }: Pick<AuditEntry, "action" | "applications">): CommandOutcome {
  switch (action) {
    case "planned":
    case "unlocked":
    case "force-unlocked":
    case "merged":
    case "closed":
      return "done";
    case "synced":
    case "rolled-back":
      return applications.every(({ outcome }) => SUCCESSES.has(outcome)) ? "done" : "incomplete";
    case "refused":
    case "failed":
      return action;
  }
}
