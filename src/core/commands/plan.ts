import type { RenderFacts } from "../diff/diff-task.js";
import { createLifting, type WhyWithheld } from "../facts/approval.js";
import { markFailed, markUnseen } from "../facts/missed.js";
import { factsOfAsker } from "../facts/read-facts.js";
import { type GivenDefinition, specEqual } from "../model/application.js";
import { applicationName, type ApplicationName } from "../model/brand.js";
import { changeRequestRef } from "../model/change-request.js";
import { allInTurns, mapInTurns } from "../model/collections.js";
import type { Command } from "../model/command.js";
import type { LockAttempt } from "../model/lock.js";
import { type ApplicationPlan, isPlanOf, type Plan, type Preview, unplanned } from "../model/plan/plan.js";
import type { CommandResult } from "../model/result.js";
import type { Subject } from "../model/subject.js";
import { byNameAlone } from "../policy/effect-rules.js";
import { judge } from "../policy/judge.js";
import { shownStages } from "../policy/stages.js";
import type { CommandContext, OpenedChange } from "../ports/context.js";
import { leavesOut } from "../ports/log.js";
import { childPreviews, failingSets, parentsOf, withChildren, withGenerated } from "../survey/child-previews.js";
import {
  aboveUnknown,
  appliedSets,
  followedChildren,
  givenChildren,
  withPlannedDefinitions,
} from "../survey/children.js";
import { deriveEffects, liveRules } from "../survey/effects.js";
import { noteUnseen } from "../survey/members.js";
import { createPreviews, type Previews } from "../survey/previews.js";
import { withApplicationSets } from "../survey/sets/application-sets.js";
import { type HasRoom, previewGenerated, type SurveyWithSets } from "../survey/sets/generated-applications.js";
import { withSetsOfParents } from "../survey/sets/rendered-sets.js";
import { surveyAfresh, withEffect, withTakenBack } from "../survey/survey-afresh.js";
import type { Survey, SurveyOptions } from "../survey/survey.js";
import { contentWithin, createPlanStart, evaluate, newPlanRoom, type PlanStart } from "./evaluate.js";
import { leaveQueues, presentLock, settleLocks } from "./locks.js";
import { APPLIES_ITSELF, otherWordNotes, Questions, warnedAgain, withRecords } from "./plan-warnings.js";
import { correctedTo, labelsFor, namesOf, plannedIn, type LabelsOf } from "./selection.js";

interface Planning {
  readonly command: Command<"plan">;
  /** Without `-a`. */
  readonly everything: boolean;
  /** The plan before this one. */
  readonly earlier: Plan | undefined;
  readonly labelsOf: LabelsOf;
  readonly locks: Map<ApplicationName, LockAttempt>;
  readonly why: WhyWithheld;
  readonly previews: Previews;
  readonly start: PlanStart;
  readonly questions: Questions;
  readonly context: CommandContext;
}

/** Finds, locks and renders the affected applications, and stores what differs. An aborted plan releases the locks that it took. */
export async function plan(command: Command<"plan">, context: CommandContext): Promise<CommandResult> {
  // If it cannot be read, nothing is locked for a plan that cannot follow it.
  const earlier = await context.plans.find(context.change);
  const locks = new Map<ApplicationName, LockAttempt>();
  const why = createLifting(context);
  const previews = createPreviews(why, context);
  const start = createPlanStart(locks, why, previews, context);
  const questions = new Questions(context);
  const everything = command.applications.length === 0;
  try {
    const labelsOf = await labelsFor(command, context);
    const given = { command, everything, earlier, context };
    const planning: Planning = { ...given, labelsOf, locks, why, previews, start, questions };
    const surveyed = await look(planning);
    const selection = await choose(surveyed.found.subjects, planning);
    if (selection.kind === "refused") return selection;
    const compared = await compare(selection.chosen, surveyed, planning);
    context.signal.throwIfAborted();
    const concluded = await conclude(compared, selection, planning);
    const asked = await questions.soon(concluded);
    await context.plans.save(asked.plan);
    context.signal.throwIfAborted();
    return { kind: "planned", ...asked, pruning: context.settings.prune };
  } catch (error) {
    // The survey may still be reading: no lock is taken after the answer, and one that is being taken is released as well.
    await start.end();
    questions.end();
    if (context.signal.aborted) await releaseFresh(locks, context);
    throw error;
  }
}

