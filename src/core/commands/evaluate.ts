import { checksFor } from "../../config/rules/rule-match.js";
import type { RenderFacts } from "../diff/diff-task.js";
import { definitionDiff, NO_DIFFERENCE } from "../diff/manifest-diff.js";
import { type WhyWithheld, withholdingOf } from "../facts/approval.js";
import { isAutoSynced, specEqual } from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import { changeRequestRef } from "../model/change-request.js";
import { type CheckResult, isFailed } from "../model/check.js";
import { allInTurns } from "../model/collections.js";
import { NO_EFFECT } from "../model/effect.js";
import type { LockAttempt } from "../model/lock.js";
import type { ManifestDiff, ResourceChange } from "../model/plan/manifest-diff.js";
import type {
  ApplicationPlan,
  Evaluated,
  PlanLock,
  PreviewContent,
  Unevaluated,
  Unpinned,
} from "../model/plan/plan.js";
import { type AnnouncedSubject, type LiveSubject, plannedSources, type Subject } from "../model/subject.js";
import type { CommandContext } from "../ports/context.js";
import type { Deployer } from "../ports/deployer.js";
import {
  brokenChecks,
  checkManifests,
  type CheckSource,
  NOT_RENDERED,
  uncheckedPreview,
  type CheckedSides,
} from "../render/check-manifests.js";
import { digestOfRender } from "../render/digest-render.js";
import { compareRenders, type ComparisonSource, withOptions } from "../render/live-diff-mode.js";
import type { Previewed } from "../render/preview.js";
import { createRenderLine, type RenderedSides, type RenderSource } from "../render/render.js";
import { directMember } from "../survey/members.js";
import type { Previews } from "../survey/previews.js";
import { keptAlive, type KeptSource, withUnkept } from "../survey/survey-afresh.js";
import type { Locking } from "./locks.js";
import { cautionOf, type Questions, warningsOf } from "./plan-warnings.js";

interface EvaluationSource extends ComparisonSource, CheckSource {
  readonly deployer: ComparisonSource["deployer"] & KeptSource["deployer"] & Pick<Deployer, "whyNotFresh">;
  readonly automatic: boolean;
}

interface Evaluation {
  readonly locks: ReadonlyMap<ApplicationName, LockAttempt>;
  readonly room: PlanRoom;
  /** Receives what the renders say about other applications. */
  readonly facts: Map<ApplicationName, RenderFacts>;
  readonly questions: Pick<Questions, "set" | "delete">;
  readonly context: EvaluationSource;
}

/** Compares what was rendered of these subjects. */
export async function evaluate(
  subjects: readonly Subject[],
  start: PlanStart,
  evaluation: Evaluation,
): Promise<readonly ApplicationPlan[]> {
  const { locks, room, context } = evaluation;
  const rendered = await start.rendered();
  return allInTurns(subjects, async (subject) => {
    // Computed and cached now, while renders run: `deriveEffects` needs it after the last one.
    directMember(subject, context.change);
    const common = {
      application: subject.name,
      lock: lockOf(locks.get(subject.name)),
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
      case "live": {
        const atMerge = subject.notDriven ?? autoSyncReason(subject);
        const [found, { warnings, gaps }] = await Promise.all([
          evaluated(subject, rendered.get(subject), evaluation).then((one) => withOptions(one, subject)),
          warningsOf(subject, context),
        ]);
        return {
          ...common,
          warnings: [...warnings, ...(await cautionOf(found, subject, context))],
          gaps,
          atMerge,
          ...(subject.notDriven === undefined && isAutoSynced(subject.live.spec) ? { autoSynced: true as const } : {}),
          definedBy: subject.definedBy && {
            parent: subject.definedBy,
            spec: subject.head.spec,
            base: subject.base.spec,
            set: subject.definedBySet,
          },
          ...within(room, atMerge === undefined ? found : checkedOrBroken(subject, found, context)),
        };
      }
    }
  });
}

function autoSyncReason({ autoSynced, syncingSet }: LiveSubject): string | undefined {
  if (!autoSynced) return undefined;
  if (syncingSet === undefined) return "auto-sync is enabled: Argo CD deploys it by itself at the merge";
  return `the ApplicationSet ${syncingSet} syncs it by RollingSync, which counts as auto-sync: Argo CD deploys it by itself at the merge`;
}

async function evaluated(
  subject: LiveSubject,
  started: Promise<Started> | undefined,
  { facts, questions, room, context }: Evaluation,
): Promise<Evaluated | Unevaluated> {
  const sides = await started;
  questions.delete(subject.name);
  const { live, base, head, definedBy } = subject;
  // The plan of a parent shows what it changes in its children.
  const definition = async () =>
    definedBy === undefined
      ? definitionDiff(live.resourceName, { from: base.spec, to: head.spec }, context)
      : undefined;
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
        ...(await checked(subject, sides, context)),
      };
    case "rendered": {
      const [compared, checks, unpinned] = await Promise.all([
        compareRenders(subject, sides, room, context),
        checked(subject, sides, context),
        unpinnedOf(subject, sides, context),
      ]);
      const { planned } = compared;
      const seen = compared.facts && (await keptAlive(compared.facts, subject.name, context));
      if (seen !== undefined) facts.set(subject.name, seen);
      if (planned.kind === "unevaluated") return { ...planned, definition: await definition() };
      if (typeof unpinned === "string") return { kind: "unevaluated", reason: unpinned };
      if (compared.question !== undefined) questions.set(subject.name, compared.question);
      const diff = seen === undefined ? planned.diff : withUnkept(planned.diff, seen);
      return { ...planned, diff, definition: await definition(), ...checks, ...(unpinned && { unpinned }) };
    }
  }
}

