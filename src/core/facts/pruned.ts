import { isNeverPruned } from "../diff/cautions.js";
import {
  type Application,
  type ApplicationSet,
  destinationOf,
  IN_CLUSTER,
  isAutoSynced,
  isRollingSync,
} from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import { type ChangeRequest, changeRequestRef } from "../model/change-request.js";
import { allInTurns, groupedBy } from "../model/collections.js";
import type { Deployment } from "../model/deployment.js";
import { definedWith, type Member } from "../model/effect.js";
import { ifReadable } from "../model/errors.js";
import type { JsonObject } from "../model/json.js";
import { type Plan, tellsReach, unplanned } from "../model/plan/plan.js";
import type { LiveSubject } from "../model/subject.js";
import type { ReachedFacts } from "../policy/facts.js";
import type { CommandContext, Stoppable } from "../ports/context.js";
import type { Deployer } from "../ports/deployer.js";
import { definedElsewhere, listedElsewhere } from "../survey/driving-right.js";
import { boundNow, type BindingSource } from "../survey/effects.js";
import { memberOf } from "../survey/members.js";

interface LeftOverSource extends Pick<Stoppable, "signal"> {
  readonly deployer: Pick<
    Deployer,
    | "naming"
    | "applicationsOfSet"
    | "findApplication"
    | "findApplicationSet"
    | "listApplications"
    | "listApplicationSets"
  >;
}

/** The Applications and ApplicationSets of Argo CD's own by what applies them, whatever address that has for its cluster. */
async function byParent({ deployer, signal }: LeftOverSource) {
  const [applications, sets] = await Promise.all([
    deployer.listApplications(signal),
    deployer.listApplicationSets(signal),
  ]);
  return { applications: groupedBy(applications, (one) => one.parent), sets: groupedBy(sets, (one) => one.parent) };
}

type Below = Awaited<ReturnType<typeof byParent>>;

function hasBelow({ applications, sets }: Below, name: ApplicationName): boolean {
  return applications.has(name) || sets.has(name);
}

/**
 * The Applications that a sync of these parents deletes if it prunes, and those that go with them, but for those of another Argo CD
 * and what Prune=false keeps.
 */
export async function leftOverIn(
  subjects: readonly Pick<LiveSubject, "name" | "live">[],
  context: LeftOverSource,
): Promise<readonly ReachedFacts[]> {
  const { deployer, signal } = context;
  const left = subjects.flatMap(({ name: parent, live: { leftOver = [], spec } }) =>
    leftOver.flatMap((title) => {
      const [, set, namespace, name] = /^argoproj\.io\/Application(Set)? (?:([^/]*)\/)?([^/]+)$/.exec(title) ?? [];
      const isHere = destinationOf(spec).cluster === IN_CLUSTER;
      return name === undefined ? [] : [{ set, id: { name, namespace }, parent, isHere }];
    }),
  );
  if (left.length === 0) return [];
  const [nameOf, below] = await Promise.all([deployer.naming(), byParent(context)]);
  const found = await allInTurns(left, async ({ set, id, parent, isHere }) => {
    if (!isHere && !hasBelow(below, parent)) return [];
    const application = nameOf(id.namespace, id.name);
    const live = set
      ? (await deployer.findApplicationSet(id, signal))?.resource
      : asManifest(await deployer.findApplication(application, signal));
    if (isNeverPruned(live, [])) return [];
    const gone = set ? await deployer.applicationsOfSet(id, signal) : [application];
    const all = await withBelow(gone, below, context);
    return all.map((one) => ({ application: one, lock: undefined, deletedBy: [parent] }));
  });
  return found.flat();
}

function asManifest(live: Application | undefined): JsonObject | undefined {
  return live && { metadata: { annotations: live.annotations } };
}

/** Adds what deleted applications take along: what they apply, and what the sets generate that they apply, if they have the finalizer. */
async function withBelow(
  deleted: readonly ApplicationName[],
  below: Below,
  { deployer, signal }: LeftOverSource,
): Promise<readonly ApplicationName[]> {
  const all = new Set(deleted);
  // The loop also visits what it adds.
  for (const name of all) {
    if (!hasBelow(below, name)) continue;
    const live = await deployer.findApplication(name, signal);
    if (live?.cascades === false) continue;
    for (const child of below.applications.get(name) ?? []) all.add(child.name);
    for (const set of below.sets.get(name) ?? []) {
      for (const generated of await deployer.applicationsOfSet(set, signal)) all.add(generated);
    }
  }
  return [...all];
}

/** The plan with the children that a sync which prunes deletes besides: their rules hold as well. */
export function withPruned(plan: Plan, reached: readonly ReachedFacts[], running: readonly Application[]): Plan {
  const live = new Map(running.map((one) => [one.name, one]));
  const pairs = reached.flatMap(({ application, deletedBy = [] }) => deletedBy.map((of) => ({ application, of })));
  const below = groupedBy(pairs, ({ of }) => of);
  const applications = plan.applications.map((one) => {
    const { members } = one.effect;
    const known = new Set(members.map(({ application }) => application));
    const pruned = (below.get(one.application) ?? []).flatMap(({ application, of }) => {
      // Without members nothing is known of it, and it is not synced.
      if (members.length === 0 || known.has(application)) return [];
      const { spec } = live.get(application) ?? {};
      const before = spec === undefined ? [] : [spec];
      return memberOf({ application, head: undefined, before, reachedBy: { kind: "child", of } });
    });
    return pruned.length === 0 ? one : { ...one, effect: { ...one.effect, members: [...members, ...pruned] } };
  });
  return { ...plan, applications };
}

