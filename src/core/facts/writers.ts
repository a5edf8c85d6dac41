import type { ApplicationName } from "../model/brand.js";
import { groupedBy } from "../model/collections.js";
import type { Plan } from "../model/plan/plan.js";
import type { PlannedFacts } from "../policy/facts.js";

/** The parents whose sync writes the definition of an application, or deletes it. */
type Writers = Pick<PlannedFacts, "writtenBy" | "deletedBy">;

/**
 * What the syncs of a plan's applications do to the definitions of others in it, without those that only the merge deploys. What
 * `-a` leaves out of the plan of a parent is such a one, too.
 */
export function writersIn(plan: Plan | undefined): (child: ApplicationName) => Writers {
  const planned = plan?.applications.filter(({ kind, atMerge }) => atMerge === undefined && kind !== "unplanned") ?? [];
  const driven = planned.filter(({ kind }) => kind !== "new" && kind !== "deleted");
  const isDriven = new Set(driven.map(({ application }) => application));
  const isPlanned = new Set(planned.map(({ application }) => application));
  const members = driven.flatMap(({ application: parent, effect }) =>
    effect.members.flatMap(({ application: child, reachedBy, definition: { kind } }) =>
      reachedBy.kind === "direct" ? [] : [{ child, parent, kind }],
    ),
  );
  const given = driven.flatMap(({ application: child, definedBy }) =>
    definedBy === undefined ? [] : [{ child, parent: definedBy.parent, kind: "changed" }],
  );
  const written = [...given, ...members].filter(({ child, kind }) => kind === "changed" && isDriven.has(child));
  const deleted = members.filter(({ child, kind }) => kind === "removed" && isPlanned.has(child));
  const [writers, deleters] = [written, deleted].map((some) => groupedBy(some, ({ child }) => child));
  const parentsOf = (some?: readonly { readonly parent: ApplicationName }[]) =>
    some && [...new Set(some.map(({ parent }) => parent))];
  return (child) => {
    const [writtenBy, deletedBy] = [parentsOf(writers?.get(child)), parentsOf(deleters?.get(child))];
    return { ...(writtenBy && { writtenBy }), ...(deletedBy && { deletedBy }) };
  };
}
