import { shortRevision } from "../core/model/brand.js";
import type { ChangeRequestRef } from "../core/model/change-request.js";
import { isFailed, type CheckResult } from "../core/model/check.js";
import { counted, type HostWords, listed, referenceTo } from "../core/model/host-words.js";
import { type Danger, driftOf, leftIn, type ManifestDiff } from "../core/model/plan/manifest-diff.js";
import {
  checksOf,
  isAsking,
  type ApplicationPlan,
  type ApplicationSetPreview,
  isWithheld,
  type Plan,
  previewedDiff,
  type SetFailure,
} from "../core/model/plan/plan.js";
import { dangersOfChange } from "../core/policy/application-state.js";
import {
  applicationLink,
  changeLink,
  checksIn,
  code,
  headLink,
  joined,
  linked,
  type Links,
  sentence,
  shortened,
  capitalised,
  countsOf,
} from "./parts.js";
import { deployedText, type Present } from "./present.js";

/** What a plan is written with. */
export interface VerdictOptions {
  /** Whether a sync prunes by default, which decides what the plan says about deletions. */
  readonly pruning: boolean;
  readonly links: Links;
  readonly words: HostWords;
  /** What became of the plan since; undefined if that could not be read. */
  readonly present?: Present | undefined;
}

/** The first line of a plan and its table, without what the block of an only application says. @param alike see `alike`. */
export function overviewOf(
  plan: Plan,
  alike: readonly (readonly ApplicationPlan[])[],
  options: VerdictOptions,
): { readonly verdict: string; readonly table: string } {
  const { pruning, links } = options;
  const shown = alike.flat();
  const table = tableOf(
    alike.flatMap((some) => rowsOf(some, plan, options)),
    links,
  );
  const all = counted(plan.applications.length, "application");
  const isWhole = shown.length === plan.applications.length;
  const some = isWhole ? all : `${shown.length} of ${all}`;
  const counts =
    shown.length === 1 ? (isWhole ? "" : `**${some}**`) : linked(`**${some}${changes(shown, pruning)}**`, links.page);
  const details = shown.length === 1 && links.page !== undefined ? linked("details", links.page) : "";
  const verdict = [
    dangerText(dangersOfPlan(plan, options), pruning),
    counts,
    table === "" ? namesOf(shown, links) : "",
    details,
    setsText(plan),
    checksText(checksIn(plan)),
    isAsking(plan) ? ASKING : "",
  ];
  return { verdict: joined(verdict, " · "), table };
}

/** `checks: 3 passed, 1 failed`; empty without checks. */
function checksText(checks: readonly CheckResult[]): string {
  const counts = countsOf(checks);
  return counts === "" ? "" : `checks: ${counts}`;
}

/** The first line of a plan that has no applications to plan, which still says what its ApplicationSets do. */
export function nothingLine(plan: Plan, next: string, options: VerdictOptions): string {
  const { pruning, links } = options;
  const answer =
    plan.applicationSets.length > 0 ? "" : `No applications are affected by commit ${headLink(plan.head, links)}.`;
  const dangers = dangerText(dangersOfPlan(plan, options), pruning);
  return joined([dangers, answer, setsText(plan), checksText(checksIn(plan)), next], " · ");
}

/** The first names of applications that are told of together: `a`, `b` and 18 more. */
function namesOf(plans: readonly ApplicationPlan[], links: Links): string {
  return listed(
    plans.map((one) => nameOf(one, links)),
    plans.length === MOST_NAMES + 1 ? plans.length : MOST_NAMES,
  );
}

/** Stands in the verdict until the comment is edited with the answers. */
const ASKING = "⏳ asking Kubernetes…";

const MOST_NAMES = 2;

/** The name of an application; a new one is not in Argo CD yet. */
function nameOf({ application, kind }: ApplicationPlan, links: Links): string {
  return kind === "new" ? code(application) : applicationLink(application, links);
}

/** What happens to the resources of one application: `1 created, 2 updated`, `new`, `could not be evaluated`. */
function changesOf(plan: ApplicationPlan, pruning: boolean): string {
  const counts = [...mainCounts([plan], pruning), ...otherCounts([plan], "", "")];
  return joined([counts.join(", "), applicationCounts([plan])], "; ") || "no changes";
}

