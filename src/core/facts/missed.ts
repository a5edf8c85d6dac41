import { type ApplicationName, applicationName } from "../model/brand.js";
import type { Approver } from "../model/change-request.js";
import { groupedBy, mapInTurns } from "../model/collections.js";
import type { Member } from "../model/effect.js";
import { HostFailure } from "../model/errors.js";
import { listed } from "../model/host-words.js";
import {
  type ApplicationPlan,
  deployedWith,
  isPlanOf,
  isWithheld,
  type Plan,
  type Unpinned,
} from "../model/plan/plan.js";
import type { PlannedSource } from "../model/subject.js";
import { type Deployed, takingEffect } from "../policy/effect-rules.js";
import type { Missed } from "../policy/facts.js";
import type { CommandContext } from "../ports/context.js";
import { type AccessContext, barredFrom } from "./access.js";
import type { Approvals } from "./approval.js";
import { isLater, type MayMiss, missOf, nameIn, whyEarly } from "./failed-since.js";

/**
 * What the merge, or the sync of a parent, would deploy unseen: not evaluated, and not approved since a plan named it by somebody who may deploy it. The
 * host is asked only if there is something to lift, and about each list of teams once.
 */
export async function readMissed(
  plan: Plan,
  { approvals, ...context }: Omit<AccessContext, "user"> & { readonly approvals: Approvals },
): Promise<readonly Missed[]> {
  const all: readonly MayMiss[] = [...plan.applications, ...plan.applicationSets, ...plan.previews];
  const withheld = all.filter((one) => missOf(one) === "withheld");
  const failed = all.filter((one) => missOf(one) === "failed");
  const unlifted = failed.length === 0 ? [] : await unliftedOf(failed, plan, { approvals, ...context });
  if (withheld.length + unlifted.length === 0) return [];
  const deployed = await mapInTurns(plan.applications, (parent) =>
    deployedWith(parent).map((name) => ({ name, parent })),
  );
  const parents = groupedBy(deployed.flat(), ({ name }) => name);
  const missedOf = (one: MayMiss, reason: string, isWithheld: boolean): Missed => {
    const application = nameOf(one);
    const through = (parents.get(application) ?? []).map(({ parent }) => parent.application);
    return { application, withheld: isWithheld, reason, through: through.filter((name) => name !== application) };
  };
  const missed = [
    ...(await mapInTurns(withheld, (one) => missedOf(one, WITHHELD, true))),
    ...(await mapInTurns(unlifted, ([one, because]) => missedOf(one, `${FAILED}${because}`, false))),
  ];
  return [...new Map(missed.map((one) => [one.application, one])).values()];
}

const WITHHELD = "it is not rendered before the head is approved";
const FAILED =
  "it could not be evaluated: fix it and push, or have somebody who may deploy it approve this commit after its plan";

/** Those that no approval lifts, each with the reason in brackets; empty if there is no approval. */
async function unliftedOf(
  failed: readonly MayMiss[],
  plan: Plan,
  { approvals, ...context }: Omit<AccessContext, "user"> & { readonly approvals: Approvals },
): Promise<readonly (readonly [MayMiss, string])[]> {
  const approval = await approvals().catch(unread);
  if (typeof approval === "string") return failed.map((one) => [one, approval]);
  if (!approval.approved) return failed.map((one) => [one, ""]);
  const deployedWith = membersIn(plan);
  const needed = failed.map((one) => [one, deployedWith(one)] as const);
  const deployed = needed.flatMap(([, some]) => some);
  const barred = new Map<Approver, ReadonlySet<ApplicationName>>();
  for (const user of approval.people) {
    const found = await barredFrom("sync", deployed, { ...context, user });
    barred.set(user, new Set(found.map(({ application, through }) => through ?? application)));
  }
  return needed.flatMap(([one, some]) => {
    const admitted = approval.people.filter(
      (user) => !some.some(({ application }) => barred.get(user)?.has(application) === true),
    );
    if (admitted.some(({ at }) => isLater(at, one.missedAt))) return [];
    if (admitted.length > 0) return [[one, whyEarly({ knownAt: one.missedAt }, admitted)] as const];
    return [[one, ` (the rules do not let ${approval.approvers.join(", ")}, who approved, deploy it)`] as const];
  });
}

