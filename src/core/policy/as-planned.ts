import type { Application } from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import type { ChangeRequest } from "../model/change-request.js";
import type { Effect, Member } from "../model/effect.js";
import { isPlanOf, type Plan } from "../model/plan.js";
import type { LiveSubject } from "../model/subject.js";
import { digestOf, directMember } from "../survey/members.js";

/**
 * What a sync of these applications would deploy that the plan of the head does not say, as sentences.
 * @param live every application that Argo CD shows; undefined if the children were compared before.
 */
export function differingFrom(
  plan: Plan | undefined,
  subjects: readonly LiveSubject[],
  live: readonly Application[] | undefined,
  change: ChangeRequest,
): ReadonlyMap<ApplicationName, string> {
  // A plan of another commit or target branch is stale in any case.
  if (!isPlanOf(plan, change)) return new Map();
  const planned = new Map(plan.applications.map(({ application, effect }) => [application, effect]));
  const running = live && new Map(live.map((one) => [one.name, one]));
  const found = subjects.flatMap((subject): readonly (readonly [ApplicationName, string])[] => {
    const effect = planned.get(subject.name);
    const sentence = effect && differsFromPlan(effect, directMember(subject, change), running);
    return sentence === undefined ? [] : [[subject.name, sentence]];
  });
  return new Map(found);
}

function differsFromPlan(
  planned: Effect,
  now: Member,
  running: ReadonlyMap<ApplicationName, Application> | undefined,
): string | undefined {
  const [before] = planned.members;
  if (before === undefined) return "the plan does not say what a sync of it changes";
  return memberDiffers(before, now) ?? (running && childDiffers(planned, running));
}

function memberDiffers(before: Member, now: Member): string | undefined {
  const pairs = [
    ["project", before.project, now.project],
    ["destination", before.destination, now.destination],
    ["sources", before.sources, now.sources],
    ["definition", before.digest, now.digest],
    // A definition that is there by now, because a parent wrote it, replaces nothing.
    ["definition", now.definition.kind === "unchanged" ? now.definition : before.definition, now.definition],
  ] as const;
  const changed = pairs.filter(([, left, right]) => JSON.stringify(left) !== JSON.stringify(right));
  if (changed.length === 0) return undefined;
  return `since the plan, the ${[...new Set(changed.map(([what]) => what))].join(" and ")} of ${now.application} changed in Argo CD or on the base branch`;
}

/** A child that the plan leaves alone, because it had the head's definition already, must still have it. */
function childDiffers(
  { members, applies }: Effect,
  running: ReadonlyMap<ApplicationName, Application>,
): string | undefined {
  const reached = new Set(members.map(({ application }) => application));
  const drifted = applies.filter(({ application, digest }) => {
    if (reached.has(application)) return false;
    const found = running.get(application);
    return found === undefined || digestOf(found.spec) !== digest;
  });
  if (drifted.length === 0) return undefined;
  return `since the plan, the definition of ${drifted.map(({ application }) => application).join(", ")} changed in Argo CD: a sync would write the one of this branch`;
}
