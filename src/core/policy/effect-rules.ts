import { mayMeanName } from "../../config/pattern.js";
import { strictest } from "../../config/rules/requirements.js";
import type { ApplicationName } from "../model/brand.js";
import type { ChangeRequest } from "../model/change-request.js";
import { distinct, groupedBy } from "../model/collections.js";
import { type Member, movesOf, ruledAs, startOf, whyBound, withoutReview } from "../model/effect.js";
import type { Hold, HoldOf } from "../model/hold.js";
import { listed } from "../model/host-words.js";
import {
  type ApplicationPlan,
  isPlanOf,
  type Plan,
  type PlannedFor,
  previewedDiff,
  shownDiff,
} from "../model/plan/plan.js";
import type { MemberNeed } from "../model/result.js";
import type {
  AccessCommand,
  AccessRule,
  DefinedIn,
  HealthRule,
  RuledApplication,
  Settings,
} from "../model/settings.js";
import { introducing } from "../survey/driving-right.js";
import type { ApplicationFacts, Requires } from "./facts.js";
import { waitsIn } from "./stages.js";

/** An application that is about to be deployed, and everything that a deployment of it reaches. */
export interface Deployed {
  readonly application: ApplicationName;
  /** Empty if nothing but the name is known. */
  readonly members: readonly Member[];
  /** Other repositories that define it, if it has no members. */
  readonly definedIn?: readonly DefinedIn[] | undefined;
  /** What it and its members create or change of kinds that set limits or grant rights. Untrusted. */
  readonly sensitive?: readonly SensitiveChange[];
}

interface SensitiveChange {
  readonly member: ApplicationName;
  /** `creates Role shop/admin`. */
  readonly what: string;
}

/** The applications with what their deployment reaches, if the plan is one of the present head and target branch. */
export function deployedOf(
  plan: Plan | undefined,
  applications: readonly ApplicationName[],
  change: PlannedFor,
): readonly Deployed[] {
  return applications.map(deployedIn(plan, change));
}

/** Tells for any application what its deployment reaches, as `deployedOf` does for a list of them. */
function deployedIn(plan: Plan | undefined, change: PlannedFor): (application: ApplicationName) => Deployed {
  if (!isPlanOf(plan, change)) return (application) => ({ application, members: [] });
  const known = new Map(plan.applications.map((one) => [one.application, one.effect]));
  const reach = reachIn(plan);
  return (application) => reach(application, known.get(application)?.members ?? []);
}

/** Adds to the members of what is deployed what the plan shows of them. */
function reachIn(plan: Plan): (application: ApplicationName, members: readonly Member[]) => Deployed {
  const shown = [
    ...plan.applications.map((one) => [one.application, shownDiff(one)] as const),
    ...plan.previews.map(({ application, content }) => [application, previewedDiff(content)] as const),
  ];
  const sensitive = new Map<ApplicationName, readonly string[]>();
  for (const [name, diff] of shown) {
    if (diff?.sensitive !== undefined) sensitive.set(name, [...(sensitive.get(name) ?? []), ...diff.sensitive]);
  }
  return (application, members) => {
    if (sensitive.size === 0) return { application, members, sensitive: [] };
    const found = [...reached({ application, members })].flatMap((member) =>
      (sensitive.get(member) ?? []).map((what) => ({ member, what })),
    );
    return { application, members, sensitive: found };
  };
}

/** The names of what is deployed and of everything that this reaches. */
export function reached({
  application,
  members,
}: Pick<Deployed, "application" | "members">): ReadonlySet<ApplicationName> {
  return new Set([application, ...members.map((member) => member.application)]);
}

export function byNameAlone(applications: readonly ApplicationName[]): readonly Deployed[] {
  return applications.map((application) => ({ application, members: [] }));
}

