import { checkSentences, failureTitle } from "../../comments/plan-checks.js";
import { clusterSentences } from "../../comments/plan-summary.js";
import { isFailed, type CheckResult } from "../../core/model/check.js";
import type { HostWords } from "../../core/model/host-words.js";
import { driftOf, type NameChanges, type ResourceChange } from "../../core/model/manifest-diff.js";
import {
  checksOf,
  isWithheld,
  shownDiff,
  type ApplicationPlan,
  type PlanLock,
  type PreviewContent,
} from "../../core/model/plan.js";
import type { HostPageOf } from "../change-address.js";
import { resourceView, type ResourceView, type Room } from "./resource-view.js";
import { shownChange, type ShownChange } from "./shown.js";
import { basisSentences, verdictSentences } from "./verdict-sentences.js";

/** What the page shows of one application of a plan. */
export interface ApplicationView {
  readonly application: string;
  /** `new`, `deleted`, `could not be evaluated`, `left out by -a`; undefined for an evaluated application. */
  readonly mark: string | undefined;
  /** `2 to create`, `1 to delete`. */
  readonly counts: readonly string[];
  /** Sentences, the dangerous ones first. */
  readonly cautions: readonly string[];
  readonly sentences: readonly string[];
  /** Untrusted text of Argo CD or a renderer, shown in a block of its own. */
  readonly reason: string | undefined;
  /** Failed checks; what they printed is undefined for readers who may not see diffs. */
  readonly failedChecks: readonly { readonly title: string; readonly output: string | undefined }[];
  readonly sourceFile: string | undefined;
  readonly heldBy: { readonly change: ShownChange; readonly user: string } | undefined;
  readonly resources: readonly ResourceView[];
  /** Number of changed resources that this reader may not see. */
  readonly hidden: number;
}

export interface PlanViewOptions {
  /** If false, shows neither diffs nor texts that quote manifests. */
  readonly withDiff: boolean;
  readonly words: HostWords;
  readonly hostPageOf: HostPageOf;
}

/** An application that is in the plan itself. */
export function applicationView(
  plan: ApplicationPlan,
  { withDiff, words, hostPageOf }: PlanViewOptions,
  room: Room,
): ApplicationView {
  const diff = shownDiff(plan);
  const changed = [...definitionOf(plan), ...(diff?.resources ?? [])];
  const drifted = diff === undefined ? [] : driftOf(diff);
  return {
    application: plan.application,
    mark: MARKS[plan.kind],
    counts: diff === undefined ? [] : countsOf(diff),
    cautions: withDiff ? (diff?.cautions ?? []) : [],
    sentences: [
      ...checkSentences(checksOf(plan)),
      ...sentencesOf(plan, withDiff, words),
      ...plan.warnings,
      ...atMerge(plan),
    ],
    reason: withDiff ? reasonOf(plan) : undefined,
    failedChecks: failedChecksIn(checksOf(plan), withDiff),
    sourceFile: plan.sourceFile,
    heldBy: heldBy(plan.lock, hostPageOf),
    resources: withDiff
      ? [
          ...changed.map((resource) => resourceView(resource, room)),
          ...drifted.map((resource) => ({ ...resourceView(resource, room), drift: true })),
        ]
      : [],
    hidden: withDiff ? 0 : changed.length + drifted.length,
  };
}

/** @param withDiff whether the reader may see what the checks printed. */
export function failedChecksIn(checks: readonly CheckResult[], withDiff: boolean): ApplicationView["failedChecks"] {
  return checks
    .filter(isFailed)
    .map((one) => ({ title: failureTitle(one), output: withDiff ? one.outcome.output : undefined }));
}

const MARKS: Readonly<Record<ApplicationPlan["kind"], string | undefined>> = {
  evaluated: undefined,
  unevaluated: "could not be evaluated",
  new: "new",
  deleted: "deleted",
  unplanned: "left out by -a",
};

