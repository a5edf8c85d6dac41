import type { RenderFacts } from "../diff/render-facts.js";
import type { ApplicationName } from "../model/brand.js";
import { changeRequestRef } from "../model/change-request.js";
import type { Command } from "../model/command.js";
import { NO_EFFECT } from "../model/effect.js";
import { allInTurns } from "../model/in-turns.js";
import type { LockAttempt } from "../model/lock.js";
import { isPlanOf, type ApplicationPlan, type Plan } from "../model/plan.js";
import type { Preview } from "../model/preview.js";
import type { CommandResult } from "../model/result.js";
import type { Subject } from "../model/subject.js";
import { checkLists } from "../policy/access.js";
import { byNameAlone } from "../policy/effect-rules.js";
import { createLifting } from "../policy/lifting.js";
import { markUnseen } from "../policy/unseen-sources.js";
import type { CommandContext } from "../ports/context.js";
import { withApplicationSets } from "../survey/application-sets.js";
import { childPreviews } from "../survey/child-previews.js";
import { deriveEffects } from "../survey/effects.js";
import type { HasRoom } from "../survey/generated-applications.js";
import { previewGenerated } from "../survey/generated-previews.js";
import { createPreviews } from "../survey/previews.js";
import { surveyAfresh, type SurveyOptions } from "../survey/survey.js";
import { evaluate } from "./evaluate.js";
import { followParents, parentsOf } from "./follow-parents.js";
import { leaveQueues, releaseFresh, releaseOthers, settleLocks } from "./plan-locks.js";
import { labelsFor } from "./label-selector.js";
import { contentWithin, newPlanRoom } from "./plan-room.js";
import { createPlanStart } from "./plan-start.js";
import { keepEarlier, withRecords } from "./plan-warnings.js";
import { namesOf } from "./selection.js";

/**
 * Finds the affected applications, locks them, renders both sides and stores what differs. An aborted plan releases the
 * locks that it took.
 */
export async function plan(command: Command<"plan">, context: CommandContext): Promise<CommandResult> {
  const { change, settings } = context;
  const everything = command.applications.length === 0;
  const locks = new Map<ApplicationName, LockAttempt>();
  const why = createLifting(context);
  const previews = createPreviews(why, context);
  const start = createPlanStart(locks, why, previews, context);
  try {
    const labelsOf = await labelsFor(command, context);
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
        known.length > 0 &&
        wanted.kind === "selected" &&
        wanted.items.every((name) => known.some((one) => one === name))
      );
    });
    // What is asked for by its name takes no room from others, so that those stay what they were.
    const askedByName = new Set<string>(command.applications.slice(0, context.previewLimit));
    const hasRoom: HasRoom = (name) => previews.take() || askedByName.has(name);
    const withSets = await withApplicationSets(surveyed, (names) => why(byNameAlone(names)), hasRoom, context);
    const { found } = withSets;
    const names = new Set<string>(found.subjects.map(({ name }) => name));
    const named = namesOf(command, [...names], labelsOf);
    if (named.kind === "refused") return named;
    const unknown = named.items.filter((name) => !names.has(name));
    if (unknown.length > 0) {
      return { kind: "refused", refusal: { reason: "unknown-applications", applications: unknown } };
    }
    const asked = new Set<string>(named.items);
    const selected = found.subjects.filter(({ name }) => everything || asked.has(name));
    const refusal = context.automatic
      ? undefined
      : await checkLists("plan", byNameAlone(selected.map(({ name }) => name)), context);
    if (refusal !== undefined) return { kind: "refused", refusal };
    await allInTurns(selected, (subject) => {
      start.start(subject);
      return Promise.resolve();
    });
    const generated = everything ? previewGenerated(withSets, previews, context) : Promise.resolve([]);
    // Awaited below; until then it must not end the process as an unhandled rejection.
    generated.catch(() => undefined);
    const facts = new Map<ApplicationName, RenderFacts>();
    const evaluation = { locks, room: newPlanRoom(), facts, context };
    const first = await evaluate(selected, start, evaluation);
    const { subjects, evaluated } = await followParents({ subjects: selected, evaluated: first }, facts, found, {
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
    const derived = await deriveEffects(examined, withSets, context);
    const below = await childPreviews(parents, withSets, previews, context);
    const previewed = [...(await generated), ...below].map((one) => {
      return { ...one, content: contentWithin(evaluation.room, one.content) };
    });
    const applications = evaluated.map((one) => ({
      ...one,
      effect: derived.effects.get(one.application) ?? NO_EFFECT,
    }));
    context.signal.throwIfAborted();
    const earlier = await context.plans.find(change);
    const settled = await markUnseen(await settleLocks(applications, locks, context), earlier, context);
    await leaveQueues(settled, everything ? undefined : asked, earlier, context);
    const chosen = new Set(selected);
    const kept = await keepEarlier(
      found.subjects.filter((subject) => !chosen.has(subject)),
      unplanned,
      context,
    );
    const result: Plan = {
      change: changeRequestRef(change),
      head: change.headRevision,
      baseBranch: change.baseBranch,
      plannedAt: context.clock.now().toISOString(),
      applications: await withRecords([...settled, ...kept].sort(byName), found.subjects, context),
      applicationSets: derived.applicationSets,
      previews: [
        ...(everything || !isPlanOf(earlier, change) ? [] : unlooked(earlier, asked, previewed)),
        ...previewed,
      ],
      notDeployed: found.notDeployed,
      released: everything ? await releaseOthers(names, context) : [],
      unread: found.detection.unread,
      notes: [...settings.notes, ...found.detection.notes],
    };
    await context.plans.save(result);
    context.signal.throwIfAborted();
    return { kind: "planned", plan: result, pruning: settings.prune };
  } catch (error) {
    // The survey may still be reading other applications: no lock is taken after the answer, and one that is being taken
    // is released as well.
    await start.end();
    if (context.signal.aborted) await releaseFresh(locks, context);
    throw error;
  }
}

/** The previews of an earlier plan below and beside what this one looked at. */
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
