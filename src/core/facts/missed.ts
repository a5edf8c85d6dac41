import { type ApplicationName, applicationName } from "../model/brand.js";
import type { Approver } from "../model/change-request.js";
import { type CheckResult, type FailedCheck, isFailed } from "../model/check.js";
import { groupedBy, mapInTurns } from "../model/collections.js";
import type { Member } from "../model/effect.js";
import { HostFailure, only } from "../model/errors.js";
import {
  type ApplicationPlan,
  type Checked,
  checksOf,
  isPlanOf,
  isWithheld,
  type Plan,
  type Unpinned,
  type ApplicationSetPreview,
  type Preview,
  type PreviewContent,
} from "../model/plan/plan.js";
import type { PlannedSource } from "../model/subject.js";
import { type Deployed, takingEffect } from "../policy/effect-rules.js";
import type { Missed } from "../policy/facts.js";
import type { CommandContext } from "../ports/context.js";
import { type AccessContext, barredFrom } from "./access.js";
import type { Approvals } from "./approval.js";

/** What the merge, or a parent's sync, would deploy unseen: not evaluated, nor approved since a plan named it by somebody who may deploy it. */
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
  const missedOf = (one: MayMiss, reason: string, isWithheld: boolean) => {
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

/** What Argo CD deploys by itself as soon as this application is synced. */
function deployedWith({ effect }: ApplicationPlan): readonly ApplicationName[] {
  const reached = effect.members.filter(
    ({ reachedBy, definition, deploysItself }) =>
      reachedBy.kind !== "direct" && definition.kind !== "removed" && deploysItself !== false,
  );
  return [...new Set(reached.map(({ application }) => application))];
}

/** Finds what is deployed with each application of a plan, with the results that the plan has. */
export function checkedIn({ applications, previews }: Plan): (application: ApplicationName) => readonly Checked[] {
  const planned = new Map(applications.map((one) => [one.application, one]));
  const previewed = groupedBy(previews, ({ application }) => application);
  const checksOfOne = (name: ApplicationName): readonly CheckResult[] => {
    const one = planned.get(name);
    const previews = previewed.get(name) ?? [];
    return [...(one === undefined ? [] : checksOf(one)), ...previews.flatMap(({ content }) => content.checks ?? [])];
  };
  return (application) => {
    const one = planned.get(application);
    return (one === undefined ? [] : deployedWith(one)).map((name) => ({
      application: name,
      checks: checksOfOne(name),
    }));
  };
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
  const approval = await approvals().catch(
    only(HostFailure, ({ message }) => ` (the approvals could not be read: ${message})`),
  );
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

/** Marks sources whose commit no approver can have seen. It comes last in a plan: an approval given while svc plans has seen nothing. */
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

/** Whether an approval is certainly newer. The host tells both times in whole seconds: within the same second, it may be older. */
export function isLater(approvedAt: string | undefined, knownAt: string | undefined): boolean {
  if (approvedAt === undefined || knownAt === undefined) return false;
  return Math.floor(Date.parse(approvedAt) / 1000) > Math.floor(Date.parse(knownAt) / 1000);
}

export function whyEarly({ knownAt }: Pick<FailedCheck, "knownAt">, members: readonly Approver[]): string {
  if (knownAt === undefined) {
    return " (which approvals came after it failed is not known: run the plan command, then approve)";
  }
  const untold = members.filter(({ at }) => at === undefined).map(({ login }) => login);
  if (untold.length > 0) {
    return ` (the host does not tell when ${untold.join(", ")} approved, so it may have been before it failed)`;
  }
  return ` (${members.map(({ login }) => login).join(", ")} approved before svc knew that it failed: approve again)`;
}

/**
 * Dates the failures of a plan: failed checks, and applications that could not be evaluated. The time is the host's, so that it can be
 * compared with that of an approval. A failure that an earlier plan of this head showed keeps its time. This is the last step of a
 * plan: whoever approves before it has not seen the failures.
 */
export async function markFailed(
  plan: Plan,
  earlier: Plan | undefined,
  { host, change }: Pick<CommandContext, "change"> & { readonly host: Pick<CommandContext["host"], "reach"> },
): Promise<Plan> {
  const known = isPlanOf(earlier, change) ? earlier : undefined;
  const [applications, applicationSets, previews] = [
    groupedBy(known?.applications ?? [], nameIn),
    groupedBy(known?.applicationSets ?? [], nameIn),
    groupedBy(known?.previews ?? [], nameIn),
  ];
  const keep = <T extends ApplicationPlan | Preview>(one: T, before: ReadonlyMap<string, readonly T[]>) => {
    const same = before.get(nameIn(one)) ?? [];
    return keepMissed(keepTimes(one, same), same);
  };
  const kept = {
    ...plan,
    applications: await mapInTurns(plan.applications, (one) => keep(one, applications)),
    applicationSets: plan.applicationSets.map((one) => keepMissed(one, applicationSets.get(one.name) ?? [])),
    previews: await mapInTurns(plan.previews, (one) => keep(one, previews)),
  };
  const all = [...kept.applications.flatMap(checksOf), ...kept.previews.flatMap(({ content }) => content.checks ?? [])];
  const missed = [...kept.applications, ...kept.applicationSets, ...kept.previews];
  if (!all.some(isUntimed) && !missed.some(isUntimedMiss)) return kept;
  const at = await host.reach().catch(only(HostFailure, () => undefined));
  const knownAt = at?.toISOString();
  const timed = (one: CheckResult): CheckResult => (isUntimed(one) ? { ...one, knownAt } : one);
  const noted = <T extends MayMiss>(one: T): T => (isUntimedMiss(one) ? { ...one, missedAt: knownAt } : one);
  return {
    ...kept,
    applications: await mapInTurns(kept.applications, (one) => noted(mapChecks(one, timed))),
    applicationSets: kept.applicationSets.map(noted),
    previews: await mapInTurns(kept.previews, (one) => noted(mapChecks(one, timed))),
  };
}

/** The parts of a plan that may take effect at the merge without anybody knowing what they do. */
type MayMiss = ApplicationPlan | ApplicationSetPreview | Preview;

/** Whether its effect is unknown, because it failed or is rendered only after an approval. A removal's effect is known. */
function missOf(one: MayMiss): "failed" | "withheld" | undefined {
  if ("origin" in one) return one.origin.change === "removed" ? undefined : missIn(one.content);
  if ("members" in one) return one.problem === undefined || one.withheld === true ? undefined : "failed";
  if (one.kind === "new") return missIn(one.preview);
  return one.kind === "unevaluated" && one.withheld !== true && one.atMerge !== undefined ? "failed" : undefined;
}

function missIn(content: PreviewContent | undefined): "failed" | "withheld" | undefined {
  switch (content?.kind) {
    case undefined:
    case "beyond-limit":
      return "failed";
    case "failed":
      return content.withheld === true ? "withheld" : "failed";
    case "compared":
    case "left-behind":
      return undefined;
  }
}

function isUntimedMiss(one: MayMiss): boolean {
  return one.missedAt === undefined && missOf(one) !== undefined;
}

/** The same with the time that an earlier plan noted in `known`, if that shows the same. */
function keepMissed<T extends MayMiss>(one: T, known: readonly T[]): T {
  if (missOf(one) === undefined) return one.missedAt === undefined ? one : { ...one, missedAt: undefined };
  const same = known.find((before) => before.missedAt !== undefined && shownText(before) === shownText(one));
  return { ...one, missedAt: same?.missedAt };
}

/** Whether an approval might lift it, if it were known when it failed. */
function isUntimed(one: CheckResult): boolean {
  return isFailed(one) && one.overridableBy.length > 0 && one.knownAt === undefined;
}

function nameIn(one: MayMiss): string {
  return "members" in one ? one.name : one.application;
}

function keepTimes<T extends ApplicationPlan | Preview>(one: T, known: readonly T[]): T {
  if (!("content" in one ? (one.content.checks ?? []) : checksOf(one)).some(isUntimed)) return one;
  const before = known.find((other) => shownText(other) === shownText(one));
  if (before === undefined) return one;
  const checks = "content" in before ? (before.content.checks ?? []) : checksOf(before);
  return mapChecks(one, (check) => timedAs(check, checks));
}

/** A result with the time of the same failure in `known`. */
export function timedAs(one: CheckResult, known: readonly CheckResult[]): CheckResult {
  if (!isUntimed(one)) return one;
  const same = known.find(
    ({ name, definition, outcome }) =>
      name === one.name && definition === one.definition && JSON.stringify(outcome) === JSON.stringify(one.outcome),
  );
  return same?.knownAt === undefined ? one : { ...one, knownAt: same.knownAt };
}

function mapChecks<T extends ApplicationPlan | Preview>(one: T, change: (check: CheckResult) => CheckResult): T {
  if ("content" in one) {
    const { content } = one;
    return content.checks === undefined ? one : { ...one, content: { ...content, checks: content.checks.map(change) } };
  }
  if ("checks" in one && one.checks !== undefined) return { ...one, checks: one.checks.map(change) };
  if (!("preview" in one) || one.preview?.checks === undefined) return one;
  return { ...one, preview: { ...one.preview, checks: one.preview.checks.map(change) } };
}

/** What a plan says of an application's objects and definition, to be compared: not its locks, checks and warnings. */
function shownText(one: MayMiss): string {
  return JSON.stringify(one, (key, value: unknown) => {
    if (NOT_COMPARED.has(key)) return undefined;
    if (FAILURES.has(key) && typeof value === "string") return kindOfFailure(value);
    const isPlain = typeof value === "object" && value !== null && !Array.isArray(value);
    return isPlain
      ? Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)))
      : value;
  });
}

const FAILURES: ReadonlySet<string> = new Set(["reason", "problem"]);

/** A failure without what differs each time: temporary paths, and words with digits. Whoever approved it has seen nothing behind it. */
function kindOfFailure(text: string): string {
  const known = text.replace(/\/tmp\/[^\s:;,'"`)\]}]*/g, "#");
  return known.replace(/[\w-]+/g, (word) => (/\d/.test(word) ? "#" : word));
}

const NOT_COMPARED: ReadonlySet<string> = new Set([
  "lock",
  "checks",
  "warnings",
  "unseen",
  "cluster",
  "replaces",
  "gaps",
  "missedAt",
]);
