import type { ApplicationName } from "../core/model/brand.js";
import type { ChangeRequestRef } from "../core/model/change-request.js";
import type { HostWords } from "../core/model/host-words.js";
import { driftOf, type ResourceChange } from "../core/model/manifest-diff.js";
import {
  checksOf,
  isWithheld,
  type ApplicationPlan,
  shownDiff,
  type Evaluated,
  type Unevaluated,
  previewedDiff,
} from "../core/model/plan.js";
import { codes, shortened, code, details, fence, sentence, warning, type Links } from "./markdown.js";
import { MAX_PARTS, type Block, pack, counted, lockedBy } from "./parts.js";
import { hasFailedCheck, checkBlocks } from "./plan-checks.js";
import {
  type DiffRooms,
  definitionBlocks,
  diffBlocks,
  sameDiffBlock,
  type DiffRoom,
  type Diffed,
} from "./plan-diff.js";
import type { Arranged, Placed } from "./plan-groups.js";
import { isUrgent, previewsBlocks, type PreviewGroup, previewBlocks } from "./plan-previews.js";
import { summaryLines, verdictLines, type SummaryOptions } from "./plan-summary.js";
import { isDangerous } from "./plan-verdict.js";
import { placeText } from "./turn.js";

/** What stands before and after the applications. */
interface Around {
  readonly before: readonly Block[];
  /** Before what the merge changes besides. */
  readonly between: readonly Block[];
  readonly after: readonly Block[];
}

const NO_DIFFS: DiffRooms = new Map();

/** What a plan shows: its own applications, and those that the merge changes besides. */
interface Laid {
  readonly arranged: readonly Arranged[];
  readonly groups: readonly PreviewGroup[];
}

/** The applications of a plan with the diffs that there is room for: in one comment, or in as many as a plan may have. */
export function layOut(
  { arranged, groups }: Laid,
  { before, between, after }: Around,
  options: ShownOptions,
  limit: number,
): readonly Block[] {
  const previewed = (some: readonly PreviewGroup[], rooms: DiffRooms) =>
    previewsBlocks(some, diffRoom(options, { limit, rooms }), options.words, limit - ROOM_FOR_FOLD);
  const build = (some: Laid, rooms: DiffRooms): readonly Block[] => [
    ...before,
    ...some.arranged.flatMap((one) => arrangedBlocks(one, options, { limit, rooms })),
    ...leftOut(without(arranged, some.arranged).flatMap(namesOf), "", options),
    ...between,
    ...previewed(some.groups, rooms),
    ...leftOut(without(groups, some.groups).flatMap(previewNames), " that the merge adds, changes or removes", options),
    ...after,
  ];
  if (options.comments === "all") {
    return build({ arranged, groups }, smallestFirst({ arranged, groups }, limit * (MAX_PARTS - 1)));
  }
  const free = limit - lengthOf([...before, ...between, ...after]) - (groups.length === 0 ? 0 : ROOM_FOR_NAMES);
  const own = fitting(arranged, free, {
    lengthOf: (one) => lengthOf(arrangedBlocks(one, options, { limit, rooms: NO_DIFFS })),
    stays: (one) => one.kind === "alone" && (isDangerous(one.plan) || hasFailedCheck(one.plan)),
  });
  const kept: Laid = {
    arranged: own,
    groups: fitting(groups, limit - lengthOf(build({ arranged: own, groups: [] }, NO_DIFFS)), {
      lengthOf: (one) => lengthOf(previewed([one], NO_DIFFS)),
      stays: isUrgent,
    }),
  };
  let room = limit - lengthOf(build(kept, NO_DIFFS));
  for (;;) {
    const blocks = build(kept, smallestFirst(kept, room));
    const excess = lengthOf(blocks) - limit;
    if (excess <= 0 || room <= 0) return blocks;
    room -= excess;
  }
}

function lengthOf(blocks: readonly Block[]): number {
  return blocks.reduce((sum, { text }) => sum + text.length + "\n\n".length, 0);
}

function without<T>(all: readonly T[], some: readonly T[]): readonly T[] {
  const known = new Set(some);
  return all.filter((one) => !known.has(one));
}

/** Without the last ones that have no room even without their diffs. Dangerous ones always stay. */
function fitting<T>(
  all: readonly T[],
  room: number,
  what: { readonly lengthOf: (one: T) => number; readonly stays: (one: T) => boolean },
): readonly T[] {
  const lengths = new Map(all.map((one) => [one, what.lengthOf(one)]));
  const sum = [...lengths.values()].reduce((total, length) => total + length, 0);
  if (sum <= room) return all;
  let left = room - ROOM_FOR_NAMES;
  const staying = new Set(all.filter(what.stays));
  for (const one of staying) left -= lengths.get(one) ?? 0;
  return all.filter((one) => {
    if (staying.has(one)) return true;
    left -= lengths.get(one) ?? 0;
    return left >= 0;
  });
}

