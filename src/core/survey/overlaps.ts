import type { Application } from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import { isUrl } from "../model/destination.js";
import { ruledAs, type BoundIdentity, type Identity, type Member } from "../model/effect.js";
import { DeployerFailure } from "../model/errors.js";
import type { CommandContext } from "../ports/context.js";
import { BEFORE, identityOf } from "./members.js";

type Live = ReadonlyMap<ApplicationName, Application>;
/** Where applications deploy to, by namespace. */
type Places = ReadonlyMap<string, readonly Identity[]>;

/** Adds to a member the applications whose rules hold for it besides its own. @param objects keys of what it touches. */
export type Bind = (member: Member, objects: readonly string[]) => Member;

/**
 * Finds whose place a member takes: that of the applications at its new destination, and of those that own objects which
 * it touches. Of applications with the same rules, one is enough.
 * @param touched keys of all objects that are asked about.
 */
export async function overlapsAmong(touched: ReadonlySet<string>, live: Live, context: CommandContext): Promise<Bind> {
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

function rulesOf({ name, spec }: Application, { settings }: CommandContext): string {
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

/** A definition that stays where it is shares its namespace with whoever was there before. */
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

/** The applications that own an object, by its key. */
type Owners = ReadonlyMap<string, readonly ApplicationName[]>;

/** Asks only about these objects. Undefined if Argo CD does not answer. */
async function ownersOf(
  keys: ReadonlySet<string>,
  { deployer, signal, log }: CommandContext,
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

/** One identity for each set of rules is enough, and the first reason is as good as another. */
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
