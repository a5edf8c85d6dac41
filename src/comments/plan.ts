import type { ApplicationPlan, ApplicationSetPreview, Plan, ResourceChange } from "../core/plan.js";
import { SERVICE, type HostId } from "../names.js";
import { lockedBy } from "./locked-by.js";
import { code, codes, details, diffFence, fence, sentence, shortened, warning } from "./markdown.js";
import { markerLine } from "./marker.js";
import { COMMENT_LIMITS, MAX_PARTS, pack, type Block } from "./parts.js";

/** Room for the marker, the heading and "(continued)" in each part. */
const OVERHEAD = 600;
const MAX_REASON = 4000;

export interface PlanOptions {
  readonly host: HostId;
  /** Whether a sync prunes without being asked: decides what is said of deletions. */
  readonly pruning: boolean;
}

/** A plan as comments: one, or as many parts as the host's limit asks for. */
export function renderPlan(plan: Plan, options: PlanOptions): readonly string[] {
  const limit = COMMENT_LIMITS[options.host] - OVERHEAD;
  const shown = plan.applications.filter(({ kind }) => kind !== "unplanned");
  if (shown.length === 0) return [renderNothing(plan)];
  const budget = { left: limit * (MAX_PARTS - 1) };
  const blocks = [
    ...shown.flatMap((one) => applicationBlocks(one, options, limit, budget)),
    ...closingBlocks(plan, limit),
  ];
  const parts = pack(blocks, limit);
  return parts.map((part, index) => {
    const marker = markerLine({ kind: "plan", head: plan.head, part: index + 1 });
    const counter = parts.length === 1 ? "" : ` (part ${index + 1} of ${parts.length})`;
    return `${marker}\n## ${SERVICE} Plan${counter}\n\n${part}`;
  });
}

/** The answer when no application is planned; an automatic plan edits it instead of repeating it. */
function renderNothing(plan: Plan): string {
  const marker = markerLine({ kind: "no-applications", head: plan.head, part: 1 });
  const rest = pack(endBlocks(plan), Number.POSITIVE_INFINITY).join("\n\n");
  const answer = `No applications are affected by commit ${code(plan.head.slice(0, 8))}.`;
  return [`${marker}\n## ${SERVICE} Plan`, answer, rest].filter((text) => text !== "").join("\n\n");
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
      return [text([heading, "**Changes:** could not be evaluated", reason, PLAN_AGAIN, ...warnings, status])];
    }
    case "unplanned":
      return [];
    case "evaluated": {
      const { diff } = plan;
      const summary = [heading, countsOf(plan), ...deletesLine(plan, options), ...hookLine(plan), ...warnings];
      const changes = diffBlocks(diff.resources, limit, budget).map((block) => ({ text: block, section: heading }));
      return [text(summary), ...changes, text([...verdictLines(plan), status])];
    }
  }
}

const PLAN_AGAIN = `It cannot be synced like this. Fix the cause, then push or comment ${code(`${SERVICE} plan`)}.`;

type EvaluatedPlan = Extract<ApplicationPlan, { readonly kind: "evaluated" }>;

function countsOf({ diff }: EvaluatedPlan): string {
  return `**Changes:** ${diff.created} to create, ${diff.updated} to update`;
}

function deletesLine({ diff }: EvaluatedPlan, { pruning }: PlanOptions): readonly string[] {
  if (diff.deleted === 0) return [];
  return [`**Deletes:** ${diff.deleted} to delete${pruning ? "" : " (kept in the cluster without --prune)"}`];
}

function hookLine({ diff }: EvaluatedPlan): readonly string[] {
  return diff.hooksChanged === 0 ? [] : [`**Hooks:** ${diff.hooksChanged} changed`];
}

function verdictLines(plan: EvaluatedPlan): readonly string[] {
  switch (plan.verdict) {
    case "changed":
      return plan.diff.hiddenSecrets ? [HIDDEN_SECRETS] : [];
    case "unchanged":
      return ["No changes: both sides render the same."];
    case "unknown":
      return [`No visible changes. ${HIDDEN_SECRETS}`];
  }
}

const HIDDEN_SECRETS =
  "Argo CD hides the values of Secrets: a change of a value alone cannot be shown, so it cannot be ruled out.";

