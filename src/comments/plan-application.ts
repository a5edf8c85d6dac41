import { besidesSentence, commitSentence } from "../core/diff/manifest-diff.js";
import type { ApplicationName } from "../core/model/brand.js";
import type { ChangeRequestRef } from "../core/model/change-request.js";
import { isFailed } from "../core/model/check.js";
import { counted, type HostWords, listed } from "../core/model/host-words.js";
import type { ClusterCheck, UntriedObjects } from "../core/model/plan/cluster-check.js";
import {
  type AgainstCluster,
  type DiffBasis,
  driftOf,
  leftIn,
  type ObjectNote,
} from "../core/model/plan/manifest-diff.js";
import { type ApplicationPlan, checksOf, isWithheld, type PlanLock, previewedDiff } from "../core/model/plan/plan.js";
import { isDangerous } from "../core/policy/application-state.js";
import {
  type Block,
  block,
  code,
  fence,
  firstLines,
  lockedBy,
  messageWarning,
  sentence,
  shortened,
  warning,
} from "./parts.js";
import {
  checkBlocks,
  againstCluster,
  consequenceLines,
  definitionBlocks,
  diffBlocks,
  type Diffing,
  type DiffRoom,
  namesIn,
  quiet,
  secretLines,
  stayLines,
} from "./plan-diff.js";
import { previewBlocks } from "./plan-previews.js";
import type { VerdictOptions } from "./plan-verdict.js";

/** The place of this change request in the queue for a lock that another one holds. */
function placeText({ place }: Extract<PlanLock, { kind: "held" }>, words: HostWords): string {
  if (place === undefined) return `Comment ${code(`${words.command} plan`)} again once it is released.`;
  const where = place === 1 ? "next" : ordinal(place);
  return `This ${words.short} is ${where} in the queue, and is planned again by itself when its turn comes.`;
}

/** `2nd`, `11th`. */
function ordinal(place: number): string {
  const teens = place % 100 >= 11 && place % 100 <= 13;
  return `${place}${(teens ? undefined : ENDINGS[place % 10]) ?? "th"}`;
}

const ENDINGS: Readonly<Record<number, string>> = { 1: "st", 2: "nd", 3: "rd" };

export interface Placed {
  readonly plan: ApplicationPlan;
  /** The application before it whose diff is the same. */
  readonly sameAs: Diffing | undefined;
}

export interface ApplicationOptions extends VerdictOptions {
  readonly reader: ChangeRequestRef;
}

const MAX_REASON = 4000;

/** What a plan says of one application, in the shapes of the specification. */
export function applicationBlocks(
  { plan, sameAs }: Placed,
  options: ApplicationOptions,
  around: Omit<DiffRoom, "section" | "open" | "sameAs">,
): readonly Block[] {
  const { words } = options;
  const heading = `### Application: ${code(plan.application)}`;
  const text = (lines: readonly string[]): Block => block(lines.join("\n\n"), heading);
  const warnings = plan.warnings.map((one) => messageWarning(one, options.links));
  const status = statusOf(plan, options);
  const room: DiffRoom = { ...around, sameAs, open: isDangerous(plan), section: heading };
  switch (plan.kind) {
    case "new":
    case "deleted":
      return announcedBlocks(plan, { ...room, section: `${heading} (${plan.kind})` }, [...warnings, status], words);
    case "unevaluated": {
      const reason = fence(shortened(plan.reason, MAX_REASON));
      return [
        text([heading, "**Changes:** could not be evaluated", reason, nextPlan(isWithheld(plan), words), ...warnings]),
        ...checkBlocks(checksOf(plan), room),
        ...definitionBlocks(plan, room),
        text([status]),
      ];
    }
    case "unplanned":
      return [];
    case "evaluated": {
      const { diff } = plan;
      const { resources } = diff;
      return [
        text([heading, ...summaryLines(plan, options), ...warnings]),
        ...checkBlocks(checksOf(plan), room),
        ...definitionBlocks(plan, room),
        ...diffBlocks(resources, room, "change"),
        ...diffBlocks(driftOf(diff), room, "drift"),
        text([...verdictLines(plan), status]),
      ];
    }
  }
}

function announcedBlocks(
  { kind, preview, sourceFile }: Extract<ApplicationPlan, { readonly kind: "new" | "deleted" }>,
  room: DiffRoom,
  end: readonly string[],
  words: HostWords,
): readonly Block[] {
  const text = (lines: readonly string[]): Block => block(lines.join("\n\n"), room.section);
  const start = [
    room.section,
    kind === "new"
      ? "This application will be created when its Application resource is applied."
      : "This application will be deleted when its Application resource is removed.",
    ...(sourceFile === undefined ? [] : [`**Source file:** ${code(sourceFile)}`]),
  ];
  if (preview === undefined) return [text([...start, ...end])];
  return [text(start), ...previewBlocks(preview, kind === "new" ? "added" : "removed", room, words), text(end)];
}

