import { failureTitle } from "../../comments/parts.js";
import { clusterSentences, QUIET } from "../../comments/plan-application.js";
import { againstCluster } from "../../comments/plan-diff.js";
import { checkSentences } from "../../comments/plan-verdict.js";
import { besidesSentence, commitSentence, secretSentences } from "../../core/diff/manifest-diff.js";
import { changePagePath } from "../../core/model/change-request.js";
import { type CheckResult, isFailed } from "../../core/model/check.js";
import { counted, type HostWords, plainText } from "../../core/model/host-words.js";
import {
  type AgainstCluster,
  type DiffBasis,
  leftIn,
  driftOf,
  type ManifestDiff,
  type NameChanges,
  type ObjectNote,
  type ResourceChange,
} from "../../core/model/plan/manifest-diff.js";
import {
  type ApplicationPlan,
  checksOf,
  type Evaluated,
  isWithheld,
  type Plan,
  type Preview,
  type PreviewContent,
  previewedDiff,
  shownDiff,
} from "../../core/model/plan/plan.js";
import type { HostPageOf } from "../addresses.js";
import { withColours } from "./colour-diff.js";
import { shownChange } from "./page.js";

interface PlanViewOptions {
  /** If false, shows neither diffs nor texts that quote manifests or commits. */
  readonly withDiff: boolean;
  readonly words: HostWords;
  readonly hostPageOf: HostPageOf;
}

/** Every application of a plan, and those that only the merge changes, with their whole diffs as far as the page has room. */
export function planView(plan: Plan, options: PlanViewOptions) {
  const isBeyond = ({ content }: Preview) => content.kind === "beyond-limit";
  const views = [
    ...plan.applications.map((one) => applicationView(one, options)),
    ...plan.previews.filter((one) => !isBeyond(one)).map((one) => previewView(one, options)),
    ...unseenViews(plan.previews.filter(isBeyond)),
  ];
  return withColours(views, changePagePath(plan.change).replace("/changes/", "/api/v1/plans/"));
}

/** Applications beyond the preview limit, in one entry per kind: an ApplicationSet may add thousands. */
function unseenViews(previews: readonly Preview[]) {
  return [...new Set(previews.map(markOf))].map((mark) => {
    const names = previews.filter((one) => markOf(one) === mark).map(({ application }) => application);
    const sentences = ["A plan previews no more of them (`argocd.preview_limit`).", names.join(", ")];
    return { ...NOTHING, application: counted(names.length, "more application"), mark, sentences };
  });
}

const NOTHING = {
  counts: [],
  warnings: [],
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
function previewView(preview: Preview, { withDiff }: PlanViewOptions) {
  const { application, content } = preview;
  const diff = previewedDiff(content);
  const { checks = [] } = content;
  return {
    ...NOTHING,
    application,
    mark: markOf(preview),
    ...diffView(diff, diff?.resources ?? [], checks, withDiff),
    sentences: [...checkSentences(checks), ...previewSentences(content, withDiff)],
    reason: withDiff && content.kind === "failed" ? content.reason : undefined,
  };
}

function applicationView(plan: ApplicationPlan, { withDiff, words, hostPageOf }: PlanViewOptions) {
  const { lock } = plan;
  const [diff, checks] = [shownDiff(plan), checksOf(plan)];
  const changed = [...definitionOf(plan), ...(diff?.resources ?? [])];
  return {
    application: plan.application,
    mark: MARKS[plan.kind],
    ...diffView(diff, changed, checks, withDiff),
    sentences: [
      ...checkSentences(checks),
      ...sentencesOf(plan, withDiff, words),
      ...(plan.atMerge === undefined ? [] : [`Not deployed by a sync: ${plan.atMerge}`]),
    ],
    warnings: withDiff ? plan.warnings.map(plainText) : [],
    reason: withDiff ? reasonOf(plan) : undefined,
    sourceFile: plan.sourceFile,
    heldBy: lock.kind === "held" ? { change: shownChange(lock.by.holder, hostPageOf), user: lock.by.user } : undefined,
  };
}

/** What a reader sees of a diff and its checks, in the order given; `hidden` counts the resources that they may not see. */
function diffView(
  diff: ManifestDiff | undefined,
  changed: readonly ResourceChange[],
  checks: readonly CheckResult[],
  withDiff: boolean,
) {
  const counts = diff === undefined ? [] : countsOf(diff);
  const failedChecks = checks
    .filter(isFailed)
    .map((one) => ({ title: failureTitle(one), output: withDiff ? one.outcome.output : undefined }));
  const drifted = diff === undefined ? [] : driftOf(diff);
  const hidden = changed.length + drifted.length;
  if (!withDiff) return { counts, cautions: [], failedChecks, resources: [], hidden };
  const resources = [
    ...changed.map((resource) => ({ ...resource, drift: false })),
    ...drifted.map((resource) => ({ ...resource, drift: true })),
  ];
  return { counts, cautions: diff?.cautions ?? [], failedChecks, resources, hidden: 0 };
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
      const stays = withDiff && count > 0 ? `${what}: ${content.objects.join(", ")}` : what;
      return content.caution === undefined ? [stays] : [stays, content.caution];
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
  if (plan.kind === "unevaluated") return plan.reason;
  const preview = plan.kind === "new" || plan.kind === "deleted" ? plan.preview : undefined;
  return preview?.kind === "failed" ? preview.reason : undefined;
}

/** `2 to create`, `1 to delete`. */
function countsOf(diff: Evaluated["diff"]): readonly string[] {
  const { created, updated, deleted, stay = 0, hooksChanged } = diff;
  const others = [
    [deleted, "to delete"],
    [stay, "left in the cluster"],
    [leftIn(diff), "left as is"],
    [driftOf(diff).length, "drifted"],
  ] as const;
  return [
    `${created} to create`,
    `${updated} to update`,
    ...others.flatMap(([count, what]) => (count === 0 ? [] : [`${count} ${what}`])),
    ...(hooksChanged === 0 ? [] : [`${counted(hooksChanged, "hook")} changed`]),
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
          ? [
              ...children("Applications", plan.diff.children),
              ...children("ApplicationSets", plan.diff.sets),
              ...clusterSentences(plan.cluster),
              ...basisSentences(plan.diff.basis),
            ]
          : []),
      ];
  }
}

