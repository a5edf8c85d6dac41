import type { AccessCommand, AccessRule } from "../../config/requirements.js";
import type { Settings } from "../../config/settings.js";
import type { ApplicationName } from "../model/brand.js";
import { sameChangeRequest, type ChangeRequest } from "../model/change-request.js";
import { isDeployedAt, type Deployment } from "../model/deployment.js";
import type { Lock } from "../model/lock.js";
import { failedChecksOf, isPlanOf, withholds, type ApplicationPlan, type Plan } from "../model/plan.js";
import {
  accessRulesFor,
  byNameAlone,
  deployedOf,
  needsApproval,
  requiresUpToDate,
  type Deployed,
} from "./effect-rules.js";
import type { FailedFor } from "./merge-checks.js";
import { awaitingIn, requiringApproval, takingEffect } from "./merge-decision.js";
import type { AdvisedCommand, AdvisedMerge, AfterApproval, Names, NextStep, Standing, WhyPush } from "./standing.js";

/** The next step of a change request. Every answer, the commit status and the pages take it from here. */
export function nextStep(standing: Standing): NextStep {
  const { change, plan, records, merging } = standing;
  if (merging) return { kind: "merging", into: change.baseBranch };
  if (change.state === "merged") return { kind: "none", because: "merged" };
  if (change.state === "closed") {
    const deployed = records.map(({ application }) => application);
    return deployed.length === 0 ? { kind: "none", because: "closed" } : undoing(deployed, standing);
  }
  const bar = barOf(standing);
  if (bar !== undefined) return bar;
  if (!isPlanOf(plan, change)) return planning(standing);
  if (plan.unread.length > 0) return pushing("unread", [], change);
  if (withholds(plan)) {
    return approving(standing, change.draft || change.fork ? planning(standing) : { kind: "replan" });
  }
  const awaiting = awaitingIn(plan, records, change, standing.settings);
  return awaiting.length === 0 ? finishing(plan, standing) : deploying(awaiting, plan, standing);
}

/** The next step for one application that a sync did not deploy; undefined if it has none of its own. */
export function nextStepFor(application: ApplicationName, standing: Standing): NextStep | undefined {
  const { change, plan, records, settings, merging } = standing;
  if (merging || change.state !== "open" || barOf(standing) !== undefined) return undefined;
  if (!isPlanOf(plan, change)) return planning(standing);
  const awaiting = awaitingIn(plan, records, change, settings).filter((one) => one.application === application);
  return awaiting.length === 0 ? undefined : deploying(awaiting, plan, standing, [application]);
}

/**
 * Deploying the target branch again, unless others deployed these applications since and hold their locks. What was deployed
 * without an approval may need one by now: the rules of the base branch can have changed.
 */
export function undoing(names: Names, standing: Standing): NextStep {
  const { change, plan, settings, locks, records, foreign, approval } = standing;
  const theirs = locks.filter(({ application, holder }) => {
    const deployed = foreign.some((one) => one.application === application && sameChangeRequest(one.change, holder));
    return names.includes(application) && !sameChangeRequest(holder, change) && deployed;
  });
  const free = names.filter((name) => !theirs.some(({ application }) => application === name));
  if (free.length === 0) return { kind: "wait", locks: theirs };
  const deployed = deployedOf(plan, free, change);
  const by = rulesFor("rollback", deployed, settings);
  const advised: AdvisedCommand = { kind: "command", command: "rollback", applications: free, by };
  const approved = new Set(
    records.filter(({ approvers }) => approvers.length > 0).map(({ application }) => application),
  );
  const unapproved = deployed.filter(({ application }) => !approved.has(application));
  return needsApproval(unapproved, settings) && approval?.approved !== true ? approving(standing, advised) : advised;
}

/** Why nothing can be planned or deployed at all. */
function barOf({ change, settings, broken }: Standing): NextStep | undefined {
  if (change.fork && !settings.allowForks) return { kind: "none", because: "fork" };
  return broken ? pushing("rules-broken", [], change) : undefined;
}

