import type { ApplicationName } from "../core/model/brand.js";
import { changeRequestName, type ChangeRequestRef } from "../core/model/change-request.js";
import { isFailed } from "../core/model/check.js";
import { groupedBy } from "../core/model/collections.js";
import { type Member, movesOf, startOf, withoutReview } from "../core/model/effect.js";
import type { LockLost } from "../core/model/event.js";
import { type HostWords, listed, referenceTo } from "../core/model/host-words.js";
import type { Lock, Turn } from "../core/model/lock.js";
import type { NextStep } from "../core/model/next-step.js";
import {
  type ApplicationPlan,
  type ApplicationSetPreview,
  isAsking,
  type Plan,
  type Preview,
  type SetFailure,
} from "../core/model/plan/plan.js";
import { durationText } from "../core/model/time.js";
import { type Packed, packed, readFirst, type Task, unpacked } from "../core/ports/compute.js";
import { SERVICE } from "../names.js";
import { markerLine, targetOf } from "./marker.js";
import { nextStepClause, nextStepText } from "./next-step-words.js";
import {
  type Block,
  block,
  blocksOf,
  changeLink,
  checksIn,
  code,
  codes,
  cutBlocks,
  fence,
  firstLines,
  headLink,
  joined,
  type Links,
  listOf,
  pack,
  sentence,
  shortened,
  toCopy,
  unreadText,
  warning,
  leftOut,
} from "./parts.js";
import { type Arranged, comesFirst, tellsMore } from "./plan-application.js";
import { arrange, layOut } from "./plan-layout.js";
import { groupPreviews, type PreviewGroup } from "./plan-previews.js";
import { nothingLine, overviewOf, type VerdictOptions } from "./plan-verdict.js";
import { presentText } from "./present.js";

/** Characters for what failed checks printed: of one check, and of all checks of a plan. */
const MOST_OF_ONE = 4000;

const MOST_OF_ALL = 20_000;

const FEWEST = 200;

/** How many characters of the output of each failed check of a plan are shown. */
function outputRoom(plan: Plan): number {
  const failed = checksIn(plan).filter(isFailed).length;
  return Math.max(FEWEST, Math.min(MOST_OF_ONE, Math.floor(MOST_OF_ALL / Math.max(1, failed))));
}

const OVERHEAD = 600;
const MAX_REASON = 4000;

export interface PlanOptions extends VerdictOptions {
  /** `one`: what does not fit into one comment is left to svc's page. `all`: as many comments as the diffs need. */
  readonly comments: "one" | "all";
  /** What has to happen next; undefined if that could not be read. */
  readonly next?: NextStep | undefined;
}

interface PackedPlan {
  readonly plan: Omit<Plan, "applications" | "previews">;
  readonly applications: Packed<ApplicationPlan>;
  readonly previews: Packed<Preview>;
  readonly options: PlanOptions;
}

/** `renderPlan` away from the thread that answers requests. */
export const renderPlanTask: Task<PackedPlan, readonly string[]> = {
  ...readFirst(
    "render-plan",
    ({ plan, applications, previews, options }: PackedPlan) => ({
      plan: { ...plan, applications: unpacked(applications), previews: unpacked(previews) },
      options,
    }),
    ({ plan, options }) => renderPlan(plan, options),
  ),
  handedOver: ({ applications, previews }) => [...applications.pieces, ...previews.pieces],
};

/** The input of `renderPlanTask`. */
export async function packedPlan({ applications, previews, ...plan }: Plan, options: PlanOptions): Promise<PackedPlan> {
  return { plan, applications: await packed(applications), previews: await packed(previews), options };
}

/** A plan as comments: one, or as many parts as the host's limit requires. */
export function renderPlan(plan: Plan, options: PlanOptions): readonly string[] {
  const limit = options.words.maxComment - OVERHEAD;
  const shown = plan.applications.filter(({ kind }) => kind !== "unplanned");
  const groups = groupPreviews(plan.previews);
  if (shown.length === 0) return renderNothing(plan, groups, options, limit);
  const arranged = arrange(shown);
  const around = {
    before: openingBlocks(plan, arranged, options, limit),
    between: setBlocks(plan, options, limit),
    after: [...cutBlocks(endBlocks(plan, options.words), limit / 2), block(`---\n${footerText(plan, options)}`)],
  };
  const layout = { ...options, reader: plan.change, outputs: outputRoom(plan) };
  const blocks = layOut({ arranged, groups }, around, layout, limit);
  const one = pack(blocks, limit);
  const parts = one.length === 1 ? one : pack(stepFirst(blocks, around, plan, options), limit);
  const target = targetOf(plan.head, plan.baseBranch);
  return parts.map((part, index) => {
    const marker = markerLine({ kind: "plan", ...target, part: index + 1, asking: isAsking(plan) });
    const counter = parts.length === 1 ? "" : ` (part ${index + 1} of ${parts.length})`;
    return `${marker}\n## ${SERVICE} Plan${counter}\n${index === 0 ? "" : "\n"}${part}`;
  });
}

