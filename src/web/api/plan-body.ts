import type { ApplicationPlan, ApplicationSetPreview, Plan, PlanLock } from "../../core/model/plan.js";
import type { HostPages } from "../host-pages.js";
import { changeBody, lockBody } from "./bodies.js";

/** A stored plan as the API gives it: everything, also what a comment had to cut. Values of Secrets are in no plan. */
export function planBody(plan: Plan, pages: HostPages) {
  return {
    change: changeBody(plan.change, pages),
    head: plan.head,
    planned_at: plan.plannedAt,
    applications: plan.applications.map((one) => applicationBody(one, pages)),
    application_sets: plan.applicationSets.map(setBody),
    not_deployed: plan.notDeployed,
    released: plan.released,
    notes: plan.notes,
  };
}

function applicationBody(plan: ApplicationPlan, pages: HostPages) {
  return {
    application: plan.application,
    kind: plan.kind,
    lock: planLockBody(plan.lock, pages),
    source_file: plan.sourceFile,
    at_merge: plan.atMerge,
    warnings: plan.warnings,
    ...evaluationBody(plan),
  };
}

function evaluationBody(plan: ApplicationPlan) {
  switch (plan.kind) {
    case "new":
    case "deleted":
    case "unplanned":
      return {};
    case "unevaluated":
      return { reason: plan.reason };
    case "evaluated": {
      const { created, updated, deleted, hooksChanged, resources, cautions, hiddenSecrets, basis } = plan.diff;
      return {
        verdict: plan.verdict,
        writes_definition: plan.writesDefinition,
        changes: { create: created, update: updated, delete: deleted, hooks: hooksChanged },
        cautions,
        hidden_secrets: hiddenSecrets,
        compared_with: basis.kind === "live" ? ("live" as const) : ("branch" as const),
        resources,
      };
    }
  }
}

function planLockBody(lock: PlanLock, pages: HostPages) {
  return lock.kind === "held" ? { kind: lock.kind, by: lockBody(lock.by, pages) } : { kind: lock.kind };
}

function setBody({ name, sourceFile, added, removed, changed, notes, problem }: ApplicationSetPreview) {
  return { name, source_file: sourceFile, added, removed, changed, notes, problem };
}
