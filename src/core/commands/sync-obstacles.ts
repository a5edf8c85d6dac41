import type { NotDeployed } from "../model/plan.js";
import type { Subject } from "../model/subject.js";
import { requiresUpToDate, type Deployed } from "../policy/effect-rules.js";
import { createLifting } from "../policy/lifting.js";
import type { CommandContext } from "../ports/context.js";
import { findInputGaps } from "../survey/input-gaps.js";
import { withholdingOf } from "./withheld.js";

/** Why selected applications cannot be deployed although they are locked and planned. */
export async function obstaclesOf(
  deployed: readonly Deployed[],
  selected: readonly Subject[],
  notDeployed: readonly NotDeployed[],
  context: CommandContext,
): Promise<readonly NotDeployed[]> {
  const { short } = context.hostWords[context.change.host];
  const why = createLifting(context);
  const found = await Promise.all(
    deployed.map(async (one): Promise<readonly NotDeployed[]> => {
      const { application } = one;
      const refused = notDeployed.find((other) => other.application === application);
      if (refused !== undefined) return [refused];
      const subject = selected.find(({ name }) => name === application);
      if (subject === undefined) {
        const reason = `this ${short} no longer affects it: run the plan command again, which releases its lock`;
        return [{ application, reason }];
      }
      if (subject.kind === "unreadable") return [{ application, reason: subject.problem }];
      if (subject.kind !== "live") return [{ application, reason: NOT_PLANNED_AS_SUCH }];
      if (subject.notDriven !== undefined) return [{ application, reason: subject.notDriven }];
      const withheld = await withholdingOf(subject, why, context);
      if (withheld !== undefined) return [{ application, reason: withheld }];
      const { uncovered, behind } = await findInputGaps(subject, context);
      if (uncovered !== undefined) return [{ application, reason: uncovered }];
      if (behind === undefined || !requiresUpToDate(one, context.settings)) return [];
      return [{ application, reason: behind.wouldRevert }];
    }),
  );
  return found.flat();
}

const NOT_PLANNED_AS_SUCH = "its Application resource was added or removed since the plan: run the plan command again";
