import { shortRevision } from "../core/model/brand.js";
import type { ChangeRequestRef } from "../core/model/change-request.js";
import { referenceTo, type HostWords } from "../core/model/host-words.js";
import { listed } from "../core/model/listed.js";
import { driftOf, type Danger } from "../core/model/manifest-diff.js";
import { isWithheld, type ApplicationPlan, type Plan, previewedDiff } from "../core/model/plan.js";
import { applicationLink, headLink, linked, type Links, code, sentence, shortened } from "./markdown.js";
import { counted } from "./parts.js";
import { checksIn, checksText } from "./plan-checks.js";

export interface VerdictOptions {
  /** Whether a sync prunes by default. */
  readonly pruning: boolean;
  readonly links: Links;
  readonly words: HostWords;
}

/**
 * The first line of a plan: what is dangerous about it, how many applications, and what happens to their resources.
 * @param next who has to do what next, as Markdown.
 */
export function verdictLine(plan: Plan, next: string, { pruning, links, words }: VerdictOptions): string {
  const shown = plan.applications.filter(({ kind }) => kind !== "unplanned");
  const [only] = shown;
  const all = counted(plan.applications.length, "application");
  const some = shown.length === plan.applications.length ? all : `${shown.length} of ${all}`;
  const counts = linked(`**${some}: ${changes(shown, pruning)}**`, links.page);
  const name = only !== undefined && shown.length === 1 ? nameOf(only, links) : "";
  const dangers = dangerText(dangersOfPlan(plan, words), pruning);
  return joined([dangers, counts, name, setsText(plan), checksText(checksIn(plan)), next]);
}

/** The first line of a plan that has no applications to plan. What ApplicationSets do is not nothing. */
export function nothingLine(plan: Plan, next: string, { pruning, links, words }: VerdictOptions): string {
  const answer =
    plan.applicationSets.length > 0 ? "" : `No applications are affected by commit ${headLink(plan.head, links)}.`;
  const dangers = dangerText(dangersOfPlan(plan, words), pruning);
  return joined([dangers, answer, setsText(plan), checksText(checksIn(plan)), next]);
}

function joined(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join(" · ");
}

/** The name of an application; a new one is not in Argo CD yet. */
export function nameOf({ application, kind }: ApplicationPlan, links: Links): string {
  return kind === "new" ? code(application) : applicationLink(application, links);
}

/** What happens to one application: `1 created, 2 updated`, `new`, `could not be evaluated`. */
export function changesOf(plan: ApplicationPlan, pruning: boolean): string {
  return changes([plan], pruning);
}

/** The application is shown first and open. */
export function isDangerous(plan: ApplicationPlan): boolean {
  return dangersOfChange(plan).length > 0 || (plan.replaces ?? []).length > 0;
}

/**
 * What is dangerous about one application, first what runs for others and a sync replaces; empty if nothing is.
 * @param reader the change request that reads it.
 */
export function dangersOf(plan: ApplicationPlan, reader: ChangeRequestRef, words: HostWords): readonly Danger[] {
  const replaced = (plan.replaces ?? []).map(({ change, revision, objects }): Danger => {
    const commit = `replaces commit ${shortRevision(revision)} of ${referenceTo(change, reader, words)}, which runs`;
    return {
      what: objects.length === 0 ? commit : `${commit}, and reverts ${listed(objects, MOST_OBJECTS)}`,
      pruning: false,
    };
  });
  return [...replaced, ...dangersOfChange(plan)];
}

const MOST_OBJECTS = 2;

function dangersOfChange(plan: ApplicationPlan): readonly Danger[] {
  switch (plan.kind) {
    case "evaluated":
      return plan.diff.dangers;
    case "deleted": {
      const gone = { what: `deletes the application ${plan.application}`, pruning: false };
      return [gone, ...(previewedDiff(plan.preview)?.dangers ?? [])];
    }
    case "new":
      return previewedDiff(plan.preview)?.dangers ?? [];
    case "unevaluated":
    case "unplanned":
      return [];
  }
}

const MOST_DANGERS = 3;
const MAX_DANGER = 150;

/** Dangers by name, the most dangerous first; empty if there are none. */
export function dangerText(dangers: readonly Danger[], pruning: boolean): string {
  if (dangers.length === 0) return "";
  const texts = dangers.map((one) => sentence(shortened(one.what, MAX_DANGER)) + (one.pruning && !pruning ? KEPT : ""));
  return `⚠️ ${listed([...new Set(texts)], MOST_DANGERS)}`;
}

const KEPT = " with --prune";

/** With what the merge deletes: Argo CD acts on it, not a sync. */
function dangersOfPlan({ change, applications, applicationSets, previews }: Plan, words: HostWords): readonly Danger[] {
  const removed = applicationSets.flatMap((set) => set.removed);
  const removals = removed.map((name) => ({ what: `removes the application ${name}`, pruning: false }));
  const previewed = previews.flatMap(({ content }) => previewedDiff(content)?.dangers ?? []);
  return [...applications.flatMap((one) => dangersOf(one, change, words)), ...removals, ...previewed];
}