function nextPlan(withheld: boolean, { command }: HostWords): string {
  const plan = code(`${command} plan`);
  return withheld
    ? `Only its definition's own diff is shown. An approval of this commit plans it again. On forks, and drafts that svc does not plan by itself, comment ${plan} after the approval.`
    : `It cannot be synced until it can be evaluated: fix the cause, then push or comment ${plan}.`;
}

function statusOf(
  { application, lock, atMerge }: ApplicationPlan,
  { reader, words, links, present }: ApplicationOptions,
): string {
  const merge = atMerge === undefined ? "" : `\n\nNot deployed by a sync: ${sentence(atMerge)}`;
  switch (lock.kind) {
    case "ours":
      return `**Status:** Locked by this PR${merge}`;
    case "held":
      return `**Status:** ⚠️ ${lockedBy(lock.by, reader, links)}. ${placeText(lock, words)}${merge}`;
    case "free":
      if (present?.state === "merged" || present?.state === "closed") return `**Status:** Not locked${merge}`;
      if (present?.deployed.some((one) => one.application === application && one.outcome === "succeeded") === true) {
        return `**Status:** Deployed, and not locked any more${merge}`;
      }
      return `**Status:** Not locked any more: to lock it again, comment ${code(`${words.command} plan -a ${application}`)}${merge}`;
    case "not-needed":
      return `**Status:** Not locked${merge}`;
  }
}

function summaryLines({ diff, cluster }: EvaluatedPlan, { pruning, words }: ApplicationOptions): readonly string[] {
  const kept = pruning ? "" : " (kept in the cluster without --prune)";
  const left = leftIn(diff);
  return [
    `**Changes:** ${diff.created} to create, ${diff.updated} to update`,
    ...(diff.deleted === 0 ? [] : [`**Deletes:** ${diff.deleted} to delete${kept}`]),
    ...stayLines(diff),
    ...(left === 0 ? [] : [`**Left as is:** ${left} that no sync changes; the diff says why`]),
    ...(diff.hooksChanged === 0 ? [] : [`**Hooks:** ${diff.hooksChanged} changed`]),
    ...(cluster === undefined || isAccepted(cluster) ? [] : [`**Kubernetes:** ${sentence(clusterSentence(cluster))}`]),
    ...consequenceLines(diff),
    ...basisLines(diff.basis, words),
  ];
}

function verdictLines({ verdict, diff, writesDefinition, atMerge }: EvaluatedPlan): readonly string[] {
  const cluster = againstCluster(diff);
  const quietTitle = (title: string) => title.split(" ").map(quiet).join(" ");
  const besides = besidesSentence(diff, quietTitle);
  const commit = besides === undefined ? [] : [besides];
  switch (verdict) {
    case "changed":
      return [...(diff.resources.length === 0 ? [QUIET.driftAlone] : []), ...secretLines(diff), ...commit];
    case "unchanged":
      return [
        commitSentence(diff, quietTitle) ?? QUIET.unchanged(cluster !== undefined),
        ...(writesDefinition ? [QUIET.definitionAlone({ atMerge })] : []),
      ];
    case "unknown":
      return [
        ...(cluster === undefined || cluster.alreadyThere.length === 0 ? [] : [QUIET.alreadyThere]),
        ...(cluster === undefined || cluster.kept.length === 0 ? [] : [QUIET.kept]),
        ...(diff.hiddenSecrets ? ["No visible changes.", ...secretLines(diff)] : []),
        ...commit,
      ];
  }
}

/** Why a plan shows nothing to deploy, or nothing of what it deploys: the same sentences in comments and on pages. */
export const QUIET = {
  unchanged: (isAsInCluster: boolean) =>
    `No changes: the head commit and the target branch render the same${isAsInCluster ? ", and the cluster has it" : ""}.`,
  driftAlone: "The head commit and the target branch render the same: a sync changes only what drifted.",
  kept: "The head commit and the target branch do not render the same, but a sync leaves this as it is in the cluster.",
  alreadyThere: "The head commit and the target branch do not render the same, but the cluster already has this.",
  definitionAlone: ({ atMerge }: Pick<ApplicationPlan, "atMerge">) =>
    `The application's definition still changes${atMerge === undefined ? ": a sync writes it" : ""}.`,
};

function basisLines(basis: DiffBasis, { short }: HostWords): readonly string[] {
  switch (basis.kind) {
    case "branch":
      return [];
    case "live-failed":
      return [warning(`the live cluster could not be read, so the diff is against the target branch: ${basis.reason}`)];
    case "live":
      return ["Diff against the live cluster.", ...clusterLines(basis, basis.drifted, short)];
    case "both": {
      const drifted = basis.drift.map(({ title }) => title);
      const compared = "Diff against the target branch, and what the live cluster already differs by.";
      return [compared, ...clusterLines(basis, drifted, short)];
    }
  }
}

