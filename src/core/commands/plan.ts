import type { RenderFacts } from "../diff/diff-task.js";
import { createLifting, type WhyWithheld } from "../facts/approval.js";
import { markFailed } from "../facts/failed-since.js";
import { factsOfAsker, markUnseen } from "../facts/read-facts.js";
import { specEqual } from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import { changeRequestRef } from "../model/change-request.js";
import { allInTurns } from "../model/collections.js";
import type { Command } from "../model/command.js";
import { NO_EFFECT } from "../model/effect.js";
import type { LockAttempt } from "../model/lock.js";
import { type ApplicationPlan, isPlanOf, type Plan, type Preview } from "../model/plan.js";
import type { CommandResult } from "../model/result.js";
import type { AnnouncedSubject, Subject } from "../model/subject.js";
import { byNameAlone } from "../policy/effect-rules.js";
import { judge } from "../policy/judge.js";
import type { CommandContext, Commits } from "../ports/context.js";
import { childPreviews, failingSets, type Parent, withChildren } from "../survey/child-previews.js";
import { followedChildren, type FollowedSource } from "../survey/children.js";
import { deriveEffects } from "../survey/effects.js";
import { createPreviews, type Previews } from "../survey/previews.js";
import { type SurveyWithSets, withApplicationSets } from "../survey/sets/application-sets.js";
import { type HasRoom, previewGenerated } from "../survey/sets/generated-applications.js";
import { withFailing } from "../survey/sets/set-failure.js";
import { type Survey, surveyAfresh, type SurveyOptions } from "../survey/survey.js";
import { contentWithin, createPlanStart, evaluate, newPlanRoom, type PlanStart } from "./evaluate.js";
import { type LockPorts, presentLock, settleLocks } from "./locks.js";
import { otherWordNotes, warningsOf, withRecords } from "./plan-warnings.js";
import { labelsFor, type LabelsOf, namesOf } from "./selection.js";

interface Planning {
  readonly command: Command<"plan">;
  /** Without `-a`. */
  readonly everything: boolean;
  readonly labelsOf: LabelsOf;
  readonly locks: Map<ApplicationName, LockAttempt>;
  readonly why: WhyWithheld;
  readonly previews: Previews;
  readonly start: PlanStart;
  readonly context: CommandContext;
}

/**
 * Finds the affected applications, locks them, renders both sides and stores what differs. An aborted plan releases the
 * locks that it took.
 */
