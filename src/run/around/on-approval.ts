import { isLater } from "../../core/facts/failed-since.js";
import { type Approver, changeRequestRef, identityKey } from "../../core/model/change-request.js";
import { HostFailure } from "../../core/model/errors.js";
import type { Plan } from "../../core/model/plan/plan.js";
import type { Facts } from "../../core/policy/facts.js";
import { nextStep } from "../../core/policy/next-step.js";
import type { Run } from "../line/run.js";

/** An older approval starts nothing, such as one that a hold or an outage outlasted: nobody waits for it any more. */
const APPROVED_IN_TIME_MS = 10 * 60_000;

/** Whether the rules of any application let an approval start its sync. */
export function mayStartOnApproval({ applications }: Facts): boolean {
  return applications.some(({ requires }) => requires.onApproval === true);
}

/**
 * Notes when a posted plan was shown, by the clock that times approvals: whoever approved before has seen another plan, or none.
 */
export async function noteShown({ plan, wanted }: { plan: Plan; wanted: boolean }, run: Run): Promise<void> {
  const { publisher, host, log } = run;
  if (plan.approvalUsed) return;
  if (!wanted && (await publisher.written(plan.change, "approval")) === undefined) return;
  const at = wanted
    ? await host.reach().catch((error: unknown) => {
        if (!(error instanceof HostFailure)) throw error;
        log.warn({ err: error }, "could not note when a plan was shown; no approval starts its sync");
        return undefined;
      })
    : undefined;
  await publisher.wrote(plan.change, "approval", at && `${shownAs(plan)} ${at.toISOString()}`);
}

/** Starts `svc sync` in the name of whoever gave the approval that was waited for: once for each head, and after its plan was shown. */
export async function startOnApproval({ plan, facts }: { plan: Plan; facts: Facts }, run: Run): Promise<void> {
  const { change } = facts;
  if (plan.approvalUsed || !mayStartOnApproval(facts)) return;
  if (Object.keys(facts.untold).length > 0) return run.publisher.retry(change);
  const people = startersIn(facts);
  const known = people.length === 0 ? undefined : await run.publisher.written(change, "approval");
  const shown = `${shownAs(plan)} `;
  if (known?.startsWith(shown) !== true) return;
  const shownAt = known.slice(shown.length);
  const newest = people.filter(({ at }) => isLater(at, shownAt)).reduce<Approver | undefined>(later, undefined);
  if (newest === undefined || !(await isRecent(newest, run))) return;
  const { id, login, bot } = newest;
  const delivery = `approved-${identityKey(change)}-${change.headRevision}`;
  const { headRevision } = change;
  const { plannedAt } = plan;
  const by = { id, login, bot };
  await run.push({ kind: "approved", delivery, change: changeRequestRef(change), headRevision, plannedAt, by });
  await run.plans.save({ ...plan, approvalUsed: true });
}

/** Whose approval starts a sync as things are; empty if none does. */
export function startersIn(facts: Facts): readonly Approver[] {
  const next = nextStep(facts);
  return next.kind === "command" && next.onApproval === "given" ? (facts.approval?.people ?? []) : [];
}

/** Of two in the same second the one that the host lists last. */
function later(known: Approver | undefined, one: Approver): Approver {
  return known === undefined || Date.parse(one.at ?? "") >= Date.parse(known.at ?? "") ? one : known;
}

async function isRecent({ at = "" }: Approver, { host }: Run): Promise<boolean> {
  const now = await host.reach();
  return now !== undefined && now.getTime() - Date.parse(at) < APPROVED_IN_TIME_MS;
}

function shownAs({ head, plannedAt }: Plan): string {
  return `${head} shown ${plannedAt}`;
}