/** The holds of what is deployed and of everything that this reaches. */
export function holdsOn(deployed: Deployed, holds: readonly Hold[]): readonly HoldOf[] {
  if (holds.length === 0) return [];
  const names = [...reached(deployed)];
  return holds.flatMap((hold) => {
    const { reason, by, until } = hold;
    const held = names.find((name) => matchesHold(hold, name));
    return held === undefined ? [] : [{ application: held, reason, by: by.login, until }];
  });
}

export function matchesHold({ applications }: Pick<Hold, "applications">, name: ApplicationName): boolean {
  return applications.some((pattern) => mayMeanName(pattern, name));
}

/** Lists everything that requires an approval: by a rule, or because no rule can allow it without one. */
export function approvalNeeds(all: readonly Deployed[], settings: Settings): readonly MemberNeed[] {
  return all.flatMap(({ application, members, definedIn, sensitive = [] }) => {
    const needed = [...groupedBy(sensitive, ({ member }) => member)].map(([member, some]) => {
      const what = listed(
        some.map((one) => one.what),
        MOST_NAMED,
      );
      return { application, member, because: `it ${what}, which sets limits or grants rights` };
    });
    if (members.length === 0) {
      const { requireApproval, because = "" } = settings.requirementsFor({ name: application, definedIn });
      return [...(requireApproval ? [{ application, member: application, because }] : []), ...needed];
    }
    const byRules = members.flatMap((member) => {
      const because = needOf(member, settings);
      return because === undefined ? [] : [{ application, member: member.application, because }];
    });
    return [...byRules, ...needed];
  });
}

const MOST_NAMED = 5;

export function needsApproval(all: readonly Deployed[], settings: Settings): boolean {
  return approvalNeeds(all, settings).length > 0;
}

/** Whether any rule for what is deployed requires that the branch is up to date. */
export function requiresUpToDate(deployed: Deployed, settings: Settings): boolean {
  return strictest(ruledOf(deployed).map((one) => settings.requirementsFor(one))).requireUpToDate;
}

/** Whether every rule for what is deployed lets an approval start the sync. */
function startsOnApproval(deployed: Deployed, settings: Settings): boolean {
  return strictest(ruledOf(deployed).map((one) => settings.requirementsFor(one))).onApproval === true;
}

/** How healthy an application must get after its sync, for itself and everything that the sync reaches. */
export function healthRuleFor(deployed: Deployed, settings: Settings): HealthRule | undefined {
  return strictest(ruledOf(deployed).map((one) => settings.requirementsFor(one))).health;
}

/** The lists that must all allow a person this command for one member. */
export function accessRulesFor(member: Member, command: AccessCommand, settings: Settings): readonly AccessRule[] {
  return distinct([member, ...member.boundAs].flatMap((one) => settings.accessTo(ruledAs(one), command)));
}

function needOf(member: Member, settings: Settings): string | undefined {
  const moves = movesOf(member).map((move) => {
    const start = startOf(move);
    return start === undefined ? `its ${move.what} moves from ${move.from} to ${move.to}` : `its definition ${start}`;
  });
  const follows = (member.follows ?? []).map((name) => `it comes to follow ${withoutReview(name)}`);
  if (moves.length + follows.length > 0) return [...moves, ...follows].join("; ");
  if (member.problem !== undefined) return `it could not be evaluated: ${member.problem}`;
  const requires = (one: RuledApplication): boolean => settings.requirementsFor(one).requireApproval;
  const own = settings.requirementsFor(ruledAs(member));
  if (own.requireApproval) return own.because ?? "";
  const bound = member.boundAs.find((one) => requires(ruledAs(one)));
  return bound && whyBound(bound);
}

function ruledOf({ application, members, definedIn }: Deployed): readonly RuledApplication[] {
  if (members.length === 0) return [{ name: application, definedIn }];
  return members.flatMap((member) => [member, ...member.boundAs].map(ruledAs));
}

/** Everything that the merge or a sync deploys, also what svc does not deploy itself, and what ApplicationSets generate. */
export function takingEffect(plan: Plan | undefined): readonly Deployed[] {
  if (plan === undefined) return [];
  const reach = reachIn(plan);
  const planned = plan.applications.map(({ application, effect }) => reach(application, effect.members));
  return [...planned, ...besides(plan)];
}

