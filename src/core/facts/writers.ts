import type { ApplicationName } from "../model/brand.js";
import type { Member } from "../model/effect.js";
import type { Lock } from "../model/lock.js";
import type { ApplicationPlan, Plan } from "../model/plan/plan.js";
import type { ReachedFacts, Writers } from "../policy/facts.js";

/** What the syncs of a plan's applications do to the definitions of others. */
interface WritersIn {
  /** Of an application of the plan, unless only the merge deploys it, or `-a` left it out of the plan of a parent. */
  readonly of: (child: ApplicationName) => Writers;
  /** Of applications that are not in the plan, and that such a sync creates or deletes. */
  readonly outside: (lockOf: ReadonlyMap<ApplicationName, Lock>) => readonly ReachedFacts[];
}

/** Finds in a plan whose syncs write, create or delete the definitions of other applications. */
export function writersIn(plan: Plan | undefined): WritersIn {
  const all = plan?.applications ?? [];
  const planned = all.filter(({ kind, atMerge }) => atMerge === undefined && kind !== "unplanned");
  const known = new Set(all.map(({ application }) => application));
  const kinds = new Map(planned.map(({ application, kind }) => [application, kind]));
  const keeping = new Set(plan?.applicationSets.flatMap((set) => (set.keepsRemoved === true ? [set.name] : [])));
  const found = new Map<ApplicationName, Record<keyof Writers, Set<ApplicationName>>>();
  const note = (child: ApplicationName, how: keyof Writers, parent: ApplicationName) => {
    const writers = found.get(child) ?? { writtenBy: new Set(), deletedBy: new Set(), removedBy: new Set() };
    found.set(child, writers);
    writers[how].add(parent);
  };
  for (const one of planned) {
    const { application: parent, kind, definedBy, effect } = one;
    if (kind === "new" || kind === "deleted") continue;
    if (definedBy !== undefined) note(parent, "writtenBy", definedBy.parent);
    for (const member of effect.members) {
      const { application: child, definition, reachedBy } = member;
      const kindOfChild = kinds.get(child);
      if (reachedBy.kind === "direct" || (known.has(child) && kindOfChild === undefined)) continue;
      const isAnnounced = kindOfChild === "new" || kindOfChild === "deleted";
      const isWritten = known.has(child) && !isAnnounced ? definition.kind === "changed" : definition.kind === "new";
      if (isWritten) note(child, "writtenBy", parent);
      if (definition.kind !== "removed" || (reachedBy.kind === "generated" && keeping.has(reachedBy.by))) continue;
      note(child, isRemovedAtOnce(one, member) ? "removedBy" : "deletedBy", parent);
    }
  }
  const asFacts = ({ writtenBy, deletedBy, removedBy }: Record<keyof Writers, Set<ApplicationName>>): Writers => ({
    ...(writtenBy.size > 0 && { writtenBy: [...writtenBy] }),
    ...(deletedBy.size > 0 && { deletedBy: [...deletedBy] }),
    ...(removedBy.size > 0 && { removedBy: [...removedBy] }),
  });
  const of = (child: ApplicationName) => {
    const writers = found.get(child);
    return writers === undefined ? {} : asFacts(writers);
  };
  return {
    of,
    outside: (lockOf) =>
      [...found.keys()]
        .filter((child) => !known.has(child))
        .map((application) => ({ application, lock: lockOf.get(application), ...of(application) })),
  };
}

/** Whether the controller of an ApplicationSet deletes a member as soon as the parent has applied the set. */
function isRemovedAtOnce(parent: ApplicationPlan, { reachedBy }: Member): boolean {
  if (reachedBy.kind !== "generated" || parent.kind !== "evaluated") return false;
  const { created, changed } = parent.diff.sets;
  return [...created, ...changed].some((name) => reachedBy.by === name || reachedBy.by.endsWith(`/${name}`));
}