interface ToldDanger {
  readonly text: string;
  readonly pruning: boolean;
}

function told({ what, pruning }: Pick<Danger, "what" | "pruning">): ToldDanger {
  return { text: sentence(shortened(what, MAX_DANGER)), pruning };
}

/** Dangers of one application, first the running commits of others that a sync replaces. @param reader reads the text. */
function dangersOf(
  plan: ApplicationPlan,
  reader: ChangeRequestRef,
  { words, links }: VerdictOptions,
): readonly ToldDanger[] {
  const replaced = (plan.replaces ?? []).map(({ change, revision, objects }): ToldDanger => {
    const other = changeLink(referenceTo(change, reader, words), change, links);
    const reverts = objects.length === 0 ? "" : `, and reverts ${listed(objects, MOST_OBJECTS)}`;
    const text = `replaces commit ${shortRevision(revision)} of ${other}, which runs${sentence(shortened(reverts, MAX_DANGER))}`;
    return { text, pruning: false };
  });
  return [...replaced, ...dangersOfChange(plan).map(told)];
}

const MOST_OBJECTS = 2;

const MOST_DANGERS = 3;
const MAX_DANGER = 150;

/** Dangers by name, the most dangerous first; empty if there are none. */
function dangerText(dangers: readonly ToldDanger[], pruning: boolean): string {
  if (dangers.length === 0) return "";
  const texts = dangers.map((one) => one.text + (one.pruning && !pruning ? KEPT : ""));
  return `⚠️ ${listed([...new Set(texts)], MOST_DANGERS)}`;
}

const KEPT = " with --prune";

function dangersOfPlan(
  { change, applications, applicationSets, previews }: Plan,
  options: VerdictOptions,
): readonly ToldDanger[] {
  // The policy with which the controller of ApplicationSets was started, which svc cannot see, overrules that of a set.
  const removals = applicationSets.flatMap(({ removed, keepsRemoved }) => {
    const unless = keepsRemoved === true ? " unless the policy of its set keeps it" : "";
    return removed.map((name) => ({ what: `removes the application ${name}${unless}`, pruning: false }));
  });
  const previewed = previews.flatMap(({ content }) => previewedDiff(content)?.dangers ?? []);
  const failing = applicationSets.flatMap(({ name, failure }) =>
    failure === undefined ? [] : [{ what: failureOf(name, failure), pruning: false }],
  );
  const others = [...failing, ...removals, ...previewed].map(told);
  return [...applications.flatMap((one) => dangersOf(one, change, options)), ...others];
}

const MAX_SET_NAME = 30;

/** The reason is cut where it leaves no room for what follows from it. */
function failureOf(name: string, { why, then }: SetFailure): string {
  const begin = `the set ${shortened(name, MAX_SET_NAME)} will fail: `;
  const end = `; ${then}`;
  return begin + shortened(why, MAX_DANGER - begin.length - end.length - 1) + end;
}

function setsText({ applicationSets: sets }: Plan): string {
  if (sets.length === 0) return "";
  const sum = (member: "added" | "removed" | "changed") => sets.reduce((total, set) => total + set[member].length, 0);
  const done = (["added", "removed", "changed"] as const).filter((member) => sum(member) > 0);
  const failing = sets.filter(({ failure }) => failure !== undefined).length;
  const unknown = sets.filter(({ problem, failure }) => problem !== undefined && failure === undefined).length;
  const kept = sets.reduce((total, set) => total + keptBy(set), 0);
  const parts = [
    ...done.map((member, index) =>
      index === 0 ? `${counted(sum(member), "application")} ${member}` : `${sum(member)} ${member}`,
    ),
    ...(kept === 0 ? [] : [`what it does to ${counted(kept, "application")} changed`]),
    ...(failing === 0 ? [] : [`${failing} will fail`]),
    ...(unknown === 0 ? [] : [`${unknown} could not be previewed`]),
  ];
  const told = parts.length === 0 ? "adds, removes and changes no applications" : parts.join(", ");
  const early = sets.filter(({ appliedBy }) => appliedBy !== undefined).length;
  const when = early === 0 ? "at the merge" : early === sets.length ? "at the sync" : "at the sync or the merge";
  return `**${counted(sets.length, "ApplicationSet")}: ${told}, ${when}**`;
}