/** Finds what the change request affects, through ApplicationSets as well. Starts what nothing can refuse any more. */
async function look(planning: Planning): Promise<SurveyWithSets> {
  const { command, everything, labelsOf, why, previews, start, context } = planning;
  const options: SurveyOptions = {
    withLiveSets: true,
    onSubject: (subject, { applicationSets: changedSets }) => {
      // A plan that may be refused, or whose subjects a set may change, starts once that is decided.
      if (context.automatic && everything && changedSets.length === 0) start.start(subject);
    },
  };
  const surveyed = await surveyAfresh(context, options, ({ subjects, detection: { allClaimed } }) => {
    const known = new Set<string>(subjects.map(({ name }) => name));
    const wanted = namesOf(command, [...known], labelsOf);
    // A list from before somebody's deployment lacks what that has just made below a parent.
    if (subjects.some((one) => one.kind === "live" && one.foreignRecords.length > 0)) return false;
    return allClaimed && known.size > 0 && wanted.kind === "selected" && wanted.items.every((name) => known.has(name));
  });
  // Applications that the command names are shown even if there is no room left.
  const askedByName = new Set<string>(command.applications.slice(0, context.previewLimit));
  const hasRoom: HasRoom = (name) => previews.take() || askedByName.has(name);
  const hasSets = surveyed.detection.applicationSets.length > 0;
  const decided = hasSets ? await withSetsOfParents(surveyed, why, context) : surveyed;
  return withApplicationSets(decided, (names) => why(byNameAlone(names)), hasRoom, context);
}

interface Chosen {
  readonly kind: "chosen";
  readonly chosen: readonly Subject[];
  /** The names that `-a` selects. */
  readonly asked: ReadonlySet<string>;
}

/** The subjects that the command is about, or why it is refused. */
async function choose(
  subjects: readonly Subject[],
  { command, everything, earlier, labelsOf, context }: Planning,
): Promise<Chosen | Extract<CommandResult, { readonly kind: "refused" }>> {
  const affected = subjects.map(({ name }) => name);
  const before = everything ? undefined : earlier;
  const given = givenIn(before, affected, context.change);
  const names = new Set<string>([...affected, ...given.keys()]);
  const named = namesOf(command, [...names], labelsOf);
  if (named.kind === "refused") return named;
  const unknown = named.items.filter((name) => !names.has(name));
  if (unknown.length > 0) {
    const suggestion = correctedTo([...names], command);
    return { kind: "refused", refusal: { reason: "unknown-applications", applications: unknown, suggestion } };
  }
  // If the parent changes a child's definition, only the parent's render tells what becomes of the child.
  const asked = new Set<string>(named.items);
  const parents = givenIn(before, [], context.change);
  const above = new Map<string, string | undefined>(subjects.map((one) => [one.name, aboveUnknown(one)]));
  for (const name of asked) asked.add(parents.get(name)?.parent ?? above.get(name) ?? name);
  const chosen = subjects.filter(({ name }) => everything || asked.has(name));
  const known = chosen.map(({ name }) => name);
  // Automatic plans are not a person's command, so nobody's access is judged.
  const asker = context.automatic ? undefined : await factsOfAsker("plan", byNameAlone(known), context);
  const refusal = asker && judge("plan", asker).refusal;
  return refusal === undefined ? { kind: "chosen", chosen, asked } : { kind: "refused", refusal };
}