export async function plan(command: Command<"plan">, context: CommandContext): Promise<CommandResult> {
  const locks = new Map<ApplicationName, LockAttempt>();
  const why = createLifting(context);
  const previews = createPreviews(why, context);
  const start = createPlanStart(locks, why, previews, context);
  const everything = command.applications.length === 0;
  try {
    const labelsOf = await labelsFor(command, context);
    const planning: Planning = { command, everything, labelsOf, locks, why, previews, start, context };
    const surveyed = await look(planning);
    const selection = await choose(surveyed.found.subjects, planning);
    if (selection.kind === "refused") return selection;
    const compared = await compare(selection.chosen, surveyed, planning);
    context.signal.throwIfAborted();
    const result = await conclude(compared, selection, surveyed.found, planning);
    await context.plans.save(result);
    context.signal.throwIfAborted();
    return { kind: "planned", plan: result, pruning: context.settings.prune };
  } catch (error) {
    // The survey may still be reading other applications: no lock is taken after the answer, and one that is being taken
    // is released as well.
    await start.end();
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
  const surveyed = await surveyAfresh(context, options, ({ subjects }) => {
    const known = subjects.map(({ name }) => name);
    const wanted = namesOf(command, known, labelsOf);
    return (
      known.length > 0 && wanted.kind === "selected" && wanted.items.every((name) => known.some((one) => one === name))
    );
  });
  // What is asked for by its name takes no room from others, so that those stay what they were.
  const askedByName = new Set<string>(command.applications.slice(0, context.previewLimit));
  const hasRoom: HasRoom = (name) => previews.take() || askedByName.has(name);
  return withApplicationSets(surveyed, (names) => why(byNameAlone(names)), hasRoom, context);
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
  { command, everything, labelsOf, context }: Planning,
): Promise<Chosen | Extract<CommandResult, { readonly kind: "refused" }>> {
  const names = new Set<string>(subjects.map(({ name }) => name));
  const named = namesOf(command, [...names], labelsOf);
  if (named.kind === "refused") return named;
  const unknown = named.items.filter((name) => !names.has(name));
  if (unknown.length > 0) {
    return { kind: "refused", refusal: { reason: "unknown-applications", applications: unknown } };
  }
  const asked = new Set<string>(named.items);
  const chosen = subjects.filter(({ name }) => everything || asked.has(name));
  const known = chosen.map(({ name }) => name);
  const { refusal } = context.automatic ? ALLOWED : judge("plan", await factsOfAsker("plan", known, context));
  return refusal === undefined ? { kind: "chosen", chosen, asked } : { kind: "refused", refusal };
}

/** Automatic plans are not a person's command, so nobody's access is judged. */
const ALLOWED = { refusal: undefined };

/** The compared renders, before the locks are settled. */
interface Compared extends Pick<Plan, "applications" | "applicationSets"> {
  readonly previewed: readonly Preview[];
}

/** Locks and renders the chosen subjects, and all that follows from them: children, generated applications, effects. */
async function compare(chosen: readonly Subject[], surveyed: SurveyWithSets, planning: Planning): Promise<Compared> {
  const { everything, locks, why, previews, start, context } = planning;
  await allInTurns(chosen, (subject) => {
    start.start(subject);
    return Promise.resolve();
  });
  const generated = everything ? previewGenerated(surveyed, previews, context) : Promise.resolve([]);
  // Awaited below; until then it must not end the process as an unhandled rejection.
  generated.catch(() => undefined);
  const facts = new Map<ApplicationName, RenderFacts>();
  const evaluation = { locks, room: newPlanRoom(), facts, context };
  const first = await evaluate(chosen, start, evaluation);
  const { subjects, evaluated } = await followParents({ subjects: chosen, evaluated: first }, facts, surveyed.found, {
    evaluate: (some) => {
      const again = createPlanStart(locks, why, previews, context);
      for (const subject of some) again.start(subject);
      return evaluate(some, again, evaluation);
    },
    context,
  });
  const parents = await parentsOf(subjects, start, facts);
  const known = new Map(parents);
  const examined = subjects.map((subject) => ({ subject, facts: known.get(subject.name) }));
  const now = { ...surveyed, found: await withChildren(surveyed.found, parents, context) };
  const { effects, applicationSets } = await deriveEffects(examined, now, context);
  const below = await childPreviews(parents, now, previews, context);
  const failing = await failingSets(parents, now, context);
  return {
    previewed: [...(await generated), ...below].map((one) => {
      return { ...one, content: contentWithin(evaluation.room, one.content) };
    }),
    applications: evaluated.map((one) =>
      withFailing({ ...one, effect: effects.get(one.application) ?? NO_EFFECT }, failing.get(one.application) ?? []),
    ),
    applicationSets,
  };
}

/** Settles locks and queues, and adds what earlier plans and deployments say. */
async function conclude(
  { applications, applicationSets, previewed }: Compared,
  { chosen, asked }: Chosen,
  { subjects, detection, notDeployed }: Survey,
  { everything, locks, context }: Planning,
): Promise<Plan> {
  const { change, settings } = context;
  const earlier = await context.plans.find(change);
  const settled = await markUnseen(await settleLocks(applications, locks, context), earlier, context);
  await leaveQueues(settled, everything ? undefined : asked, earlier, context);
  const looked = new Set(chosen);
  const left = subjects.filter((subject) => !looked.has(subject));
  const kept = await keepEarlier(left, unplanned, context);
  const plan: Plan = {
    change: changeRequestRef(change),
    head: change.headRevision,
    baseBranch: change.baseBranch,
    plannedAt: context.clock.now().toISOString(),
    applications: await withRecords([...settled, ...kept].sort(byName), subjects, context),
    applicationSets,
    previews: [...(everything || !isPlanOf(earlier, change) ? [] : unlooked(earlier, asked, previewed)), ...previewed],
    notDeployed,
    released: everything ? await releaseOthers(new Set(subjects.map(({ name }) => name)), context) : [],
    unread: detection.unread,
    notes: [...settings.notes, ...detection.notes, ...(await otherWordNotes(detection, context))],
  };
  return markFailed(plan, earlier, context);
}

/** The previews of an earlier plan that this one did not make again. */
function unlooked({ previews }: Plan, asked: ReadonlySet<string>, previewed: readonly Preview[]): readonly Preview[] {
  const again = new Set(previewed.map(({ application }) => application));
  return previews.filter(
    ({ application, origin }) =>
      !again.has(application) && !asked.has(application) && !(origin.kind === "child" && asked.has(origin.of)),
  );
}

function byName(left: ApplicationPlan, right: ApplicationPlan): number {
  return left.application < right.application ? -1 : left.application > right.application ? 1 : 0;
}

function unplanned(subject: Subject): ApplicationPlan {
  return {
    kind: "unplanned",
    application: subject.name,
    lock: { kind: "not-needed" },
    sourceFile: subject.sourceFile,
    warnings: [],
    atMerge: undefined,
    effect: NO_EFFECT,
  };
}

/** The subjects of a plan, and the plan of each in the same order. */
interface Planned {
  readonly subjects: readonly Subject[];
  readonly evaluated: readonly ApplicationPlan[];
}

interface Replanning {
  /** Renders and compares subjects that are locked already. */
  readonly evaluate: (subjects: readonly Subject[]) => Promise<readonly ApplicationPlan[]>;
  readonly context: FollowedSource;
}

/** Levels of applications that define applications; more are taken for a cycle. */
const MAX_LEVELS = 8;

/**
 * Plans the children whose definition the head of their parent changes with that definition, level by level: what a child
 * applies may change as well.
 * @param facts what the renders say; those of children that are planned again are replaced.
 */
async function followParents(
  { subjects, evaluated }: Planned,
  facts: Map<ApplicationName, RenderFacts>,
  { everyApplication }: Survey,
  { evaluate, context }: Replanning,
): Promise<Planned> {
  let planned: Planned = { subjects, evaluated };
  for (let level = 0; ; level += 1) {
    const followed = await followedChildren(planned.subjects, facts, everyApplication, context);
    if (followed.size === 0) break;
    const again = [...followed.values()].map((one) => (level < MAX_LEVELS ? one : inCircle(one)));
    for (const { name } of again) facts.delete(name);
    planned = replaced(planned, again, await evaluate(again));
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

/** The applications whose children are known, those to come included. */
async function parentsOf(
  subjects: readonly Subject[],
  start: PlanStart,
  facts: ReadonlyMap<ApplicationName, RenderFacts>,
): Promise<readonly Parent[]> {
  const found = await allInTurns(subjects, async (subject): Promise<readonly Parent[]> => {
    const known = facts.get(subject.name) ?? (isAnnounced(subject) && (await start.previewed(subject))?.facts);
    return known ? [[subject.name, known]] : [];
  });
  return found.flat();
}

function isAnnounced(subject: Subject): subject is AnnouncedSubject {
  return subject.kind === "new" || subject.kind === "deleted";
}

function replaced(planned: Planned, subjects: readonly Subject[], plans: readonly ApplicationPlan[]): Planned {
  const subjectOf = new Map(subjects.map((one) => [one.name, one]));
  const planOf = new Map(plans.map((one) => [one.application, one]));
  return {
    subjects: planned.subjects.map((one) => subjectOf.get(one.name) ?? one),
    evaluated: planned.evaluated.map((one) => planOf.get(one.application) ?? one),
  };
}

/** The subject as unreadable, so that nothing of it is rendered again. */
function inCircle({ name, sourceFile }: Subject): Subject {
  return { kind: "unreadable", name, sourceFile, definition: undefined, problem: CIRCLE };
}

const CIRCLE =
  "its definition comes from applications that define each other, so that each render changes the next: take one of them out of the other's manifests";
const APPLIES_ITSELF =
  "applies a changed definition of itself: this is what its present definition makes of the commit. Plan again after its sync to see what the new one does";

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

/** Releases the locks of applications that the change request no longer affects. */
async function releaseOthers(
  affected: ReadonlySet<string>,
  { locks, change }: Pick<CommandContext, "locks" | "change">,
): Promise<readonly ApplicationName[]> {
  const held = await locks.list(change);
  const others = held.filter(({ application }) => !affected.has(application)).map(({ application }) => application);
  await allInTurns(others, (name) => locks.release(name, change));
  return others;
}

/**
 * Leaves the queues of the applications that the change request waited for, by its earlier plan, and does not any more.
 * @param planned What this plan looked at; undefined if it looked at everything.
 */
async function leaveQueues(
  applications: readonly ApplicationPlan[],
  planned: ReadonlySet<string> | undefined,
  earlier: Plan | undefined,
  { waiting, change }: Pick<CommandContext, "waiting" | "change">,
): Promise<void> {
  const waits = new Set(applications.filter(({ lock }) => lock.kind === "held").map(({ application }) => application));
  const waited = earlier?.applications.filter(({ lock }) => lock.kind === "held") ?? [];
  const over = waited
    .map(({ application }) => application)
    .filter((name) => !waits.has(name) && (planned === undefined || planned.has(name)));
  await allInTurns(over, (name) => waiting.leave(name, change));
}

/**
 * Applications that `-a` excludes keep the diff of an earlier plan of the same head. Their locks and warnings are read
 * again: much may have happened since.
 */
async function keepEarlier(
  left: readonly Subject[],
  unplanned: (subject: Subject) => ApplicationPlan,
  context: Commits & LockPorts & Pick<CommandContext, "plans">,
): Promise<readonly ApplicationPlan[]> {
  if (left.length === 0) return [];
  const earlier = await context.plans.find(context.change);
  const known = new Map(
    isPlanOf(earlier, context.change) ? earlier.applications.map((one) => [one.application, one]) : [],
  );
  return allInTurns(left, async (subject) => {
    const kept = known.get(subject.name);
    if (kept === undefined || kept.kind === "unplanned") return unplanned(subject);
    const now = await presentLock(kept, context.change, context);
    return subject.kind === "live" ? { ...now, ...(await warningsOf(subject, context)) } : now;
  });
}