/** The applications whose definition stays, and that Argo CD keeps in another way. */
function keptBy({ name, problem, members, added, removed, changed }: ApplicationSetPreview): number {
  if (problem !== undefined) return 0;
  const own = members.filter(({ reachedBy }) => reachedBy.kind === "generated" && reachedBy.by === name);
  return Math.max(0, own.length - added.length - removed.length - changed.length);
}

/** Follows the number of applications: how many resources change, then the applications whose resources are not counted. */
function changes(all: readonly ApplicationPlan[], pruning: boolean): string {
  const total = sumOf(all, ({ created, updated, deleted }) => created + updated + deleted);
  const main = mainCounts(all, pruning);
  const isUpdate = sumOf(all, ({ updated }) => updated) === total;
  const kinds = isUpdate ? "" : ` (${main.join(", ")})`;
  const changing = total === 0 ? [] : [`${counted(total, "resource")} ${total === 1 ? "changes" : "change"}${kinds}`];
  const counts = [...changing, ...otherCounts(all, "resource", "resources")].join(", ");
  const apart = applicationCounts(all);
  if (counts === "") return apart === "" ? ", no changes" : `: ${apart}`;
  return `, ${joined([counts, apart], "; ")}`;
}

function sumOf(all: readonly ApplicationPlan[], count: (diff: ManifestDiff) => number): number {
  return all.reduce((total, one) => (one.kind === "evaluated" ? total + count(one.diff) : total), 0);
}

/** What a sync creates, updates and deletes. */
function mainCounts(all: readonly ApplicationPlan[], pruning: boolean): readonly string[] {
  const counts = [
    [sumOf(all, ({ created }) => created), "created"],
    [sumOf(all, ({ updated }) => updated), "updated"],
    [sumOf(all, ({ deleted }) => deleted), `deleted${pruning ? "" : KEPT}`],
  ] as const;
  return counts.flatMap(([count, text]) => (count === 0 ? [] : [`${count} ${text}`]));
}

/** @param one, many What is counted, in the singular and the plural; empty where the column names it. */
function otherCounts(all: readonly ApplicationPlan[], one: string, many: string): readonly string[] {
  const hooks = sumOf(all, ({ hooksChanged }) => hooksChanged);
  const secrets = sumOf(all, unseenSecrets);
  const counts = [
    [sumOf(all, ({ stay = 0 }) => stay), one, many, "left in the cluster"],
    [sumOf(all, leftIn), one, many, "left as is"],
    [hooks, "hook", "hooks", "changed"],
    [sumOf(all, (diff) => driftOf(diff).length), one, many, "drifted"],
    [secrets, "Secret", "Secrets", "may change"],
  ] as const;
  return counts.flatMap(([count, single, plural, text]) =>
    count === 0 ? [] : [joined([`${count}`, count === 1 ? single : plural, text], " ")],
  );
}

/** Secrets that are not among the changed resources, where they are counted already. */
function unseenSecrets({ secrets, resources }: ManifestDiff): number {
  const shown = new Set(resources.map(({ title }) => title));
  return secrets.filter(({ name }) => !shown.has(`Secret ${name}`)).length;
}

