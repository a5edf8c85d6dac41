import { checkSentences, failureTitle } from "../../comments/parts.js";
import { clusterSentences } from "../../comments/plan-application.js";
import { besidesSentence, commitSentence, secretSentences } from "../../core/diff/manifest-diff.js";
import { type CheckResult, isFailed } from "../../core/model/check.js";
import type { HostWords } from "../../core/model/host-words.js";
import {
  type AgainstCluster,
  type DiffBasis,
  driftOf,
  type ManifestDiff,
  type NameChanges,
  type ObjectNote,
  type ResourceChange,
} from "../../core/model/manifest-diff.js";
import {
  type ApplicationPlan,
  checksOf,
  type Evaluated,
  isWithheld,
  type Plan,
  type PlanLock,
  type Preview,
  type PreviewContent,
  previewedDiff,
  shownDiff,
} from "../../core/model/plan.js";
import type { HostPageOf } from "../addresses.js";
import { resourceView, type ResourceView, type Room } from "./resource-view.js";
import { shownChange, type ShownChange } from "./shown.js";

/** Resources are expanded until this many lines are visible on the page. */
const MOST_OPEN_LINES = 400;

function newRoom(): Room {
  return { left: MOST_OPEN_LINES };
}

interface ApplicationView {
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

interface PlanViewOptions {
  /** If false, shows neither diffs nor texts that quote manifests. */
  readonly withDiff: boolean;
  readonly words: HostWords;
  readonly hostPageOf: HostPageOf;
}

/** Every application of a plan, and those that only the merge changes, with their whole diffs. */
export function planView(plan: Plan, options: PlanViewOptions): readonly ApplicationView[] {
  const room = newRoom();
  const isBeyond = ({ content }: Preview) => content.kind === "beyond-limit";
  return [
    ...plan.applications.map((one) => applicationView(one, options, room)),
    ...plan.previews.filter((one) => !isBeyond(one)).map((one) => previewView(one, options, room)),
    ...unseenViews(plan.previews.filter(isBeyond)),
  ];
}

/** Applications beyond the preview limit, in one entry per kind: an ApplicationSet may add thousands. */
function unseenViews(previews: readonly Preview[]): readonly ApplicationView[] {
  return [...new Set(previews.map(markOf))].map((mark) => {
    const names = previews.filter((one) => markOf(one) === mark).map(({ application }) => application);
    const application = names.length === 1 ? "1 more application" : `${names.length} more applications`;
    const sentences = ["A plan previews no more of them (`deployer.preview_limit`).", names.join(", ")];
    return { ...NOTHING, application, mark, sentences };
  });
}

const NOTHING = {
  counts: [],
  cautions: [],
  failedChecks: [],
  reason: undefined,
  sourceFile: undefined,
  heldBy: undefined,
  resources: [],
  hidden: 0,
} as const;

function markOf({ origin }: Preview): string {
  return `${origin.change} by ${origin.of} at the merge`;
}

/** An application that an ApplicationSet or a parent adds, changes or removes. */
function previewView(preview: Preview, { withDiff }: PlanViewOptions, room: Room): ApplicationView {
  const { application, content } = preview;
  const diff = previewedDiff(content);
  const { checks = [] } = content;
  return {
    ...NOTHING,
    application,
    mark: markOf(preview),
    ...diffView(diff, { changed: diff?.resources ?? [], drifted: [] }, withDiff, room),
    sentences: [...checkSentences(checks), ...previewSentences(content, withDiff)],
    reason: withDiff && content.kind === "failed" ? content.reason : undefined,
    failedChecks: failedChecksIn(checks, withDiff),
  };
}

/** An application that is in the plan itself. */
function applicationView(plan: ApplicationPlan, options: PlanViewOptions, room: Room): ApplicationView {
  const { withDiff, words, hostPageOf } = options;
  const diff = shownDiff(plan);
  const changed = [...definitionOf(plan), ...(diff?.resources ?? [])];
  return {
    application: plan.application,
    mark: MARKS[plan.kind],
    ...diffView(diff, { changed, drifted: diff === undefined ? [] : driftOf(diff) }, withDiff, room),
    sentences: [
      ...checkSentences(checksOf(plan)),
      ...sentencesOf(plan, withDiff, words),
      ...plan.warnings,
      ...(plan.atMerge === undefined ? [] : [`Not deployed by a sync: ${plan.atMerge}`]),
    ],
    reason: withDiff ? reasonOf(plan) : undefined,
    failedChecks: failedChecksIn(checksOf(plan), withDiff),
    sourceFile: plan.sourceFile,
    heldBy: heldBy(plan.lock, hostPageOf),
  };
}

/** What a diff shows to a reader, in the order given. */
function diffView(
  diff: ManifestDiff | undefined,
  { changed, drifted }: Readonly<Record<"changed" | "drifted", readonly ResourceChange[]>>,
  withDiff: boolean,
  room: Room,
): Pick<ApplicationView, "counts" | "cautions" | "resources" | "hidden"> {
  const counts = diff === undefined ? [] : countsOf(diff);
  if (!withDiff) return { counts, cautions: [], resources: [], hidden: changed.length + drifted.length };
  const resources = [
    ...changed.map((resource) => resourceView(resource, room)),
    ...drifted.map((resource) => ({ ...resourceView(resource, room), drift: true })),
  ];
  return { counts, cautions: diff?.cautions ?? [], resources, hidden: 0 };
}

/** @param withDiff whether the reader may see what the checks printed. */
function failedChecksIn(checks: readonly CheckResult[], withDiff: boolean): ApplicationView["failedChecks"] {
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

/** What a preview cannot show as a diff. */
function previewSentences(content: PreviewContent | undefined, withDiff: boolean): readonly string[] {
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

/** `2 to create`, `1 to delete`. */
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

function heldBy(lock: PlanLock, hostPageOf: HostPageOf): ApplicationView["heldBy"] {
  if (lock.kind !== "held") return undefined;
  return { change: shownChange(lock.by.holder, hostPageOf), user: lock.by.user };
}

/** The definition as the first of the application's objects. */
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

function verdictSentences({ verdict, diff, writesDefinition }: Evaluated, withDiff: boolean): readonly string[] {
  const { basis } = diff;
  const cluster = basis.kind === "live" || basis.kind === "both" ? basis : undefined;
  const besides = withDiff ? besidesSentence(diff, (name) => name) : undefined;
  const secrets = [
    ...(withDiff ? secretSentences(diff, (name) => name) : []),
    ...(diff.hiddenSecrets && cluster !== undefined
      ? ["Argo CD hides the values of Secrets, so those of the cluster are not compared."]
      : []),
  ];
  switch (verdict) {
    case "changed":
      return [
        ...(diff.resources.length === 0 ? ["Both sides render the same: a sync changes only what drifted."] : []),
        ...secrets,
        ...(besides === undefined ? [] : [besides]),
      ];
    case "unchanged":
      return [
        commitSentence(diff, withDiff ? (name) => name : undefined) ?? "No changes: both sides render the same.",
        ...(writesDefinition ? ["The definition of the application still changes; a sync writes it."] : []),
      ];
    case "unknown":
      return [
        ...(diff.hiddenSecrets ? ["No visible changes.", ...secrets] : []),
        ...(diff.hiddenSecrets || cluster === undefined ? [] : [unseenSentence(cluster)]),
        ...(besides === undefined ? [] : [besides]),
      ];
  }
}

/** What a plan was compared with. */
function basisSentences(basis: DiffBasis): readonly string[] {
  switch (basis.kind) {
    case "branch":
      return [];
    case "live-failed":
      return [`The live cluster could not be read, so this is the diff against the target branch: ${basis.reason}`];
    case "live":
      return [
        "Diff against the live cluster.",
        ...(basis.drifted.length === 0
          ? []
          : [`Already differs from the target branch in the cluster: ${basis.drifted.join(", ")}`]),
        ...comparedSentences(basis),
      ];
    case "both":
      return [
        "Diff against the target branch. What the live cluster already differs by is shown as drift.",
        ...comparedSentences(basis),
      ];
  }
}

/** Why both sides differ although the diff is empty. */
function unseenSentence({ kept }: AgainstCluster): string {
  return kept.length > 0
    ? "The two sides render differently, but a sync leaves this as it is in the cluster."
    : "The two sides render differently, but the cluster is already in this state.";
}

function comparedSentences({ approximate, alreadyThere, kept }: AgainstCluster): readonly string[] {
  const noted = (heading: string, notes: readonly ObjectNote[]) =>
    notes.map(({ what, objects }) => `${heading}${objects.length === 0 ? "" : ` for ${objects.join(", ")}`}: ${what}`);
  return [
    ...(alreadyThere.length === 0 ? [] : [`Already in this state in the cluster: ${alreadyThere.join(", ")}`]),
    ...noted("Not changed by a sync", kept),
    ...noted("Approximate", approximate),
  ];
}
