import type { Approval, ChangeRequest, ChangeRequestRef } from "../core/model/change-request.js";
import { isPlanOf } from "../core/model/plan.js";
import { approvalOf } from "../core/policy/approval.js";
import { requiringApproval } from "../core/policy/merge-decision.js";
import { missingForRules } from "../core/policy/rules-approval.js";
import { openChange } from "./context.js";
import type { Dependencies } from "./run.js";

/** What the page of a change request says first. */
export interface LookedUp {
  readonly change: ChangeRequest;
  /** The stored plan is one of the head. */
  readonly planned: boolean;
  /** Read only if an application requires it. */
  readonly approval: Approval | undefined;
  /** What the approval lacks because the repository's rules change, as a clause about the change request. */
  readonly missingForRules: string | undefined;
}

/**
 * Asks the host for a change request, and reads the repository's file. Undefined if the host is no longer configured.
 * @throws {HostFailure | RepositoryFailure | StoreUnavailable}
 */
export async function lookUp(ref: ChangeRequestRef, source: Dependencies): Promise<LookedUp | undefined> {
  const { hosts, plans, hostWords, isAdministrator } = source;
  const host = hosts[ref.host];
  if (host === undefined) return undefined;
  const [change, plan] = await Promise.all([host.getChangeRequest(ref), plans.find(ref)]);
  if (change.state !== "open" || !isPlanOf(plan, change)) {
    return { change, planned: false, approval: undefined, missingForRules: undefined };
  }
  const { settings, snapshot } = await openChange(change, { ...source, host });
  const context = { host, change, settings, snapshot, hostWords, isAdministrator };
  const approval = requiringApproval(plan, settings).length > 0 ? await approvalOf(context) : undefined;
  return { change, planned: true, approval, missingForRules: await missingForRules(context, approval) };
}