/** Resource diffs in collapsibles that each fit a comment; beyond the budget of the whole plan only their names. */
function diffBlocks(resources: readonly ResourceChange[], limit: number, budget: { left: number }): readonly string[] {
  if (resources.length === 0) return [];
  const room = limit - 300;
  const shown: string[] = [];
  const left: string[] = [];
  for (const resource of resources) {
    const text = resourceText(resource, room);
    if (text.length > budget.left) left.push(resource.title);
    else {
      budget.left -= text.length;
      shown.push(text);
    }
  }
  const groups = grouped(shown, room);
  const summary = `Diff (${resources.length} resources changed)`;
  const blocks = groups.map((group, index) =>
    details(groups.length === 1 ? summary : `${summary}, ${index + 1} of ${groups.length}`, diffFence(group)),
  );
  if (left.length === 0) return blocks;
  const names = shortened(left.join("\n"), Math.min(room, 8000));
  return [...blocks, `${left.length} more changed resources are too long to show here:\n\n${fence(names)}`];
}

function resourceText(resource: ResourceChange, room: number): string {
  const title = `# ${resource.action}${resource.hook ? " (hook)" : ""}: ${resource.title}`;
  const lines = resource.diff.trimEnd().split("\n");
  const kept: string[] = [];
  let length = title.length + 100;
  for (const line of lines) {
    length += Math.min(line.length, MAX_LINE) + 1;
    if (length > room) break;
    kept.push(shortened(line, MAX_LINE));
  }
  const cut = lines.length - kept.length;
  return [title, ...kept, ...(cut > 0 ? [`# … ${cut} more lines are not shown`] : [])].join("\n");
}

/** A longer line is data, not something that people read in a diff. */
const MAX_LINE = 2000;

function grouped(texts: readonly string[], room: number): readonly string[] {
  return pack(
    texts.map((text) => ({ text, section: undefined })),
    room,
  );
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

function closingBlocks(plan: Plan, limit: number): readonly Block[] {
  const deployable = plan.applications.some(
    ({ kind, lock, atMerge }) => kind === "evaluated" && lock.kind === "ours" && atMerge === undefined,
  );
  const footer = deployable
    ? `---\nTo deploy commit ${code(plan.head.slice(0, 8))}, comment ${code(`${SERVICE} sync`)}, or ${code(`${SERVICE} sync -a <application>`)} for one application. To give the locks back, comment ${code(`${SERVICE} unlock`)}.`
    : `---\nThere is nothing to deploy with ${code(`${SERVICE} sync`)} here.`;
  const ends = endBlocks(plan).map(({ text, section }) => ({ text: cut(text, limit), section }));
  return [...ends, { text: footer, section: undefined }];
}

/** A list that is longer than a whole comment loses its last lines, visibly. */
function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const lines = text
    .slice(0, limit - 100)
    .split("\n")
    .slice(0, -1);
  return [...lines, `- and ${text.split("\n").length - lines.length} more lines`].join("\n");
}

function endBlocks(plan: Plan): readonly Block[] {
  const block = (text: string): readonly Block[] => [{ text, section: undefined }];
  const unplanned = plan.applications.filter(({ kind }) => kind === "unplanned").map(({ application }) => application);
  return [
    ...(plan.applicationSets.length === 0 ? [] : block(plan.applicationSets.map(setText).join("\n\n"))),
    ...(unplanned.length === 0 ? [] : block(`Affected, but left out of this plan by -a: ${codes(unplanned)}.`)),
    ...(plan.notDeployed.length === 0 ? [] : block(listOf("Not deployed by this PR:", plan.notDeployed))),
    ...(plan.released.length === 0 ? [] : block(`No longer affected, lock released: ${codes(plan.released)}.`)),
    ...(plan.notes.length === 0
      ? []
      : block(`Notes:\n${plan.notes.map((note) => `- ${code(shortened(note, 500))}`).join("\n")}`)),
  ];
}

/** One list of applications with a reason each. */
export function listOf(
  title: string,
  items: readonly { readonly application: string; readonly reason: string }[],
): string {
  return `${title}\n${items.map(({ application, reason }) => `- ${code(application)}: ${sentence(reason)}`).join("\n")}`;
}

function setText(set: ApplicationSetPreview): string {
  const heading = `### ApplicationSet: ${code(set.name)}`;
  const file = `**Source file:** ${code(set.sourceFile)}`;
  if (set.problem !== undefined) {
    return [heading, "**Changes:** could not be previewed", fence(shortened(set.problem, MAX_REASON)), file].join(
      "\n\n",
    );
  }
  const lines = [
    ...(set.added.length === 0 ? [] : [`- adds ${codes(set.added)}`]),
    ...(set.removed.length === 0 ? [] : [`- removes ${codes(set.removed)}`]),
    ...(set.changed.length === 0 ? [] : [`- changes ${codes(set.changed)}`]),
  ];
  const changes = lines.length === 0 ? "It generates the same applications on both sides." : lines.join("\n");
  return [
    heading,
    changes,
    `${file}\n\nArgo CD applies this when the ApplicationSet is applied; a sync here does not.`,
  ].join("\n\n");
}
