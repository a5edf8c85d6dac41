import type { AccessRule } from "../../config/rules/requirements.js";
import type { Settings } from "../../config/rules/settings.js";
import type { CodeHost } from "../ports/code-host.js";
import { allowsAny } from "./access.js";
import type { ApprovalContext, Approvals } from "./approval.js";

type RulesContext = Pick<ApprovalContext, "change"> & {
  readonly host: CodeHost;
  readonly settings: Pick<Settings, "rulesChange">;
  readonly approvals: Approvals;
};

/**
 * What the head's approval lacks for a merge by svc because the head changes the repository's rules; undefined if nothing.
 * People whom the rules of before allow have to agree to the new ones.
 */
export async function missingForRules(context: RulesContext): Promise<string | undefined> {
  const { lists } = context.settings.rulesChange ?? {};
  if (lists === undefined) return undefined;
  const approval = await context.approvals();
  if (!approval.approved) return `it changes the rules and needs an approval${byWhom(lists)}`;
  const allowed = await Promise.all(lists.map((list) => allowsAny(list, approval.people, context)));
  const missing = lists.filter((_, index) => allowed[index] !== true);
  return missing.length === 0 ? undefined : `it changes the rules and needs an approval${byWhom(missing)}`;
}

function byWhom(lists: readonly AccessRule[]): string {
  const people = lists.map(({ users, teams }) => {
    const names = [...users, ...teams.map((team) => `a member of ${team}`)];
    return names.length === 0 ? "nobody (a list is empty): merge it by hand" : names.join(" or ");
  });
  return people.length === 0 ? "" : ` by ${people.join(", and by ")}`;
}
