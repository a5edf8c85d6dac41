import { MergeRequestApprovals } from "@gitbeaker/rest";
import * as z from "zod";
import type { ChangeRequestRef } from "../../core/model/change-request.js";
import { HostFailure } from "../../core/model/errors.js";
import { oneLine } from "../host-refusal.js";
import { loginField } from "../payload-fields.js";
import type { GitLabClient } from "./client.js";

const peopleSchema = z.array(z.object({ username: loginField })).nullish();
const stateSchema = z.object({
  rules: z.array(
    z.object({
      name: z.string(),
      rule_type: z.string().nullish(),
      approvals_required: z.number(),
      approved: z.boolean().nullish(),
      approved_by: peopleSchema,
      eligible_approvers: peopleSchema,
    }),
  ),
});
type Rule = z.output<typeof stateSchema>["rules"][number];

const MOST_RULES = 5;
const MOST_NAMES = 10;

/**
 * The open approval rules and who may approve, as the end of a sentence: `: "Deployments" needs 1 more approval (by bo,
 * cy)`. Empty below GitLab Premium, which has no rules, or if GitLab refuses to list them.
 */
export async function describeOpenRules(client: GitLabClient, change: ChangeRequestRef): Promise<string> {
  const asked = `read the approval rules of ${change.repository}!${change.number}`;
  try {
    const { rules } = await client.read(stateSchema, asked, (gitlab) =>
      new MergeRequestApprovals(gitlab).showApprovalState(change.repository, change.number),
    );
    const open = rules.filter(({ approved }) => approved === false);
    const shown = open.slice(0, MOST_RULES).map(describeRule);
    const more = open.length > MOST_RULES ? [`${open.length - MOST_RULES} more rules are open`] : [];
    return open.length === 0 ? "" : `: ${[...shown, ...more].join("; ")}`;
  } catch (error) {
    if (error instanceof HostFailure) return "";
    throw error;
  }
}

function describeRule(rule: Rule): string {
  const given = new Set((rule.approved_by ?? []).map(({ username }) => username));
  const left = Math.max(1, rule.approvals_required - given.size);
  const who = (rule.eligible_approvers ?? []).map(({ username }) => username).filter((name) => !given.has(name));
  const named = who.slice(0, MOST_NAMES).join(", ");
  const by = named === "" ? "" : ` (by ${named}${who.length > MOST_NAMES ? " and others" : ""})`;
  const name = oneLine(rule.name, 60);
  const title = rule.rule_type === "code_owner" ? `the rule of the code owners of "${name}"` : `"${name}"`;
  return `${title} needs ${left} more approval${left === 1 ? "" : "s"}${by}`;
}
