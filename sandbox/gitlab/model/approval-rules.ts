import type { Instance } from "./instance.js";
import type { MergeRequest } from "./merge-request.js";
import type { Person } from "./people.js";
import { accessLevels } from "./project.js";

/** An approval rule of Premium, with its own approvers and number of approvals. */
export interface ApprovalRule {
  readonly id: number;
  readonly name: string;
  readonly kind: "regular" | "code_owner";
  readonly required: number;
  readonly eligible: readonly Person[];
  readonly approvedBy: readonly Person[];
  readonly left: number;
}

/** The project's rules. An approval by a person who is no longer eligible stays but does not count. */
export function approvalRules(instance: Instance, merge: MergeRequest): readonly ApprovalRule[] {
  const { project, author } = merge;
  const writers = [...project.members]
    .filter(([id, level]) => level >= accessLevels.write && id !== author.id && id !== instance.bot.id)
    .flatMap(([id]) => instance.people.withId(id) ?? []);
  const required = project.approvalsRequired ?? instance.approvalsRequired;
  const rule = (facts: Pick<ApprovalRule, "id" | "name" | "kind" | "required" | "eligible">): ApprovalRule => {
    const approvedBy = [...merge.approvals.values()].map(({ by }) => by).filter((by) => facts.eligible.includes(by));
    return { ...facts, approvedBy, left: Math.max(0, facts.required - approvedBy.length) };
  };
  return [
    ...(required === 0 ? [] : [rule({ id: 1, name: "Deployments", kind: "regular", required, eligible: writers })]),
    ...(project.codeOwners.length === 0
      ? []
      : [rule({ id: 2, name: "*", kind: "code_owner", required: 1, eligible: project.codeOwners })]),
  ];
}
