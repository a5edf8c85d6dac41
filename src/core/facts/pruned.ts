import type { Application } from "../model/application.js";
import { allInTurns, groupedBy } from "../model/collections.js";
import type { Plan } from "../model/plan/plan.js";
import type { LiveSubject } from "../model/subject.js";
import type { ReachedFacts } from "../policy/facts.js";
import type { CommandContext, Stoppable } from "../ports/context.js";
import type { Deployer } from "../ports/deployer.js";
import { boundNow } from "../survey/effects.js";
import { memberOf } from "../survey/members.js";

interface LeftOverSource extends Pick<Stoppable, "signal"> {
  readonly deployer: Pick<Deployer, "naming" | "applicationsOfSet">;
}

/** The Applications that a sync of these parents deletes if it prunes, since they, or their sets, left the files. Their locks are read last. */
export async function leftOverIn(
  subjects: readonly Pick<LiveSubject, "name" | "live">[],
  { deployer, signal }: LeftOverSource,
): Promise<readonly ReachedFacts[]> {
  const nameOf = await deployer.naming();
  const left = subjects.flatMap(({ name, live: { leftOver = [] } }) => leftOver.map((title) => ({ title, name })));
  const found = await allInTurns(left, async ({ title, name: parent }) => {
    const [, set, namespace, name] = /^argoproj\.io\/Application(Set)? (?:([^/]*)\/)?([^/]+)$/.exec(title) ?? [];
    if (name === undefined) return [];
    const gone = set ? await deployer.applicationsOfSet({ name, namespace }, signal) : [nameOf(namespace, name)];
    return gone.map((application) => ({ application, lock: undefined, deletedBy: [parent] }));
  });
  return found.flat();
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

/** `boundAfresh` for a rollback. If it prunes, the rules of the children that only the cluster has hold as well. */
export async function boundToRollBack(
  plan: Plan,
  prunes: boolean,
  context: Parameters<typeof boundNow>[2] &
    LeftOverSource &
    Pick<CommandContext, "clock"> & { readonly deployer: Pick<Deployer, "findApplication" | "listApplications"> },
): Promise<Plan> {
  const { deployer, signal, clock } = context;
  const running = await deployer.listApplications(signal, clock.now());
  if (!prunes) return boundNow(plan, running, context);
  const parents = new Set(running.map(({ parent }) => parent));
  const found = await allInTurns(plan.applications, async ({ application: name }) => {
    const live = parents.has(name) ? await deployer.findApplication(name) : undefined;
    return live === undefined ? [] : [{ name, live }];
  });
  const reached = await leftOverIn(found.flat(), context);
  return boundNow(withPruned(plan, reached, running), running, context);
}
