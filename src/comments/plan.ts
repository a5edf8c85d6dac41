import type { ApplicationName } from "../core/model/brand.js";
import type { HostWords } from "../core/model/host-words.js";
import type { ApplicationPlan, ApplicationSetPreview, Plan } from "../core/model/plan.js";
import type { Task } from "../core/ports/compute.js";
import { SERVICE } from "../names.js";
import { code, codes, fence, sentence, shortened, warning } from "./markdown.js";
import { markerLine } from "./marker.js";
import { cutBlocks, MAX_PARTS, pack, type Block } from "./parts.js";
import { listOf, lockedBy, unreadText } from "./phrases.js";
import { diffBlocks } from "./plan-diff.js";
import { movesText } from "./plan-moves.js";
import { summaryLines, verdictLines } from "./plan-summary.js";

/** Room for the marker, the heading and "(continued)" in each part. */
const OVERHEAD = 600;
const MAX_REASON = 4000;

export interface PlanOptions {
  readonly words: HostWords;
  /** Whether a sync prunes by default, which decides what the plan says about deletions. */
  readonly pruning: boolean;
  /** Address of the page that shows the whole plan; undefined if there is no login. */
  readonly page?: string | undefined;
}

/** `renderPlan` away from the thread that answers requests. */
export const renderPlanTask: Task<{ readonly plan: Plan; readonly options: PlanOptions }, readonly string[]> = {
  name: "render-plan",
  run: ({ plan, options }) => renderPlan(plan, options),
};

/** A plan as comments: one, or as many parts as the host's limit requires. */
export function renderPlan(plan: Plan, options: PlanOptions): readonly string[] {
  const limit = options.words.maxComment - OVERHEAD;
  const shown = plan.applications.filter(({ kind }) => kind !== "unplanned");
  if (shown.length === 0) return renderNothing(plan, options.words, limit);
  const budget = { left: limit * (MAX_PARTS - 1) };
  const moves = movesText(plan);
  const blocks = [
    ...(moves === "" ? [] : [{ text: moves, section: undefined }]),
    ...shown.flatMap((one) => applicationBlocks(one, options, limit, budget)),
    ...closingBlocks(plan, options, limit),
  ];
  const parts = pack(blocks, limit);
  return parts.map((part, index) => {
    const marker = markerLine({ kind: "plan", head: plan.head, part: index + 1 });
    const counter = parts.length === 1 ? "" : ` (part ${index + 1} of ${parts.length})`;
    return `${marker}\n## ${SERVICE} Plan${counter}\n\n${part}`;
  });
}

/** No application is planned. An automatic plan edits this comment instead of repeating it. */
function renderNothing(plan: Plan, words: HostWords, limit: number): readonly string[] {
  const answer = `No applications are affected by commit ${code(plan.head.slice(0, 8))}.`;
  const blocks = [{ text: answer, section: undefined }, ...cutBlocks(endBlocks(plan, words), limit)];
  return pack(blocks, limit).map((part, index) => {
    const marker = markerLine({ kind: "no-applications", head: plan.head, part: index + 1 });
    return `${marker}\n## ${SERVICE} Plan\n\n${part}`;
  });
}

function applicationBlocks(
  plan: ApplicationPlan,
  options: PlanOptions,
  limit: number,
  budget: { left: number },
): readonly Block[] {
  const heading = `### Application: ${code(plan.application)}`;
  const text = (lines: readonly string[]): Block => ({ text: lines.join("\n\n"), section: heading });
  const warnings = plan.warnings.map(warning);
  const status = statusOf(plan);
  switch (plan.kind) {
    case "new":
    case "deleted":
      return [text([`${heading} (${plan.kind})`, announcement(plan), ...warnings, status])];
    case "unevaluated": {
      const reason = fence(shortened(plan.reason, MAX_REASON));
      if (plan.definition !== undefined) {
        const own = {
          title: "Application",
          action: "update",
          hook: false,
          kind: "Application",
          diff: plan.definition,
        } as const;
        const blocks = diffBlocks([own], { limit, budget, page: options.page });
        return [
          text([heading, "**Changes:** could not be evaluated", reason, plannedByApproval(options.words), ...warnings]),
          ...blocks.map((block) => ({ text: block, section: heading })),
          text([status]),
        ];
      }
      return [
        text([heading, "**Changes:** could not be evaluated", reason, planAgain(options.words), ...warnings, status]),
      ];
    }
    case "unplanned":
      return [];
    case "evaluated": {
      const { diff } = plan;
      const summary = [heading, ...summaryLines(plan, options), ...warnings];
      const changes = diffBlocks(diff.resources, { limit, budget, page: options.page }).map((block) => ({
        text: block,
        section: heading,
      }));
      return [text(summary), ...changes, text([...verdictLines(plan), status])];
    }
  }
}