function children(what: string, { created, changed, deleted }: NameChanges): readonly string[] {
  const parts = Object.entries({ create: created, change: changed, delete: deleted }).flatMap(([verb, names]) =>
    names.length === 0 ? [] : [`${verb} ${names.join(", ")}`],
  );
  return parts.length === 0 ? [] : [`${what} it would ${parts.join("; ")}`];
}

/** The definition as the first of the application's objects. */
function definitionOf(plan: ApplicationPlan): readonly ResourceChange[] {
  const diff = plan.kind === "evaluated" || plan.kind === "unevaluated" ? plan.definition : undefined;
  if (diff === undefined) return [];
  const title = `definition of ${plan.application}`;
  return [{ action: "update", title, kind: "Application", hook: false, whole: false, diff }];
}

function verdictSentences(
  { verdict, diff, writesDefinition, atMerge }: Evaluated & Pick<ApplicationPlan, "atMerge">,
  withDiff: boolean,
): readonly string[] {
  const cluster = againstCluster(diff);
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
        ...(diff.resources.length === 0 ? [QUIET.driftAlone] : []),
        ...secrets,
        ...(besides === undefined ? [] : [besides]),
      ];
    case "unchanged":
      return [
        commitSentence(diff, withDiff ? (name) => name : undefined) ?? QUIET.unchanged(cluster !== undefined),
        ...(writesDefinition ? [QUIET.definitionAlone({ atMerge })] : []),
      ];
    case "unknown":
      return [
        ...(diff.hiddenSecrets ? ["No visible changes.", ...secrets] : []),
        ...(diff.hiddenSecrets || cluster === undefined
          ? []
          : [cluster.kept.length > 0 ? QUIET.kept : QUIET.alreadyThere]),
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
      return [`The live cluster could not be read, so the diff is against the target branch: ${basis.reason}`];
    case "live":
      return [
        "Diff against the live cluster.",
        ...(basis.drifted.length === 0
          ? []
          : [
              `The cluster already differs from the target branch, so a sync changes more: ${basis.drifted.join(", ")}`,
            ]),
        ...comparedSentences(basis),
      ];
    case "both":
      return [
        "Diff against the target branch, and what the live cluster already differs by, shown as drift.",
        ...comparedSentences(basis),
      ];
  }
}

function comparedSentences({ approximate, alreadyThere, kept }: AgainstCluster): readonly string[] {
  const noted = (heading: string, notes: readonly ObjectNote[]) =>
    notes.map(({ what, objects }) => `${heading}${objects.length === 0 ? "" : ` for ${objects.join(", ")}`}: ${what}`);
  return [
    ...(alreadyThere.length === 0 ? [] : [`Changed, but already in the cluster: ${alreadyThere.join(", ")}`]),
    ...noted("Changed, but not by a sync", kept),
    ...noted("Approximate", approximate),
  ];
}
