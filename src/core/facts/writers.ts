import type { ApplicationName } from "../model/brand.js";
import { groupedBy } from "../model/collections.js";
import type { Plan } from "../model/plan/plan.js";

/** The applications that a plan's syncs deploy, each with the parents whose sync writes its definition. */
export function writersIn(plan: Plan | undefined): (child: ApplicationName) => readonly ApplicationName[] | undefined {
  const driven = plan?.applications.filter(({ kind, atMerge }) => {
    return atMerge === undefined && kind !== "new" && kind !== "deleted";
  });
  const known = new Set(driven?.map(({ application }) => application));
  const pairs = driven?.flatMap(({ application, definedBy, effect }) => [
    ...(definedBy === undefined ? [] : [{ child: application, parent: definedBy.parent }]),
    ...effect.members
      .filter(({ reachedBy, definition }) => reachedBy.kind !== "direct" && definition.kind === "changed")
      .map((member) => ({ child: member.application, parent: application })),
  ]);
  const writers = groupedBy(pairs ?? [], ({ child }) => (known.has(child) ? child : undefined));
  return (child) => {
    const parents = writers.get(child)?.map(({ parent }) => parent);
    return parents && [...new Set(parents)];
  };
}