/** The definitions that the plan of this head has from parents, of applications that nothing else affects. */
function givenIn(
  plan: Plan | undefined,
  affected: readonly string[],
  change: CommandContext["change"],
): ReadonlyMap<string, GivenDefinition> {
  if (!isPlanOf(plan, change)) return new Map();
  const given = plan.applications.flatMap(({ application, definedBy }) =>
    definedBy === undefined || affected.includes(application) ? [] : [[application, definedBy] as const],
  );
  return new Map(given);
}

/** The compared renders, before the locks are settled. */
interface Compared extends Pick<Plan, "applications" | "applicationSets"> {
  readonly previewed: readonly Preview[];
  /** What the change request affects, children included that only their parents change. */
  readonly found: Survey;
  readonly otherWords: readonly string[];
}

/** Locks and renders the chosen subjects, and all that follows from them: children, generated applications, effects. */
async function compare(chosen: readonly Subject[], surveyed: SurveyWithSets, planning: Planning): Promise<Compared> {
  const { locks, why, previews, start, questions, context } = planning;
  await mapInTurns(chosen, (subject) => start.start(subject));
  // Also those that `-a` leaves out: their renders tell whose rules hold for what the merge does.
  const generated = previewGenerated(surveyed, previews, context);
  const otherWords = otherWordNotes(surveyed.found.detection, context);
  // Awaited below; until then they must not end the process as an unhandled rejection.
  for (const one of [generated, otherWords]) one.catch(() => undefined);
  // For `deriveEffects`, while there is time.
  liveRules(surveyed.found.everyApplication, context).catch(() => undefined);
  const facts = new Map<ApplicationName, RenderFacts>();
  const evaluation = { locks, room: newPlanRoom(), facts, questions, context };
  const first = { subjects: chosen, evaluated: await evaluate(chosen, start, evaluation) };
  const { subjects, evaluated } = await followParents(first, facts, surveyed.found, {
    evaluate: (some) => {
      const again = createPlanStart(locks, why, previews, context);
      for (const subject of some) again.start(subject);
      return evaluate(some, again, evaluation);
    },
    context,
  });
  questions.rest();
  const rendered = await parentsOf(subjects, facts, start, surveyed.found);
  const parents = await withTakenBack(rendered, subjects, surveyed.found, context);
  const known = new Map(parents);
  const examined = subjects.map((subject) => ({ subject, facts: known.get(subject.name) }));
  const listed = await withChildren(surveyed.found, parents, context);
  const latest = new Map([...listed.subjects, ...subjects].map((one) => [one.name, one]));
  const now = { ...surveyed, found: { ...listed, subjects: [...latest.values()] } };
  const shown = await childPreviews(parents, await generated, now, previews, context);
  const gone = evaluated.flatMap((one) => {
    return one.kind === "deleted" ? [{ ...one, content: one.preview, facts: known.get(one.application) }] : [];
  });
  const removed = shown.filter(({ preview: { origin } }) => origin.change === "removed");
  const note = noteUnseen([...gone, ...removed.map(({ preview, facts: seen }) => ({ ...preview, facts: seen }))]);
  const showing = { ...context, note, why: (names: readonly ApplicationName[]) => why(byNameAlone(names)) };
  const { effects, applicationSets } = await deriveEffects(examined, shown, now, showing);
  const withFailing = await failingSets(parents, now, context);
  const appliers = await appliedSets(subjects, known, context);
  const applied = (set: string) => (appliers.has(set) ? { appliedBy: appliers.get(set) } : {});
  return {
    found: now.found,
    previewed: shown.map(({ preview: one }) => {
      const origin = one.origin.kind === "generated" ? { ...one.origin, ...applied(one.origin.of) } : one.origin;
      return { ...one, origin, content: contentWithin(evaluation.room, one.content) };
    }),
    applications: evaluated.map((one) => withFailing(withEffect(one, effects, known))),
    applicationSets: applicationSets.map((set) => ({ ...set, ...applied(set.name) })),
    otherWords: await otherWords,
  };
}

