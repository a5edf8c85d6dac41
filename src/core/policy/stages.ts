import { placeOf } from "../../config/rules/rule-match.js";
import type { ApplicationName } from "../model/brand.js";
import { listed } from "../model/host-words.js";
import type { Names, NextStep } from "../model/next-step.js";
import type { ApplicationPlan, Plan } from "../model/plan/plan.js";
import type { OwnSettings } from "../model/settings.js";
import type { PlannedStage, Stage, StageOf } from "../model/stage.js";
import { durationText, fullMinuteText } from "../model/time.js";
import { approvalNeedsOf, awaits, isAtHead } from "./application-state.js";
import type { ApplicationFacts, Facts } from "./facts.js";

/**
 * Puts what a sync deploys of a plan into stages. The first pattern that matches wins; without one, an application is in the
 * last stage. One whose sync deploys or removes something of a later stage belongs there.
 */
export function stagesOf(
  { applications }: Pick<Plan, "applications">,
  stages: readonly Stage[],
): readonly PlannedStage[] {
  const placed = placesOf(applications, stages);
  return stages.map(({ name, wait, soak }, place) => {
    return { name, wait, soak, applications: [...placed].flatMap(([one, its]) => (its === place ? [one] : [])) };
  });
}

/** The stages for the comment of a plan, where there are several; those of the base branch. */
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

/** The application, and what its sync makes Argo CD deploy or remove at once. A mere definition waits for a sync of its own. */
function reachedBy({ application, effect }: ApplicationPlan): Names {
  const at = effect.members.filter(
    ({ reachedBy: how, definition, deploysItself }) =>
      how.kind !== "direct" && (definition.kind === "removed" || deploysItself !== false),
  );
  return [application, ...at.map((member) => member.application)];
}

/** What each application of a plan waits for. */
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

/** The children that a parent in a later stage gives another definition, each with that parent. */
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

/** Why a stage has not begun. */
export interface Unbegun {
  readonly kind: "circle" | "undeployed" | "soaking" | "unknown" | "unhealthy";
  /** A clause about the application; untrusted. */
  readonly why: string;
  readonly stage: string;
  /** When it begins, if only time is missing. */
  readonly until?: Date;
}

/** Why the stage of an application has not begun; undefined if it has. A dry run deploys nothing, so that it tries all stages. */
export function unbegun({ requires }: ApplicationFacts, facts: Facts): Unbegun | undefined {
  if (facts.asker?.dryRun === true) return undefined;
  for (const one of requires.stages ?? []) {
    const found = unbegunOf(one, facts);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The bar of the gate. */
export function barOfStage(one: ApplicationFacts, facts: Facts): string | undefined {
  return unbegun(one, facts)?.why;
}

function unbegunOf({ stage, soak, earlier, before, circle }: StageOf, facts: Facts): Unbegun | undefined {
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
  const soaking = soakingUntil(before.applications, soak, known, facts);
  if (soaking === "unknown") {
    const why = `it is in stage ${stage}, and nobody knows since when stage ${before.stage} is deployed: plan and sync that again`;
    return { kind: "unknown", why, stage };
  }
  if (soaking !== undefined) {
    const why = `it is in stage ${stage}, which begins at ${fullMinuteText(soaking)}, ${durationText(soak)} after stage ${before.stage} was deployed`;
    return { kind: "soaking", why, stage, until: soaking };
  }
  const ill = before.applications.find((name) => facts.unhealthy?.[name] !== undefined);
  if (ill === undefined) return undefined;
  const why = `it is in stage ${stage}, and ${ill} of stage ${before.stage} ${facts.unhealthy?.[ill] ?? ""}`;
  return { kind: "unhealthy", why, stage };
}

const MOST_NAMED = 5;

function stageOf(one: ApplicationFacts | undefined): string {
  return one?.requires.stages?.[0]?.stage ?? "";
}

/** When the soak of a deployed stage ends; undefined if it has ended. What did not have to be deployed does not soak. */
function soakingUntil(
  names: Names,
  soak: number,
  known: ReadonlyMap<ApplicationName, ApplicationFacts>,
  { change, at }: Facts,
): Date | "unknown" | undefined {
  const records = names.flatMap((name) => known.get(name)?.record ?? []).filter((one) => isAtHead(one, change));
  if (soak === 0 || records.length === 0) return undefined;
  const ends = records.map(({ endedAt }) => (endedAt === undefined ? NaN : Date.parse(endedAt)));
  const until = new Date(Math.max(...ends) + soak);
  if (at === undefined || Number.isNaN(until.getTime())) return "unknown";
  return until.getTime() > Date.parse(at) ? until : undefined;
}

/**
 * Narrows a sync to the first stage that has begun and has something to deploy. One that waits for nothing but its parent stays, so
 * that the sync is refused with both; so does everything if no stage has begun.
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

/** Those of the first place in each file. */
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

/** The stage that follows by itself once these applications are left, and when; undefined if somebody has to act. */
export function followingStage(left: Names, facts: Facts): { readonly stage: string; readonly due: Date } | undefined {
  const [first, ...others] = firstOf(facts.applications.filter(({ application }) => left.includes(application)));
  const stages = first?.requires.stages ?? [];
  const [own] = stages;
  if (first === undefined || own === undefined || stages.some(({ wait }) => wait === "manual")) return undefined;
  const barred = [first, ...others].flatMap((one) => unbegun(one, facts) ?? []);
  const until = barred.map((one) => one.until?.getTime() ?? NaN);
  const due = new Date(Math.max(Date.parse(facts.at ?? ""), ...until));
  return Number.isNaN(due.getTime()) ? undefined : { stage: own.stage, due };
}

/** The next step where nothing but a later stage is left. */
export function stepOfStage(waiting: readonly ApplicationFacts[], facts: Facts): Extract<NextStep, { kind: "stage" }> {
  const next = facts.plan?.next;
  const [first] = waiting;
  const found = first && unbegun(first, facts);
  const needed = waiting.some((one) => approvalNeedsOf(one, "sync").length > 0) && facts.approval?.approved !== true;
  const approval = needed ? { unapproved: facts.change.headRevision } : {};
  if (next !== undefined) return { kind: "stage", stage: next.stage, at: next.due, by: next.by, ...approval };
  const stage = found?.stage ?? "";
  if (found?.until !== undefined) return { kind: "stage", stage, at: found.until.toISOString(), ...approval };
  return { kind: "stage", stage, because: found?.why };
}

/** The next moment at which time alone changes what is shown; undefined if there is none. */
export function endOfSoak(facts: Facts): Date | undefined {
  const { plan, applications } = facts;
  if (plan?.next !== undefined) return new Date(plan.next.due);
  const ends = applications.flatMap((one) => unbegun(one, facts)?.until ?? []);
  return ends.sort((a, b) => a.getTime() - b.getTime())[0];
}
