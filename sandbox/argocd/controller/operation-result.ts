import type { SourceAt } from "../render/render-source.js";
import type { Application, HistoryEntry, Operation, OperationState, ResourceResult } from "../resource.js";
import type { World } from "../world.js";

export type Phase = "Succeeded" | "Failed" | "Error";

/** The result of an attempt. */
export interface Outcome {
  readonly phase: Phase;
  readonly message: string;
  readonly resources?: ResourceResult[];
}

/** `syncResult` of an attempt at these commits; an attempt that could not render has no resources. */
export function syncResult(
  operation: Operation,
  at: readonly SourceAt[] | undefined,
  outcome: Outcome,
): OperationState["syncResult"] {
  const { sync } = operation;
  const { resources } = outcome;
  const listed = resources === undefined || resources.length === 0 ? {} : { resources };
  if (sync.sources !== undefined) {
    const revisions =
      outcome.phase === "Error" || at === undefined ? {} : { revisions: at.map(({ revision }) => revision) };
    return { ...listed, revision: "", source: { repoURL: "" }, sources: sync.sources, ...revisions };
  }
  return { ...listed, revision: at?.[0]?.revision ?? sync.revision ?? "", source: sync.source ?? { repoURL: "" } };
}

/** Adds a history entry; the last ten are kept. */
export function addHistory(world: World, application: Application, state: OperationState): void {
  const { sync, initiatedBy } = state.operation;
  const { revision, revisions } = state.syncResult ?? { revision: "" };
  const entry: HistoryEntry = {
    ...(sync.sources === undefined ? { revision } : {}),
    deployedAt: world.timestamp(),
    id: (application.history.at(-1)?.id ?? -1) + 1,
    source: sync.sources === undefined ? (sync.source ?? { repoURL: "" }) : { repoURL: "" },
    deployStartedAt: state.startedAt,
    ...(sync.sources === undefined ? {} : { sources: sync.sources, revisions }),
    initiatedBy,
  };
  application.history = [...application.history, entry].slice(-(application.spec.revisionHistoryLimit ?? 10));
}

/** `8:01AM`, as Go's time.Kitchen writes it. */
export function kitchenTime(at: Date): string {
  const hour = at.getUTCHours();
  const minute = String(at.getUTCMinutes()).padStart(2, "0");
  return `${hour % 12 === 0 ? 12 : hour % 12}:${minute}${hour < 12 ? "AM" : "PM"}`;
}

/** Completes the outcome that a test planned for the next attempt. */
export interface PlannedOutcome {
  readonly phase: "Failed" | "Error";
  readonly message: string;
  readonly resources?: readonly (Partial<ResourceResult> & { readonly kind: string; readonly name: string })[];
}

export function outcomeOf(planned: PlannedOutcome, namespace: string): Outcome {
  const resources = planned.resources?.map((resource): ResourceResult => ({
    group: "",
    version: "v1",
    namespace,
    status: "SyncFailed",
    hookPhase: "Failed",
    syncPhase: "Sync",
    message: planned.message,
    ...resource,
  }));
  return { phase: planned.phase, message: planned.message, resources };
}
