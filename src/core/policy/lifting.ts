import type { Approval } from "../model/change-request.js";
import { HostFailure } from "../model/errors.js";
import { barredFrom, type AccessContext } from "./access.js";
import { approvalOf, type ApprovalContext } from "./approval.js";
import type { Deployed } from "./effect-rules.js";

/** Why the head's approval does not lift what is withheld of these applications; undefined if it does. */
export type WhyWithheld = (deployed: readonly Deployed[]) => Promise<string | undefined>;

/**
 * Decides whether the head was approved by somebody who may deploy the applications. Asks the host only when there is
 * something to decide, and then once.
 */
export function createLifting(context: ApprovalContext & Omit<AccessContext, "user">): WhyWithheld {
  let reading: Promise<Approval> | undefined;
  return async (deployed) => {
    let approval: Approval;
    try {
      approval = await (reading ??= approvalOf(context));
    } catch (error) {
      if (error instanceof HostFailure) return `the approvals could not be read: ${error.message}`;
      throw error;
    }
    if (!approval.approved) return approval.missing ?? "The head commit is not approved.";
    const admitted = await Promise.all(
      approval.people.map(async (user) => (await barredFrom("sync", deployed, { ...context, user })).length === 0),
    );
    if (admitted.includes(true)) return undefined;
    return `${approval.approvers.join(", ")} approved the head commit, but allowed_users and allowed_teams do not name them for ${deployed.map(({ application }) => application).join(", ")}.`;
  };
}
