import type { ApplicationName } from "../core/model/brand.js";
import { counted } from "../core/model/host-words.js";
import { driftOf, type ResourceChange } from "../core/model/plan/manifest-diff.js";
import { type ApplicationPlan, type PreviewContent, previewedDiff, shownDiff } from "../core/model/plan/plan.js";
import { isDangerous } from "../core/policy/application-state.js";
import { type Block, block, details, pack, leftOut } from "./parts.js";
import {
  applicationBlocks,
  type ApplicationOptions,
  type Placed,
  type Arranged,
  comesFirst,
  tellsMore,
} from "./plan-application.js";
import { type Diffed, type Diffing, diffKey, type DiffRooms } from "./plan-diff.js";
import { isUrgent, type PreviewGroup, previewsBlocks } from "./plan-previews.js";

/** The most comments of one plan. What does not fit is counted, and its first names are listed. */
export const MAX_PARTS = 8;

/** Puts dangerous applications and failed checks first, and folds unchanged ones and those like an earlier one, unless there is more to say. */
export function arrange(applications: readonly ApplicationPlan[]): readonly Arranged[] {
  const dangerous = applications.filter(comesFirst);
  const safe = applications.filter((one) => !comesFirst(one));
  const unchanged = safe.filter(isQuiet);
  const others = unchanged.length < 2 ? safe : safe.filter((one) => !isQuiet(one));
  const place = new Likeness();
  const [first, rest] = [dangerous, others].map((some) => some.flatMap((plan) => place.of(plan)));
  const alone = (placed: Placed): Arranged => ({ title: undefined, placed: [placed] });
  const repeating = ({ plan: { application, kind } }: Placed): readonly Arranged[] => {
    const placed = place.like(application);
    if (placed.length === 0) return [];
    const more = counted(placed.length, "more new application");
    return [{ title: kind === "new" ? more : `${placed.length} more with the same change`, placed, like: application }];
  };
  const quiet = unchanged.map((plan): Placed => ({ plan, sameAs: undefined }));
  return [
    ...(first ?? []).map(alone),
    ...(first ?? []).flatMap(repeating),
    ...(rest ?? []).flatMap((one) => [alone(one), ...repeating(one)]),
    ...(quiet.length < 2 ? [] : [{ title: `${quiet.length} without changes`, placed: quiet }]),
  ];
}

/** Tells which applications are like one before them: those that change in the same way, and new ones with resources of the same kinds. */
class Likeness {
  readonly #diffs = new Map<string, Diffing>();
  readonly #shapes = new Map<string, ApplicationName>();
  readonly #like = new Map<ApplicationName, Placed[]>();

  /** @returns Where it stands by itself; empty if it is folded below the one that it is like. */
  of(plan: ApplicationPlan): readonly Placed[] {
    const sameAs = this.#sameAs(plan);
    const leader = isDangerous(plan) || tellsMore(plan) ? undefined : this.#leader(plan, sameAs);
    if (leader === undefined) return [{ plan, sameAs }];
    this.#like.set(leader, [...(this.#like.get(leader) ?? []), { plan, sameAs }]);
    return [];
  }

  like(application: ApplicationName): readonly Placed[] {
    return this.#like.get(application) ?? [];
  }

  #sameAs(plan: ApplicationPlan): Diffing | undefined {
    const diff = shownDiff(plan);
    const text = diff === undefined || plan.kind === "deleted" ? undefined : diffKey(diff.resources);
    if (diff === undefined || text === undefined) return undefined;
    const key = `${plan.kind} ${text}`;
    const found = this.#diffs.get(key);
    if (found === undefined) this.#diffs.set(key, { application: plan.application, diff });
    return found;
  }

  #leader(plan: ApplicationPlan, sameAs: Diffing | undefined): ApplicationName | undefined {
    if (plan.kind !== "new") return sameAs?.application;
    const shape = shapeOf(plan.preview);
    const found = shape === undefined ? undefined : this.#shapes.get(shape);
    if (found === undefined && shape !== undefined) this.#shapes.set(shape, plan.application);
    return found;
  }
}

