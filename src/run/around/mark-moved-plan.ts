import { markMoved } from "../../comments/publish.js";
import type { ChangeRequestRef } from "../../core/model/change-request.js";
import type { BaseMoved } from "../../core/model/event.js";
import { isPlanOf } from "../../core/model/plan.js";
import { behindOf } from "../../core/survey/input-gaps.js";
import { survey } from "../../core/survey/survey.js";
import { AUTOMATIC, commandContext, NOBODY, openChange } from "../line/context.js";
import { silent, type Silent } from "../line/outcome.js";
import type { Run } from "../line/run.js";

const MOST_NAMED = 5;

/** Marks a plan of the head if the base branch changed what its applications are deployed from. Renders nothing. */
export async function markMovedPlan(ref: ChangeRequestRef, { branch }: BaseMoved, run: Run): Promise<Silent> {
  const [change, plan] = await Promise.all([run.host.getChangeRequest(ref, run.signal), run.plans.find(ref)]);
  if (change.state !== "open" || change.baseBranch !== branch || !isPlanOf(plan, change)) {
    return silent("nothing-to-update");
  }
  if (change.mergeBase === change.baseRevision) return silent("nothing-to-update");
  const { settings, problems, snapshot } = await openChange(change, run);
  if (problems.length > 0) return silent("nothing-to-update");
  const context = { ...commandContext(AUTOMATIC, change, { settings, snapshot }, run), user: NOBODY };
  const { subjects } = await survey(context);
  const live = subjects.filter((subject) => subject.kind === "live");
  const behind = await behindOf(live, context);
  const sentences = [...behind].map(([application, { wouldRevert }]) => `in ${application}, ${wouldRevert}`);
  const { command } = run.hostWords[change.host];
  const named = sentences.slice(0, MOST_NAMED);
  const more = sentences.length - named.length;
  const told = more > 0 ? [...named, `and ${more} more applications. Comment ${command} plan for all of them`] : named;
  const notes = [...plan.notes.filter((note) => !note.startsWith(MOVED)), ...told.map((text) => `${MOVED}${text}`)];
  const applications = plan.applications.map((one) => {
    const gaps = { behind: behind.has(one.application), uncovered: one.gaps?.uncovered === true };
    return { ...one, gaps };
  });
  const same = applications.every(
    ({ gaps }, index) => gaps.behind === (plan.applications[index]?.gaps?.behind === true),
  );
  if (same && notes.join("\n") === plan.notes.join("\n")) return silent("nothing-to-update");
  await run.plans.save({ ...plan, applications, notes });
  await markMoved(run.host, change, told);
  return silent("plan-marked");
}

const MOVED = "the base branch moved: ";
