import { AsyncLocalStorage } from "node:async_hooks";
import { DeployerFailure, StoredValueUnreadable, StoreUnavailable } from "../../core/model/errors.js";
import type { HostEvent } from "../../core/model/event.js";
import type { AuditEntry, AuditLog } from "../../core/ports/audit.js";
import type { Deployer } from "../../core/ports/deployer.js";
import type { EventQueue, RunEnd } from "../../core/ports/event-queue.js";
import type { Repositories } from "../../core/ports/repositories.js";
import type { PlanStore } from "../../core/ports/stores.js";
import type { LimitWaits } from "../../hosts/limit-waits.js";
import { type EveryCall, type MethodCalls, reportEnd } from "../wrap-port.js";
import type { Metrics } from "./metrics.js";

/** Ports to the store, as the label of their errors. */
export type StoreName = "locks" | "waiting" | "plans" | "deployments" | "audit" | "users" | "attempts" | "queue";

/** What each port's calls tell about runs, renders, waits and failures of the store. */
export interface CallMeasures {
  readonly run: (event: HostEvent, run: () => Promise<RunEnd>) => Promise<RunEnd>;
  readonly storeErrors: (store: StoreName) => EveryCall;
  readonly plans: MethodCalls<PlanStore>;
  readonly audit: MethodCalls<AuditLog>;
  readonly deployer: MethodCalls<Deployer>;
  readonly repositories: MethodCalls<Repositories>;
  readonly waits: MethodCalls<LimitWaits>;
  /** Counts the events that never become a run. */
  readonly push: (push: EventQueue["push"]) => EventQueue["push"];
}

export function measureCalls(metrics: Metrics): CallMeasures {
  const measure = new RunMeasure(metrics);
  return {
    run: (event, run) => measure.measure(event, run),
    storeErrors: (store) => (_method, call) =>
      reportEnd(call, (end) => {
        if (end.kind === "threw") countStoreError(store, end.error, metrics);
      }),
    plans: {
      // A plan is saved as soon as it is complete.
      save(call) {
        measure.diffed();
        return call();
      },
    },
    audit: {
      // The audit trail names a run's command and its outcome.
      record(call, entry) {
        measure.audited(entry);
        return call();
      },
    },
    deployer: measureRenders(measure, metrics),
    repositories: { open: (call) => call().finally(() => measure.fetched()) },
    waits: {
      begin(call, { host, reason }) {
        const stop = metrics.writeWait.startTimer({ host, reason });
        const wait = call();
        return {
          ...wait,
          end() {
            wait.end();
            stop();
          },
        };
      },
    },
    push: (push) => measurePush(push, metrics),
  };
}

function measureRenders(measure: RunMeasure, metrics: Metrics): MethodCalls<Deployer> {
  return {
    async renderManifests(call, { mode }, signal) {
      metrics.renders.inc({ mode });
      const ended = measure.rendering();
      try {
        return await call();
      } catch (error) {
        const reason = error instanceof DeployerFailure ? error.reason : "unexpected";
        if (!signal.aborted) metrics.renderErrors.inc({ mode, reason });
        throw error;
      } finally {
        ended();
      }
    },
  };
}

function measurePush(push: EventQueue["push"], metrics: Metrics): EventQueue["push"] {
  return async (event) => {
    const count = (outcome: "duplicate" | "not_queued") =>
      metrics.events.inc({ host: event.change.host, kind: event.kind, outcome });
    try {
      const fresh = await push(event);
      if (!fresh) count("duplicate");
      return fresh;
    } catch (error) {
      count("not_queued");
      countStoreError("queue", error, metrics);
      throw error;
    }
  };
}

function countStoreError(store: StoreName, error: unknown, { storeErrors }: Metrics): void {
  if (error instanceof StoreUnavailable) storeErrors.inc({ store, kind: "unavailable" });
  else if (error instanceof StoredValueUnreadable) storeErrors.inc({ store, kind: "unreadable" });
}

/** What is known of a run so far; times are `performance.now()`. */
interface RunNotes {
  readonly started: number;
  fetched?: number;
  firstRenderStarted?: number;
  lastRenderEnded?: number;
  diffed?: number;
  /** From the first audit entry that names a command. */
  command?: { readonly name: string; readonly outcome: CommandOutcome; readonly planned: boolean };
}

/** `incomplete`: a sync or a rollback that failed for some application. */
type CommandOutcome = "done" | "incomplete" | "refused" | "failed";

/** Measures runs by the calls that they make to ports. */
class RunMeasure {
  readonly #current = new AsyncLocalStorage<RunNotes>();

  constructor(private readonly metrics: Metrics) {}

  async measure(event: HostEvent, run: () => Promise<RunEnd>): Promise<RunEnd> {
    const notes: RunNotes = { started: performance.now() };
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

  /** Returns a function to call when the render ends. */
  rendering(): () => void {
    const notes = this.#current.getStore();
    if (notes === undefined) return () => undefined;
    notes.firstRenderStarted ??= performance.now();
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
    const { command, diffed, started, fetched, firstRenderStarted, lastRenderEnded } = notes;
    if (command === undefined) return;
    this.metrics.commandDuration.observe({ command: command.name, outcome: command.outcome }, (ended - started) / 1000);
    if (!command.planned || diffed === undefined) return;
    const phases = planPhases({ started, fetched, firstRenderStarted, lastRenderEnded, diffed, ended });
    for (const phase of PLAN_PHASES) this.metrics.planPhaseDuration.observe({ phase }, phases[phase] / 1000);
  }
}

/** Outcomes of an application that need no further work. */
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

/** When a plan's run reached each point, in milliseconds of one clock; undefined if it did not. */
interface PlanMarks {
  readonly started: number;
  /** Called once the commits are fetched. */
  readonly fetched: number | undefined;
  readonly firstRenderStarted: number | undefined;
  readonly lastRenderEnded: number | undefined;
  /** Called once the plan is complete, before it is stored. */
  readonly diffed: number;
  readonly ended: number;
}

export const PLAN_PHASES = ["fetch", "detect", "render", "diff", "comment"] as const;
type PlanPhase = (typeof PLAN_PHASES)[number];

/**
 * How long each phase took, in milliseconds; together they are the run. "fetch" includes reading the facts of the change
 * request, "render" includes diffs made while other applications still render.
 */
export function planPhases(marks: PlanMarks): Readonly<Record<PlanPhase, number>> {
  const { started, diffed, ended } = marks;
  const fetched = marks.fetched ?? started;
  const renderStarted = marks.firstRenderStarted ?? diffed;
  const renderEnded = marks.lastRenderEnded ?? renderStarted;
  return {
    fetch: fetched - started,
    detect: renderStarted - fetched,
    render: renderEnded - renderStarted,
    diff: diffed - renderEnded,
    comment: ended - diffed,
  };
}
