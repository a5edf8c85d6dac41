import type { ApplicationPlan, DiffBasis, NameChanges, Plan, PlanLock, ResourceChange } from "../../core/model/plan.js";
import type { HostPageOf } from "../change-address.js";
import { colourDiff, type DiffLine } from "./colour-diff.js";
import { shownChange, type ShownChange } from "./shown.js";

/** What the page says of one application of a plan. */
export interface ApplicationView {
  readonly application: string;
  /** `new`, `deleted`, `not evaluated`, `left out by -a`; undefined for the ordinary. */
  readonly mark: string | undefined;
  /** `2 to create`, `1 to delete`. */
  readonly counts: readonly string[];
  /** Sentences, the dangerous ones first. */
  readonly cautions: readonly string[];
  readonly sentences: readonly string[];
  /** Untrusted text of Argo CD or a renderer, for a block of its own. */
  readonly reason: string | undefined;
  readonly sourceFile: string | undefined;
  readonly heldBy: { readonly change: ShownChange; readonly user: string } | undefined;
  readonly resources: readonly ResourceView[];
  /** Changed resources that this reader is not shown. */
  readonly hidden: number;
}

export interface ResourceView {
  readonly action: ResourceChange["action"];
  readonly title: string;
  readonly hook: boolean;
  readonly lines: readonly DiffLine[];
  /** Unfolded when the page opens. */
  readonly open: boolean;
}

/** Resources are unfolded until this many lines are open on the page. */
const MOST_OPEN_LINES = 400;

export interface PlanViewOptions {
  /** False where nobody is logged in: neither diffs nor what quotes manifests. */
  readonly withDiff: boolean;
  readonly hostPageOf: HostPageOf;
}

/** Every application of a plan with the whole of its diff. */
export function planView(plan: Plan, options: PlanViewOptions): readonly ApplicationView[] {
  const room = { left: MOST_OPEN_LINES };
  return plan.applications.map((one) => applicationView(one, options, room));
}

function applicationView(
  plan: ApplicationPlan,
  { withDiff, hostPageOf }: PlanViewOptions,
  room: { left: number },
): ApplicationView {
  const evaluated = plan.kind === "evaluated" ? plan : undefined;
  const resources = evaluated?.diff.resources ?? [];
  return {
    application: plan.application,
    mark: MARKS[plan.kind],
    counts: evaluated === undefined ? [] : countsOf(evaluated.diff),
    cautions: withDiff ? (evaluated?.diff.cautions ?? []) : [],
    sentences: [...sentencesOf(plan, withDiff), ...plan.warnings, ...atMerge(plan)],
    reason: withDiff && plan.kind === "unevaluated" ? plan.reason : undefined,
    sourceFile: plan.sourceFile,
    heldBy: heldBy(plan.lock, hostPageOf),
    resources: withDiff ? resources.map((resource) => resourceView(resource, room)) : [],
    hidden: withDiff ? 0 : resources.length,
  };
}

const MARKS: Readonly<Record<ApplicationPlan["kind"], string | undefined>> = {
  evaluated: undefined,
  unevaluated: "could not be evaluated",
  new: "new",
  deleted: "deleted",
  unplanned: "left out by -a",
};

type Evaluated = Extract<ApplicationPlan, { readonly kind: "evaluated" }>;

function countsOf({ created, updated, deleted, hooksChanged }: Evaluated["diff"]): readonly string[] {
  return [
    `${created} to create`,
    `${updated} to update`,
    ...(deleted === 0 ? [] : [`${deleted} to delete`]),
    ...(hooksChanged === 0 ? [] : [`${hooksChanged} hooks changed`]),
  ];
}

function sentencesOf(plan: ApplicationPlan, withDiff: boolean): readonly string[] {
  switch (plan.kind) {
    case "new":
      return ["It will be created when its Application resource is applied; svc does not create it."];
    case "deleted":
      return ["It will be deleted when its Application resource is removed; svc does not delete it."];
    case "unplanned":
      return ["It is affected by this change, and the last plan left it out."];
    case "unevaluated":
      return ["It cannot be synced like this. Fix the cause, then push or comment `svc plan`."];
    case "evaluated":
      return [
        ...verdictSentences(plan),
        ...(withDiff
          ? [...children("Applications", plan.diff.children), ...children("ApplicationSets", plan.diff.sets)]
          : []),
        ...(withDiff ? basisSentences(plan.diff.basis) : []),
      ];
  }
}

function verdictSentences({ verdict, diff, writesDefinition }: Evaluated): readonly string[] {
  const hidden =
    "Argo CD hides the values of Secrets: a change of a value alone cannot be shown, so it cannot be ruled out.";
  switch (verdict) {
    case "changed":
      return diff.hiddenSecrets ? [hidden] : [];
    case "unchanged":
      return [
        "No changes: both sides render the same.",
        ...(writesDefinition ? ["The definition of the application changes all the same: a sync writes it."] : []),
      ];
    case "unknown":
      return diff.hiddenSecrets
        ? [`No visible changes. ${hidden}`]
        : ["The two sides do not render the same, but the cluster already has this."];
  }
}

function children(what: string, { created, changed, deleted }: NameChanges): readonly string[] {
  const parts = [
    ...(created.length === 0 ? [] : [`create ${created.join(", ")}`]),
    ...(changed.length === 0 ? [] : [`change ${changed.join(", ")}`]),
    ...(deleted.length === 0 ? [] : [`delete ${deleted.join(", ")}`]),
  ];
  return parts.length === 0 ? [] : [`${what} that it would ${parts.join("; ")}`];
}

function basisSentences(basis: DiffBasis): readonly string[] {
  switch (basis.kind) {
    case "branch":
      return [];
    case "live-failed":
      return [`The live cluster could not be read, so the diff is against the target branch: ${basis.reason}`];
    case "live":
      return [
        `Diff against the live cluster${basis.approximate.length === 0 ? "" : ` (approximate: ${basis.approximate.join("; ")})`}.`,
        ...(basis.drifted.length === 0
          ? []
          : [`Differs from the target branch in the cluster already: ${basis.drifted.join(", ")}`]),
        ...(basis.alreadyThere.length === 0 ? [] : [`Already so in the cluster: ${basis.alreadyThere.join(", ")}`]),
      ];
  }
}

function atMerge({ atMerge: sentence }: ApplicationPlan): readonly string[] {
  return sentence === undefined ? [] : [`Not deployed by a sync: ${sentence}`];
}

function heldBy(lock: PlanLock, hostPageOf: HostPageOf): ApplicationView["heldBy"] {
  if (lock.kind !== "held") return undefined;
  return { change: shownChange(lock.by.holder, hostPageOf), user: lock.by.user };
}

function resourceView({ action, title, hook, diff }: ResourceChange, room: { left: number }): ResourceView {
  const lines = colourDiff(diff);
  const open = lines.length <= room.left;
  if (open) room.left -= lines.length;
  return { action, title, hook, lines, open };
}