function applicationCounts(all: readonly ApplicationPlan[]): string {
  const kinds: readonly (readonly [(one: ApplicationPlan) => boolean, string, string, string])[] = [
    [({ kind }) => kind === "new", `new${withResources(all)}`, "is new", "are new"],
    [({ kind }) => kind === "deleted", `deleted${withResources(all)}`, "is deleted", "are deleted"],
    [isWithheld, "not rendered yet", "is not rendered yet", "are not rendered yet"],
    [
      (one) => one.kind === "unevaluated" && !isWithheld(one),
      "could not be evaluated",
      "could not be evaluated",
      "could not be evaluated",
    ],
    [
      (one) => one.kind === "evaluated" && one.verdict === "unknown",
      "no visible changes",
      "has no visible changes",
      "have no visible changes",
    ],
    [
      (one) => isUnchanged(one) && one.diff.onlyCommit.length > 0,
      "no changes but the commit id",
      "differs by the commit id alone",
      "differ by the commit id alone",
    ],
    [
      (one) => isUnchanged(one) && one.writesDefinition,
      "only its definition changes",
      "changes only its definition",
      "change only their definition",
    ],
  ];
  const counts = kinds.flatMap(([matches, alone, one, many]) => {
    const count = all.filter(matches).length;
    if (count === 0) return [];
    return all.length === 1 ? [alone] : [`${count} ${count === 1 ? one : many}`];
  });
  return counts.join(", ");
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

function isUnchanged(plan: ApplicationPlan): plan is Extract<ApplicationPlan, { readonly kind: "evaluated" }> {
  return plan.kind === "evaluated" && plan.verdict === "unchanged";
}

const MOST_ROWS = 100;

const COLUMNS = ["Resources", "Danger", "State"] as const;

/** Applications that one line of the table tells of. */
interface Row {
  readonly plans: ApplicationPlan[];
  readonly cells: Readonly<Record<(typeof COLUMNS)[number], string>>;
}

/** A line for all that say the same, and one for each that is dangerous, failed a check or is locked by another. */
function rowsOf(alike: readonly ApplicationPlan[], { change }: Plan, options: VerdictOptions): readonly Row[] {
  const { pruning } = options;
  const rows = new Map<string, Row>();
  for (const plan of alike) {
    const dangers = dangerText(dangersOf(plan, change, options), pruning);
    const danger = joined([failedChecksText(plan), dangers], ", ");
    const cells = { Resources: changesOf(plan, pruning), Danger: danger, State: stateOf(plan, change, options) };
    const isAlone = danger !== "" || /^[⚠❌❓⏳]/u.test(cells.State);
    const key = JSON.stringify([isAlone ? plan.application : "", cells]);
    const row = rows.get(key);
    if (row === undefined) rows.set(key, { plans: [plan], cells });
    else row.plans.push(plan);
  }
  return [...rows.values()];
}

/** Without the columns that say the same in all rows; empty if nothing but names is left. */
function tableOf(rows: readonly Row[], links: Links): string {
  const columns = COLUMNS.filter((column) => new Set(rows.map(({ cells }) => cells[column])).size > 1);
  if (columns.length === 0) return "";
  const left = rows.slice(MOST_ROWS).flatMap(({ plans }) => plans).length;
  return [
    row(["Application", ...columns]),
    `|${"---|".repeat(columns.length + 1)}`,
    ...rows.slice(0, MOST_ROWS).map(({ plans, cells }) => {
      const address = links.page === undefined ? undefined : `${links.page}#${anchorOf(plans[0]?.application ?? "")}`;
      const texts = { ...cells, Resources: linked(cells.Resources, address) };
      return row([namesOf(plans, links), ...columns.map((column) => texts[column])]);
    }),
    ...(left > 0 ? ["", `and ${left} more`] : []),
  ].join("\n");
}

function anchorOf(application: string): string {
  return `application-${encodeURIComponent(application.replace(/\p{Cs}/gu, ""))}`;
}

function stateOf(
  { application, lock, atMerge, kind }: ApplicationPlan,
  change: Plan["change"],
  { words, links, present }: VerdictOptions,
): string {
  const deployed = present && deployedText(application, present);
  if (deployed !== undefined) return deployed;
  if (lock.kind === "held") {
    return `⚠️ locked by ${changeLink(`${referenceTo(lock.by.holder, change, words)} (${lock.by.user})`, lock.by.holder, links)}`;
  }
  if (kind === "new" || kind === "deleted" || atMerge !== undefined) return "takes effect at the merge";
  return lock.kind === "ours" ? `locked by this ${words.short}` : "not locked";
}

/** A bar ends a cell even in a code span, and a backslash before it must not be escaped by another one. */
function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replace(/\\*\|/g, "\\|")).join(" | ")} |`;
}

function failedChecksText(plan: ApplicationPlan): string {
  const names = checksOf(plan)
    .filter(isFailed)
    .map(({ name }) => code(name));
  if (names.length === 0) return "";
  return `❌ ${names.length === 1 ? "check" : "checks"} ${names.join(", ")} failed`;
}

/** The results of checks as sentences for a page; empty if nothing was checked. */
export function checkSentences(checks: readonly CheckResult[]): readonly string[] {
  const text = checksText(checks);
  return text === "" ? [] : [`${capitalised(text)}.`];
}
