import { driftOf, type ResourceChange } from "../core/model/manifest-diff.js";
import { shownDiff, type ApplicationPlan, type Evaluated, type Unevaluated } from "../core/model/plan.js";
import { previewedDiff } from "../core/model/preview.js";
import type { Diffed, DiffRooms } from "./plan-diff.js";
import type { Arranged, Placed } from "./plan-groups.js";
import type { PreviewGroup } from "./plan-previews.js";

/** What people write by hand is shorter. */
const MAX_DEFINITION = 10_000;
/** For the collapsible and its fence. */
const AROUND = 150;
/** For the title of a diff, and what separates it from the next one. */
const BESIDE = 30;
/** Less of a diff is not worth showing. */
const LEAST = 2000;

/** Which diffs of a plan are shown in so many characters: the smallest first, and of the next one what fits. */
export function smallestFirst(
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