/** Settles locks and queues, and adds what earlier plans and deployments say. */
async function conclude(
  { applications, applicationSets, previewed, found, otherWords }: Compared,
  { asked }: Chosen,
  { everything, earlier, locks, context }: Planning,
): Promise<Plan> {
  const { change, settings } = context;
  const { subjects, detection, notDeployed } = found;
  const settled = await markUnseen(await settleLocks(applications, locks, context), earlier, context);
  const looked = new Set(applications.map(({ application }) => application));
  await leaveQueues(settled, everything ? undefined : new Set([...asked, ...looked]), context);
  const left = subjects.filter(({ name }) => !looked.has(name));
  const now = everything ? found : await withPlannedDefinitions(found, earlier, plannedIn(earlier), context);
  const kept = await keepEarlier(left, looked, earlier, now.subjects, context);
  const concluded = await withRecords([...settled, ...kept].sort(byName), now.subjects, context);
  const plan: Plan = {
    change: changeRequestRef(change),
    head: change.headRevision,
    baseBranch: change.baseBranch,
    baseRevision: change.baseRevision,
    plannedAt: context.clock.now().toISOString(),
    ...(context.turn === undefined ? {} : { turn: context.turn }),
    applications: concluded,
    ...shownStages(concluded, settings),
    ...(earlier?.head === change.headRevision && earlier.approvalUsed ? { approvalUsed: true } : {}),
    applicationSets,
    previews: [...(everything || !isPlanOf(earlier, change) ? [] : unlooked(earlier, asked, previewed)), ...previewed],
    notDeployed,
    released: everything ? await releaseOthers(new Set(subjects.map(({ name }) => name)), context) : [],
    unread: detection.unread,
    notes: [...settings.notes, ...detection.notes, ...otherWords],
  };
  return markFailed(plan, earlier, context);
}

/** Releases the locks of applications that the change request no longer affects. */
async function releaseOthers(
  affected: ReadonlySet<string>,
  { locks, change, log }: Pick<CommandContext, "locks" | "change" | "log">,
): Promise<readonly ApplicationName[]> {
  const held = await locks.list(change, leavesOut(log));
  const others = held.filter(({ application }) => !affected.has(application)).map(({ application }) => application);
  await allInTurns(others, (name) => locks.release(name, change));
  return others;
}

/** The previews of an earlier plan that this one did not make again. */
function unlooked({ previews }: Plan, asked: ReadonlySet<string>, previewed: readonly Preview[]): readonly Preview[] {
  // One application may change by one parent, and go by another.
  const keyOf = ({ application, origin: { kind, of } }: Preview) => JSON.stringify([application, kind, of]);
  const again = new Set(previewed.map(keyOf));
  return previews.filter((one) => {
    const { application, origin } = one;
    return (
      !again.has(keyOf(one)) &&
      (origin.change === "removed" || !asked.has(application)) &&
      !(origin.kind === "child" && asked.has(origin.of))
    );
  });
}

function byName(left: ApplicationPlan, right: ApplicationPlan): number {
  return left.application < right.application ? -1 : left.application > right.application ? 1 : 0;
}

/** The subjects of a plan, and the plan of each in the same order. */
interface Planned {
  readonly subjects: readonly Subject[];
  readonly evaluated: readonly ApplicationPlan[];
}

interface Replanning {
  /** Locks, renders and compares subjects. */
  readonly evaluate: (subjects: readonly Subject[]) => Promise<readonly ApplicationPlan[]>;
  readonly context: CommandContext;
}

/** Levels of applications that define applications; more are taken for a cycle. */
const MAX_LEVELS = 8;

/**
 * Plans the children whose definition the head of their parent changes with that definition, level by level: what a child
 * applies may change as well. Children that nothing else affects come last.
 * @param facts what the renders say; those of children that are planned again are replaced.
 */
