import { isMultiSource } from "../../core/model/application-spec.js";
import type { SyncProgress } from "../../core/model/progress.js";
import type { SyncedResource, SyncOutcome } from "../../core/model/result.js";
import type { SyncLookup } from "../../core/ports/deployer.js";
import { SYNC_INFO_RUN } from "../../names.js";
import type { OperationState, SyncedObject, WholeApplication } from "./application-schema.js";
import { readableText } from "./interpret-error.js";

export const RESOURCE_MESSAGE_LENGTH = 500;

/** The state of our operation, from one read of the application. */
export type SyncState =
  | { readonly kind: "done"; readonly outcome: SyncOutcome }
  | ({ readonly kind: "ours" } & SyncProgress)
  /** Another operation is pending or was the last one; `history` describes the last deployment. */
  | { readonly kind: "foreign"; readonly pending: boolean; readonly history: string }
  | { readonly kind: "none" };

/**
 * An operation is done when it is gone from the spec and its phase is final. `finishedAt` proves nothing: Argo CD sets it
 * with the phase `Running` while it waits for a retry (seen with v3.5.1).
 */
export function syncState(application: WholeApplication, request: SyncLookup): SyncState {
  const { operation } = application;
  const state = application.status?.operationState ?? undefined;
  if (operation !== null && operation !== undefined) {
    if (!isOurs(operation, request.runId)) {
      return { kind: "foreign", pending: true, history: lastDeployed(application) };
    }
    // The state may still describe the previous operation.
    const started = state !== undefined && isOurs(state.operation, request.runId) ? state : undefined;
    return { kind: "ours", ...progressOf(application, started) };
  }
  if (state === undefined) return { kind: "none" };
  if (!isOurs(state.operation, request.runId)) {
    return { kind: "foreign", pending: false, history: lastDeployed(application) };
  }
  const message = readableText(state.message ?? "");
  switch (state.phase ?? "") {
    case "Succeeded":
      return { kind: "done", outcome: success(application, state, request, message) };
    case "Failed":
    case "Error":
      return {
        kind: "done",
        outcome: {
          kind: "failed",
          message: message || `the phase is ${state.phase ?? ""}`,
          resources: resourcesOf(state),
        },
      };
    default:
      return { kind: "ours", ...progressOf(application, state) };
  }
}

/** The operation lists finished resources; the total is the number of resources that Argo CD manages for the application. */
function progressOf(application: WholeApplication, state: OperationState | undefined): SyncProgress {
  const done = state?.syncResult?.resources?.length ?? 0;
  const total = Math.max(done, application.status?.resources?.length ?? 0);
  return { done, total, message: readableText(state?.message ?? "waiting for Argo CD to start") };
}

/** Managed objects that are not Healthy; Argo CD tells of none that has no health. */
export function unhealthyOf({ status }: WholeApplication): readonly SyncedResource[] {
  return (status?.resources ?? []).flatMap((resource) => {
    const word = resource.health?.status ?? "Healthy";
    if (word === "Healthy") return [];
    const message = readableText(resource.health?.message ?? "", RESOURCE_MESSAGE_LENGTH);
    return [{ title: titleOf(resource), status: word, message }];
  });
}

function lastDeployed(application: WholeApplication): string {
  const entry = application.status?.history?.at(-1);
  if (entry === undefined) return "its history is empty";
  const revisions = entry.revisions ?? [entry.revision ?? ""];
  return readableText(`its history ends with ${revisions.join(", ")} at ${entry.deployedAt ?? "an unknown time"}`, 500);
}

/** Whether a run started this operation. */
export function isOurs(operation: OperationState["operation"], run: string): boolean {
  return operation?.info.some((entry) => entry.name === SYNC_INFO_RUN && entry.value === run) ?? false;
}

/** A success counts only for the requested commits: Argo CD can deploy others and still succeed. */
function success(
  application: WholeApplication,
  state: OperationState,
  request: SyncLookup,
  message: string,
): SyncOutcome {
  const wrong =
    request.at === "target" ? undefined : request.at.find((pin) => deployed(state, pin.position) !== pin.revision);
  if (wrong !== undefined) {
    const other = readableText(deployed(state, wrong.position) ?? "") || "no known commit";
    return {
      kind: "unknown",
      message: `Argo CD reports success, but for ${other} instead of ${wrong.revision}: ${message}`,
    };
  }
  const resources = resourcesOf(state);
  return {
    kind: "succeeded",
    message,
    resources,
    revisions: revisionsOf(state, request),
    pruneSkipped: resources.filter((resource) => resource.status === "PruneSkipped").length,
    health: application.status?.health?.status ?? "Unknown",
    unhealthy: unhealthyOf(application),
  };

  function deployed(from: OperationState, position: number): string | undefined {
    return revisionsOf(from, request)[isMultiSource(request.application.spec) ? position - 1 : 0];
  }
}

/** One per source. */
function revisionsOf({ syncResult }: OperationState, { application }: SyncLookup): readonly string[] {
  if (isMultiSource(application.spec)) return syncResult?.revisions ?? [];
  const revision = syncResult?.revision ?? undefined;
  return revision === undefined ? [] : [revision];
}

function resourcesOf(state: OperationState): readonly SyncedResource[] {
  return (state.syncResult?.resources ?? []).map((resource) => ({
    title: titleOf(resource),
    status: resource.status ?? "",
    message: readableText(resource.message ?? "", RESOURCE_MESSAGE_LENGTH),
  }));
}

/** Such as `apps/Deployment guestbook/web`, as in the plan. */
export function titleOf({ group, kind, namespace, name }: SyncedObject): string {
  const type = [group, kind].filter(Boolean).join("/");
  return readableText(`${type} ${[namespace, name].filter(Boolean).join("/")}`, RESOURCE_MESSAGE_LENGTH);
}