const ROOM_FOR_NAMES = 4000;
const MAX_NAMES = 50;
const MAX_NAME = 60;

function namesOf(one: Arranged): readonly ApplicationName[] {
  return one.kind === "alone" ? [one.plan.application] : one.placed.map(({ plan }) => plan.application);
}

function previewNames({ first, same }: PreviewGroup): readonly ApplicationName[] {
  return [first, ...same].map(({ application }) => application);
}

/** The applications that the comment does not show. */
function leftOut(left: readonly ApplicationName[], which: string, { links: { page } }: ShownOptions): readonly Block[] {
  if (left.length === 0) return [];
  const names = codes(left.slice(0, MAX_NAMES).map((name) => shortened(name, MAX_NAME)));
  const more = left.length > MAX_NAMES ? ` and ${left.length - MAX_NAMES} more` : "";
  const where = page === undefined ? "" : `; log in to read [their plan](<${page}>)`;
  const what = left.length === 1 ? "is" : "are";
  const text = `${counted(left.length, "more application")}${which} ${what} not shown here for lack of room${where}: ${names}${more}`;
  return [{ text, section: undefined }];
}

const MAX_REASON = 4000;
/** For the collapsible around several applications. */
const ROOM_FOR_FOLD = 200;

interface ShownOptions extends SummaryOptions {
  readonly links: Links;
  /** The change request that is planned. */
  readonly reader: ChangeRequestRef;
  readonly comments: "one" | "all";
  /** Characters of what a failed check printed. */
  readonly outputs: number;
}

/** Characters for the names of diffs that are left out: where svc's page has them, and elsewhere. */
const FEW_NAMES = 300;
const MANY_NAMES = 8000;

interface Room {
  /** Characters of one comment. */
  readonly limit: number;
  readonly rooms: DiffRooms;
}

/** What a plan says of each of its applications: the specification's shapes, in the order given. */
function arrangedBlocks(arranged: Arranged, options: ShownOptions, { limit, rooms }: Room): readonly Block[] {
  if (arranged.kind === "alone") return applicationBlocks(arranged, options, { limit, rooms });
  const room = limit - ROOM_FOR_FOLD;
  const blocks = arranged.placed.flatMap((one) => applicationBlocks(one, options, { limit: room, rooms }));
  const parts = pack(blocks, room);
  return parts.map((part, index) => {
    const counter = parts.length === 1 ? "" : `, ${index + 1} of ${parts.length}`;
    return { text: details(`${arranged.title}${counter}`, part), section: undefined };
  });
}

