import { approvalRules } from "./approval-rules.js";
import type { Instance } from "./instance.js";
import type { MergeRequest } from "./merge-request.js";

export interface ApprovalVerdict {
  readonly approved: boolean;
  /** Undefined if the edition has no such fields. */
  readonly required: number | undefined;
  readonly left: number | undefined;
}

/**
 * The meaning of `approved` depends on the edition. CE: at least one approval. EE: all rules are met, which without
 * rules, on the Free tier, is always true (GitLab 17 source: `app/models/concerns/approvable.rb`,
 * `ee/app/models/approval_state.rb`). After a push, EE returns false until stale approvals are gone.
 */
export function approvalVerdict(instance: Instance, merge: MergeRequest): ApprovalVerdict {
  switch (instance.edition) {
    case "ce":
      return { approved: merge.approvals.size > 0, required: undefined, left: undefined };
    case "free":
      return { approved: true, required: 0, left: 0 };
    case "premium": {
      const rules = approvalRules(instance, merge);
      const left = rules.reduce((sum, rule) => sum + rule.left, 0);
      const required = rules.reduce((sum, rule) => sum + rule.required, 0);
      return { approved: left === 0 && merge.syncingReads === 0, required, left };
    }
  }
}
