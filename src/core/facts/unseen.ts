import { listed } from "../model/host-words.js";
import { type ApplicationPlan, isPlanOf, isWithheld, type Plan, type Unpinned } from "../model/plan.js";
import type { PlannedSource } from "../model/subject.js";
import type { CommandContext } from "../ports/context.js";

/**
 * Marks the sources whose commit no approver can have seen: the head was approved already when a plan showed that commit
 * first. Call it last, so that an approval that was given while the plan was made counts as earlier.
 */
export async function markUnseen(
  applications: readonly ApplicationPlan[],
  earlier: Plan | undefined,
  { host, change }: Pick<CommandContext, "host" | "change">,
): Promise<readonly ApplicationPlan[]> {
  const mayBeUnseen = (one: ApplicationPlan) =>
    one.kind === "evaluated" && (one.unpinned !== undefined || one.sources.some(isFixed));
  if (!applications.some(mayBeUnseen)) return applications;
  const { approvers } = await host.reviews(change);
  if (approvers.length === 0) return applications;
  const known = isPlanOf(earlier, change) ? earlier.applications : [];
  return applications.map((one) => {
    if (one.kind !== "evaluated") return one;
    const before = known.find(({ application }) => application === one.application);
    const shown = before?.kind === "evaluated" ? before.sources : [];
    const sources = one.sources.map((source) => ({ ...source, unseen: isFixed(source) && !wasSeen(source, shown) }));
    const unpinned = one.unpinned && { ...one.unpinned, unseen: !wasRendered(one.unpinned, before) };
    return { ...one, sources, ...(unpinned && { unpinned }) };
  });
}

const MOST_READS = 5;

function isFixed({ kind }: PlannedSource): boolean {
  return kind === "fixed";
}

function wasSeen({ position, follows, revision }: PlannedSource, shown: readonly PlannedSource[]): boolean {
  const same = shown.find((one) => one.position === position && one.follows === follows && one.revision === revision);
  return same?.unseen === false;
}

/** Whoever approved a head that was not rendered before its approval knew that. */
function wasRendered({ rendered }: Unpinned, before: ApplicationPlan | undefined): boolean {
  if (before?.kind !== "evaluated") return before !== undefined && isWithheld(before);
  return before.unpinned?.unseen === false && before.unpinned.rendered.whole === rendered.whole;
}

const APPROVE_AGAIN =
  "Approve again what the plan shows: push a commit, or withdraw the approvals, run the plan command, and approve";

/** Why the approval of the head does not cover what an application deploys; undefined if it does. */
export function unseenSentence(planned: ApplicationPlan | undefined): string | undefined {
  const source = planned?.kind === "evaluated" ? planned.sources.find(({ unseen }) => unseen) : undefined;
  if (source !== undefined) {
    const { position, follows, revision = "" } = source;
    const commit = revision.slice(0, 8);
    return `source ${position} follows ${follows}, and ${commit} of it was planned only after the head was approved. ${APPROVE_AGAIN}`;
  }
  const unpinned = planned?.kind === "evaluated" ? planned.unpinned : undefined;
  if (unpinned?.unseen !== true) return undefined;
  return `what it reads (${listed(unpinned.reads, MOST_READS)}) was planned like this only after the head was approved. ${APPROVE_AGAIN}`;
}