/** The same blocks with the next step in the first comment, the only one of several that is edited later. */
function stepFirst(
  blocks: readonly Block[],
  { before }: { readonly before: readonly Block[] },
  plan: Plan,
  options: PlanOptions,
): readonly Block[] {
  const [opening, rest] = [blocks.slice(0, before.length), blocks.slice(before.length, -1)];
  const sync = code(`${options.words.command} sync`);
  const footer = `To deploy commit ${headLink(plan.head, options.links)}, comment ${sync}, once the first comment of this plan says so.`;
  return [...opening, block(footerText(plan, options)), ...rest, block(`---\n${footer}`)];
}

/** The verdict and an overview of the applications, right below the heading. */
function openingBlocks(
  plan: Plan,
  arranged: readonly Arranged[],
  options: PlanOptions,
  limit: number,
): readonly Block[] {
  const turn = plan.turn === undefined ? "" : turnLine(plan.turn, plan, options);
  const together = alike(arranged);
  const { verdict, table } = overviewOf(plan, together, options);
  const names = together.flat().map(({ application }) => application);
  const present = options.present === undefined ? "" : presentText(options.present, names, options.links);
  const texts = [movedText(plan), verdict, present, turn, movesText(plan), table, stagesText(plan, options)];
  return cutBlocks(blocksOf(texts), limit / 2);
}

/** Applications that one line of an overview may stand for: their blocks stand together, and there is nothing to warn of. */
function alike(arranged: readonly Arranged[]): readonly (readonly ApplicationPlan[])[] {
  const all = arranged.flatMap(({ title, placed, like }) =>
    placed.map(({ plan }) => ({ plan, first: title === undefined ? plan.application : like })),
  );
  const groups = groupedBy(all, ({ plan, first }) => {
    return JSON.stringify([comesFirst(plan) || tellsMore(plan) ? plan.application : undefined, first]);
  });
  return [...groups.values()].map((group) => group.map(({ plan }) => plan));
}

const MAX_IN_STAGE = 5;

/** Lists the stages in their order. Each says what it waits for, or has a mark once it is deployed. */
function stagesText({ stages = [] }: Plan, { present, words: { command } }: PlanOptions): string {
  const done = new Set(present?.deployed.flatMap((one) => (one.outcome === "succeeded" ? [one.application] : [])));
  const lines = stages.map(({ name, applications, wait, soak }, index) => {
    const before = code(stages[index - 1]?.name ?? "");
    const after =
      soak === 0
        ? `once ${before} is deployed and healthy`
        : `${durationText(soak)} after ${before} is deployed, if it is healthy then`;
    const begins = wait === "manual" ? `with another ${code(`${command} sync`)}, ${after}` : after;
    const waits = index === 0 ? "" : ` (${begins})`;
    const mark = applications.every((one) => done.has(one)) ? " ✅" : waits;
    return `${index + 1}. ${code(name)}${mark}: ${listed(applications.map(code), MAX_IN_STAGE)}`;
  });
  return lines.length === 0 ? "" : ["**Stages:**", ...lines].join("\n");
}

/** Begins the notes that a push to the base branch leaves on a plan. */
export const BASE_MOVED = "the base branch moved: ";

/** What a push to the base branch did to the plan. */
function movedText({ notes }: Plan): string {
  const moved = notes.filter(isMovedNote).map((note) => warning(note.slice(BASE_MOVED.length)));
  return moved.length === 0 ? "" : ["⚠️ **The base branch moved.**", ...moved].join("\n");
}

function isMovedNote(note: string): boolean {
  return note.startsWith(BASE_MOVED);
}

/** No application is planned. An automatic plan edits this comment instead of repeating it. */
function renderNothing(
  plan: Plan,
  groups: readonly PreviewGroup[],
  options: PlanOptions,
  limit: number,
): readonly string[] {
  // Without applications and sets, nobody has to do anything but pass checks.
  const { links, words, next: step } = options;
  const acts = step?.kind === "checks" || plan.applicationSets.length > 0;
  const next = acts && step !== undefined ? nextStepClause(step, plan.change, words, links) : "";
  const present = options.present?.rollout === undefined ? "" : presentText(options.present, [], links);
  const around = {
    before: cutBlocks(blocksOf([nothingLine(plan, next, options), present, movesText(plan)]), limit / 2),
    between: setBlocks(plan, options, limit),
    after: cutBlocks(endBlocks(plan, options.words), limit / 2),
  };
  const shown = { ...options, reader: plan.change, outputs: outputRoom(plan) };
  const blocks = layOut({ arranged: [], groups }, around, shown, limit);
  return pack(blocks, limit).map((part, index) => {
    const marker = markerLine({ kind: "no-applications", head: plan.head, part: index + 1 });
    return `${marker}\n## ${SERVICE} Plan\n${part}`;
  });
}

