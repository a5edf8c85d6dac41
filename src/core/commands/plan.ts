import { definitionDiff } from "../diff/definition-diff.js";
import { NO_DIFFERENCE } from "../diff/manifest-diff.js";
import type { RenderFacts } from "../diff/render-facts.js";
import type { ApplicationName } from "../model/brand.js";
import { changeRequestRef } from "../model/change-request.js";
import type { Command } from "../model/command.js";
import { NO_EFFECT } from "../model/effect.js";
import { allInTurns } from "../model/in-turns.js";
import type { LockAttempt } from "../model/lock.js";
import { isPlanOf, type ApplicationPlan, type Evaluated, type Plan, type Unevaluated } from "../model/plan.js";
import { plannedSources } from "../model/planned-source.js";
import type { CommandResult } from "../model/result.js";
import { specEqual } from "../model/spec-equality.js";
import type { LiveSubject, Subject } from "../model/subject.js";
import { checkLists } from "../policy/access.js";
import { byNameAlone } from "../policy/effect-rules.js";
import { createLifting } from "../policy/lifting.js";
import { markUnseen } from "../policy/unseen-sources.js";
import type { CommandContext } from "../ports/context.js";
import { compareRenders } from "../render/live-diff-mode.js";
import { withApplicationSets } from "../survey/application-sets.js";
import { deriveEffects } from "../survey/effects.js";
import { previewGenerated } from "../survey/generated-previews.js";
import { createPreviews } from "../survey/previews.js";
import { surveyAfresh, type SurveyOptions } from "../survey/survey.js";
import { leaveQueues, lockOf, releaseFresh, releaseOthers, settleLocks } from "./plan-locks.js";
import { contentWithin, newPlanRoom, previewWithin, within, type PlanRoom } from "./plan-room.js";
import { createPlanStart, type PlanStart, type Started } from "./plan-start.js";
import { keepEarlier, warningsOf, withRecords } from "./plan-warnings.js";
import { namesOf } from "./selection.js";
import { withheldPlan } from "./withheld.js";

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
    const options: SurveyOptions = {
      withLiveSets: true,
      onSubject: (subject, { applicationSets: changedSets }) => {
        // A plan that may be refused, or whose subjects a set may change, starts once that is decided.
        if (context.automatic && everything && changedSets.length === 0) start.start(subject);
      },
    };
    const surveyed = await surveyAfresh(context, options, ({ subjects }) => {
      const known = subjects.map(({ name }) => name);
      const wanted = namesOf(command, known);
      return (
        known.length > 0 &&
        wanted.kind === "selected" &&
        wanted.items.every((name) => known.some((one) => one === name))
      );
    });
    const withSets = await withApplicationSets(surveyed, (names) => why(byNameAlone(names)), previews, context);
    const { found } = withSets;
    const names = new Set<string>(found.subjects.map(({ name }) => name));
    const named = namesOf(command, [...names]);
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
    const room = newPlanRoom();
    const evaluated = await evaluate(selected, {
      locks,
      start,
      rendered: await start.rendered(),
      room,
      facts,
      context,
    });
    const examined = selected.map((subject) => ({ subject, facts: facts.get(subject.name) }));
    const derived = await deriveEffects(examined, withSets, context);
    const previewed = (await generated).map((one) => ({ ...one, content: contentWithin(room, one.content) }));
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
      previews: everything || !isPlanOf(earlier, change) ? previewed : earlier.previews,
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

function byName(left: ApplicationPlan, right: ApplicationPlan): number {
  return left.application < right.application ? -1 : left.application > right.application ? 1 : 0;
}

interface Evaluation {
  readonly start: PlanStart;
  readonly locks: ReadonlyMap<ApplicationName, LockAttempt>;
  readonly room: PlanRoom;
  /** Receives what the renders say about other applications. */
  readonly facts: Map<ApplicationName, RenderFacts>;
  readonly rendered: ReadonlyMap<LiveSubject, Promise<Started>>;
  readonly context: CommandContext;
}

async function evaluate(
  subjects: readonly Subject[],
  { locks, start, rendered, room, facts, context }: Evaluation,
): Promise<readonly ApplicationPlan[]> {
  return allInTurns(subjects, async (subject) => {
    const lock = lockOf(locks.get(subject.name));
    const common = {
      application: subject.name,
      lock,
      sourceFile: subject.sourceFile,
      warnings: [],
      atMerge: undefined,
      effect: NO_EFFECT,
    };
    switch (subject.kind) {
      case "new":
      case "deleted":
        return { ...common, kind: subject.kind, preview: previewWithin(room, await start.previewed(subject)) };
      case "unreadable":
        return { ...common, kind: "unevaluated" as const, reason: subject.problem };
      case "live":
        return {
          ...common,
          ...(await warningsOf(subject, context)),
          atMerge: subject.notDriven ?? (subject.autoSynced ? AUTO_SYNCED : undefined),
          ...within(room, await evaluated(subject, await rendered.get(subject), facts, context)),
        };
    }
  });
}

const AUTO_SYNCED = "auto-sync is enabled: Argo CD deploys it by itself at the merge";

async function evaluated(
  subject: LiveSubject,
  sides: Started | undefined,
  facts: Map<ApplicationName, RenderFacts>,
  context: CommandContext,
): Promise<Evaluated | Unevaluated> {
  const { live, base, head } = subject;
  const definition = () => definitionDiff(live.resourceName, { from: base.spec, to: head.spec }, context);
  switch (sides?.kind) {
    case undefined:
      return { kind: "unevaluated", reason: "not rendered" };
    case "withheld":
      return withheldPlan(subject, sides.reason, context);
    case "failed":
      return { kind: "unevaluated", reason: sides.reason, definition: await definition() };
    case "same":
      return {
        kind: "evaluated",
        verdict: "unchanged",
        definition: await definition(),
        writesDefinition: !specEqual(subject.head.spec, subject.live.spec),
        sources: plannedSources(subject, context.change.headRevision),
        diff: NO_DIFFERENCE,
      };
    case "rendered": {
      const compared = await compareRenders(subject, sides, context);
      if (compared.facts !== undefined) facts.set(subject.name, compared.facts);
      return { ...compared.planned, definition: await definition() };
    }
  }
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