function clusterLines(
  { approximate, alreadyThere, kept }: AgainstCluster,
  drifted: readonly string[],
  short: string,
): readonly string[] {
  return [
    ...(drifted.length === 0
      ? []
      : [
          `The cluster already differs from the target branch, so a sync changes more than this ${short} does: ${namesIn(drifted)}`,
        ]),
    ...(alreadyThere.length === 0
      ? []
      : [`Changed by this ${short}, but already in the cluster: ${namesIn(alreadyThere)}`]),
    ...noteList(`Changed by this ${short}, but not by a sync:`, kept),
    ...noteList("Approximate:", approximate),
  ];
}

const MAX_NOTES = 10;

function noteList(heading: string, notes: readonly ObjectNote[]): readonly string[] {
  if (notes.length === 0) return [];
  const lines = notes.map(({ what, objects }) => {
    return `- ${objects.length === 0 ? "all resources" : namesIn(objects)}: ${sentence(what)}`;
  });
  return [[heading, ...firstLines(lines, MAX_NOTES, "more like these")].join("\n")];
}

const MOST_REASONS = 3;
const MOST_TITLES = 3;
const MAX_CAUSE = 200;
const MAX_TITLE = 150;

/** A sentence for a page; none if Kubernetes was not asked. */
export function clusterSentences(check: ClusterCheck | undefined): readonly string[] {
  return check === undefined ? [] : [`Kubernetes ${clusterSentence(check)}.`];
}

/** Completes "Kubernetes …", with untrusted names and no full stop. The refusals themselves are among the cautions. */
function clusterSentence({ accepted, refused, untried, asking }: ClusterCheck): string {
  if (asking !== undefined) return `is being asked about ${counted(asking.length, "changed object")}`;
  const tried = accepted + refused.length;
  if (tried === 0) {
    const causes = new Set(untried.map(({ reason }) => shownCause(reason)));
    return `was not asked: ${[...causes].slice(0, MOST_REASONS).join("; ")}`;
  }
  const sure = refused.filter((one) => one.sure).length;
  const unsure = refused.length - sure;
  const objects = counted(tried, "changed object");
  const said = [
    ...(sure === 0 ? [] : [`will refuse ${sure} of ${objects}`]),
    ...(unsure === 0 ? [] : [sure === 0 ? `may refuse ${unsure} of ${objects}` : `may refuse ${unsure} more`]),
    ...(refused.length === 0 ? [`accepts ${objects}`] : []),
  ];
  return [said.join(", "), ...(untried.length === 0 ? [] : [untriedText(untried)])].join("; ");
}

/** Whether there is nothing to say of Kubernetes here. That it is still being asked stands in the first line of the plan. */
function isAccepted({ refused, untried }: ClusterCheck): boolean {
  return refused.length === 0 && untried.length === 0;
}

function untriedText(untried: readonly UntriedObjects[]): string {
  const shown = untried.slice(0, MOST_REASONS).map(({ titles, reason }) => {
    const names = titles.map((title) => shortened(title, MAX_TITLE));
    return `${listed(names, MOST_TITLES)} (${shownCause(reason)})`;
  });
  const more = untried.slice(MOST_REASONS).reduce((sum, { titles }) => sum + titles.length, 0);
  return `not tried: ${shown.join(", ")}${more === 0 ? "" : ` and ${more} more`}`;
}

function shownCause(reason: string): string {
  return shortened(reason.replace(/\s+/g, " "), MAX_CAUSE);
}

/** An application whose two sides were rendered. */
type EvaluatedPlan = Extract<ApplicationPlan, { readonly kind: "evaluated" }>;

/** Applications of a plan that stand in one collapsible; a single one without a title stands open. */
export interface Arranged {
  readonly title: string | undefined;
  readonly placed: readonly Placed[];
  /** The application before the collapsible, whose row tells of these as well. */
  readonly like?: ApplicationName | undefined;
}

/** Whether people have to read it before others: it is dangerous, or a check failed. */
export function comesFirst(plan: ApplicationPlan): boolean {
  return isDangerous(plan) || hasFailedCheck(plan);
}

/** Whether there is something to read besides the diff, which must not stand folded. */
export function tellsMore(plan: ApplicationPlan): boolean {
  if (plan.warnings.length > 0 || plan.lock.kind === "held" || hasFailedCheck(plan)) return true;
  if (plan.kind === "new") {
    const { preview } = plan;
    return preview?.kind === "failed" ? preview.withheld !== true : (previewedDiff(preview)?.cautions.length ?? 0) > 0;
  }
  if (plan.kind !== "evaluated") return false;
  const { cautions, secrets } = plan.diff;
  return plan.definition !== undefined || cautions.length + secrets.length + driftOf(plan.diff).length > 0;
}

function hasFailedCheck(plan: ApplicationPlan): boolean {
  return checksOf(plan).some(isFailed);
}
