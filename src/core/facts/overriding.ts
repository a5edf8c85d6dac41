import type { User } from "../model/change-request.js";
import { isFailed, type CheckResult, type FailedCheck } from "../model/check.js";
import { HostFailure } from "../model/errors.js";
import type { CommandContext } from "../ports/context.js";
import { allowsAny } from "./access.js";
import type { Approvals } from "./approval.js";

/** Where approvals and the members of teams are read. */
export type OverridingContext = Pick<CommandContext, "host" | "change"> & { readonly approvals: Approvals };

/** Who may lift failures by their approval. The host is asked only if there is one to lift. */
export function createOverriding(context: OverridingContext) {
  const asked = new Map<string, Promise<readonly User[]>>();
  let problem: string | undefined;

  async function approvers(teams: readonly string[]): Promise<readonly User[]> {
    const approval = await context.approvals().catch((error: unknown) => {
      if (error instanceof HostFailure) return error.message;
      throw error;
    });
    if (typeof approval === "string") {
      problem = approval;
      return [];
    }
    if (!approval.approved) return [];
    const allowed = await Promise.all(
      approval.people.map((person) => allowsAny({ users: [], teams }, [person], context)),
    );
    return approval.people.filter((_, index) => allowed[index] === true);
  }

  async function whoLifts({ overridableBy: teams }: FailedCheck): Promise<readonly User[]> {
    if (teams.length === 0) return [];
    const key = JSON.stringify(teams);
    const found = asked.get(key) ?? approvers(teams);
    asked.set(key, found);
    return found;
  }

  return {
    /** The failed ones, each with those whose approval lifts it. */
    judge: (all: readonly CheckResult[]) =>
      Promise.all(all.filter(isFailed).map(async (one) => ({ one, by: await whoLifts(one) }))),
    sentence: (failed: FailedCheck): string => {
      const { name, overridableBy: teams } = failed;
      const unread = problem === undefined ? "" : ` (the approvals could not be read: ${problem})`;
      const cure =
        teams.length === 0
          ? "fix it and push"
          : `fix it and push, or get an approval of this commit by a member of ${teams.join(" or ")}${unread}`;
      return `check ${name} failed: ${failed.outcome.reason}: ${cure}`;
    },
  };
}
