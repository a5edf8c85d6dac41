import { besidesSentence, commitSentence, secretSentences } from "../core/diff/hidden-change.js";
import type { HostWords } from "../core/model/host-words.js";
import type { AgainstCluster, DiffBasis, NameChanges, ObjectNote } from "../core/model/manifest-diff.js";
import type { ClusterCheck, UntriedObjects, ApplicationPlan } from "../core/model/plan.js";
import { code, codes, plainName, sentence, shortened, warning } from "./markdown.js";
import { counted } from "./parts.js";

/** An application whose two sides were rendered. */
export type EvaluatedPlan = Extract<ApplicationPlan, { readonly kind: "evaluated" }>;

export interface SummaryOptions {
  readonly words: HostWords;
  readonly pruning: boolean;
}

/** Above the diff of an application: counts, cautions, and what was compared. */
export function summaryLines({ diff, cluster }: EvaluatedPlan, { pruning, words }: SummaryOptions): readonly string[] {
  const kept = pruning ? "" : " (kept in the cluster without --prune)";
  return [
    `**Changes:** ${diff.created} to create, ${diff.updated} to update`,
    ...(diff.deleted === 0 ? [] : [`**Deletes:** ${diff.deleted} to delete${kept}`]),
    ...(diff.hooksChanged === 0 ? [] : [`**Hooks:** ${diff.hooksChanged} changed`]),
    ...clusterLine(cluster),
    ...cautionList(diff.cautions),
    ...childrenLine("Applications", diff.children),
    ...childrenLine("ApplicationSets", diff.sets),
    ...basisLines(diff.basis, words),
  ];
}

/** Below the diff: how certain the verdict is. */
export function verdictLines({ verdict, diff, writesDefinition }: EvaluatedPlan): readonly string[] {
  const cluster = againstCluster(diff);
  const besides = besidesSentence(diff, title);
  const commit = besides === undefined ? [] : [besides];
  switch (verdict) {
    case "changed":
      return [...(diff.resources.length === 0 ? [DRIFT_ALONE] : []), ...secretLines(diff), ...commit];
    case "unchanged":
      return [
        commitSentence(diff, title) ??
          `No changes: both sides render the same${cluster === undefined ? "" : ", and the cluster has it"}.`,
        ...(writesDefinition ? [DEFINITION_ALONE] : []),
      ];
    case "unknown":
      return [
        ...(cluster === undefined || cluster.alreadyThere.length === 0 ? [] : [ALREADY_THERE]),
        ...(cluster === undefined || cluster.kept.length === 0 ? [] : [KEPT]),
        ...(diff.hiddenSecrets ? ["No visible changes.", ...secretLines(diff)] : []),
        ...commit,
      ];
  }
}

/** The Secrets whose values change or may. */
export function secretLines(diff: EvaluatedPlan["diff"]): readonly string[] {
  const sentences = secretSentences(diff, quiet);
  const lines = sentences.length < 2 ? sentences : [sentences.map((one) => `- ${one}`).join("\n")];
  return diff.hiddenSecrets && againstCluster(diff) !== undefined ? [...lines, HIDDEN_IN_CLUSTER] : lines;
}

/** `ConfigMap web-cfg`. */
function title(text: string): string {
  return text.split(" ").map(quiet).join(" ");
}

/** A name that no host makes a link of; any other as a code span. */
function quiet(name: string): string {
  return /^www\.|^gh-\d|^[0-9a-f]{7,64}$/i.test(name) ? code(name) : plainName(shortened(name, MAX_NAME));
}

const HIDDEN_IN_CLUSTER = "Argo CD hides the values of Secrets, so those of the cluster are not compared.";
const DRIFT_ALONE = "Both sides render the same: a sync changes only what drifted.";
const KEPT = "The two sides do not render the same, but a sync leaves this as it is in the cluster.";
const ALREADY_THERE = "The two sides do not render the same, but the cluster already has this.";

const DEFINITION_ALONE = "The application's definition still changes: a sync writes it.";

const MAX_CAUTIONS = 15;
const MAX_CAUTION = 400;

/** Cautions as a list; the first ones if there are many. */
export function cautionList(cautions: readonly string[]): readonly string[] {
  if (cautions.length === 0) return [];
  const lines = cautions
    .slice(0, MAX_CAUTIONS)
    .map((text) => `- ${capitalised(sentence(shortened(text, MAX_CAUTION)))}.`);
  const more = cautions.length - lines.length;
  return [["**Caution:**", ...lines, ...(more > 0 ? [`- and ${more} more like these`] : [])].join("\n")];
}