/** What a sync is compared with, where the head reads what no content pins; a sentence if it cannot be told. */
async function unpinnedOf(
  subject: LiveSubject,
  { head, unpinned: reads }: Extract<RenderedSides, { readonly kind: "rendered" }>,
  context: EvaluationSource,
): Promise<Unpinned | string | undefined> {
  if (reads.length === 0) return undefined;
  const rendered = await digestOfRender(subject, head, context);
  return typeof rendered === "string" ? rendered : { reads, rendered, unseen: false };
}

/** What cannot be rendered is not synced, but the merge deploys it: a check that could not run has failed. */
function checkedOrBroken(
  { name }: LiveSubject,
  found: Evaluated | Unevaluated,
  context: Pick<EvaluationSource, "checks">,
): Evaluated | Unevaluated {
  const checks = found.kind === "evaluated" ? [] : checksFor(context.checks, name);
  return checks.length === 0 ? found : { ...found, checks: brokenChecks(checks, NOT_RENDERED) };
}

/** A person who asks for a plan wants to know what the checks say now. */
async function checked(
  subject: LiveSubject,
  sides: CheckedSides,
  context: EvaluationSource,
): Promise<Pick<Evaluated, "checks">> {
  const checks = await checkManifests(subject, sides, { reuse: context.automatic }, context);
  return checks.length === 0 ? {} : { checks };
}

/** The plan of an application that is not rendered yet: only how its definition changes. */
async function withheldPlan(
  { live, head }: LiveSubject,
  reason: string,
  context: EvaluationSource,
): Promise<Unevaluated> {
  const definition = await definitionDiff(live.resourceName, { from: live.spec, to: head.spec }, context);
  return { kind: "unevaluated", reason, withheld: true, definition: definition ?? ONLY_BASE };
}

const ONLY_BASE = "# The live definition stays as it is; the one on the target branch reads more.";

/** Characters. */
const MAX_DIFFS = 16 * 1024 * 1024;
const MAX_SIDES = 4 * 1024 * 1024;
/** Characters of whole renders; only what changes is kept of them. */
const MAX_QUESTIONS = 64 * 1024 * 1024;
const NO_ROOM = "# It is not shown: the other diffs of this plan are too long.";

/** Characters left for the diffs of a plan, which is stored whole and shown on one page. */
interface PlanRoom {
  diffs: number;
  /** For objects that are kept whole. */
  sides: number;
  /** For renders that are kept whole until Kubernetes is asked about them. */
  questions: number;
}

export function newPlanRoom(): PlanRoom {
  return { diffs: MAX_DIFFS, sides: MAX_SIDES, questions: MAX_QUESTIONS };
}

/** Leaves out the text of the diffs for which the plan has no room left. */
function within(room: PlanRoom, planned: Evaluated | Unevaluated): Evaluated | Unevaluated {
  const definition = taken(room, planned.definition?.length ?? 0) ? planned.definition : NO_ROOM;
  if (planned.kind === "unevaluated") return { ...planned, definition };
  return { ...planned, definition, diff: diffWithin(room, planned.diff), ...checksWithin(room, planned) };
}

function checksWithin(room: PlanRoom, { checks }: Pick<Evaluated, "checks">): Pick<Evaluated, "checks"> {
  return checks === undefined ? {} : { checks: checks.map((one) => checkWithin(room, one)) };
}

function checkWithin(room: PlanRoom, result: CheckResult): CheckResult {
  if (!isFailed(result) || taken(room, result.outcome.output.length)) return result;
  return { ...result, outcome: { ...result.outcome, output: NO_ROOM } };
}

function previewWithin(room: PlanRoom, previewed: Previewed | undefined): PreviewContent | undefined {
  return previewed && contentWithin(room, previewed.content);
}

export function contentWithin(room: PlanRoom, content: PreviewContent): PreviewContent {
  if (content.kind !== "compared") return content;
  return { ...content, diff: diffWithin(room, content.diff), ...checksWithin(room, content) };
}

function diffWithin(room: PlanRoom, diff: ManifestDiff): ManifestDiff {
  const [basis, resources] = [diff.basis, resourcesWithin(room, diff.resources)];
  if (basis.kind !== "both") return { ...diff, resources };
  return { ...diff, resources, basis: { ...basis, drift: resourcesWithin(room, basis.drift) } };
}

