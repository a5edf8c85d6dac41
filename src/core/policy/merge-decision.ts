import type { Settings } from "../../config/settings.js";
import { applicationName, type ApplicationName } from "../model/brand.js";
import type { ChangeRequest } from "../model/change-request.js";
import { byApplication, isDeployedAt, type Deployment } from "../model/deployment.js";
import { referenceTo, type HostWords } from "../model/host-words.js";
import { isPlanOf, isWithheld, type ApplicationPlan, type NotDeployed, type Plan } from "../model/plan.js";
import { approvalNeeds, byNameAlone, type Deployed } from "./effect-rules.js";

/**
 * What blocks a merge. Nothing does once every affected application was synced at this head, or is proven unchanged and
 * skipped by `skip_no_changes`. New and deleted applications, and what takes effect at the merge anyway, never block.
 * Without a plan of exactly this head the `involved` applications do, or else the head itself.
 * @param words Those of the change request's host.
 */
export function mergeDecision(
  plan: Plan | undefined,
  involved: readonly ApplicationName[],
  records: readonly Deployment[],
  change: ChangeRequest,
  settings: Settings,
  words: HostWords,
): readonly NotDeployed[] {
  if (!isPlanOf(plan, change)) {
    const named = involved.length > 0 ? involved : [applicationName(change.headRevision.slice(0, 8))];
    return named.map((application) => ({ application, reason: "there is no stored plan of the head commit" }));
  }
  const recordsOf = byApplication(records);
  const unread = plan.unread.map(({ file }) => ({
    application: applicationName(file),
    reason: "it could not be read",
  }));
  const unfinished = plan.applications.flatMap((one) => {
    const hindrance = hindranceOf(one, recordsOf.get(one.application) ?? [], change, settings);
    if (hindrance === undefined) return [];
    return [{ application: one.application, reason: hindranceText(hindrance, one, change, words) }];
  });
  return [...unread, ...unfinished];
}

/** The applications of a plan that block a merge. */
export function awaitingIn(
  plan: Plan,
  records: readonly Deployment[],
  change: ChangeRequest,
  settings: Settings,
): readonly ApplicationPlan[] {
  const recordsOf = byApplication(records);
  return plan.applications.filter(
    (one) => hindranceOf(one, recordsOf.get(one.application) ?? [], change, settings) !== undefined,
  );
}

type Hindrance = "withheld" | "reverted" | "held" | "not-synced" | "unevaluated" | "unplanned";

function hindranceOf(
  planned: ApplicationPlan,
  own: readonly Deployment[],
  change: ChangeRequest,
  settings: Settings,
): Hindrance | undefined {
  if (isWithheld(planned)) return "withheld";
  if (planned.kind === "new" || planned.kind === "deleted" || planned.atMerge !== undefined) return undefined;
  const deployed = own.find((record) => isDeployedAt(record, change.headRevision));
  if (deployed !== undefined) return deployed.reverted === undefined ? undefined : "reverted";
  if (planned.lock.kind === "held") return "held";
  if (planned.kind !== "evaluated") return planned.kind;
  // An earlier sync of this change request may have deployed something that differs from both sides of the plan.
  const unchanged = planned.verdict === "unchanged" && !planned.writesDefinition;
  return unchanged && settings.skipNoChanges && own.length === 0 ? undefined : "not-synced";
}

function hindranceText(
  hindrance: Hindrance,
  { lock }: ApplicationPlan,
  change: ChangeRequest,
  words: HostWords,
): string {
  switch (hindrance) {
    case "withheld":
      return "it is not rendered before the head is approved";
    case "reverted":
      return `its sync reverted what ${change.baseBranch} got since this branch left it: update the branch and sync again`;
    case "held":
      return lock.kind === "held" ? `it is locked by ${referenceTo(lock.by.holder, change, words)}` : "it is locked";
    case "not-synced":
      return "it was not synced at the head commit";
    case "unevaluated":
      return "its plan could not be evaluated";
    case "unplanned":
      return "it was left out of the plan";
  }
}

/** The applications that the merge or a sync deploys and that require an approval. */
export function requiringApproval(plan: Plan | undefined, settings: Settings): readonly ApplicationName[] {
  const needs = approvalNeeds(takingEffect(plan), settings);
  return [...new Set(needs.map(({ member }) => member))];
}

/**
 * Everything that the merge or a sync deploys: planned, new, deleted and auto-synced applications, those that svc does not
 * deploy, and what ApplicationSets generate.
 */
export function takingEffect(plan: Plan | undefined): readonly Deployed[] {
  if (plan === undefined) return [];
  const planned = plan.applications.map(({ application, effect }) => ({ application, members: effect.members }));
  const generated = plan.applicationSets.flatMap(({ members }) =>
    members.map((member) => ({ application: member.application, members: [member] })),
  );
  const known = new Set([...planned, ...generated].map(({ application }) => application));
  const others = plan.notDeployed.map(({ application }) => application).filter((name) => !known.has(name));
  return [...planned, ...generated, ...byNameAlone(others)];
}
