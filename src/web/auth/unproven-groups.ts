import type { groupsAskedFor } from "./assign-role.js";
import type { Membership } from "./membership.js";

/**
 * The patterns that the provider could not say yes or no to, with what to look at.
 * @param listProblem why the list of all groups, which patterns with a `*` need, could not be had.
 */
export function unprovenGroups(
  asked: ReturnType<typeof groupsAskedFor>,
  found: ReadonlyMap<string, Membership>,
  listProblem: string | undefined,
): ReadonlyMap<string, string> {
  const unproven = new Map<string, string>();
  for (const { pattern, name } of asked) {
    const answer = found.get(name);
    const problem = name.includes("*") ? listProblem : answer?.kind === "unproven" ? answer.problem : undefined;
    if (problem !== undefined) unproven.set(pattern, problem);
  }
  return unproven;
}
