import { retryWhileUnavailable } from "../deploy/settle.js";
import type { ApplicationName } from "../model/brand.js";
import type { Command } from "../model/command.js";
import { isPlanOf, type ApplicationPlan, type Plan } from "../model/plan.js";
import type { LiveSubject } from "../model/subject.js";
import type { CommandContext } from "../ports/context.js";

interface Asked {
  readonly command: Command<"sync">;
  readonly plan: Plan | undefined;
  readonly context: CommandContext;
}

/** The chosen applications that the plan of this head proved unchanged, so that `skip_no_changes` leaves them out. */
export function skippable(
  chosen: readonly ApplicationName[],
  subjects: readonly LiveSubject[],
  { command, plan, context }: Asked,
): readonly ApplicationName[] {
  if (!isPlanOf(plan, context.change)) return [];
  const planned = new Map(plan.applications.map((one) => [one.application, one]));
  // The plan compares with the target branch; an earlier sync of this change request may differ from both sides.
  const ours = new Set(subjects.filter(({ ownRecord }) => ownRecord !== undefined).map(({ name }) => name));
  return chosen.filter(
    (name) => !ours.has(name) && isUnchanged(planned.get(name), command.applications.includes(name)),
  );
}

/** Who names an application wants the new commit in it, even if nothing else changes. */
function isUnchanged(planned: ApplicationPlan | undefined, named: boolean): boolean {
  if (planned?.kind !== "evaluated" || planned.verdict !== "unchanged" || planned.writesDefinition) return false;
  return !(named && planned.diff.onlyCommit.length > 0);
}

/** Returns those whose locks were released. An unavailable store must not hide what was deployed. */
export async function releaseSkipped(
  skipped: readonly ApplicationName[],
  context: CommandContext,
): Promise<readonly ApplicationName[]> {
  const released = await Promise.all(
    skipped.map(async (application) => {
      try {
        await retryWhileUnavailable(context.clock, () => context.locks.release(application, context.change));
        return [application];
      } catch (error) {
        context.log.error({ application, err: error }, "could not release the lock of an unchanged application");
        return [];
      }
    }),
  );
  return released.flat();
}
