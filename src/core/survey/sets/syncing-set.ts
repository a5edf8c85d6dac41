import type { ChangedApplicationSet } from "../../detect/scan/application-sets.js";
import { isRollingSync, type LiveApplication } from "../../model/application.js";

/** The set that syncs the application in steps: as it runs now, or as the change request leaves it at the merge. */
export function syncingSetOf(live: LiveApplication, sets: readonly ChangedApplicationSet[] = []): string | undefined {
  const rolls =
    live.setStrategy === "rolling" ||
    sets.some((set) => set.head !== undefined && isRollingSync(set.head.resource) && isOwnedBy(live, set));
  return rolls ? live.owningSet : undefined;
}

/** A caution for an application whose set could not be read. */
export function unreadSet({ owningSet, setStrategy }: LiveApplication): readonly string[] {
  if (owningSet === undefined || setStrategy !== "unread") return [];
  const what = `its ApplicationSet ${owningSet} could not be read: if its strategy is RollingSync, Argo CD syncs this application by itself and takes out what a sync deployed before the merge`;
  return [`${what}. Give svc's token the permission applicationsets, get`];
}

/** An ApplicationSet owns only applications in its own namespace. */
export function isOwnedBy(
  { namespace, owningSet }: LiveApplication,
  set: Pick<ChangedApplicationSet, "name">,
): boolean {
  return owningSet !== undefined && set.name === (namespace === undefined ? owningSet : `${namespace}/${owningSet}`);
}