/** Everything that svc deploys is deployed. */
function finishing(plan: Plan, standing: Standing): NextStep {
  const { change, settings, records, approval, missingForRules, mergeChecks } = standing;
  if (change.mergeability === "conflicts") return pushing("conflicts", [], change);
  if (mergeChecks.missing.length > 0) return planning(standing);
  if (mergeChecks.failed.length > 0) return passing(mergeChecks.failed, change, "merge");
  const running = new Set(
    records.filter((one) => isDeployedAt(one, change.headRevision)).map(({ application }) => application),
  );
  const byTheMerge = takingEffect(plan).filter(({ application }) => !running.has(application));
  const merge: AdvisedMerge = { kind: "merge", draft: change.draft, by: rulesFor("sync", byTheMerge, settings) };
  if (requiringApproval(plan, settings).length > 0 && approval?.approved !== true) return approving(standing, merge);
  return missingForRules === undefined ? merge : { kind: "approve-rules", missing: missingForRules };
}

/** @param only what the command names; empty if it may be given for everything. */
function deploying(awaiting: readonly ApplicationPlan[], plan: Plan, standing: Standing, only: Names = []): NextStep {
  const { change, locks } = standing;
  const sorted = awaiting.map((planned) => ({ application: planned.application, need: needOf(planned, standing) }));
  const needing = (wanted: Need) => sorted.filter(({ need }) => need === wanted).map(({ application }) => application);
  if (change.mergeability === "conflicts") return pushing("conflicts", [], change);
  const ready = needing("sync");
  if (ready.length > 0) return syncing(ready, plan, standing, only);
  if (needing("plan").length > 0) return planning(standing, only);
  const held = new Set(needing("wait"));
  if (held.size > 0) return { kind: "wait", locks: locks.filter(({ application }) => held.has(application)) };
  const because = (["behind", "uncovered"] as const).find((one) => needing(one).length > 0) ?? "unevaluated";
  const failing = new Set(needing("checks"));
  const pushed = needing(because);
  if (pushed.length > 0 || failing.size === 0) return pushing(because, pushed, change);
  const found = awaiting.filter(({ application }) => failing.has(application));
  return passing(
    found.map((one) => ({ application: one.application, failed: failedChecksOf(one) })),
    change,
    "sync",
  );
}

function passing(all: readonly FailedFor[], { headRevision: commit }: ChangeRequest, then: "sync" | "merge"): NextStep {
  const failed = all.flatMap((one) => one.failed);
  const lifted = failed.every(({ overridableBy }) => overridableBy.length > 0);
  return {
    kind: "checks",
    checks: [...new Set(failed.map(({ name }) => name))],
    applications: all.map(({ application }) => application),
    then,
    overridableBy: lifted ? [...new Set(failed.flatMap(({ overridableBy }) => overridableBy))] : [],
    commit,
  };
}

/** A sync without `-a` takes every lock and is refused if one application fails a check. */
function syncing(ready: Names, plan: Plan, standing: Standing, only: Names): NextStep {
  const { change, settings, approval, locks } = standing;
  const ours = locks.filter((lock) => isOurs(lock, standing));
  const everything = only.length === 0 && ours.every((lock) => passes(lock, plan, standing));
  const all = ours.map(({ application }) => application).filter((name) => !isAnnounced(name, plan));
  const deployed = deployedOf(plan, everything ? all : ready, change);
  const by = rulesFor("sync", deployed, settings);
  const advised: AdvisedCommand = { kind: "command", command: "sync", applications: everything ? [] : ready, by };
  if (needsApproval(deployed, settings) && approval?.approved !== true) return approving(standing, advised);
  return afterAttempts(ready, advised, standing);
}

/** What one application that awaits its sync needs. */
type Need = "sync" | "plan" | "wait" | "behind" | "uncovered" | "checks" | "unevaluated";