function plannedByApproval({ command }: HostWords): string {
  return `Only its definition's own diff is shown. An approval of this commit plans it again; on drafts and forks, comment ${code(`${command} plan`)} then.`;
}

function planAgain({ command }: HostWords): string {
  return `It cannot be synced until it can be evaluated. Fix the cause, then push or comment ${code(`${command} plan`)}.`;
}

function statusOf({ lock, atMerge }: ApplicationPlan): string {
  const merge = atMerge === undefined ? "" : `\n\nNot deployed by a sync: ${sentence(atMerge)}`;
  switch (lock.kind) {
    case "ours":
      return `**Status:** Locked by this PR${merge}`;
    case "held":
      return `**Status:** ⚠️ ${lockedBy(lock.by)}. Its sync is refused until that lock is released.${merge}`;
    case "not-needed":
      return `**Status:** Not locked${merge}`;
  }
}

function announcement(plan: ApplicationPlan): string {
  const what =
    plan.kind === "new"
      ? "This application will be created when its Application resource is applied."
      : "This application will be deleted when its Application resource is removed.";
  return plan.sourceFile === undefined ? what : `${what}\n\n**Source file:** ${code(plan.sourceFile)}`;
}

function closingBlocks(plan: Plan, { words, page }: PlanOptions, limit: number): readonly Block[] {
  const { command } = words;
  const deployable = plan.applications.some(
    ({ kind, lock, atMerge }) => kind === "evaluated" && lock.kind === "ours" && atMerge === undefined,
  );
  const footer = deployable
    ? `---\nTo deploy commit ${code(plan.head.slice(0, 8))}, comment ${code(`${command} sync`)}, or ${code(`${command} sync -a <application>`)} for one application. To release the locks, comment ${code(`${command} unlock`)}.`
    : `---\nThere is nothing to deploy with ${code(`${command} sync`)} here.`;
  const link = page === undefined ? "" : `\n\n[The whole plan and its progress](<${page}>)`;
  return [...cutBlocks(endBlocks(plan, words), limit), { text: `${footer}${link}`, section: undefined }];
}

function endBlocks(plan: Plan, words: HostWords): readonly Block[] {
  const block = (text: string): readonly Block[] => [{ text, section: undefined }];
  const unread = plan.unread.length === 0 ? [] : block(`⚠️ ${unreadText(plan.unread, words)}`);
  const unplanned = plan.applications.filter(({ kind }) => kind === "unplanned").map(({ application }) => application);
  return [
    ...unread,
    ...plan.applicationSets.flatMap((set) => block(applicationSetText(set))),
    ...(unplanned.length === 0 ? [] : block(`Affected, but left out of this plan by -a: ${codes(unplanned)}.`)),
    ...(plan.notDeployed.length === 0 ? [] : block(listOf(`Not deployed by this ${words.short}:`, plan.notDeployed))),
    ...(plan.released.length === 0 ? [] : block(`No longer affected, lock released: ${codes(plan.released)}.`)),
    ...(plan.notes.length === 0
      ? []
      : block(`Notes:\n${plan.notes.map((note) => `- ${code(shortened(note, 500))}`).join("\n")}`)),
  ];
}

const MAX_NAMED = 100;

/** The applications that an ApplicationSet adds, removes and changes, or why that is unknown. */
function applicationSetText(set: ApplicationSetPreview): string {
  const heading = `### ApplicationSet: ${code(set.name)}`;
  const file =
    set.sourceFile === undefined
      ? "**Source file:** none in this repository; the ApplicationSet reads files of it"
      : `**Source file:** ${code(set.sourceFile)}`;
  if (set.problem !== undefined) {
    const owned = set.owned.length === 0 ? [] : [`It owns these applications now: ${named(set.owned)}.`];
    const reason = fence(shortened(set.problem, MAX_REASON));
    return [heading, "**Changes:** could not be previewed", reason, ...owned, file].join("\n\n");
  }
  const lines = [
    ...(set.added.length === 0 ? [] : [`- adds ${named(set.added)}`]),
    ...(set.removed.length === 0 ? [] : [`- removes ${named(set.removed)}`]),
    ...(set.changed.length === 0 ? [] : [`- changes ${named(set.changed)}`]),
  ];
  const changes = lines.length === 0 ? "It generates the same applications on both sides." : lines.join("\n");
  const notes = set.notes.length === 0 ? [] : [set.notes.map((note) => `- ℹ️ ${sentence(note)}`).join("\n")];
  const when = set.sourceFile === undefined ? "some minutes after the merge" : "when the ApplicationSet is applied";
  const end = `${file}\n\nArgo CD applies this ${when}; a sync here does not.`;
  return [heading, changes, ...notes, end].join("\n\n");
}

function named(names: readonly ApplicationName[]): string {
  const more = names.length - MAX_NAMED;
  const first = codes(names.slice(0, MAX_NAMED));
  return more > 0 ? `${first} and ${more} more` : first;
}
