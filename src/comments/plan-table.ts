import { referenceTo, type HostWords } from "../core/model/host-words.js";
import type { ApplicationPlan, Plan } from "../core/model/plan.js";
import { linked } from "./links.js";
import { code } from "./markdown.js";
import { failedChecksText } from "./plan-checks.js";
import { changesOf, dangersOf, dangerText, nameOf, type VerdictOptions } from "./plan-verdict.js";

const MOST_ROWS = 100;

/** One line per application; undefined for a single one, which the verdict has told already. */
export function planTable(
  { change }: Plan,
  applications: readonly ApplicationPlan[],
  options: VerdictOptions,
): string | undefined {
  if (applications.length < 2) return undefined;
  const { page } = options.links;
  const rows = applications
    .slice(0, MOST_ROWS)
    .map((one) => [
      nameOf(one, options.links),
      changesOf(one, options.pruning),
      [failedChecksText(one), dangerText(dangersOf(one, change, options.words), options.pruning)]
        .filter((text) => text !== "")
        .join(", "),
      stateOf(one, change, options.words),
      ...(page === undefined ? [] : [linked("diff", `${page}#${anchorOf(one.application)}`)]),
    ]);
  const titles = ["Application", "Changes", "Danger", "State", ...(page === undefined ? [] : ["Link"])];
  const more = applications.length - MOST_ROWS;
  return [
    row(titles),
    `|${"---|".repeat(titles.length)}`,
    ...rows.map(row),
    ...(more > 0 ? ["", `and ${more} more`] : []),
  ].join("\n");
}

/** The fragment of an application on the change request's page. */
export function anchorOf(application: string): string {
  return `application-${encodeURIComponent(application.replace(/\p{Cs}/gu, ""))}`;
}

function stateOf({ lock, atMerge, kind }: ApplicationPlan, change: Plan["change"], words: HostWords): string {
  if (lock.kind === "held") {
    return `⚠️ locked by ${code(`${referenceTo(lock.by.holder, change, words)} (${lock.by.user})`)}`;
  }
  if (kind === "new" || kind === "deleted" || atMerge !== undefined) return "takes effect at the merge";
  return lock.kind === "ours" ? `locked by this ${words.short}` : "not locked";
}

/** A bar ends a cell even in a code span, and a backslash before it must not be escaped by another one. */
function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replace(/\\*\|/g, "\\|")).join(" | ")} |`;
}