/** Equal for new applications of which a plan says the same but for the diffs; undefined if they are not alike. */
function shapeOf(preview: PreviewContent | undefined): string | undefined {
  switch (preview?.kind) {
    case "compared": {
      const { resources, children, sets } = preview.diff;
      const kinds = resources.map(({ action, kind, hook }) => JSON.stringify([action, kind, hook])).sort();
      return JSON.stringify([kinds, children, sets]);
    }
    case "failed":
      return preview.withheld === true ? JSON.stringify(preview.reason) : undefined;
    case "beyond-limit":
      return preview.kind;
    case "left-behind":
    case undefined:
      return undefined;
  }
}

/** Proven unchanged, with nothing else to say about it. */
function isQuiet(plan: ApplicationPlan): boolean {
  if (plan.kind !== "evaluated" || plan.verdict !== "unchanged" || plan.writesDefinition) return false;
  const { resources, onlyCommit } = plan.diff;
  return resources.length === 0 && onlyCommit.length === 0 && !tellsMore(plan);
}

interface Around {
  readonly before: readonly Block[];
  /** Between the plan's own applications and those that only the merge changes. */
  readonly between: readonly Block[];
  readonly after: readonly Block[];
}

/** The plan's own applications, and those that only the merge changes. */
interface Laid {
  readonly arranged: readonly Arranged[];
  readonly groups: readonly PreviewGroup[];
}

interface LayoutOptions extends ApplicationOptions {
  readonly comments: "one" | "all";
  readonly outputs: number;
}

const NO_DIFFS: DiffRooms = new Map();