function footerText(plan: Plan, { words, links, next, present }: PlanOptions): string {
  if (present?.running !== undefined) return `${code(present.running.user)} is syncing: wait for the result.`;
  const sync = `${words.command} sync`;
  const awaited = next?.kind === "command" && next.onApproval === "awaited";
  const intro = `To deploy commit ${headLink(plan.head, links)}, ${awaited ? "approve it, or comment" : "comment"}`;
  // The checks of a sync say what is missing.
  if (next === undefined) return toCopy(intro, sync);
  const locked = plan.applications.filter(({ lock }) => lock.kind === "ours").length;
  const one = locked < 2 ? "" : `For one application, comment ${code(`${sync} -a <application>`)}.`;
  const unlock = code(`${words.command} unlock`);
  const release = locked === 0 ? "" : `To release the ${locked === 1 ? "lock" : "locks"}, comment ${unlock}.`;
  if (next.kind === "command" && next.command === "sync" && next.applications.length === 0 && next.by.length === 0) {
    return nextStepText(next, plan.change, words, { links, intro, more: joined([one, release], " ") });
  }
  const nothing = next.kind === "merge" ? `There is nothing to deploy with ${code(sync)} here.` : "";
  return joined([nothing, nextStepText(next, plan.change, words, { links, more: release })], " ");
}

function setBlocks(plan: Plan, { words, links: { page } }: PlanOptions, limit: number): readonly Block[] {
  const unread = plan.unread.length === 0 ? "" : `⚠️ ${unreadText(plan.unread, words)}`;
  const blocks = cutBlocks(blocksOf([unread, ...plan.applicationSets.map(applicationSetText)]), limit);
  let length = 0;
  const shown = blocks.filter(({ text }) => (length += text.length) < 2 * limit);
  const left = plan.applicationSets.slice(plan.applicationSets.length - (blocks.length - shown.length));
  return [
    ...shown,
    ...leftOut(
      left.map(({ name }) => name),
      "ApplicationSet",
      "",
      page,
    ),
  ];
}

function endBlocks(plan: Plan, words: HostWords): readonly Block[] {
  const { applications, notDeployed, released } = plan;
  const notes = plan.notes.filter((note) => !isMovedNote(note));
  const unplanned = applications.filter(({ kind }) => kind === "unplanned").map(({ application }) => application);
  return blocksOf([
    unplanned.length === 0 ? "" : `Affected, but left out of this plan by -a: ${codes(unplanned)}.`,
    notDeployed.length === 0 ? "" : listOf(`Not deployed by this ${words.short}:`, notDeployed),
    released.length === 0 ? "" : `No longer affected, lock released: ${codes(released)}.`,
    notes.length === 0 ? "" : `Notes:\n${notes.map((note) => `- ${code(shortened(note, 500))}`).join("\n")}`,
  ]);
}

const MAX_NAMED = 100;

/** The applications that an ApplicationSet adds, removes and changes, or why that is unknown. */
function applicationSetText(set: ApplicationSetPreview): string {
  const heading = `### ApplicationSet: ${code(set.name)}`;
  const file =
    set.sourceFile === undefined
      ? "**Source file:** none in this repository; the ApplicationSet reads files of it"
      : `**Source file:** ${code(set.sourceFile)}`;
  const failing = set.failure === undefined ? [] : [warning(`the set will fail: ${failureText(set.failure)}`)];
  if (set.problem !== undefined) {
    const owned = set.owned.length === 0 ? [] : [`It owns these applications now: ${named(set.owned)}.`];
    const unknown = ["**Changes:** could not be previewed", fence(shortened(set.problem, MAX_REASON))];
    return [heading, ...(set.failure === undefined ? unknown : failing), ...owned, file].join("\n\n");
  }
  const lines = [
    ...(set.added.length === 0 ? [] : [`- adds ${named(set.added)}`]),
    ...(set.removed.length === 0 ? [] : [`- removes ${named(set.removed)}`]),
    ...(set.changed.length === 0 ? [] : [`- changes ${named(set.changed)}`]),
  ];
  const changes = lines.length === 0 ? "It generates the same applications as before." : lines.join("\n");
  const notes = set.notes.length === 0 ? [] : [set.notes.map((note) => `- ℹ️ ${sentence(note)}`).join("\n")];
  const when = set.sourceFile === undefined ? "some minutes after the merge" : "when the ApplicationSet is applied";
  const unsynced = `Argo CD applies this ${when}; a sync here does not.`;
  const synced = `A sync of ${code(set.appliedBy ?? "")} applies this: it takes effect at once, before the merge.`;
  const end = `${file}\n\n${set.appliedBy === undefined ? unsynced : synced}`;
  return [heading, ...failing, changes, ...notes, end].join("\n\n");
}

