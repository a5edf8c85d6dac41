import type { ChangeRequest } from "../model/change-request.js";
import type { AdvisedCommand, AfterApproval, Names, NeededApproval, NextStep, WhyPush } from "../model/next-step.js";
import type { AccessCommand, AccessRule } from "../model/settings.js";
import type { ApplicationFacts, Facts, FailedFor } from "./facts.js";

/** @param only what the command names; empty if it is given without `-a`. */
export function planning({ applications }: Facts, only: Names = []): AdvisedCommand {
  const named = applications.filter(({ application }) => only.length === 0 || only.includes(application));
  const by = allowedFor(
    "plan",
    named.filter(({ planned }) => planned !== undefined),
  );
  return { kind: "command", command: "plan", applications: only, by };
}

export function approving({ change, approval }: Facts, then: AfterApproval): NeededApproval {
  const { headRevision, author } = change;
  return { kind: "approve", known: approval !== undefined, commit: headRevision, author: author?.login, then };
}

/** The step after an approval that lets svc render more: svc plans by itself, except for drafts and forks. */
export function replanning(facts: Facts): AfterApproval {
  return facts.change.draft || facts.change.fork ? planning(facts) : { kind: "replan" };
}

export function pushing(
  because: WhyPush,
  applications: Names,
  { baseBranch }: ChangeRequest,
): Extract<NextStep, { readonly kind: "push" }> {
  return { kind: "push", because, applications, baseBranch };
}

/** The step after which a plan shows, or somebody has approved, what could not be evaluated. */
export function showing(facts: Facts): NextStep {
  const failed = facts.missed?.filter(({ withheld }) => !withheld) ?? [];
  if (failed.length === 0) return approving(facts, replanning(facts));
  const names = failed.map(({ application }) => application);
  return pushing("missed", names, facts.change);
}

/** The step that gets failed checks to pass; a plan, if the newest one did not see them fail. */
export function passing(all: readonly FailedFor[], facts: Facts, then: "sync" | "merge"): NextStep {
  const failed = all.flatMap((one) => one.failed);
  if (failed.length === 0) return planning(facts);
  const lifted = failed.every(({ overridableBy }) => overridableBy.length > 0);
  return {
    kind: "checks",
    checks: [...new Set(failed.map(({ name }) => name))],
    applications: all.map(({ application }) => application),
    then,
    overridableBy: lifted ? [...new Set(failed.flatMap(({ overridableBy }) => overridableBy))] : [],
    commit: facts.change.headRevision,
  };
}

/** The rules that must all allow a person the command. */
export function allowedFor(command: AccessCommand, all: readonly ApplicationFacts[]): readonly AccessRule[] {
  const rules = all.flatMap(({ requires }) => requires.allowed[command]);
  return [...new Map(rules.map((rule) => [JSON.stringify(rule), rule])).values()];
}