function applicationBlocks({ plan, sameAs }: Placed, options: ShownOptions, { limit, rooms }: Room): readonly Block[] {
  const heading = `### Application: ${code(plan.application)}`;
  const text = (lines: readonly string[]): Block => ({ text: lines.join("\n\n"), section: heading });
  const warnings = plan.warnings.map(warning);
  const status = statusOf(plan, options);
  const room: DiffRoom = { ...diffRoom(options, { limit, rooms }), open: isDangerous(plan), section: heading };
  switch (plan.kind) {
    case "new":
    case "deleted":
      return announcedBlocks(
        plan,
        { ...room, section: `${heading} (${plan.kind})` },
        [...warnings, status],
        options.words,
      );
    case "unevaluated": {
      const reason = fence(shortened(plan.reason, MAX_REASON));
      const next = isWithheld(plan) ? plannedByApproval(options.words) : planAgain(options.words);
      return [
        text([heading, "**Changes:** could not be evaluated", reason, next, ...warnings]),
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
      const summary = [heading, ...summaryLines(plan, options), ...warnings];
      const changes =
        sameAs === undefined
          ? diffBlocks(resources, room, "change")
          : [text([sameDiffBlock(sameAs, resources, room.open)])];
      const drift = diffBlocks(driftOf(diff), room, "drift");
      return [
        text(summary),
        ...checkBlocks(checksOf(plan), room),
        ...definitionBlocks(plan, room),
        ...changes,
        ...drift,
        text([...verdictLines(plan), status]),
      ];
    }
  }
}

/** What there is room for beside each heading. */
function diffRoom({ links: { page }, comments, outputs }: ShownOptions, { limit, rooms }: Room) {
  const names = comments === "one" && page !== undefined ? FEW_NAMES : Math.min(limit / 2, MANY_NAMES);
  return { rooms, names, page, outputs };
}

function announcedBlocks(
  plan: Extract<ApplicationPlan, { readonly kind: "new" | "deleted" }>,
  room: DiffRoom,
  end: readonly string[],
  words: HostWords,
): readonly Block[] {
  const text = (lines: readonly string[]): Block => ({ text: lines.join("\n\n"), section: room.section });
  const start = [room.section, announcement(plan)];
  if (plan.preview === undefined) return [text([...start, ...end])];
  const shown = previewBlocks(plan.preview, plan.kind === "new" ? "added" : "removed", room, words);
  return [text(start), ...shown, text(end)];
}

function plannedByApproval({ command }: HostWords): string {
  return `Only its definition's own diff is shown. An approval of this commit plans it again; on drafts and forks, comment ${code(`${command} plan`)} then.`;
}

function planAgain({ command }: HostWords): string {
  return `It cannot be synced until it can be evaluated. Fix the cause, then push or comment ${code(`${command} plan`)}.`;
}

function statusOf({ application, lock, atMerge }: ApplicationPlan, { reader, words }: ShownOptions): string {
  const merge = atMerge === undefined ? "" : `\n\nNot deployed by a sync: ${sentence(atMerge)}`;
  switch (lock.kind) {
    case "ours":
      return `**Status:** Locked by this PR${merge}`;
    case "held":
      return `**Status:** ⚠️ ${lockedBy(lock.by)}. Its sync is refused until that lock is released. ${placeText(lock, reader, words)}${merge}`;
    case "free":
      return `**Status:** Not locked any more: to lock it again, comment ${code(`${words.command} plan -a ${application}`)}${merge}`;
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

/** What people write by hand is shorter. */
const MAX_DEFINITION = 10_000;
/** For the collapsible and its fence. */
const AROUND = 150;
/** For the title of a diff, and what separates it from the next one. */
const BESIDE = 30;
/** Less of a diff is not worth showing. */
const LEAST = 2000;

/** Which diffs of a plan are shown in so many characters: the smallest first, and of the next one what fits. */
function smallestFirst(
  { arranged, groups }: { readonly arranged: readonly Arranged[]; readonly groups: readonly PreviewGroup[] },
  room: number,
): DiffRooms {
  const placed = arranged.flatMap((one) => (one.kind === "alone" ? [one] : one.placed));
  const previewed = groups.flatMap(({ first }) => resourceDiffs(previewedDiff(first.content)?.resources ?? []));
  // Drift comes last: the change request is not about it.
  const diffs = [
    ...[...placed.flatMap(diffsOf), ...previewed].sort(bySize),
    ...placed.flatMap(({ plan }) => resourceDiffs(driftOfPlan(plan))).sort(bySize),
  ];
  const rooms = new Map<Diffed, number>();
  const opened = new Set<unknown>();
  let left = room;
  for (const { of, size, most, around } of diffs) {
    if (!opened.has(around)) left -= AROUND;
    opened.add(around);
    const given = Math.min(size, left);
    if (given < Math.min(size, LEAST)) break;
    rooms.set(of, given < size ? given : most);
    left -= given;
  }
  return rooms;
}

interface Diff {
  readonly of: Diffed;
  readonly size: number;
  /** Characters that it may have if there is room. */
  readonly most: number;
  /** What shares one collapsible. */
  readonly around: unknown;
}

function diffsOf({ plan, sameAs }: Placed): readonly Diff[] {
  const own = plan.kind === "evaluated" || plan.kind === "unevaluated" ? definitionOf(plan) : [];
  return [...own, ...resourceDiffs(sameAs === undefined ? (shownDiff(plan)?.resources ?? []) : [])];
}

function driftOfPlan(plan: ApplicationPlan): readonly ResourceChange[] {
  const diff = shownDiff(plan);
  return diff === undefined ? [] : driftOf(diff);
}

function bySize(left: Diff, right: Diff): number {
  return left.size - right.size;
}

function resourceDiffs(resources: readonly ResourceChange[]): readonly Diff[] {
  const most = Number.POSITIVE_INFINITY;
  const size = (diff: string, title: string) => diff.length + title.length + BESIDE;
  return resources.map((one) => ({ of: one, size: size(one.diff, one.title), most, around: resources }));
}

function definitionOf(plan: Evaluated | Unevaluated): readonly Diff[] {
  const { definition } = plan;
  if (definition === undefined) return [];
  return [{ of: plan, size: Math.min(definition.length, MAX_DEFINITION), most: MAX_DEFINITION, around: definition }];
}
