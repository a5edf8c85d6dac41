import type { ChangeRequestRef } from "../core/model/change-request.js";
import type { HostWords } from "../core/model/host-words.js";
import { driftOf } from "../core/model/manifest-diff.js";
import { checksOf, isWithheld, type ApplicationPlan } from "../core/model/plan.js";
import type { Links } from "./links.js";
import { code, details, fence, sentence, shortened, warning } from "./markdown.js";
import { pack, type Block } from "./parts.js";
import { lockedBy } from "./phrases.js";
import { checkBlocks } from "./plan-checks.js";
import { definitionBlocks, diffBlocks, sameDiffBlock, type DiffRoom, type DiffRooms } from "./plan-diff.js";
import type { Arranged, Placed } from "./plan-groups.js";
import { previewBlocks } from "./plan-preview.js";
import { summaryLines, verdictLines, type SummaryOptions } from "./plan-summary.js";
import { isDangerous } from "./plan-verdict.js";
import { placeText } from "./turn.js";

const MAX_REASON = 4000;
/** For the collapsible around several applications. */
export const ROOM_FOR_FOLD = 200;

export interface ShownOptions extends SummaryOptions {
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
export function arrangedBlocks(arranged: Arranged, options: ShownOptions, { limit, rooms }: Room): readonly Block[] {
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
export function diffRoom({ links: { page }, comments, outputs }: ShownOptions, { limit, rooms }: Room) {
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
