import { commitSentence, secretSentences } from "../../core/diff/hidden-change.js";
import type { HostWords } from "../../core/model/host-words.js";
import type { BothSides, DiffBasis, NameChanges, ResourceChange } from "../../core/model/manifest-diff.js";
import { isWithheld, type ApplicationPlan, type Plan, type PlanLock } from "../../core/model/plan.js";
import type { HostPageOf } from "../change-address.js";
import { colourDiff, colourYaml, type DiffLine } from "./colour-diff.js";
import { shownChange, type ShownChange } from "./shown.js";

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
  readonly sourceFile: string | undefined;
  readonly heldBy: { readonly change: ShownChange; readonly user: string } | undefined;
  readonly resources: readonly ResourceView[];
  /** Number of changed resources that this reader may not see. */
  readonly hidden: number;
}

export interface ResourceView {
  readonly action: ResourceChange["action"];
  readonly title: string;
  readonly hook: boolean;
  readonly lines: readonly DiffLine[];
  /** Expanded when the page opens. */
  readonly open: boolean;
  /** The object whole, where the diff leaves something out. */
  readonly sides: readonly SideView[];
}

export interface SideView {
  readonly name: "before" | "after";
  readonly lines: readonly DiffLine[];
}

/** Resources are expanded until this many lines are visible on the page. */
const MOST_OPEN_LINES = 400;

export interface PlanViewOptions {
  /** If false, shows neither diffs nor texts that quote manifests. */
  readonly withDiff: boolean;
  readonly words: HostWords;
  readonly hostPageOf: HostPageOf;
}

/** Every application of a plan, with its whole diff. */
export function planView(plan: Plan, options: PlanViewOptions): readonly ApplicationView[] {
  const room = { left: MOST_OPEN_LINES };
  return plan.applications.map((one) => applicationView(one, options, room));
}

function applicationView(
  plan: ApplicationPlan,
  { withDiff, words, hostPageOf }: PlanViewOptions,
  room: { left: number },
): ApplicationView {
  const evaluated = plan.kind === "evaluated" ? plan : undefined;
  const resources = [...definitionOf(plan), ...(evaluated?.diff.resources ?? [])];
  return {
    application: plan.application,
    mark: MARKS[plan.kind],
    counts: evaluated === undefined ? [] : countsOf(evaluated.diff),
    cautions: withDiff ? (evaluated?.diff.cautions ?? []) : [],
    sentences: [...sentencesOf(plan, withDiff, words), ...plan.warnings, ...atMerge(plan)],
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

function sentencesOf(
  plan: ApplicationPlan,
  withDiff: boolean,
  { changeRequest, command }: HostWords,
): readonly string[] {
  switch (plan.kind) {
    case "new":
      return ["It will be created when its Application resource is applied; svc does not create it."];
    case "deleted":
      return ["It will be deleted when its Application resource is removed; svc does not delete it."];
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
        ...(withDiff ? basisSentences(plan.diff.basis) : []),
      ];
  }
}

function verdictSentences({ verdict, diff, writesDefinition }: Evaluated, withDiff: boolean): readonly string[] {
  const live = diff.hiddenSecrets && diff.basis.kind === "live";
  const secrets = [
    ...(withDiff ? secretSentences(diff, (name) => name) : []),
    ...(live ? ["Argo CD hides the values of Secrets, so those of the cluster are not compared."] : []),
  ];
  switch (verdict) {
    case "changed":
      return secrets;
    case "unchanged":
      return [
        commitSentence(diff, withDiff ? (name) => name : undefined) ?? "No changes: both sides render the same.",
        ...(writesDefinition ? ["The definition of the application still changes; a sync writes it."] : []),
      ];
    case "unknown":
      return diff.hiddenSecrets
        ? ["No visible changes.", ...secrets]
        : ["The two sides render differently, but the cluster is already in this state."];
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

function basisSentences(basis: DiffBasis): readonly string[] {
  switch (basis.kind) {
    case "branch":
      return [];
    case "live-failed":
      return [`The live cluster could not be read, so this is the diff against the target branch: ${basis.reason}`];
    case "live":
      return [
        `Diff against the live cluster${basis.approximate.length === 0 ? "" : ` (approximate: ${basis.approximate.join("; ")})`}.`,
        ...(basis.drifted.length === 0
          ? []
          : [`Already differs from the target branch in the cluster: ${basis.drifted.join(", ")}`]),
        ...(basis.alreadyThere.length === 0
          ? []
          : [`Already in this state in the cluster: ${basis.alreadyThere.join(", ")}`]),
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

function resourceView({ action, title, hook, diff, sides }: ResourceChange, room: { left: number }): ResourceView {
  const lines = colourDiff(diff);
  const open = lines.length <= room.left;
  if (open) room.left -= lines.length;
  return { action, title, hook, lines, open, sides: sides === undefined ? [] : sidesOf(sides) };
}

function sidesOf({ before, after }: BothSides): readonly SideView[] {
  const views = [
    { name: "before" as const, text: before },
    { name: "after" as const, text: after },
  ];
  return views.filter(({ text }) => text !== "").map(({ name, text }) => ({ name, lines: colourYaml(text) }));
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