async function followParents(
  { subjects, evaluated }: Planned,
  facts: Map<ApplicationName, RenderFacts>,
  found: Survey,
  { evaluate, context }: Replanning,
): Promise<Planned> {
  let planned: Planned = { subjects, evaluated };
  for (let level = 0; ; level += 1) {
    const now = await withChildren(found, [...facts], context);
    const children = await withGenerated(planned.subjects, facts, now, context);
    const followed = await followedChildren(planned, children, now, context);
    const given = await givenChildren(planned.subjects, children, now, context);
    if (followed.size + given.length === 0) break;
    const again = [...followed.values()].map((one) => (level < MAX_LEVELS ? one : inCircle(one)));
    for (const { name } of again) facts.delete(name);
    const latest = [...again, ...given];
    planned = replaced(planned, latest, await evaluate(latest));
  }
  const nameOf = await context.deployer.naming();
  const appliesItself = ({ application }: ApplicationPlan) =>
    facts
      .get(application)
      ?.children.some(
        ({ namespace, name, base, head }) =>
          head !== undefined && nameOf(namespace, name) === application && !(base && specEqual(base, head)),
      ) === true;
  return {
    subjects: planned.subjects,
    evaluated: planned.evaluated.map((one) =>
      appliesItself(one) ? { ...one, warnings: [...one.warnings, APPLIES_ITSELF] } : one,
    ),
  };
}

/** With what is planned again in its place, and what is planned for the first time at the end. */
function replaced(
  { subjects, evaluated }: Planned,
  again: readonly Subject[],
  plans: readonly ApplicationPlan[],
): Planned {
  const subjectOf = new Map([...subjects, ...again].map((one) => [one.name, one]));
  const planOf = new Map([...evaluated, ...plans].map((one) => [one.application, one]));
  return { subjects: [...subjectOf.values()], evaluated: [...planOf.values()] };
}

/** The subject as unreadable, so that nothing of it is rendered again. */
function inCircle({ name, sourceFile }: Subject): Subject {
  return { kind: "unreadable", name, sourceFile, definition: undefined, problem: CIRCLE };
}

const CIRCLE =
  "its definition comes from applications that define each other, so that each render changes the next: take one of them out of the other's manifests";

/** Releases the locks that an aborted plan took; earlier ones stay. */
async function releaseFresh(
  taken: ReadonlyMap<ApplicationName, LockAttempt>,
  { locks, change, log }: Pick<CommandContext, "locks" | "change" | "log">,
) {
  const fresh = [...taken].filter(([, attempt]) => attempt.kind === "acquired" && attempt.fresh);
  const released = await Promise.allSettled(fresh.map(([name]) => locks.release(name, change)));
  if (released.some(({ status }) => status === "rejected")) {
    log.warn({ applications: fresh.map(([name]) => name) }, "could not release the locks of a stopped plan");
  }
}

/**
 * Applications that `-a` excludes keep the diff of an earlier plan of the same head. Their locks and warnings are read
 * again: much may have happened since. So do children that only a parent changes which was not planned again.
 * @param looked what was planned again.
 * @param present the subjects with the definitions of the earlier plan.
 */
async function keepEarlier(
  left: readonly Subject[],
  looked: ReadonlySet<string>,
  earlier: Plan | undefined,
  present: readonly Subject[],
  context: OpenedChange & Pick<CommandContext, "deployer" | "locks" | "waiting">,
): Promise<readonly ApplicationPlan[]> {
  const planned = isPlanOf(earlier, context.change) ? earlier.applications : [];
  const known = new Map(planned.map((one) => [one.application, one]));
  const subjectOf = new Map(present.map((one) => [one.name, one]));
  const names = new Set(left.map(({ name }) => name));
  const given = givenIn(earlier, [...looked, ...names], context.change);
  for (const parent of names) {
    for (const [name, definedBy] of given) if (definedBy.parent === parent) names.add(applicationName(name));
  }
  return allInTurns([...names], async (name) => {
    const [one, subject] = [known.get(name), subjectOf.get(name)];
    if (one === undefined || one.kind === "unplanned") return unplanned(name, subject?.sourceFile);
    const now = await presentLock(one, context.change, context);
    return subject?.kind === "live" ? warnedAgain(now, subject, context) : now;
  });
}
