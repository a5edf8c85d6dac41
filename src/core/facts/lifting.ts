import type { Approval } from "../model/change-request.js";
import { HostFailure } from "../model/errors.js";
import type { LiveSubject } from "../model/subject.js";
import type { Deployed } from "../policy/effect-rules.js";
import { directMember } from "../survey/members.js";
import { newReadsOf } from "../survey/new-reads.js";
import { barredFrom, type AccessContext } from "./access.js";
import { createApprovals, type ApprovalContext, type Approvals } from "./approval.js";

/** Why the head's approval does not lift what is withheld of these applications; undefined if it does. */
export type WhyWithheld = (deployed: readonly Deployed[]) => Promise<string | undefined>;

/**
 * Decides whether the head was approved by somebody who may deploy the applications. Asks the host only when there is
 * something to decide, and then once.
 */
export function createLifting(
  context: ApprovalContext & Omit<AccessContext, "user">,
  approvals: Approvals = createApprovals(context),
): WhyWithheld {
  return async (deployed) => {
    let approval: Approval;
    try {
      approval = await approvals();
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

/** Why an application is not rendered yet; undefined if it may be. */
export async function withholdingOf(
  subject: LiveSubject,
  why: WhyWithheld,
  { change }: Pick<AccessContext, "change">,
): Promise<string | undefined> {
  const reads = newReadsOf(subject);
  if (reads.length === 0) return undefined;
  const missing = await why([{ application: subject.name, members: [directMember(subject, change)] }]);
  if (missing === undefined) return undefined;
  return (
    "it is not rendered before somebody who may deploy it has approved this commit: " +
    `its definition uses ${reads.join(", ")}, and the live Application does not. ${missing}`
  );
}
