import type { RenderFacts } from "../diff/render-facts.js";
import { type Application, isUrl } from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import { type Effect, type Member, ruledAs, type BoundIdentity, type Identity } from "../model/effect.js";
import { DeployerFailure } from "../model/errors.js";
import { groupedBy } from "../model/grouped.js";
import { allInTurns } from "../model/in-turns.js";
import type { ApplicationSetPreview } from "../model/plan.js";
import type { Settings } from "../model/settings.js";
import type { Subject } from "../model/subject.js";
import type { Deployer } from "../ports/deployer.js";
import type { Log } from "../ports/log.js";
import { appliedChildren, reachedChildren, reachedInTurn, type Applied, type Surroundings } from "./children.js";
import { directMember, BEFORE, identityOf } from "./members.js";
import type { SurveyWithSets } from "./sets/application-sets.js";
import { reachedBySet, type ExpansionSource } from "./sets/rendered-sets.js";

/** One application of a plan, and what its renders say; without facts they could not be compared, or were proven equal. */
interface Examined {
  readonly subject: Subject;
  readonly facts: RenderFacts | undefined;
}

interface Derived {
  readonly effects: ReadonlyMap<ApplicationName, Effect>;
  readonly applicationSets: readonly ApplicationSetPreview[];
}

interface EffectSource extends ExpansionSource {
  readonly deployer: Pick<Deployer, "naming" | "ownersOf" | "expandApplicationSet">;
  readonly settings: Settings;
  readonly log: Log;
}

/** Derives what a deployment of each application reaches, and whose rules hold for it. Renders nothing. */
export async function deriveEffects(
  examined: readonly Examined[],
  { found, applicationSets }: SurveyWithSets,
  context: EffectSource,
): Promise<Derived> {
  const live = new Map(found.everyApplication.map((one) => [one.name, one]));
  const running = groupedBy(found.everyApplication, ({ parent }) => parent);
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

async function appliedBy(
  { subject, facts }: Examined,
  around: Surroundings,
  context: ExpansionSource & Pick<EffectSource, "log">,
): Promise<Applied> {
  if (facts === undefined) return { digest: undefined, reached: [] };
  const children = reachedChildren(subject.name, facts, around);
  const generated = await Promise.all(facts.sets.map((set) => reachedBySet(set, around, context)));
  // A parent that starts a new application needs an approval, since that was rendered by itself alone.
  const digest = subject.kind === "live" ? directMember(subject, context.change).digest : undefined;
  return { digest, reached: [...children, ...generated.flat()] };
}

type Live = ReadonlyMap<ApplicationName, Application>;
/** The destinations of applications, by namespace. */
type Places = ReadonlyMap<string, readonly Identity[]>;

/** Adds to a member the applications whose rules hold for it besides its own. @param objects keys of what it touches. */
type Bind = (member: Member, objects: readonly string[]) => Member;

/**
 * Finds whose place a member takes: that of the applications at its new destination, and of those that own objects which
 * it touches. Of applications with the same rules, one is enough.
 * @param touched keys of all objects that are asked about.
 */
export async function overlapsAmong(
  touched: ReadonlySet<string>,
  live: Live,
  context: Omit<EffectSource, "change">,
): Promise<Bind> {
  const rules = new Map([...live.values()].map((one) => [one.name, rulesOf(one, context)]));
  // Nobody's rules are stricter than anybody else's.
  if (new Set(rules.values()).size < 2) return (member) => member;
  const owners = await ownersOf(touched, context);
  const places = placesByNamespace(live, rules);
  return (member, objects) => {
    const bound = [...atDestination(member, places), ...ofObjects(member, objects, owners ?? new Map(), live)];
    return {
      ...member,
      boundAs: distinctRules([...member.boundAs, ...bound], rules),
      problem: member.problem ?? (owners === undefined ? OBJECTS_UNKNOWN : undefined),
    };
  };
}

const OBJECTS_UNKNOWN = "svc could not find out whose objects it changes";

function rulesOf({ name, spec }: Application, { settings }: Pick<EffectSource, "settings">): string {
  const application = ruledAs(identityOf(name, spec));
  const access = (["sync", "rollback", "unlock", "plan"] as const).map((command) =>
    settings.accessTo(application, command),
  );
  return JSON.stringify([settings.requirementsFor(application), access]);
}

/** By namespace. Of those with the same rules in one place, two are enough: the member may be one of them itself. */
function placesByNamespace(live: Live, rules: ReadonlyMap<ApplicationName, string>): Places {
  const counts = new Map<string, number>();
  const places = new Map<string, Identity[]>();
  for (const { name, spec } of live.values()) {
    const place = identityOf(name, spec);
    const { cluster, namespace } = place.destination;
    const key = JSON.stringify([cluster, namespace, rules.get(name)]);
    const count = counts.get(key) ?? 0;
    if (count === 2) continue;
    counts.set(key, count + 1);
    const known = places.get(namespace);
    if (known === undefined) places.set(namespace, [place]);
    else known.push(place);
  }
  return places;
}

function atDestination(member: Member, places: Places): readonly BoundIdentity[] {
  if (!arrives(member)) return [];
  return (places.get(member.destination.namespace) ?? [])
    .filter((other) => other.application !== member.application && maybeSameCluster(other, member))
    .map((other) => ({ ...other, because: `${other.application} deploys to the same destination` }));
}

/** Whether the member is new at its destination. */
function arrives({ definition }: Member): boolean {
  switch (definition.kind) {
    case "new":
    case "unknown":
      return true;
    case "changed":
      return definition.moves.some(({ what }) => what === "destination");
    case "removed":
    case "unchanged":
      return false;
  }
}

/** A cluster has an address and a name, and svc cannot see which belong together. */
function maybeSameCluster({ destination: left }: Identity, { destination: right }: Identity): boolean {
  return left.cluster === right.cluster || isUrl(left.cluster) !== isUrl(right.cluster);
}

function ofObjects(member: Member, objects: readonly string[], owners: Owners, live: Live): readonly BoundIdentity[] {
  const names = new Set(objects.flatMap((key) => owners.get(key) ?? []));
  return [...names].flatMap((name) => {
    const owner = name === member.application ? undefined : live.get(name);
    if (owner === undefined) return [];
    const other = identityOf(name, owner.spec);
    return maybeSameCluster(other, member) ? [{ ...other, because: `it changes objects of ${name}` }] : [];
  });
}

type Owners = ReadonlyMap<string, readonly ApplicationName[]>;

/** Asks only about these objects. Undefined if Argo CD does not answer. */
async function ownersOf(
  keys: ReadonlySet<string>,
  { deployer, signal, log }: Pick<EffectSource, "deployer" | "signal" | "log">,
): Promise<Owners | undefined> {
  if (keys.size === 0) return new Map();
  try {
    return await deployer.ownersOf(keys, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof DeployerFailure)) throw error;
    log.warn({ err: error }, "could not list the objects of the applications");
    return undefined;
  }
}

function distinctRules(
  bound: readonly BoundIdentity[],
  rules: ReadonlyMap<ApplicationName, string>,
): readonly BoundIdentity[] {
  const byRules = new Map<string, BoundIdentity>();
  for (const one of bound) {
    // An earlier place of the application itself has rules of its own.
    const key = rules.get(one.application) ?? "";
    const known = one.because === BEFORE ? JSON.stringify(one) : key;
    if (!byRules.has(known)) byRules.set(known, one);
  }
  return [...byRules.values()];
}
