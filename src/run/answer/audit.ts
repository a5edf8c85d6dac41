import type { ConfirmedMerge } from "../../core/commands/merge.js";
import { applicationName, type ApplicationName, type Revision } from "../../core/model/brand.js";
import { changeRequestName, changeRequestRef, type ChangeRequestRef } from "../../core/model/change-request.js";
import type { OverriddenCheck } from "../../core/model/check.js";
import { plainText } from "../../core/model/host-words.js";
import type { Lock } from "../../core/model/lock.js";
import type { ApplicationPlan, Plan } from "../../core/model/plan/plan.js";
import type {
  ApplicationSync,
  AutomaticRollback,
  CommandResultOf,
  Refusal,
  ResultKind,
} from "../../core/model/result.js";
import type { Rollout } from "../../core/model/rollout.js";
import { fullMinuteText } from "../../core/model/time.js";
import type { AuditedApplication, AuditEntry, AuditLog } from "../../core/ports/audit.js";
import type { MergeOutcome } from "../../core/ports/code-host.js";
import type { Log } from "../../core/ports/log.js";
import { SERVICE } from "../../names.js";
import type { Answerable } from "../line/outcome.js";
import type { Run } from "../line/run.js";

type AuditFacts = Pick<AuditEntry, "action" | "applications" | "reason" | "seconds">;

const MAX_TEXT = 500;

/** Undefined if nothing was asked or done: help, not a command, a close that held nothing. */
export function auditFactsOf<K extends ResultKind>(result: CommandResultOf<K>): AuditFacts | undefined {
  return AUDIT_FACTS[result.kind](result);
}

const AUDIT_FACTS: { readonly [K in ResultKind]: (result: CommandResultOf<K>) => AuditFacts | undefined } = {
  planned: ({ plan }) => ({ action: "planned", applications: plannedApplications(plan), reason: undefined }),
  synced: ({ applications, announced, skipped, dryRun }) => ({
    action: "synced",
    applications: [
      ...applications.map(deployedApplication),
      ...announced.map(({ application, kind }) => audited(application, kind)),
      ...skipped.map((name) => audited(name, "skipped")),
    ],
    reason: tried(dryRun),
  }),
  "rolled-back": ({ applications, dryRun }) => ({
    action: "rolled-back",
    applications: applications.map(deployedApplication),
    reason: tried(dryRun),
  }),
  unlocked: ({ released }) => ({
    action: "unlocked",
    applications: released.map((name) => audited(name, "released")),
    reason: undefined,
  }),
  updated: ({ done }) =>
    done && { action: "updated", applications: [], reason: `${done.rewritten ? "rebased" : "merged"} to ${done.head}` },
  reverted: ({ revert, known }) => ({
    action: "reverted",
    applications: [],
    reason: `${known ? "found" : "opened"} ${changeRequestName(revert)}`,
  }),
  // Who waits sees the reason; the trail holds no text of a comment.
  held: ({ hold }) => ({
    action: "held",
    applications: hold.applications.map((name) => audited(applicationName(name), "held")),
    reason: `until ${fullMinuteText(new Date(hold.until))}`,
  }),
  released: ({ holds }) => ({
    action: "released",
    applications: holds.flatMap(({ applications }) =>
      applications.map((name) => audited(applicationName(name), "released")),
    ),
    reason: undefined,
  }),
  closed({ released, stillDeployed }) {
    const applications = [
      ...released.map((name) => audited(name, "released")),
      ...stillDeployed.map((name) => audited(name, "still deployed")),
    ];
    return applications.length === 0 ? undefined : { action: "closed", applications, reason: undefined };
  },
  help: () => undefined,
  refused: ({ refusal }) => refusedFacts(refusal),
};

/** @param confirmed what was judged right before it. */
export function auditFactsOfMerge(outcome: MergeOutcome, confirmed: ConfirmedMerge | undefined): AuditFacts {
  const intent = confirmed?.kind === "merge" ? confirmed.intent : undefined;
  const barred = confirmed?.kind === "barred" ? confirmed.notMerged : [];
  switch (outcome.kind) {
    case "merged":
      return {
        action: "merged",
        applications: (intent?.overridden ?? []).map((one) => audited(one.application, "merged", overriddenText(one))),
        reason: intent?.method,
      };
    case "queued":
      return { action: "queued", applications: [], reason: outcome.in };
    case "refused":
      return { action: "refused", applications: [], reason: cut(`merge: ${outcome.reason}`) };
    case "barred": {
      const applications = barred.map(({ application, reason }) => audited(application, "refused", plainText(reason)));
      return { action: "refused", applications, reason: "merge" };
    }
  }
}

export function auditFactsOfRollout({ applications, approval, merged }: Rollout): AuditFacts {
  const approved = { given: "", missing: ", without the required approval", unknown: ", with an unknown approval" };
  return {
    action: "rolled-out",
    applications: applications.map(({ application, state }) => ({
      ...audited(application, state.kind, state.why),
      ...(state.message === undefined || state.message === "" ? {} : { message: cut(state.message) }),
    })),
    reason: `merged as ${merged}${approved[approval]}`,
  };
}