/** The applications of a plan with the diffs that there is room for; they may fill `share` comments, and the diffs as many again. */
export function layOut(
  { arranged, groups }: Laid,
  { before, between, after }: Around,
  options: LayoutOptions,
  limit: number,
  share = MAX_PARTS - 1,
): readonly Block[] {
  const { page } = options.links;
  const isAll = options.comments === "all";
  const total = isAll ? limit * share : limit;
  const previewed = (some: readonly PreviewGroup[], rooms: DiffRooms) =>
    previewsBlocks(some, diffRoom(options, limit, rooms), options.words, limit - ROOM_FOR_FOLD);
  const bare = new Map(arranged.map((one) => [one, arrangedBlocks(one, options, limit, NO_DIFFS)]));
  const blocksOf = (one: Arranged, rooms: DiffRooms) =>
    (rooms === NO_DIFFS ? bare.get(one) : undefined) ?? arrangedBlocks(one, options, limit, rooms);
  const build = (some: Laid, rooms: DiffRooms): readonly Block[] => [
    ...before,
    ...some.arranged.flatMap((one) => blocksOf(one, rooms)),
    ...leftOut(without(arranged, some.arranged).flatMap(namesOf), "application", "", page),
    ...between,
    ...previewed(some.groups, rooms),
    ...leftOut(
      without(groups, some.groups).flatMap(({ first, same }) => [first, ...same].map(({ application }) => application)),
      "application",
      " that the merge adds, changes or removes",
      page,
    ),
    ...after,
  ];
  const around = lengthOf([...before, ...between, ...after]) + (groups.length === 0 ? 0 : ROOM_FOR_NAMES);
  const own = fitting(arranged, total - around, limit * share - around, {
    lengthOf: (one) => lengthOf(blocksOf(one, NO_DIFFS)),
    stays: ({ title, placed }) => title === undefined && placed.some(({ plan }) => comesFirst(plan)),
  });
  const taken = lengthOf(build({ arranged: own, groups: [] }, NO_DIFFS));
  const kept: Laid = {
    arranged: own,
    groups: fitting(groups, total - taken, limit * share - taken, {
      lengthOf: (one) => lengthOf(previewed([one], NO_DIFFS)),
      stays: isUrgent,
    }),
  };
  if (isAll) {
    const blocks = build(kept, smallestFirst(kept, total));
    // Blocks that stay whole may leave much of a comment empty.
    if (share === 1 || pack(blocks, limit).length <= MAX_PARTS) return blocks;
    return layOut({ arranged, groups }, { before, between, after }, options, limit, share - 1);
  }
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

const ROOM_FOR_NAMES = 4000;

/** Drops the last ones that do not fit even without their diffs; of those that `stays`, only what has no room in `most`. */
function fitting<T>(
  all: readonly T[],
  room: number,
  most: number,
  what: { readonly lengthOf: (one: T) => number; readonly stays: (one: T) => boolean },
): readonly T[] {
  const lengths = new Map(all.map((one) => [one, what.lengthOf(one)]));
  const sum = [...lengths.values()].reduce((total, length) => total + length, 0);
  if (sum <= room) return all;
  let taken = ROOM_FOR_NAMES;
  const fits = (end: number) => (one: T) => (taken += lengths.get(one) ?? 0) <= end;
  const staying = all.filter(what.stays);
  const kept = new Set(staying.filter(fits(most)));
  for (const one of all.filter((other) => !kept.has(other) && !what.stays(other)).filter(fits(room))) kept.add(one);
  return all.filter((one) => kept.has(one));
}

function namesOf({ placed }: Arranged): readonly ApplicationName[] {
  return placed.map(({ plan }) => plan.application);
}

const ROOM_FOR_FOLD = 200;

function arrangedBlocks(
  { title, placed }: Arranged,
  options: LayoutOptions,
  limit: number,
  rooms: DiffRooms,
): readonly Block[] {
  const room = title === undefined ? limit : limit - ROOM_FOR_FOLD;
  const blocks = placed.flatMap((one) => applicationBlocks(one, options, diffRoom(options, room, rooms)));
  if (title === undefined) return blocks;
  const parts = pack(blocks, room);
  return parts.map((part, index) => {
    const counter = parts.length === 1 ? "" : `, ${index + 1} of ${parts.length}`;
    return block(details(`${title}${counter}`, part));
  });
}

/** Characters for the names of diffs that are left out: where svc's page has them, and elsewhere. */
const FEW_NAMES = 300;
const MANY_NAMES = 8000;

/** @param limit characters of one comment. */
function diffRoom({ links: { page }, comments, outputs }: LayoutOptions, limit: number, rooms: DiffRooms) {
  const names = comments === "one" && page !== undefined ? FEW_NAMES : Math.min(limit / 2, MANY_NAMES);
  return { rooms, names, page, outputs };
}

/** What people write by hand is shorter. */
const MAX_DEFINITION = 10_000;
const AROUND = 150;
/** Characters for the title of a diff and for what separates it from the next one. */
const BESIDE = 30;
const LEAST = 2000;

/** Chooses the diffs of a plan that fit into `room` characters: the smallest first, and the beginning of the next one. */
function smallestFirst({ arranged, groups }: Laid, room: number): DiffRooms {
  const placed = arranged.flatMap((one) => one.placed);
  const previewed = groups.flatMap(({ first }) => resourceDiffs(previewedDiff(first.content)?.resources ?? []));
  // Drift comes last: the change request is not about it.
  const diffs = [
    ...[...placed.flatMap(diffsOf), ...previewed].sort(bySize),
    ...placed.flatMap(({ plan }) => driftDiffs(plan)).sort(bySize),
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
  readonly around: unknown;
}

function bySize(left: Diff, right: Diff): number {
  return left.size - right.size;
}

function diffsOf({ plan, sameAs }: Placed): readonly Diff[] {
  const resources = resourceDiffs(sameAs === undefined ? (shownDiff(plan)?.resources ?? []) : []);
  if ((plan.kind !== "evaluated" && plan.kind !== "unevaluated") || plan.definition === undefined) return resources;
  const size = Math.min(plan.definition.length, MAX_DEFINITION);
  return [{ of: plan, size, most: MAX_DEFINITION, around: plan.definition }, ...resources];
}

function driftDiffs(plan: ApplicationPlan): readonly Diff[] {
  const diff = shownDiff(plan);
  return diff === undefined ? [] : resourceDiffs(driftOf(diff));
}

function resourceDiffs(resources: readonly ResourceChange[]): readonly Diff[] {
  const most = Number.POSITIVE_INFINITY;
  return resources.map((of) => ({ of, size: of.diff.length + of.title.length + BESIDE, most, around: resources }));
}