function resourcesWithin(room: PlanRoom, resources: readonly ResourceChange[]): readonly ResourceChange[] {
  const fits = taken(
    room,
    resources.reduce((sum, { diff }) => sum + diff.length, 0),
  );
  return resources.map((resource) => {
    const { sides } = resource;
    const size = sides === undefined ? 0 : sides.before.length + sides.after.length;
    const kept = size <= room.sides ? sides : undefined;
    if (kept !== undefined) room.sides -= size;
    return { ...resource, ...(fits ? {} : { diff: NO_ROOM, whole: false }), sides: kept };
  });
}

function taken(room: PlanRoom, length: number): boolean {
  const fits = length <= room.diffs;
  if (fits) room.diffs -= length;
  return fits;
}

/** The result of a render. `withheld`: it waits for an approval of the head. */
type Started = RenderedSides | { readonly kind: "withheld"; readonly reason: string };

/** Starts to lock and render the applications of a plan, each once. */
export interface PlanStart {
  /** Locks the application, then starts the render of its head, even if another change request holds the lock. */
  start(subject: Subject): void;
  /** What becomes of the objects of an application that is created or deleted; undefined if nothing does. */
  previewed(subject: AnnouncedSubject): Promise<Previewed> | undefined;
  /** Resolves to both sides of all started applications once all are locked. @throws the first failure. */
  rendered(): Promise<ReadonlyMap<LiveSubject, Promise<Started>>>;
  /** Ignores later starts; resolves once no lock is being taken any more. */
  end(): Promise<void>;
}

/** @param locks receives every attempt; what it has already is not locked again. @param why decides about withheld renders. */
export function createPlanStart(
  locks: Map<ApplicationName, LockAttempt>,
  why: WhyWithheld,
  previews: Previews,
  context: Locking & RenderSource,
): PlanStart {
  const renders = createRenderLine(context);
  const started = new Map<Subject, Promise<void>>();
  const withheld = new Map<LiveSubject, Promise<Started>>();
  const previewed = new Map<AnnouncedSubject, Promise<Previewed>>();
  let over = false;

  async function lockAndRender(subject: Subject): Promise<void> {
    if (!locks.has(subject.name)) await acquireOne(subject, locks, context);
    if (subject.kind === "unreadable") return;
    if (subject.kind !== "live") {
      const shown = previewOf(subject, previews, context);
      // The plan may end before it asks for it.
      shown?.catch(() => undefined);
      if (shown !== undefined) previewed.set(subject, shown);
      return;
    }
    const reason = await withholdingOf(subject, why, context);
    if (reason !== undefined) {
      withheld.set(subject, Promise.resolve({ kind: "withheld", reason }));
      return;
    }
    await renders.begin({ subject, locked: locks.get(subject.name)?.kind === "acquired" });
  }

  return {
    start(subject) {
      if (over || started.has(subject)) return;
      const starting = lockAndRender(subject);
      // `rendered` reports a failure; until then it must not end the process as an unhandled rejection.
      starting.catch(() => undefined);
      started.set(subject, starting);
    },
    previewed: (subject) => previewed.get(subject),
    async rendered() {
      await Promise.all(started.values());
      return new Map<LiveSubject, Promise<Started>>([...renders.finish(), ...withheld]);
    },
    async end() {
      over = true;
      await Promise.allSettled(started.values());
    },
  };
}

function previewOf(
  subject: AnnouncedSubject,
  previews: Previews,
  context: Pick<CommandContext, "checks">,
): Promise<Previewed> | undefined {
  switch (subject.kind) {
    case "new": {
      if (subject.definition !== undefined) {
        return previews.preview({ kind: "rendered", application: subject.definition, replaced: undefined });
      }
      const reason = subject.problem ?? "its definition could not be read";
      const content = uncheckedPreview(subject.name, { kind: "failed", reason }, context);
      return Promise.resolve({ content, facts: undefined });
    }
    case "deleted":
      return subject.live && previews.preview({ kind: "removed", live: subject.live });
  }
}

/** Locks an application for a plan, without its revision. Applications that are not deployed from here stay unlocked. */
async function acquireOne(
  subject: Subject,
  into: Map<ApplicationName, LockAttempt>,
  { locks, change, user, clock }: Locking,
): Promise<void> {
  const { name, sourceFile } = subject;
  const isOthers = subject.kind === "unreadable" && subject.unlocked === true;
  if (isOthers || (subject.kind === "live" && subject.notDriven !== undefined)) {
    // An earlier head may have locked it, without a change of its definition.
    await locks.release(name, change);
    return;
  }
  const request = {
    application: name,
    holder: changeRequestRef(change),
    user: user.login,
    planRevision: undefined,
    sourceFile,
  };
  into.set(name, await locks.acquire(request, clock.now()));
}

/** The lock of a plan; `attempt` is undefined if none was made. */
function lockOf(attempt: LockAttempt | undefined): PlanLock {
  if (attempt === undefined) return { kind: "not-needed" };
  return attempt.kind === "held" ? { kind: "held", by: attempt.lock } : { kind: "ours" };
}