function capitalised(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

function clusterLine(cluster: ClusterCheck | undefined): readonly string[] {
  return cluster === undefined ? [] : [`**Kubernetes:** ${sentence(clusterSentence(cluster))}`];
}

const MAX_NAMES = 20;
const MAX_NAME = 150;

/** The applications or ApplicationSets that manifests create, change and delete. */
export function childrenLine(what: string, { created, changed, deleted }: NameChanges): readonly string[] {
  const parts = [
    ...(created.length === 0 ? [] : [`create: ${named(created)}`]),
    ...(changed.length === 0 ? [] : [`change: ${named(changed)}`]),
    ...(deleted.length === 0 ? [] : [`delete: ${named(deleted)}`]),
  ];
  return parts.length === 0 ? [] : [`${what} it would ${parts.join("; ")}`];
}

function named(names: readonly string[]): string {
  const first = codes(names.slice(0, MAX_NAMES).map((name) => shortened(name, MAX_NAME)));
  return names.length > MAX_NAMES ? `${first} and ${names.length - MAX_NAMES} more` : first;
}

function basisLines(basis: DiffBasis, { short }: HostWords): readonly string[] {
  switch (basis.kind) {
    case "branch":
      return [];
    case "live-failed":
      return [warning(`the live cluster could not be read, so the diff is against the target branch: ${basis.reason}`)];
    case "live": {
      const { drifted } = basis;
      return [
        "Diff against the live cluster.",
        ...(drifted.length === 0 ? [] : [`${MORE_THAN_THIS} this ${short} does: ${named(drifted)}`]),
        ...clusterLines(basis, short),
      ];
    }
    case "both": {
      const titles = basis.drift.map(({ title: one }) => one);
      return [
        "Diff against the target branch, and what the live cluster already differs by.",
        ...(titles.length === 0 ? [] : [`${MORE_THAN_THIS} this ${short} does: ${named(titles)}`]),
        ...clusterLines(basis, short),
      ];
    }
  }
}

const MORE_THAN_THIS = "The cluster already differs from the target branch, so a sync changes more than";

function clusterLines({ approximate, alreadyThere, kept }: AgainstCluster, short: string): readonly string[] {
  return [
    ...(alreadyThere.length === 0
      ? []
      : [`Changed by this ${short}, but already in the cluster: ${named(alreadyThere)}`]),
    ...noteList(`Changed by this ${short}, but not by a sync:`, kept),
    ...noteList("Approximate:", approximate),
  ];
}

const MAX_NOTES = 10;

/** A line for each note, with the objects that it is about. */
function noteList(heading: string, notes: readonly ObjectNote[]): readonly string[] {
  if (notes.length === 0) return [];
  const lines = notes
    .slice(0, MAX_NOTES)
    .map(({ what, objects }) => `- ${objects.length === 0 ? "all resources" : named(objects)}: ${sentence(what)}`);
  const more = notes.length - lines.length;
  return [[heading, ...lines, ...(more > 0 ? [`- and ${more} more like these`] : [])].join("\n")];
}

function againstCluster({ basis }: EvaluatedPlan["diff"]): AgainstCluster | undefined {
  return basis.kind === "live" || basis.kind === "both" ? basis : undefined;
}

const MOST_REASONS = 3;
const MOST_TITLES = 3;
const MAX_REASON = 200;
const MAX_TITLE = 150;

/** Completes "Kubernetes …", with untrusted names and no full stop. The refusals themselves are among the cautions. */
function clusterSentence({ accepted, refused, untried }: ClusterCheck): string {
  const tried = accepted + refused.length;
  if (tried === 0) {
    return `was not asked: ${[...new Set(untried.map(({ reason }) => shownReason(reason)))].slice(0, MOST_REASONS).join("; ")}`;
  }
  const sure = refused.filter((one) => one.sure).length;
  const unsure = refused.length - sure;
  const objects = counted(tried, "changed object");
  const said = [
    ...(sure === 0 ? [] : [`will refuse ${sure} of ${objects}`]),
    ...(unsure === 0 ? [] : [sure === 0 ? `may refuse ${unsure} of ${objects}` : `may refuse ${unsure} more`]),
    ...(refused.length === 0 ? [`accepts ${objects}`] : []),
  ];
  return [said.join(", "), ...untriedText(untried)].join("; ");
}

/** A sentence for a page; none if Kubernetes was not asked. */
export function clusterSentences(check: ClusterCheck | undefined): readonly string[] {
  return check === undefined ? [] : [`Kubernetes ${clusterSentence(check)}.`];
}

function untriedText(untried: readonly UntriedObjects[]): readonly string[] {
  if (untried.length === 0) return [];
  const shown = untried
    .slice(0, MOST_REASONS)
    .map(({ titles, reason }) => `${namedSome(titles)} (${shownReason(reason)})`);
  const more = untried.slice(MOST_REASONS).reduce((sum, { titles }) => sum + titles.length, 0);
  return [`not tried: ${shown.join(", ")}${more === 0 ? "" : ` and ${more} more`}`];
}

function namedSome(titles: readonly string[]): string {
  const more = titles.length - MOST_TITLES;
  const first = titles
    .slice(0, MOST_TITLES)
    .map((title) => shortened(title, MAX_TITLE))
    .join(", ");
  return more > 0 ? `${first} and ${more} more` : first;
}

function shownReason(reason: string): string {
  return shortened(reason.replace(/\s+/g, " "), MAX_REASON);
}