/** A sentence has room for a thousand characters. */
const MAX_FAILURE = 800;

function failureText({ why, then }: SetFailure): string {
  return `${shortened(why, MAX_FAILURE)}; ${then}`;
}

function named(names: readonly ApplicationName[]): string {
  return listed(names.map(code), MAX_NAMED);
}

const MAX_MOVES = 20;
const MAX_MOVE = 600;

function movesText({ applications, applicationSets }: Plan): string {
  const members = [
    ...applications.flatMap(({ effect }) => effect.members),
    ...applicationSets.flatMap((set) => set.members),
  ];
  const lines = [...new Set(members.flatMap(linesOf))];
  if (lines.length === 0) return "";
  return ["⚠️ **Needs an approval of this commit, whatever the rules say:**", ...firstLines(lines, MAX_MOVES)].join(
    "\n",
  );
}

function linesOf(member: Member): readonly string[] {
  const moves = movesOf(member).map((move) => {
    return startOf(move) ?? `${move.what} moves from ${move.from || "nothing"} to ${move.to || "nothing"}`;
  });
  const follows = (member.follows ?? []).map((name) => `comes to follow ${withoutReview(name)}`);
  return [...moves, ...follows].map(
    (change) => `- ${code(member.application)}: ${sentence(shortened(change, MAX_MOVE))}`,
  );
}

type Addresses = Pick<Links, "hosts">;

/** Which awaited locks led to this plan; empty if it holds none of them. */
function turnLine({ applications, after }: Turn, plan: Plan, { words, links }: PlanOptions): string {
  const ours = new Set(
    plan.applications.filter(({ lock }) => lock.kind === "ours").map(({ application }) => application),
  );
  const taken = applications.filter((name) => ours.has(name));
  return taken.length === 0
    ? ""
    : `**Your turn:** ${released({ applications: taken, after }, plan.change, words, links)}`;
}

/** Asks for a plan where svc does not plan by itself when the turn comes. */
export function renderTurn(turn: Turn, reader: ChangeRequestRef, words: HostWords, links: Addresses): string {
  const it = turn.applications.length === 1 ? "it" : "them";
  const todo = `To lock ${it} before the next in the queue has its turn in a few minutes, comment`;
  const said = `**Your turn:** ${released(turn, reader, words, links)} ${todo}`;
  return `${markerLine({ kind: "result" })}\n${toCopy(said, `${words.command} plan`)}`;
}

/** Tells a change request that a rollback of another one took its locks. `words` are the reader's. */
export function renderTakenOver(
  taken: readonly Lock[],
  { change: by, login }: { readonly change: ChangeRequestRef; readonly login: string },
  words: HostWords,
  links: Addresses,
): string {
  const names = taken.map(({ application }) => application);
  const whose = names.length === 1 ? "the lock" : "the locks";
  return [
    markerLine({ kind: "result" }),
    `## ${SERVICE} Lock taken over`,
    "",
    `${changeLink(changeRequestName(by), by, links)} (${code(login)}) rolled back ${codes(names)}, which it had deployed, and took over ${whose} that a plan of this ${words.short} held. ${firstAfter(names, words)}`,
  ].join("\n");
}

/** Tells a change request that an administrator released its locks. */
export function renderLockLost({ applications, by, waits }: Omit<LockLost, "kind">, words: HostWords): string {
  const free = applications.filter((name) => !waits.includes(name));
  return [
    markerLine({ kind: "result" }),
    `## ${SERVICE} Lock released`,
    "",
    [
      `${code(by)}, an administrator, released what this ${words.short} had locked: ${codes(applications)}.`,
      ...(waits.length === 0
        ? []
        : [`Others were waiting for ${codes(waits)}, so the first of them gets it. ${firstAfter(waits, words)}`]),
      ...(free.length === 0 ? [] : [`To lock ${codes(free)} again, comment ${code(`${words.command} plan`)}.`]),
    ].join(" "),
  ].join("\n");
}

function firstAfter(names: readonly ApplicationName[], { short }: HostWords): string {
  const lock = names.length === 1 ? "that lock is" : "these locks are";
  return `This ${short} is next in the queue: once ${lock} free, svc plans it again, or says that it is its turn.`;
}

function released({ applications, after }: Turn, reader: ChangeRequestRef, words: HostWords, links: Addresses): string {
  const verb = applications.length === 1 ? "is" : "are";
  const by = after === undefined ? "" : ` by ${changeLink(referenceTo(after, reader, words), after, links)}`;
  return `${codes(applications)} ${verb} no longer locked${by}.`;
}