/** What the diff does not show of the objects that come or go with an application. */
export function previewSentences(content: PreviewContent | undefined, withDiff: boolean): readonly string[] {
  switch (content?.kind) {
    case undefined:
    case "compared":
      return [];
    case "left-behind": {
      const count = content.objects.length;
      const what = `${count} of its resources ${count === 1 ? "stays" : "stay"} in the cluster unmanaged`;
      return [withDiff && count > 0 ? `${what}: ${content.objects.join(", ")}` : what];
    }
    case "failed":
      return [
        "Its resources could not be previewed.",
        ...(content.withheld === true ? ["An approval of this commit plans it again."] : []),
      ];
    case "beyond-limit":
      return [`Its resources are not previewed: a plan previews at most ${content.limit} applications.`];
  }
}

/** Why nothing of its resources can be shown. */
function reasonOf(plan: ApplicationPlan): string | undefined {
  switch (plan.kind) {
    case "unevaluated":
      return plan.reason;
    case "new":
    case "deleted":
      return plan.preview?.kind === "failed" ? plan.preview.reason : undefined;
    case "evaluated":
    case "unplanned":
      return undefined;
  }
}

type Evaluated = Extract<ApplicationPlan, { readonly kind: "evaluated" }>;

/** `2 to create`, `1 to delete`. */
export function countsOf({ created, updated, deleted, hooksChanged }: Evaluated["diff"]): readonly string[] {
  return [
    `${created} to create`,
    `${updated} to update`,
    ...(deleted === 0 ? [] : [`${deleted} to delete`]),
    ...(hooksChanged === 0 ? [] : [`${hooksChanged} hooks changed`]),
  ];
}

function sentencesOf(
  plan: ApplicationPlan,
  withDiff: boolean,
  { changeRequest, command }: HostWords,
): readonly string[] {
  switch (plan.kind) {
    case "new":
      return [
        "It will be created when its Application resource is applied; svc does not create it.",
        ...previewSentences(plan.preview, withDiff),
      ];
    case "deleted":
      return [
        "It will be deleted when its Application resource is removed; svc does not delete it.",
        ...previewSentences(plan.preview, withDiff),
      ];
    case "unplanned":
      return [`This ${changeRequest} affects it, but the last plan left it out.`];
    case "unevaluated":
      if (isWithheld(plan)) return ["It is planned again once this commit is approved."];
      return [
        `It cannot be synced until a plan evaluates it. Fix the cause, then push or comment \`${command} plan\`.`,
      ];
    case "evaluated":
      return [
        ...verdictSentences(plan, withDiff),
        ...(withDiff
          ? [...children("Applications", plan.diff.children), ...children("ApplicationSets", plan.diff.sets)]
          : []),
        ...(withDiff ? [...clusterSentences(plan.cluster), ...basisSentences(plan.diff.basis)] : []),
      ];
  }
}

function children(what: string, { created, changed, deleted }: NameChanges): readonly string[] {
  const parts = [
    ...(created.length === 0 ? [] : [`create ${created.join(", ")}`]),
    ...(changed.length === 0 ? [] : [`change ${changed.join(", ")}`]),
    ...(deleted.length === 0 ? [] : [`delete ${deleted.join(", ")}`]),
  ];
  return parts.length === 0 ? [] : [`${what} it would ${parts.join("; ")}`];
}

function atMerge({ atMerge: sentence }: ApplicationPlan): readonly string[] {
  return sentence === undefined ? [] : [`Not deployed by a sync: ${sentence}`];
}

function heldBy(lock: PlanLock, hostPageOf: HostPageOf): ApplicationView["heldBy"] {
  if (lock.kind !== "held") return undefined;
  return { change: shownChange(lock.by.holder, hostPageOf), user: lock.by.user };
}

/** The definition is shown as the first of the application's objects. */
function definitionOf(plan: ApplicationPlan): readonly ResourceChange[] {
  if (plan.kind !== "evaluated" && plan.kind !== "unevaluated") return [];
  const { definition } = plan;
  if (definition === undefined) return [];
  return [
    {
      action: "update",
      title: `definition of ${plan.application}`,
      kind: "Application",
      hook: false,
      whole: false,
      diff: definition,
    },
  ];
}