/** What the changed ApplicationSets do; empty if there are none. */
function setsText({ applicationSets: sets }: Plan): string {
  if (sets.length === 0) return "";
  const sum = (member: "added" | "removed" | "changed") => sets.reduce((total, set) => total + set[member].length, 0);
  const done = (["added", "removed", "changed"] as const).filter((member) => sum(member) > 0);
  const unknown = sets.filter(({ problem }) => problem !== undefined).length;
  const parts = [
    ...done.map((member, index) =>
      index === 0 ? `${counted(sum(member), "application")} ${member}` : `${sum(member)} ${member}`,
    ),
    ...(unknown === 0 ? [] : [`${unknown} could not be previewed`]),
  ];
  const told = parts.length === 0 ? "adds, removes and changes no applications" : parts.join(", ");
  return `**${counted(sets.length, "ApplicationSet")}: ${told}, at the merge**`;
}

/** Resources first, then the applications that nothing can be counted of. */
function changes(all: readonly ApplicationPlan[], pruning: boolean): string {
  const resources = resourceCounts(all, pruning).join(", ");
  const applications = applicationCounts(all).join(", ");
  return [resources, applications].filter((text) => text !== "").join("; ") || "no changes";
}

function resourceCounts(all: readonly ApplicationPlan[], pruning: boolean): readonly string[] {
  const diffs = all.flatMap((one) => (one.kind === "evaluated" ? [one.diff] : []));
  const sum = (member: "created" | "updated" | "deleted" | "hooksChanged") =>
    diffs.reduce((total, diff) => total + diff[member], 0);
  const secrets = diffs.reduce((total, diff) => total + diff.secrets.length, 0);
  const drifted = diffs.reduce((total, diff) => total + driftOf(diff).length, 0);
  const [created, updated, deleted, hooks] = [sum("created"), sum("updated"), sum("deleted"), sum("hooksChanged")];
  return [
    ...(created === 0 ? [] : [`${created} created`]),
    ...(updated === 0 ? [] : [`${updated} updated`]),
    ...(deleted === 0 ? [] : [`${deleted} deleted${pruning ? "" : KEPT}`]),
    ...(hooks === 0 ? [] : [`${counted(hooks, "hook")} changed`]),
    ...(drifted === 0 ? [] : [`${drifted} drifted`]),
    ...(secrets === 0 ? [] : [`${counted(secrets, "Secret")} may change`]),
  ];
}

function applicationCounts(all: readonly ApplicationPlan[]): readonly string[] {
  const kinds: readonly (readonly [(one: ApplicationPlan) => boolean, string, string, string])[] = [
    [({ kind }) => kind === "new", `new${withResources(all)}`, "is new", "are new"],
    [({ kind }) => kind === "deleted", `deleted${withResources(all)}`, "is deleted", "are deleted"],
    [isWithheld, "not rendered yet", "is not rendered yet", "are not rendered yet"],
    [isUnevaluated, "could not be evaluated", "could not be evaluated", "could not be evaluated"],
    [isUnclear, "no visible changes", "has no visible changes", "have no visible changes"],
    [
      differsByCommit,
      "no changes but the commit id",
      "differs by the commit id alone",
      "differ by the commit id alone",
    ],
    [
      writesDefinitionAlone,
      "only its definition changes",
      "changes only its definition",
      "change only their definition",
    ],
  ];
  return kinds.flatMap(([matches, alone, one, many]) => {
    const count = all.filter(matches).length;
    if (count === 0) return [];
    return all.length === 1 ? [alone] : [`${count} ${count === 1 ? one : many}`];
  });
}

/** How many resources come or go with a single application, as far as that is known. */
function withResources([plan]: readonly ApplicationPlan[]): string {
  if (plan?.kind !== "new" && plan?.kind !== "deleted") return "";
  const { kind, preview } = plan;
  switch (preview?.kind) {
    case "compared":
      return ` with ${counted(kind === "new" ? preview.diff.created : preview.diff.deleted, "resource")}`;
    case "left-behind":
      return `, ${counted(preview.objects.length, "resource")} left behind`;
    case "failed":
    case "beyond-limit":
    case undefined:
      return "";
  }
}

function isUnevaluated(plan: ApplicationPlan): boolean {
  return plan.kind === "unevaluated" && !isWithheld(plan);
}

/** The values of Secrets are hidden, or the cluster has it already. */
function isUnclear(plan: ApplicationPlan): boolean {
  return plan.kind === "evaluated" && plan.verdict === "unknown";
}

function differsByCommit(plan: ApplicationPlan): boolean {
  return plan.kind === "evaluated" && plan.verdict === "unchanged" && plan.diff.onlyCommit.length > 0;
}

function writesDefinitionAlone(plan: ApplicationPlan): boolean {
  return plan.kind === "evaluated" && plan.verdict === "unchanged" && plan.writesDefinition;
}
