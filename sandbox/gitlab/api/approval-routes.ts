import type {
  ApprovedByEntity,
  MergeRequestLevelMergeRequestApprovalSchema,
  MergeRequestReviewerSchema,
} from "@gitbeaker/rest";
import type { Router } from "express";
import { approvalRules } from "../model/approval-rules.js";
import { approvalVerdict } from "../model/approval-verdict.js";
import type { Instance } from "../model/instance.js";
import type { MergeRequest, Reviewer } from "../model/merge-request.js";
import { mergeStatus } from "../model/mergeability.js";
import type { Person } from "../model/people.js";
import { ApiFailure, serve } from "./call.js";
import * as endpoints from "./endpoints.js";
import type { Members } from "./members.js";
import { showUser } from "./present-user.js";

type ShownReviewer = Members<MergeRequestReviewerSchema, "state"> & { readonly state: Reviewer["state"] };

interface CoreApprovals {
  readonly user_has_approved: boolean;
  readonly user_can_approve: boolean;
  readonly approved: boolean;
  readonly approved_by: readonly (ApprovedByEntity & { readonly approved_at?: string })[];
}

type RuleApprovals = CoreApprovals & Members<MergeRequestLevelMergeRequestApprovalSchema, "approved_by">;

/** Approvals, in the format of the instance's edition, and reviewers. */
export function approvalRoutes(router: Router, instance: Instance): void {
  router.get(
    endpoints.showApprovals.path,
    serve(instance, endpoints.showApprovals, (call) => ({ body: showApprovals(instance, call.mergeRequest()) })),
  );
  router.get(
    endpoints.listReviewers.path,
    serve(instance, endpoints.listReviewers, (call) => ({ body: showReviewers(instance, call.mergeRequest()) })),
  );
  router.get(
    endpoints.showApprovalState.path,
    serve(instance, endpoints.showApprovalState, (call) => {
      const merge = call.mergeRequest();
      if (instance.edition === "ce") throw new ApiFailure(404, "404 Not Found", "error");
      return { body: { approval_rules_overwritten: false, rules: rules(instance, merge) } };
    }),
  );
}

function showReviewers(instance: Instance, merge: MergeRequest): ShownReviewer[] {
  return [...merge.reviewers.values()].map(({ person, since, state }) => ({
    user: showUser(instance, person),
    state,
    created_at: since.toISOString(),
  }));
}

function showApprovals(instance: Instance, merge: MergeRequest): CoreApprovals | RuleApprovals {
  const { approved, required, left } = approvalVerdict(instance, merge);
  const core: CoreApprovals = {
    user_has_approved: merge.approvals.has(instance.bot.id),
    user_can_approve: false,
    approved,
    approved_by: [...merge.approvals.values()].map(({ by, at }) => ({
      user: showUser(instance, by),
      ...(tellsTimes(instance) ? { approved_at: at.toISOString() } : {}),
    })),
  };
  if (required === undefined || left === undefined) return core;
  return {
    ...core,
    id: merge.id,
    iid: merge.iid,
    project_id: merge.project.id,
    title: merge.title,
    description: merge.description,
    state: merge.state,
    created_at: merge.createdAt.toISOString(),
    updated_at: merge.updatedAt.toISOString(),
    merge_status: mergeStatus(instance, merge).merge_status,
    approvals_required: required,
    approvals_left: left,
  };
}

function tellsTimes({ version }: Instance): boolean {
  const [major = 0, minor = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  return major > 18 || (major === 18 && minor >= 5);
}

function rules(instance: Instance, merge: MergeRequest): object[] {
  if (instance.edition !== "premium") return [];
  const shown = (people: readonly Person[]): object[] => people.map((person) => showUser(instance, person));
  return approvalRules(instance, merge).map(({ id, name, kind, required, eligible, approvedBy, left }) => ({
    id,
    name,
    rule_type: kind,
    report_type: null,
    eligible_approvers: shown(eligible),
    approvals_required: required,
    users: kind === "regular" ? [] : shown(eligible),
    groups: [],
    contains_hidden_groups: false,
    section: kind === "code_owner" ? "codeowners" : null,
    source_rule: null,
    overridden: false,
    code_owner: kind === "code_owner",
    approved_by: shown(approvedBy),
    approved: left === 0,
  }));
}