/** What the merge deploys besides the applications of a plan. */
export function besides(plan: Plan): readonly Deployed[] {
  const reach = reachIn(plan);
  const generated = plan.applicationSets.flatMap(({ members }) =>
    members.map((member) => reach(member.application, [member])),
  );
  const known = new Set([...plan.applications, ...generated].map(({ application }) => application));
  // What a previewed child applies in turn is in no list of members.
  const previewed = plan.previews.map(({ application }) => reach(application, [])).filter(isSensitive);
  const others = plan.notDeployed.map(({ application, definedIn }) => ({ application, members: [], definedIn }));
  return [...generated, ...[...previewed, ...others].filter(({ application }) => !known.has(application))];
}

/** The other repositories that define what is deployed. */
export function definedInOf(all: readonly Deployed[]): readonly DefinedIn[] {
  return all.flatMap(({ members, definedIn = [] }) => [...definedIn, ...members.flatMap((one) => one.definedIn ?? [])]);
}

function isSensitive({ sensitive = [] }: Deployed): boolean {
  return sensitive.length > 0;
}

/** What limits a deployment by this change request. */
interface Limits {
  readonly change: ChangeRequest;
  readonly settings: Settings;
  readonly holds: readonly Hold[];
}

/** What a deployment of an application requires by the plan. */
export function requirementsIn(plan: Plan | undefined, limits: Limits): (application: ApplicationName) => Requires {
  const planned = new Map(plan?.applications.map((one) => [one.application, one]));
  const deployed = deployedIn(plan, limits.change);
  const { stages } = limits.settings;
  const waits = isPlanOf(plan, limits.change) ? stages.map((some) => waitsIn(plan, some)) : [];
  return (application) => {
    const back = { application, members: unmoved(planned.get(application)) };
    const staged = waits.flatMap((some) => some.get(application) ?? []);
    return { ...requiresOf(deployed(application), back, limits), ...(staged.length > 0 && { stages: staged }) };
  };
}

/** The facts of something that this change request did not plan: only what its deployment requires. */
export function otherFacts(deployed: Deployed, limits: Limits): ApplicationFacts {
  const requires = requiresOf(deployed, deployed, limits);
  const { application } = deployed;
  return { application, planned: undefined, lock: undefined, record: undefined, foreign: [], requires, now: undefined };
}

/** The members of a plan as a rollback sees them: it moves nothing, so that only rules require an approval. */
function unmoved(planned: ApplicationPlan | undefined): readonly Member[] {
  const members = planned?.effect.members ?? [];
  return members.map((member) => ({ ...member, definition: { kind: "unchanged" }, problem: undefined }));
}

/** @param back The same application with what its rollback reaches. */
function requiresOf(deployed: Deployed, back: Deployed, { change, settings, holds }: Limits): Requires {
  const { application } = deployed;
  const obstacle = introducing(deployed, { settings, change });
  const allowed = (command: AccessCommand, { members }: Deployed) =>
    members.length === 0
      ? settings.accessTo({ name: application, definedIn: deployed.definedIn }, command)
      : members.flatMap((member) => accessRulesFor(member, command, settings));
  const held = holdsOn(deployed, holds);
  const [alone = deployed] = byNameAlone([application]);
  return {
    approvals: { sync: approvalNeeds([deployed], settings), rollback: approvalNeeds([back], settings) },
    upToDate: requiresUpToDate(deployed, settings),
    ...(startsOnApproval(deployed, settings) ? { onApproval: true } : {}),
    ...(obstacle === undefined ? {} : { obstacle }),
    ...(held.length === 0 ? {} : { holds: held }),
    allowed: {
      plan: allowed("plan", alone),
      sync: allowed("sync", deployed),
      rollback: allowed("rollback", back),
      unlock: allowed("unlock", alone),
    },
  };
}