/**
 * The plan with all that Argo CD deploys by itself below an application of unknown reach: a broken commit must not be a way past the
 * children's rules.
 */
async function withRunning(
  plan: Plan,
  running: readonly Application[],
  held: ReadonlySet<ApplicationName>,
  context: LeftOverSource & Pick<CommandContext, "change">,
): Promise<Plan> {
  const { deployer, signal, change } = context;
  const live = new Map(running.map((one) => [one.name, one]));
  // What Argo CD syncs by itself is not rolled back.
  const isManual = (name: ApplicationName) => !isAutoSynced(live.get(name)?.spec ?? {});
  const unknown = new Set(
    plan.applications.flatMap((one) => (!tellsReach(one) && isManual(one.application) ? [one.application] : [])),
  );
  if (unknown.size === 0) return plan;
  const sets = await deployer.listApplicationSets(signal);
  const setOf = new Map<ApplicationName, ApplicationSet>();
  // At once, so that Argo CD is asked for one list.
  await Promise.all(
    sets.map(async (set) => {
      for (const name of await deployer.applicationsOfSet(set, signal)) setOf.set(name, set);
    }),
  );
  const isRolled = (name: ApplicationName) => isRollingSync(setOf.get(name)?.resource ?? {});
  const below = groupedBy(running, ({ name, parent }) => setOf.get(name)?.parent ?? parent);
  const applications = await allInTurns(plan.applications, async (one) => {
    const { application: of, effect } = one;
    if (!unknown.has(of)) return one;
    const known = new Set(effect.members.map(({ application }) => application));
    const reached = new Set([live.get(of) ?? [], below.get(of) ?? []].flat());
    for (const { name, spec } of reached) {
      if (isAutoSynced(spec) || isRolled(name)) for (const other of below.get(name) ?? []) reached.add(other);
    }
    const others = [...reached].filter(({ name }) => !known.has(name));
    const added = others.map(async (other): Promise<Member> => {
      const { name: application, spec } = other;
      const isSelf = application === of;
      const reachedBy = isSelf ? ({ kind: "direct" } as const) : ({ kind: "child", of } as const);
      const member = memberOf({ application, head: undefined, before: [spec], reachedBy });
      const definedIn =
        isSelf && held.has(of)
          ? await listedElsewhere(other, { live, change }, context)
          : definedElsewhere(isSelf ? other : { ...other, parent: other.parent ?? of }, { live, change });
      return { ...definedWith(member, definedIn), definition: { kind: "unchanged" } };
    });
    return { ...one, effect: { ...effect, members: [...effect.members, ...(await Promise.all(added))] } };
  });
  return { ...plan, applications };
}

/** Stands for a plan that is no longer stored. It names nothing, and is none of the head. */
export function forgottenPlan(change: ChangeRequest): Plan {
  const { mergeBase: head, baseBranch } = change;
  const effects = { applications: [], applicationSets: [], previews: [], notDeployed: [] };
  return { change, head, baseBranch, plannedAt: "", ...effects, released: [], unread: [], notes: [] };
}

/** Adds to a plan what was deployed to its present target branch without being named in it; of another branch, nobody knows the rules. */
function withDeployed(
  plan: Plan,
  records: readonly Deployment[],
  { baseBranch }: Pick<ChangeRequest, "baseBranch">,
): Plan {
  const known = new Set(plan.applications.map(({ application }) => application));
  const left = records.filter((one) => one.baseBranch === baseBranch && !known.has(one.application));
  const added = left.map(({ application }) => unplanned(application, undefined));
  return { ...plan, applications: [...plan.applications, ...added] };
}

/** `boundAfresh` for a rollback, with all that it may reach; if it prunes, with the children that only the cluster has. */
export async function boundToRollBack(
  plan: Plan,
  prunes: boolean,
  context: BindingSource & LeftOverSource & Pick<CommandContext, "change" | "clock" | "deployments" | "locks">,
): Promise<Plan> {
  const { deployer, signal, clock, deployments, locks, change } = context;
  const [running, records, locked] = await Promise.all([
    deployer.listApplications(signal, clock.now()),
    ifReadable(deployments.ofChange(change), []),
    ifReadable(locks.list(changeRequestRef(change)), []),
  ]);
  // What it may roll back.
  const held = new Set([...records, ...locked].map(({ application }) => application));
  const whole = await withRunning(withDeployed(plan, records, change), running, held, context);
  if (!prunes) return boundNow(whole, running, context);
  const below = await byParent(context);
  const found = await allInTurns(whole.applications, async ({ application: name }) => {
    const live = hasBelow(below, name) ? await deployer.findApplication(name) : undefined;
    return live === undefined ? [] : [{ name, live }];
  });
  const reached = await leftOverIn(found.flat(), context);
  return boundNow(withPruned(whole, reached, running), running, context);
}
