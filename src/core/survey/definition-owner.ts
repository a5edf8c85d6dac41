import { isAutoSynced } from "../model/application-spec.js";
import type { Application, LiveApplication } from "../model/application.js";
import { isJsonObject } from "../model/json.js";

/** Who else writes the definition of an application, and whether it would revert ours. */
export interface DefinitionOwner {
  readonly reverts: boolean;
  readonly sentence: string;
}

/**
 * The owner of an application's definition. An ApplicationSet and a parent application with self-heal revert a changed
 * spec (seen on Argo CD v3.5: within half a second, after the sync had already applied it); another parent only shows
 * OutOfSync.
 */
export function definitionOwner(
  live: LiveApplication,
  everyApplication: readonly Application[],
): DefinitionOwner | undefined {
  if (live.owningSet !== undefined) {
    return {
      reverts: true,
      sentence: `its definition belongs to the ApplicationSet ${live.owningSet}, which would revert a change: the change takes effect at the merge`,
    };
  }
  if (live.parent === undefined) return undefined;
  const parent = everyApplication.find(({ name }) => name === live.parent);
  // A parent that the token may not see could self-heal, so it counts as reverting.
  if (parent === undefined || selfHeals(parent)) {
    return {
      reverts: true,
      sentence: `its definition belongs to the application ${live.parent}, which ${parent === undefined ? "svc cannot see and which may" : "has self-heal and would"} revert a change: the change takes effect at the merge`,
    };
  }
  return {
    reverts: false,
    sentence: `its definition belongs to the application ${live.parent}, which shows OutOfSync until the merge`,
  };
}

function selfHeals(application: Application): boolean {
  const policy = application.spec.syncPolicy;
  const automated = isJsonObject(policy) ? policy.automated : undefined;
  return isAutoSynced(application.spec) && isJsonObject(automated) && automated.selfHeal === true;
}
