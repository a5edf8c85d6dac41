import type { RenderFacts } from "../diff/render-facts.js";
import type { Application } from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import type { Effect, Member } from "../model/effect.js";
import { allInTurns } from "../model/in-turns.js";
import type { ApplicationSetPreview } from "../model/plan.js";
import type { Subject } from "../model/subject.js";
import type { CommandContext } from "../ports/context.js";
import { appliedChildren, reachedChildren, reachedInTurn, type Applied, type Surroundings } from "./children.js";
import { directMember } from "./members.js";
import { overlapsAmong } from "./overlaps.js";
import type { SurveyWithSets } from "./sets/application-sets.js";
import { reachedBySet } from "./sets/rendered-sets.js";

/** One application of a plan, and what its renders say; without facts they could not be compared, or were proven equal. */
export interface Examined {
  readonly subject: Subject;
  readonly facts: RenderFacts | undefined;
}

export interface Derived {
  readonly effects: ReadonlyMap<ApplicationName, Effect>;
  readonly applicationSets: readonly ApplicationSetPreview[];
}

/** Derives what a deployment of each application reaches, and whose rules hold for it. Renders nothing. */
export async function deriveEffects(
  examined: readonly Examined[],
  { found, applicationSets }: SurveyWithSets,
  context: CommandContext,
): Promise<Derived> {
  const live = new Map(found.everyApplication.map((one) => [one.name, one]));
  const running = childrenByParent(found.everyApplication);
  const around: Surroundings = { live, nameOf: await context.deployer.naming() };
  const shallow = await allInTurns(examined, async (one) => [one, await appliedBy(one, around, context)] as const);
  const appliedByName = new Map(shallow.map(([{ subject }, applied]) => [subject.name, applied]));
  const touched = new Map(examined.map(({ subject, facts }) => [subject.name, facts?.touched ?? []]));
  const bind = await overlapsAmong(new Set([...touched.values()].flat()), live, context);
  const effects = shallow.map(([{ subject, facts }, { reached }]): readonly [ApplicationName, Effect] => {
    const self: Member = { ...directMember(subject, context.change), namespaces: facts?.namespaces ?? [] };
    // Nothing deploys a new application before the merge, and what its children apply in turn is not asked.
    const deployed = subject.kind === "live";
    const others = deployed ? reachedInTurn(reached, appliedByName, running) : reached.map(({ member }) => member);
    const bound = [self, ...others].map((member) => bind(member, touched.get(member.application) ?? []));
    const applies = facts === undefined || !deployed ? [] : appliedChildren(facts, around);
    return [subject.name, { members: bound, applies }];
  });
  return {
    effects: new Map(effects),
    applicationSets: applicationSets.map((set) => ({ ...set, members: set.members.map((member) => bind(member, [])) })),
  };
}

function childrenByParent(all: readonly Application[]): ReadonlyMap<ApplicationName, readonly Application[]> {
  const found = new Map<ApplicationName, Application[]>();
  for (const one of all) {
    if (one.parent === undefined) continue;
    const known = found.get(one.parent);
    if (known === undefined) found.set(one.parent, [one]);
    else known.push(one);
  }
  return found;
}

async function appliedBy(
  { subject, facts }: Examined,
  around: Surroundings,
  context: CommandContext,
): Promise<Applied> {
  if (facts === undefined) return { digest: undefined, reached: [] };
  const children = reachedChildren(subject.name, facts, around);
  const generated = await Promise.all(facts.sets.map((set) => reachedBySet(set, around, context)));
  // A parent that starts a new application needs an approval, since that was rendered by itself alone.
  const digest = subject.kind === "live" ? directMember(subject, context.change).digest : undefined;
  return { digest, reached: [...children, ...generated.flat()] };
}
