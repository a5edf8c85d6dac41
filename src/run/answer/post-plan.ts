import { publishPlan, showsPlan } from "../../comments/publish.js";
import type { Settings } from "../../config/rules/settings.js";
import type { Reviewed } from "../../core/facts/read-facts.js";
import type { ChangeRequest } from "../../core/model/change-request.js";
import { affectsNothing, type Plan } from "../../core/model/plan.js";
import type { OwnComment, Posting } from "../../core/ports/code-host.js";
import type { Run } from "../line/run.js";
import { setPlanStatus } from "./status.js";

export interface PlanPosting {
  /** The comments. */
  readonly parts: readonly string[];
  /** Nobody waits for an answer: the commit status may say it alone. */
  readonly quiet: boolean;
  /** No command asked for it. */
  readonly automatic: boolean;
  /** Undefined if the plan ended before the settings were read: no status is set. */
  readonly settings: Settings | undefined;
  /** What the plan's next step needed to know from the host. */
  readonly reviewed: Reviewed | undefined;
  /** Our own comments on the change request, if they are known already. */
  readonly earlier: readonly OwnComment[] | undefined;
  readonly posting: Posting;
}

/** Posts a plan and sets the commit status, which alone says that nothing is affected where the host shows it. */
export async function postPlan(
  plan: Plan,
  { parts, quiet, settings, reviewed, earlier, ...how }: PlanPosting,
  change: ChangeRequest,
  run: Run,
): Promise<void> {
  const { host, runId, config, log } = run;
  const own = earlier ?? (await host.listOwnComments(change));
  const byStatus = quiet && config.comments.nothingAffected === "status" && affectsNothing(plan);
  // An earlier plan would look as if it still held.
  const statusFirst = byStatus && !showsPlan(own);
  if (settings !== undefined && statusFirst) {
    const { written } = await setPlanStatus(change, { settings, reviewed, withoutComment: true }, run);
    if (written) return;
  }
  const planComment = await publishPlan(host, change, parts, { ...how, runId, earlier: own, log });
  if (settings !== undefined && !statusFirst) await setPlanStatus(change, { settings, planComment, reviewed }, run);
}
