import type { ApplicationName } from "../core/model/brand.js";
import { codes, shortened } from "./markdown.js";
import { MAX_PARTS, type Block } from "./parts.js";
import { counted } from "./phrases.js";
import { arrangedBlocks, diffRoom, ROOM_FOR_FOLD, type ShownOptions } from "./plan-application.js";
import { hasFailedCheck } from "./plan-checks.js";
import type { DiffRooms } from "./plan-diff.js";
import type { Arranged } from "./plan-groups.js";
import { isUrgent, previewsBlocks, type PreviewGroup } from "./plan-previews.js";
import { smallestFirst } from "./plan-room.js";
import { isDangerous } from "./plan-verdict.js";

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
