import { codes, shortened } from "./markdown.js";
import { MAX_PARTS, type Block } from "./parts.js";
import { counted } from "./phrases.js";
import { arrangedBlocks, diffRoom, ROOM_FOR_FOLD, type ShownOptions } from "./plan-application.js";
import type { DiffRooms } from "./plan-diff.js";
import type { Arranged } from "./plan-groups.js";
import { previewsBlocks, type PreviewGroup } from "./plan-previews.js";
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
  const build = (some: readonly Arranged[], rooms: DiffRooms): readonly Block[] => [
    ...before,
    ...some.flatMap((one) => arrangedBlocks(one, options, { limit, rooms })),
    ...leftOut(
      arranged.filter((one) => !some.includes(one)),
      options,
    ),
    ...between,
    ...previewsBlocks(groups, diffRoom(options, { limit, rooms }), options.words, limit - ROOM_FOR_FOLD),
    ...after,
  ];
  if (options.comments === "all") return build(arranged, smallestFirst({ arranged, groups }, limit * (MAX_PARTS - 1)));
  const previewed = previewsBlocks(
    groups,
    diffRoom(options, { limit, rooms: NO_DIFFS }),
    options.words,
    limit - ROOM_FOR_FOLD,
  );
  const kept = fitting(arranged, limit - lengthOf([...before, ...between, ...previewed, ...after]), (one) =>
    lengthOf(arrangedBlocks(one, options, { limit, rooms: NO_DIFFS })),
  );
  let room = limit - lengthOf(build(kept, NO_DIFFS));
  for (;;) {
    const blocks = build(kept, smallestFirst({ arranged: kept, groups }, room));
    const excess = lengthOf(blocks) - limit;
    if (excess <= 0 || room <= 0) return blocks;
    room -= excess;
  }
}

function lengthOf(blocks: readonly Block[]): number {
  return blocks.reduce((sum, { text }) => sum + text.length + "\n\n".length, 0);
}

/** Without the last ones that have no room even without their diffs. Dangerous ones always stay. */
function fitting(
  arranged: readonly Arranged[],
  room: number,
  lengthOfOne: (one: Arranged) => number,
): readonly Arranged[] {
  const lengths = new Map(arranged.map((one) => [one, lengthOfOne(one)]));
  const sum = [...lengths.values()].reduce((total, length) => total + length, 0);
  if (sum <= room) return arranged;
  let left = room - ROOM_FOR_NAMES;
  const dangerous = new Set(arranged.filter((one) => one.kind === "alone" && isDangerous(one.plan)));
  for (const one of dangerous) left -= lengths.get(one) ?? 0;
  return arranged.filter((one) => {
    if (dangerous.has(one)) return true;
    left -= lengths.get(one) ?? 0;
    return left >= 0;
  });
}

const ROOM_FOR_NAMES = 4000;
const MAX_NAMES = 50;
const MAX_NAME = 60;

/** The applications that the comment does not show. */
function leftOut(arranged: readonly Arranged[], { links: { page } }: ShownOptions): readonly Block[] {
  const plans = arranged.flatMap((one) => (one.kind === "alone" ? [one.plan] : one.placed.map(({ plan }) => plan)));
  if (plans.length === 0) return [];
  const names = codes(plans.slice(0, MAX_NAMES).map(({ application }) => shortened(application, MAX_NAME)));
  const more = plans.length > MAX_NAMES ? ` and ${plans.length - MAX_NAMES} more` : "";
  const where = page === undefined ? "" : `; log in to read [their plan](<${page}>)`;
  const what = plans.length === 1 ? "is" : "are";
  const text = `${counted(plans.length, "more application")} ${what} not shown here for lack of room${where}: ${names}${more}`;
  return [{ text, section: undefined }];
}
