import { placeOf } from "../../config/rules/rule-match.js";
import type { ApplicationName } from "../model/brand.js";
import { listed } from "../model/host-words.js";
import type { Names, NextStep } from "../model/next-step.js";
import type { ApplicationPlan, Plan } from "../model/plan/plan.js";
import type { OwnSettings } from "../model/settings.js";
import type { PlannedStage, Stage, StageOf } from "../model/stage.js";
import { durationText, fullMinuteText } from "../model/time.js";
import { approvalNeedsOf, awaits, isAtHead, ownLocksIn } from "./application-state.js";
import type { ApplicationFacts, Facts } from "./facts.js";

/** Puts each application of a sync into the first stage that matches, or the last; or into a later one of which it deploys or removes something. */
export function stagesOf(
  { applications }: Pick<Plan, "applications">,
  stages: readonly Stage[],
): readonly PlannedStage[] {
  const placed = placesOf(applications, stages);
  return stages.map(({ name, wait, soak }, place) => {
    return { name, wait, soak, applications: [...placed].flatMap(([one, its]) => (its === place ? [one] : [])) };
  });
}

/** The stages that the comment of a plan lists: those of the base branch, if at least two have applications. */
export function shownStages(
  applications: Plan["applications"],
  { stages: [stages = []] }: Pick<OwnSettings, "stages">,
): Pick<Plan, "stages"> {
  const filled = stagesOf({ applications }, stages).filter((one) => one.applications.length > 0);
  return filled.length > 1 ? { stages: filled } : {};
}

function placesOf(applications: Plan["applications"], stages: readonly Stage[]): ReadonlyMap<ApplicationName, number> {
  const synced = applications.filter(
    ({ kind, atMerge }) => kind !== "new" && kind !== "deleted" && atMerge === undefined,
  );
  return new Map(
    synced.map((one) => [one.application, Math.max(...reachedBy(one).map((name) => placeOf(name, stages)))]),
  );
}

/** The application, and what its sync makes Argo CD deploy or remove at once. A child that is only redefined waits for its own sync. */
function reachedBy({ application, effect }: ApplicationPlan): Names {
  const at = effect.members.filter(
    ({ reachedBy: how, definition, deploysItself }) =>
      how.kind !== "direct" && (definition.kind === "removed" || deploysItself !== false),
  );
  return [application, ...at.map((member) => member.application)];
}

/** The stage of each application of a plan. This is the one place that decides the order: gate, plan and rollback ask it. */
export function waitsIn(
  plan: Pick<Plan, "applications">,
  stages: readonly Stage[],
): ReadonlyMap<ApplicationName, StageOf> {
  const placed = placesOf(plan.applications, stages);
  const planned = stagesOf(plan, stages);
  const circles = circlesIn(plan, placed);
  return new Map(
    planned.flatMap(({ name: stage, wait, soak, applications }, place) => {
      const filled = planned.slice(0, place).filter((one) => one.applications.length > 0);
      const earlier = filled.flatMap((one) => one.applications);
      const last = filled.at(-1);
      const before = last && { stage: last.name, applications: last.applications };
      return applications.map((application): [ApplicationName, StageOf] => {
        const parent = circles.get(application);
        const later = parent && planned[placed.get(parent) ?? place];
        const circle = parent && later && { parent, stage: later.name };
        return [application, { stage, wait, soak, place, earlier, before, ...(circle && { circle }) }];
      });
    }),
  );
}

/** The children whose parent is in a later stage although it writes their definition, each with that parent. */
function circlesIn(
  { applications }: Pick<Plan, "applications">,
  placed: ReadonlyMap<ApplicationName, number>,
): ReadonlyMap<ApplicationName, ApplicationName> {
  const pairs = applications.flatMap(({ application, definedBy, effect }) => {
    const given = effect.members.filter(({ reachedBy: how }) => how.kind !== "direct");
    const children = given.map((child) => [child.application, application] as const);
    return definedBy === undefined ? children : [...children, [application, definedBy.parent] as const];
  });
  return new Map(
    pairs.filter(([child, parent]) => {
      const [its, after] = [placed.get(child), placed.get(parent)];
      return its !== undefined && after !== undefined && its < after;
    }),
  );
}

/** Why a stage may not begin yet. */
interface Unbegun {
  readonly kind: "circle" | "undeployed" | "manual" | "soaking" | "unknown" | "unhealthy";
  /** A clause about the application; untrusted. */
  readonly why: string;
  readonly stage: string;
  /** The end of the soak, for `soaking`. */
  readonly until?: Date;
}

