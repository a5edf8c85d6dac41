import { isAutoSynced } from "../model/application-spec.js";
import type { ApplicationSpec, LiveApplication } from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import { safeMessage } from "../model/errors.js";
import type { ApplicationSync } from "../model/result.js";
import { specEqual } from "../model/spec-equality.js";
import type { LiveSubject } from "../model/subject.js";
import type { DeployContext } from "./deploy.js";

/** Why an application is not deployed although the command was allowed. */
export interface Blocked {
  readonly kind: "rejected";
  readonly message: string;
  /** Its parent may still write its definition. */
  readonly undecided: boolean;
  /** The definition that it has now, if that is not the planned one. */
  readonly wrote: ApplicationSpec | undefined;
}

/**
 * Why the parents of an application keep it from being deployed; undefined if all of them succeeded.
 * @param after the names of those that were to be deployed first.
 */
export function blockedBy(after: readonly ApplicationName[], parents: readonly ApplicationSync[]): Blocked | undefined {
  const unordered = after.find((name) => !parents.some(({ application }) => application === name));
  if (unordered !== undefined) {
    return blocked(
      `it and ${unordered} wait for each other, because each is to apply the other's definition: deploy them one by one with -a`,
    );
  }
  const failed = parents.find(({ kind }) => kind !== "succeeded");
  if (failed === undefined) return undefined;
  const undecided = failed.kind === "running" || failed.kind === "unknown";
  const why = undecided ? "is not known to be deployed yet" : "was not deployed";
  return blocked(
    `its parent ${failed.application}, which applies its definition, ${why}. See to ${failed.application} first, then run the sync command again`,
    undecided,
  );
}

/**
 * What to deploy to: as it was read before the run, or, below a parent of the run, as that parent has just written it. Such a
 * definition must be the planned one.
 */
export async function findDefinition(
  { name, live, head }: LiveSubject,
  parents: readonly ApplicationSync[],
  { deployer }: DeployContext,
): Promise<{ readonly live: LiveApplication } | Blocked> {
  const [parent] = parents;
  if (parent === undefined) return { live };
  try {
    const now = await deployer.findApplication(name);
    if (now === undefined) return blocked(`the sync of its parent ${parent.application} removed it`);
    if (isAutoSynced(now.spec) || !specEqual(now.spec, head.spec)) {
      const stale = `its plan is stale: the definition that its parent ${parent.application} wrote is not the planned one. Run the plan command again; with -a it is then deployed alone, as planned`;
      return { ...blocked(stale), wrote: now.spec };
    }
    return { live: now };
  } catch (error) {
    return blocked(`its definition could not be read after the sync of ${parent.application}: ${safeMessage(error)}`);
  }
}

function blocked(message: string, undecided = false): Blocked {
  return { kind: "rejected", message, undecided, wrote: undefined };
}