function refusedFacts(refusal: Refusal): AuditFacts | undefined {
  const refused = (applications: readonly AuditedApplication[] = []): AuditFacts => {
    return { action: "refused", applications, reason: refusal.reason };
  };
  switch (refusal.reason) {
    case "not-a-command":
      return undefined;
    case "not-done":
      return { ...refused(), reason: cut(`${refusal.reason}: ${refusal.because}`) };
    case "failure":
      return { action: "failed", applications: [], reason: cut(refusal.message) };
    case "store-unavailable":
    case "cannot-tell":
      return { action: "failed", applications: [], reason: refusal.reason };
    case "not-approved":
      return refused(refusal.applications.map((name) => audited(name, "refused", refusal.missing)));
    case "auto-sync":
      return refused(refusal.applications.map((name) => audited(name, "refused")));
    case "stale":
      return refused(refusal.applications.map(({ application }) => audited(application, "refused")));
    case "not-deployable":
      return refused(
        refusal.applications.map(({ application, reason, recorded = reason }) =>
          audited(application, "refused", recorded),
        ),
      );
    case "not-allowed":
      return refused(refusal.applications.map(({ application, problem }) => audited(application, "refused", problem)));
    case "locked-by-other":
      return refused(refusal.locks.map((lock) => audited(lock.application, "refused", lockedBy(lock))));
    // The applications and patterns of the first three are untrusted words of the comment.
    case "unknown-applications":
    case "not-locked":
    case "no-match":
    case "nothing-locked":
    case "conflicts":
    case "mergeability-unknown":
    case "head-moved":
    case "plan-unseen":
    case "found-late":
    case "closed":
    case "fork":
    case "no-write-access":
    case "repository-file":
    case "unread-files":
    case "superseded":
      return refused();
  }
}

function plannedApplications({ applications, notDeployed }: Plan): readonly AuditedApplication[] {
  return [
    ...applications.map(plannedApplication),
    ...notDeployed.map(({ application, reason }) => audited(application, "not deployed", reason)),
  ];
}

function plannedApplication(plan: ApplicationPlan): AuditedApplication {
  const outcome = plan.kind === "evaluated" ? plan.verdict : plan.kind;
  return audited(plan.application, outcome, plan.lock.kind === "held" ? lockedBy(plan.lock.by) : undefined);
}

function deployedApplication(one: ApplicationSync): AuditedApplication {
  const { application, kind, message, overridden = [] } = one;
  const undone = one.kind === "failed" ? rollbackDetail(one.notHealthy?.rollback) : undefined;
  const details = [...overridden.map(overriddenText), ...(undone === undefined ? [] : [undone])];
  const entry = audited(application, kind, details.join("; "));
  return kind === "succeeded" || message === "" ? entry : { ...entry, message: cut(message) };
}

function rollbackDetail(rollback: AutomaticRollback | undefined): string | undefined {
  switch (rollback?.kind) {
    case undefined:
    case "skipped":
      return undefined;
    case "succeeded":
      return "rolled back automatically";
    case "failed":
      return "an automatic rollback failed";
    case "unknown":
      return "the end of an automatic rollback is not known";
  }
}

function audited(application: ApplicationName, outcome: string, detail?: string): AuditedApplication {
  return { application, outcome, detail: detail === undefined || detail === "" ? undefined : cut(detail) };
}

function lockedBy({ holder }: Lock): string {
  return `locked by ${changeRequestName(holder)}`;
}

function overriddenText({ check, by }: OverriddenCheck): string {
  return `check ${check} failed and was overridden by ${by.join(", ")}`;
}

function tried(dryRun: boolean): string | undefined {
  return dryRun ? "dry run" : undefined;
}

function cut(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}…`;
}

interface AuditSubject {
  readonly change: ChangeRequestRef & { readonly headRevision?: Revision };
  /** Undefined when the change request was closed. */
  readonly asked: Answerable | undefined;
}

/** Writes what a run did to the audit trail; does nothing without facts. Never throws. */
export async function auditRun(
  facts: AuditFacts | undefined,
  { change, asked }: AuditSubject,
  run: Run,
): Promise<void> {
  if (facts === undefined) return;
  const { by, command } = asked ?? {};
  const entry = {
    at: run.clock.now().toISOString(),
    runId: run.runId,
    delivery: run.delivery,
    who: by === undefined ? SERVICE : { host: change.host, id: by.id, login: by.login },
    change: changeRequestRef(change),
    head: change.headRevision,
    command: command?.name,
    ...facts,
  } as const;
  await recordAudit(entry, run);
}

/** Writes an entry to the log and to the trail. Never throws: if the trail cannot be written, the log has the entry. */
export async function recordAudit(
  entry: AuditEntry,
  { audit, log }: { readonly audit: AuditLog; readonly log: Log },
): Promise<void> {
  log.info({ audit: entry }, "audit");
  try {
    await audit.record(entry);
  } catch (error) {
    log.error({ audit: entry, err: error }, "could not write the audit trail");
  }
}
