import type { ClusterCheck, UntriedObjects } from "../core/model/cluster-check.js";
import { shortened } from "./markdown.js";
import { counted } from "./phrases.js";

const MOST_REASONS = 3;
const MOST_TITLES = 3;
const MAX_REASON = 200;
const MAX_TITLE = 150;

/** Completes "Kubernetes …", with untrusted names and no full stop. The refusals themselves are among the cautions. */
export function clusterSentence({ accepted, refused, untried }: ClusterCheck): string {
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
  const shown = untried.slice(0, MOST_REASONS).map(({ titles, reason }) => `${named(titles)} (${shownReason(reason)})`);
  const more = untried.slice(MOST_REASONS).reduce((sum, { titles }) => sum + titles.length, 0);
  return [`not tried: ${shown.join(", ")}${more === 0 ? "" : ` and ${more} more`}`];
}

function named(titles: readonly string[]): string {
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
