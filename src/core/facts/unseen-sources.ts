import { isPlanOf, type ApplicationPlan, type Plan } from "../model/plan.js";
import type { PlannedSource } from "../model/planned-source.js";
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
  if (!applications.some((one) => one.kind === "evaluated" && one.sources.some(isFixed))) return applications;
  const { approvers } = await host.reviews(change);
  if (approvers.length === 0) return applications;
  const known = isPlanOf(earlier, change) ? earlier.applications : [];
  return applications.map((one) => {
    if (one.kind !== "evaluated") return one;
    const before = known.find(({ application }) => application === one.application);
    const shown = before?.kind === "evaluated" ? before.sources : [];
    const sources = one.sources.map((source) => ({ ...source, unseen: isFixed(source) && !wasSeen(source, shown) }));
    return { ...one, sources };
  });
}

function isFixed({ kind }: PlannedSource): boolean {
  return kind === "fixed";
}

function wasSeen({ position, follows, revision }: PlannedSource, shown: readonly PlannedSource[]): boolean {
  const same = shown.find((one) => one.position === position && one.follows === follows && one.revision === revision);
  return same?.unseen === false;
}

/** Why the approval of the head does not cover what an application deploys; undefined if it does. */
export function unseenSentence(planned: ApplicationPlan | undefined): string | undefined {
  const source = planned?.kind === "evaluated" ? planned.sources.find(({ unseen }) => unseen) : undefined;
  if (source === undefined) return undefined;
  const { position, follows, revision = "" } = source;
  return (
    `source ${position} follows ${follows}, and ${revision.slice(0, 8)} of it was planned only after the head was approved. ` +
    "Approve again what the plan shows: push a commit, or withdraw the approvals, run the plan command, and approve"
  );
}