function needOf(planned: ApplicationPlan, standing: Standing): Need {
  const { change, records, locks } = standing;
  const { application, kind } = planned;
  const deployed = records.find((one) => one.application === application && isDeployedAt(one, change.headRevision));
  if (deployed?.reverted !== undefined) return "behind";
  const lock = locks.find((one) => one.application === application);
  if (lock !== undefined && !isOurs(lock, standing)) return "wait";
  if (kind === "unevaluated") return "unevaluated";
  if (kind === "unplanned" || lock?.planRevision !== change.headRevision) return "plan";
  return gapOf(planned, standing) ?? "sync";
}

/** Why a sync of a planned application would be refused, although its lock and its plan are in order. */
function gapOf(planned: ApplicationPlan, { settings }: Standing): "behind" | "uncovered" | "checks" | undefined {
  const { application, effect, gaps } = planned;
  if (gaps?.uncovered === true) return "uncovered";
  const deployed: Deployed = { application, members: effect.members };
  if (gaps?.behind === true && requiresUpToDate(deployed, settings)) return "behind";
  return failedChecksOf(planned).length > 0 ? "checks" : undefined;
}

/** Whether a sync without `-a`, which takes every lock, is not refused for this one. */
function passes({ application, planRevision }: Lock, plan: Plan, standing: Standing): boolean {
  if (isAnnounced(application, plan)) return true;
  const planned = plan.applications.find((one) => one.application === application);
  const current = planRevision === standing.change.headRevision && planned?.kind === "evaluated";
  return current && planned.atMerge === undefined && gapOf(planned, standing) === undefined;
}

/** New and deleted applications: locked, and left out of every sync. */
function isAnnounced(application: ApplicationName, plan: Plan): boolean {
  const planned = plan.applications.find((one) => one.application === application);
  return planned?.kind === "new" || planned?.kind === "deleted";
}

/** What earlier syncs of the head left behind. */
function afterAttempts(ready: Names, advised: AdvisedCommand, { change, records }: Standing): NextStep {
  const ended = (...outcomes: readonly Deployment["outcome"][]) =>
    records
      .filter(({ revision, outcome }) => revision === change.headRevision && outcomes.includes(outcome))
      .map(({ application }) => application)
      .filter((name) => ready.includes(name));
  const unclear = ended("started", "unknown");
  if (unclear.length > 0) return { kind: "retry", after: "unclear", applications: unclear, then: advised };
  const failed = ended("failed");
  return failed.length > 0 ? { kind: "retry", after: "failed", applications: failed, then: advised } : advised;
}

function planning({ plan, settings }: Standing, only: Names = []): AdvisedCommand {
  const all = plan?.applications.map(({ application }) => application) ?? [];
  const by = rulesFor("plan", byNameAlone(only.length === 0 ? all : only), settings);
  return { kind: "command", command: "plan", applications: only, by };
}

function approving({ change, approval }: Standing, then: AfterApproval): NextStep {
  const { headRevision, author } = change;
  return { kind: "approve", known: approval !== undefined, commit: headRevision, author: author?.login, then };
}

function pushing(because: WhyPush, applications: Names, { baseBranch }: ChangeRequest): NextStep {
  return { kind: "push", because, applications, baseBranch };
}

function isOurs({ holder }: Lock, { change }: Standing): boolean {
  return sameChangeRequest(holder, change);
}

/** Everything that has to allow a person the command. */
function rulesFor(command: AccessCommand, deployed: readonly Deployed[], settings: Settings): readonly AccessRule[] {
  const rules = deployed.flatMap(({ application, members }) =>
    members.length === 0
      ? settings.accessTo({ name: application }, command)
      : members.flatMap((member) => accessRulesFor(member, command, settings)),
  );
  return [...new Map(rules.map((rule) => [JSON.stringify(rule), rule])).values()];
}
