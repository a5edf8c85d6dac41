import type { SourceAt } from "../render/render-source.js";
import { isMultiSource, type Application, type Operation, type OperationState } from "../resource.js";
import { kitchenTime, syncResult, type Outcome } from "./operation-result.js";

/** An operation in progress. */
export interface Run {
  readonly application: Application;
  readonly operation: Operation;
  readonly startedAt: string;
  stage: "recorded" | "running" | "waiting" | "retrying" | "terminating" | "done";
  reads: number;
  retries: number;
  /** `retry.refresh`: the next attempt uses the target revision instead of the requested one. */
  latest: boolean;
}

export function newRun(application: Application, operation: Operation, startedAt: string, stage: Run["stage"]): Run {
  return { application, operation, startedAt, stage, reads: 0, retries: 0, latest: false };
}

/** Whether another attempt follows this outcome. */
export function mayRetry({ operation, stage, retries }: Run, { phase }: Outcome): boolean {
  const { limit = 0 } = operation.retry;
  return phase !== "Succeeded" && stage !== "terminating" && (limit < 0 || retries < limit);
}

/** Between two attempts the phase is Running although `finishedAt` is set. */
export function waitingState(
  run: Run,
  at: readonly SourceAt[] | undefined,
  outcome: Outcome,
  now: Date,
): OperationState {
  const { duration = "5s", factor = 2 } = run.operation.retry.backoff ?? {};
  const seconds = Number(/^(\d+)s$/.exec(duration)?.[1] ?? 5) * factor ** (run.retries - 1);
  const next = kitchenTime(new Date(now.getTime() + seconds * 1000));
  return {
    operation: run.operation,
    phase: "Running",
    message: `${outcome.message}. Retrying attempt #${run.retries} at ${next}.`,
    syncResult: syncResult(run.operation, at, outcome),
    startedAt: run.startedAt,
    finishedAt: now.toISOString().replace(/\.\d+Z$/, "Z"),
    retryCount: run.retries,
  };
}

/** State while the next attempt runs. */
export function retryingState({ application, operation, startedAt, latest, retries }: Run): OperationState {
  const how = latest ? " with latest revisions" : "";
  return {
    ...(application.operationState ?? { operation, startedAt }),
    finishedAt: undefined,
    phase: "Running",
    message: `Retrying operation${how}. Attempt #${retries}`,
  };
}

/** The final state. A terminated operation keeps the result of its last attempt. */
export function finishedState(
  run: Run,
  at: readonly SourceAt[] | undefined,
  outcome: Outcome,
  finishedAt: string,
): OperationState {
  const { application, operation, startedAt, retries } = run;
  const before = application.operationState?.syncResult;
  return {
    operation,
    phase: outcome.phase,
    message: `${outcome.message}${retries === 0 ? "" : ` (retried ${retries} times).`}`,
    syncResult: at === undefined && before !== undefined ? before : syncResult(operation, at, outcome),
    startedAt,
    finishedAt,
    ...(retries === 0 ? {} : { retryCount: retries }),
  };
}

/** The operation that syncs the application by its spec. */
export function syncOperation(
  application: Application,
  at: readonly SourceAt[],
  initiatedBy: Operation["initiatedBy"],
): Operation {
  const { spec } = application;
  const revisions = at.map(({ revision }) => revision);
  const sources = at.map(({ source }) => source);
  const multi = isMultiSource(spec);
  const syncOptions = spec.syncPolicy?.syncOptions;
  const prune = initiatedBy.automated === true && spec.syncPolicy?.automated?.prune === true;
  return {
    sync: {
      ...(multi ? { sources, revisions } : { revision: revisions[0] ?? "", source: sources[0] }),
      ...(prune ? { prune } : {}),
      ...(syncOptions === undefined ? {} : { syncOptions }),
    },
    initiatedBy,
    retry: spec.syncPolicy?.retry ?? {},
  };
}