function unread(error: unknown): string {
  if (error instanceof HostFailure) return ` (the approvals could not be read: ${error.message})`;
  throw error;
}

/** Tells everything that has to be allowed to whoever lifts one of them. */
function membersIn(plan: Plan): (one: MayMiss) => readonly Deployed[] {
  const known = new Map<ApplicationName, Member[]>();
  const add = (name: ApplicationName, members: readonly Member[]) => {
    known.set(name, [...(known.get(name) ?? []), ...members]);
  };
  for (const { application, members } of takingEffect(plan)) {
    add(application, members);
    for (const member of members) if (member.application !== application) add(member.application, [member]);
  }
  const whole = (application: ApplicationName) => ({ application, members: known.get(application) ?? [] });
  return (one) => ("members" in one ? one.members.map(({ application }) => whole(application)) : [whole(nameOf(one))]);
}

function nameOf(one: MayMiss): ApplicationName {
  return applicationName(nameIn(one));
}

/**
 * Marks the sources whose commit no approver can have seen, because the head was approved before a plan showed that commit.
 * It reads the approvals, so it comes last in a plan: an approval that is given while svc plans has seen nothing of it.
 */
export async function markUnseen(
  applications: readonly ApplicationPlan[],
  earlier: Plan | undefined,
  { host, change }: Pick<CommandContext, "host" | "change">,
): Promise<readonly ApplicationPlan[]> {
  const mayBeUnseen = (one: ApplicationPlan) =>
    one.kind === "evaluated" && (one.unpinned !== undefined || one.sources.some(isFixed));
  if (!applications.some(mayBeUnseen)) return applications;
  const { approvers } = await host.reviews(change);
  if (approvers.length === 0) return applications;
  const known = isPlanOf(earlier, change) ? earlier.applications : [];
  return applications.map((one) => {
    if (one.kind !== "evaluated") return one;
    const before = known.find(({ application }) => application === one.application);
    const shown = before?.kind === "evaluated" ? before.sources : [];
    const sources = one.sources.map((source) => ({ ...source, unseen: isFixed(source) && !wasSeen(source, shown) }));
    const unpinned = one.unpinned && { ...one.unpinned, unseen: !wasRendered(one.unpinned, before) };
    return { ...one, sources, ...(unpinned && { unpinned }) };
  });
}

const MOST_READS = 5;

function isFixed({ kind }: PlannedSource): boolean {
  return kind === "fixed";
}

function wasSeen({ position, follows, revision }: PlannedSource, shown: readonly PlannedSource[]): boolean {
  const same = shown.find((one) => one.position === position && one.follows === follows && one.revision === revision);
  return same?.unseen === false;
}

/** Whoever approved a head that was not rendered before its approval knew that. */
function wasRendered({ rendered }: Unpinned, before: ApplicationPlan | undefined): boolean {
  if (before?.kind !== "evaluated") return before !== undefined && isWithheld(before);
  return before.unpinned?.unseen === false && before.unpinned.rendered.whole === rendered.whole;
}

const APPROVE_AGAIN =
  "Approve again what the plan shows: push a commit, or withdraw the approvals, run the plan command, and approve";

/** Why the approval of the head does not cover what an application deploys; undefined if it does. */
export function unseenSentence(planned: ApplicationPlan | undefined): string | undefined {
  const source = planned?.kind === "evaluated" ? planned.sources.find(({ unseen }) => unseen) : undefined;
  if (source !== undefined) {
    const { position, follows, revision = "" } = source;
    const commit = revision.slice(0, 8);
    return `source ${position} follows ${follows}, and ${commit} of it was planned only after the head was approved. ${APPROVE_AGAIN}`;
  }
  const unpinned = planned?.kind === "evaluated" ? planned.unpinned : undefined;
  if (unpinned?.unseen !== true) return undefined;
  return `what it reads (${listed(unpinned.reads, MOST_READS)}) was planned like this only after the head was approved. ${APPROVE_AGAIN}`;
}
