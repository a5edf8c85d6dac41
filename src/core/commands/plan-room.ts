import { isFailed, type CheckResult } from "../model/check.js";
import type { ManifestDiff, ResourceChange } from "../model/manifest-diff.js";
import type { Evaluated, Unevaluated } from "../model/plan.js";
import type { PreviewContent } from "../model/preview.js";
import type { Previewed } from "../render/preview.js";

/** Characters. */
const MAX_DIFFS = 16 * 1024 * 1024;
const MAX_SIDES = 4 * 1024 * 1024;
const NO_ROOM = "# It is not shown: the other diffs of this plan are too long.";

/** What is left for the diffs of a plan, which is stored whole, read again for every command, and shown on one page. */
export interface PlanRoom {
  diffs: number;
  /** For objects that are kept whole. */
  sides: number;
}

export function newPlanRoom(): PlanRoom {
  return { diffs: MAX_DIFFS, sides: MAX_SIDES };
}

/** Leaves out the text of the diffs for which the plan has no room left. */
export function within(room: PlanRoom, planned: Evaluated | Unevaluated): Evaluated | Unevaluated {
  const definition = taken(room, planned.definition?.length ?? 0) ? planned.definition : NO_ROOM;
  if (planned.kind === "unevaluated") return { ...planned, definition };
  return { ...planned, definition, diff: diffWithin(room, planned.diff), ...checksWithin(room, planned) };
}

function checksWithin(room: PlanRoom, { checks }: Pick<Evaluated, "checks">): Pick<Evaluated, "checks"> {
  return checks === undefined ? {} : { checks: checks.map((one) => checkWithin(room, one)) };
}

function checkWithin(room: PlanRoom, result: CheckResult): CheckResult {
  if (!isFailed(result) || taken(room, result.outcome.output.length)) return result;
  return { ...result, outcome: { ...result.outcome, output: NO_ROOM } };
}

/** The same for a preview; undefined without one. */
export function previewWithin(room: PlanRoom, previewed: Previewed | undefined): PreviewContent | undefined {
  return previewed && contentWithin(room, previewed.content);
}

export function contentWithin(room: PlanRoom, content: PreviewContent): PreviewContent {
  if (content.kind !== "compared") return content;
  return { ...content, diff: diffWithin(room, content.diff), ...checksWithin(room, content) };
}

function diffWithin(room: PlanRoom, diff: ManifestDiff): ManifestDiff {
  const { basis } = diff;
  const resources = resourcesWithin(room, diff.resources);
  if (basis.kind !== "both") return { ...diff, resources };
  return { ...diff, resources, basis: { ...basis, drift: resourcesWithin(room, basis.drift) } };
}

function resourcesWithin(room: PlanRoom, resources: readonly ResourceChange[]): readonly ResourceChange[] {
  const fits = taken(
    room,
    resources.reduce((sum, { diff }) => sum + diff.length, 0),
  );
  return resources.map((resource) => {
    const { sides } = resource;
    const size = sides === undefined ? 0 : sides.before.length + sides.after.length;
    const kept = size <= room.sides ? sides : undefined;
    if (kept !== undefined) room.sides -= size;
    return { ...resource, ...(fits ? {} : { diff: NO_ROOM, whole: false }), sides: kept };
  });
}

function taken(room: PlanRoom, length: number): boolean {
  const fits = length <= room.diffs;
  if (fits) room.diffs -= length;
  return fits;
}