/** Why the stage of an application may not begin yet; undefined if it may. A dry run deploys nothing and may try all stages. */
function unbegun({ requires }: ApplicationFacts, facts: Facts): Unbegun | undefined {
  if (facts.asker?.dryRun === true) return undefined;
  for (const one of requires.stages ?? []) {
    const found = unbegunOf(one, facts);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Whether its stage comes after another one. @param only with this wait; without it, any */
export function follows({ requires: { stages = [] } }: ApplicationFacts, only?: Stage["wait"]): boolean {
  return stages.some(({ wait, before }) => before !== undefined && (only === undefined || wait === only));
}

export function barOfStage(one: ApplicationFacts, facts: Facts): string | undefined {
  return unbegun(one, facts)?.why;
}

function unbegunOf({ stage, wait, soak, earlier, before, circle }: StageOf, facts: Facts): Unbegun | undefined {
  const known = new Map(facts.applications.map((one) => [one.application, one]));
  const isUndeployed = (name: ApplicationName) => {
    const one = known.get(name);
    return one === undefined || awaits(one, facts);
  };
  if (circle !== undefined && isUndeployed(circle.parent)) {
    const why = `it is in stage ${stage}, and its parent ${circle.parent}, which has to be deployed before it, in the later stage ${circle.stage}: put both into one stage`;
    return { kind: "circle", why, stage };
  }
  const left = earlier.filter(isUndeployed);
  if (left.length > 0) {
    const verb = left.length === 1 ? "is" : "are";
    const named = listed(
      left.map((name) => `${name} of stage ${stageOf(known.get(name))}`),
      MOST_NAMED,
    );
    return { kind: "undeployed", why: `it is in stage ${stage}, and ${named} ${verb} not deployed yet`, stage };
  }
  if (before === undefined) return undefined;
  if (wait === "manual" && facts.asker?.automatic === true) {
    const why = `it is in stage ${stage}, which svc does not begin by itself: comment ${facts.words.command} sync`;
    return { kind: "manual", why, stage };
  }
  // The stage before may have had nothing to deploy, and then it says nothing of how long the change has been running.
  const deployed = [before.applications, earlier].map((names) => deployedIn(names, known, facts));
  const soaked = deployed.find(({ length }) => length > 0) ?? [];
  const soaking = soakingUntil(soaked, soak, facts);
  const last = stageOf(soaked.at(-1));
  if (soaking === "unknown") {
    const why = `it is in stage ${stage}, and svc did not see when the sync of stage ${last} ended: plan and sync that stage again`;
    return { kind: "unknown", why, stage };
  }
  if (soaking !== undefined) {
    const why = `it is in stage ${stage}, which begins at ${fullMinuteText(soaking)}, ${durationText(soak)} after stage ${last} was deployed`;
    return { kind: "soaking", why, stage, until: soaking };
  }
  const { unhealthy = {} } = facts;
  const ill = [...before.applications, ...earlier].find((name) => Object.hasOwn(unhealthy, name));
  if (ill === undefined) return undefined;
  const of = before.applications.includes(ill) ? before.stage : stageOf(known.get(ill));
  const why = `it is in stage ${stage}, and ${ill} of stage ${of} ${unhealthy[ill] ?? ""}`;
  return { kind: "unhealthy", why, stage };
}

const MOST_NAMED = 5;

function stageOf(one: ApplicationFacts | undefined): string {
  return one?.requires.stages?.[0]?.stage ?? "";
}

/** The applications whose head was deployed. Those that needed no deployment do not soak. */
function deployedIn(names: Names, known: ReadonlyMap<ApplicationName, ApplicationFacts>, { change }: Facts) {
  return names
    .flatMap((name) => known.get(name) ?? [])
    .filter(({ record }) => record !== undefined && isAtHead(record, change));
}

/** When the soak of a deployed stage ends; undefined if it has ended. */
function soakingUntil(
  deployed: readonly ApplicationFacts[],
  soak: number,
  { at }: Facts,
): Date | "unknown" | undefined {
  if (soak === 0 || deployed.length === 0) return undefined;
  const ends = deployed.map(({ record }) => (record?.endedAt === undefined ? NaN : Date.parse(record.endedAt)));
  const until = new Date(Math.max(...ends) + soak);
  if (at === undefined || Number.isNaN(until.getTime())) return "unknown";
  return until.getTime() > Date.parse(at) ? until : undefined;
}

/**
 * Narrows a sync to the first stage that may begin and has something to deploy. If none may begin, the names stay as they are, and
 * the gate refuses the sync with its reason. An application whose parent is in a later stage also stays, for the same purpose.
 */
export function inFirstStage(names: Names, facts: Facts): Names {
  const named = new Set(names);
  const staged = facts.applications.filter((one) => named.has(one.application) && one.requires.stages !== undefined);
  const begun = staged.filter((one) => (unbegun(one, facts)?.kind ?? "circle") === "circle");
  if (begun.length === 0) return names;
  const active = begun.filter((one) => awaits(one, facts) || one.record !== undefined);
  const first = new Set(firstOf(active.length > 0 ? active : begun));
  const kept = new Set(begun.filter((one) => first.has(one) || !active.includes(one)));
  const later = new Set(staged.filter((one) => !kept.has(one)).map(({ application }) => application));
  return names.filter((name) => !later.has(name));
}

/** The applications that are in the earliest stage by every file. */
function firstOf(all: readonly ApplicationFacts[]): readonly ApplicationFacts[] {
  const files = Math.max(0, ...all.map(({ requires }) => requires.stages?.length ?? 0));
  let left = all;
  for (let file = 0; file < files; file += 1) {
    const place = ({ requires }: ApplicationFacts) => requires.stages?.[file]?.place ?? 0;
    const least = Math.min(...left.map(place));
    left = left.filter((one) => place(one) === least);
  }
  return left;
}

/** The stage that svc begins by itself if these applications are left, and when; undefined if a person has to act first. */
export function followingStage(left: Names, facts: Facts): { readonly stage: string; readonly due: Date } | undefined {
  const staged = facts.applications.filter(({ requires }) => requires.stages !== undefined);
  const [first, ...others] = firstOf(staged.filter(({ application }) => left.includes(application)));
  const [own] = first?.requires.stages ?? [];
  if (first === undefined || own === undefined || follows(first, "manual")) return undefined;
  const barred = [first, ...others].flatMap((one) => unbegun(one, facts) ?? []);
  const until = barred.map((one) => one.until?.getTime() ?? NaN);
  const due = new Date(Math.max(Date.parse(facts.at ?? ""), ...until));
  return Number.isNaN(due.getTime()) ? undefined : { stage: own.stage, due };
}

/** Whether a sync without `-a` would deploy an earlier stage once more instead, since a newer plan has locked that again. */
export function comesAfterDeployed({ requires: { stages } }: ApplicationFacts, facts: Facts): boolean {
  if (stages === undefined) return false;
  const earlier = new Set(stages.flatMap((one) => one.earlier));
  const held = new Set(ownLocksIn(facts).map(({ application }) => application));
  return facts.applications.some(
    (one) =>
      earlier.has(one.application) && held.has(one.application) && one.record !== undefined && !awaits(one, facts),
  );
}

/** The next step if only applications of later stages are left. */
export function stepOfStage(waiting: readonly ApplicationFacts[], facts: Facts): Extract<NextStep, { kind: "stage" }> {
  const next = facts.plan?.next;
  const [first] = waiting;
  const found = first && unbegun(first, facts);
  const needed = waiting.some((one) => approvalNeedsOf(one, "sync").length > 0) && facts.approval?.approved !== true;
  const approval = needed ? { unapproved: facts.change.headRevision } : {};
  if (next !== undefined) return { kind: "stage", stage: next.stage, at: next.due, by: next.by, ...approval };
  const stage = found?.stage ?? "";
  if (first !== undefined && found?.until !== undefined) {
    const isNamed = comesAfterDeployed(first, facts);
    const named = waiting.filter((one) => isNamed && stageOf(one) === stage).map(({ application }) => application);
    return { kind: "stage", stage, at: found.until.toISOString(), ...(isNamed && { only: named }), ...approval };
  }
  return { kind: "stage", stage, because: found && `${first.application}: ${found.why}` };
}

/** When the next soak ends, or svc begins the next stage; what is shown is brought up to date then. */
export function endOfSoak(facts: Facts): Date | undefined {
  const { plan, applications } = facts;
  if (plan?.next !== undefined) return new Date(plan.next.due);
  const ends = applications.flatMap((one) => unbegun(one, facts)?.until ?? []);
  return ends.sort((a, b) => a.getTime() - b.getTime())[0];
}
