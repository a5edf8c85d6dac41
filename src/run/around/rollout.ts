import { remark } from "../../comments/marker.js";
import { linksOf } from "../../comments/parts.js";
import { renderRolloutFailure } from "../../comments/present.js";
import { repost } from "../../comments/publish.js";
import { createApprovals } from "../../core/facts/approval.js";
import { destinationOf } from "../../core/model/application.js";
import type { ApplicationName, Revision } from "../../core/model/brand.js";
import {
  type ChangeRequest,
  changeRequestRef,
  type ChangeRequestRef,
  identityKey,
} from "../../core/model/change-request.js";
import { type Deployment, isDeployedAt } from "../../core/model/deployment.js";
import {
  DeployerFailure,
  HeadMoved,
  HostFailure,
  ifReadable,
  isFinal,
  NotServed,
  RepositoryFailure,
  safeMessage,
} from "../../core/model/errors.js";
import type { RolloutMoved } from "../../core/model/event.js";
import { isPlanOf, type Plan } from "../../core/model/plan/plan.js";
import {
  expectedIn,
  type FollowedApplication,
  hasFailed,
  type Rollout,
  type RolloutLine,
} from "../../core/model/rollout.js";
import { definedInOf, healthRuleFor, needsApproval, takingEffect } from "../../core/policy/effect-rules.js";
import type { Clock } from "../../core/ports/clock.js";
import type { Deployer } from "../../core/ports/deployer.js";
import type { EventQueue } from "../../core/ports/event-queue.js";
import type { Snapshot } from "../../core/ports/snapshot.js";
import type { RolloutStore } from "../../core/ports/stores.js";
import { lookAtRollout } from "../../core/survey/rollout.js";
import { auditFactsOfRollout, auditRun } from "../answer/audit.js";
import { tellOfRollout } from "../answer/notify.js";
import { showRollout } from "../answer/show.js";
import { silent, type Silent } from "../line/outcome.js";
import { openChange, type Run } from "../line/run.js";
import { EnvironmentReports } from "./environments.js";
import { hidingInTexts } from "./hide-secrets.js";

/** Starts to follow what takes effect at a merge, once, by the plan of the merged head. @param records what it had deployed. */
export async function startRollout(change: ChangeRequest, records: readonly Deployment[], run: Run): Promise<void> {
  const { timeout } = run.config.afterMerge;
  if (timeout === "off") return;
  const [known, plan] = await Promise.all([
    ifReadable(run.rollouts.find(change), "unreadable"),
    ifReadable(run.plans.find(change), undefined),
  ]);
  if (known !== undefined || !isPlanOf(plan, change)) return;
  const deployed = records.filter((one) => isDeployedAt(one, plan.head));
  const expected = expectedIn(plan, new Set(deployed.map(({ application }) => application)));
  if (expected.length === 0) return;
  const [{ approval, isHealthRequired }, broken] = await Promise.all([rulesOf(plan, change, run), brokenNow(run)]);
  const now = run.clock.now();
  const since = now.toISOString();
  const rollout: Rollout = {
    change: changeRequestRef(change),
    merged: change.mergedAs ?? change.baseRevision,
    since,
    until: new Date(now.getTime() + timeout).toISOString(),
    ended: undefined,
    approval,
    applications: expected.map((one) => ({
      ...one,
      healthy: one.goal === "run" && isHealthRequired(one.application),
      wasBroken: broken(one.application),
      state: { kind: "waiting", why: "was not looked at yet", since },
    })),
    deployed: records
      .filter(({ revision }) => revision === plan.head)
      .map(({ application, outcome, user, timestamp, seconds }) => ({
        application,
        outcome,
        user,
        timestamp,
        seconds,
      })),
  };
  await run.rollouts.save(rollout, now);
}

interface RolloutRules {
  readonly approval: Rollout["approval"];
  readonly isHealthRequired: (application: ApplicationName) => boolean;
}

/** If they cannot be read, the approval is unknown, and everything has to get healthy. */
async function rulesOf(plan: Plan, change: ChangeRequest, run: Run): Promise<RolloutRules> {
  try {
    const { snapshot, ...opened } = await openChange(change, run);
    const effect = takingEffect(plan);
    const settings = await opened.settings.including(definedInOf(effect));
    const found = new Map(effect.map((one) => [one.application, one]));
    const approved =
      !needsApproval(effect, settings) || (await createApprovals({ ...run, change, settings, snapshot })()).approved;
    return {
      approval: approved ? "given" : "missing",
      isHealthRequired: (application) =>
        healthRuleFor(found.get(application) ?? { application, members: [] }, settings) !== undefined,
    };
  } catch (error) {
    if (!isOutside(error)) throw error;
    run.log.warn({ err: error }, "could not read the rules of a rollout");
    return { approval: "unknown", isHealthRequired: () => true };
  }
}

/** What has trouble already at the merge, which may be its cure. If Argo CD does not answer, nothing has. */
async function brokenNow({ deployer, log }: Pick<Run, "deployer" | "log">) {
  try {
    const lines = await deployer.rolloutLines();
    return (application: ApplicationName) => {
      const line = lines.get(application);
      return line?.sync === "Unknown" || line?.health === "Degraded";
    };
  } catch (error) {
    if (!isOutside(error)) throw error;
    log.warn({ err: error }, "could not look at rollouts");
    return () => false;
  }
}

function isOutside(error: unknown): boolean {
  return [DeployerFailure, HostFailure, RepositoryFailure, HeadMoved].some((kind) => error instanceof kind);
}

interface LookParts {
  readonly rollouts: Pick<RolloutStore, "list">;
  readonly deployer: Pick<Deployer, "rolloutLines">;
  readonly queue: Pick<EventQueue, "push" | "isBusy">;
  readonly clock: Clock;
}

/** Asks Argo CD once for all that is followed, and gives an event to every change request that something is new for. */
export async function lookAtRollouts({ rollouts, deployer, queue, clock }: LookParts): Promise<void> {
  const followed = await rollouts.list();
  if (followed.length === 0) return;
  const lines = await deployer.rolloutLines();
  const now = clock.now();
  for (const { change, until, applications } of followed) {
    const moved = applications.flatMap((one) => {
      const line = lines.get(one.application);
      const text = lineText(line);
      const isNew = text !== one.seen || isHidden(one, line);
      return one.state.kind === "reached" || !isNew ? [] : [{ application: one.application, line: text }];
    });
    const isTime = Date.parse(until) <= now.getTime() || applications.some((one) => hasFailed(one, now));
    if ((moved.length === 0 && !isTime) || (await queue.isBusy(change))) continue;
    const delivery = `rollout-${identityKey(change)}-${now.getTime()}`;
    await queue.push({ kind: "rollout", delivery, change: changeRequestRef(change), moved });
  }
}

/** Tells lines apart; empty for an application that is not there. */
function lineText(line: RolloutLine | undefined): string {
  if (line === undefined) return "";
  return [line.sync, line.health, line.phase, line.revision, line.deleting ? "deleting" : ""].join(" ");
}

/** Whether to look at an application although the list shows nothing new: neither several commits nor its definition are in it. */
function isHidden({ definition }: Pick<FollowedApplication, "definition">, line: RolloutLine | undefined): boolean {
  return line?.sync === "Synced" && (line.revision === "" || definition !== undefined);
}

/** Whether nothing more is expected of it. */
function isSettled({ state: { kind } }: Pick<FollowedApplication, "state">): boolean {
  return kind === "reached" || kind === "failed" || kind === "manual";
}

/** Looks at what has moved, and tells what is new. Whatever fails is done again at the next look: what was told is stored last. */
export async function followRollout(ref: ChangeRequestRef, { moved }: RolloutMoved, run: Run): Promise<Silent> {
  const before = await run.rollouts.find(ref);
  if (before === undefined || before.ended !== undefined) return silent("nothing-to-update");
  const now = run.clock.now();
  const isLate = Date.parse(before.until) <= now.getTime();
  const change = await run.host.getChangeRequest(ref).catch((error: unknown) => {
    if (isLate && error instanceof HostFailure && isFinal(error)) return error;
    throw error;
  });
  if (change instanceof NotServed) await abandonRollout(ref, run);
  // Its repository is gone: no comment can say how it ended, and its applications still run.
  else if (change instanceof HostFailure) await endUnseen(before, run);
  if (change instanceof HostFailure) return silent("nothing-to-update");
  const lines = new Map(moved.map(({ application, line }) => [application, line]));
  const looks = new RolloutLooks(before, change, now, run);
  const looked = await Promise.all(
    before.applications.map(async (one) => {
      const line = lines.get(one.application);
      const isDue = hasFailed(one, now) || (isLate && !isSettled(one));
      return line === undefined && !isDue ? one : looks.at(one, line);
    }),
  );
  const hasEnded = isLate || looked.every(isSettled);
  const rollout: Rollout = {
    ...before,
    ended: hasEnded ? now.toISOString() : undefined,
    applications: hasEnded ? looked.map(atEnd) : looked,
  };
  await tell(before, rollout, change, run);
  await run.rollouts.save(rollout, now);
  return silent("rollout-looked-at");
}

/** Tells how a rollout ended that cannot be looked at any more: what has not rolled out by the last look has failed. */
async function endUnseen(before: Rollout, given: Run): Promise<void> {
  const run = { ...given, runId: given.newRunId(`rollout ${identityKey(before.change)}`) };
  const now = run.clock.now();
  const rollout = { ...before, ended: now.toISOString(), applications: before.applications.map(atEnd) };
  await tellOfEnd(rollout, rollout.change, run);
  await run.rollouts.save(rollout, now);
}

/** Ends a rollout that crashes svc whenever it is looked at, without another look. A later run brings the comment up to date. */
export async function giveUpRollout(ref: ChangeRequestRef, run: Run): Promise<Silent> {
  const before = await run.rollouts.find(ref);
  if (before !== undefined && before.ended === undefined) {
    await endUnseen(before, run);
    await run.publisher.mark(ref);
  }
  return silent("nothing-to-update");
}

/** Ends a rollout without a word: svc does not serve its repository any more. */
export async function abandonRollout(
  ref: ChangeRequestRef,
  { rollouts, clock }: Pick<Run, "rollouts" | "clock">,
): Promise<void> {
  const now = clock.now();
  const rollout = await rollouts.find(ref);
  if (rollout !== undefined) await rollouts.save({ ...rollout, ended: now.toISOString() }, now);
}

/** The looks of one run at the applications of a merged change request, whose repository is opened only if that is needed. */
class RolloutLooks {
  #opened: Promise<Snapshot> | undefined;
  #hide: ((text: string) => Promise<string>) | undefined;

  constructor(
    private readonly rollout: Rollout,
    private readonly change: ChangeRequest,
    private readonly now: Date,
    private readonly run: Run,
  ) {}

  /** What cannot be read stays as it is, and is looked at again. */
  async at(one: FollowedApplication, line: string | undefined): Promise<FollowedApplication> {
    const { rollout, change, now, run } = this;
    try {
      const live = line === "" ? undefined : await run.deployer.findApplication(one.application);
      const holds = (commit: Revision) => this.#holds(commit);
      const state = await lookAtRollout(one, live, { change, merged: rollout.merged, holds, now });
      const message = state.message === undefined ? undefined : await this.#hidden(state.message);
      return {
        ...one,
        existed: one.existed || live !== undefined,
        destination: live === undefined ? one.destination : destinationOf(live.spec),
        seen: line ?? one.seen,
        state: { ...state, message },
      };
    } catch (error) {
      if (!isOutside(error)) throw error;
      run.log.warn({ application: one.application, err: error }, "could not look at a rollout of an application");
      const why = "could not be looked at";
      return { ...one, state: { ...one.state, why, message: await this.#hidden(safeMessage(error)) } };
    }
  }

  /** Whether every commit that leads to the merged one leads to this one as well. */
  async #holds(commit: Revision): Promise<boolean> {
    const { merged } = this.rollout;
    if (commit === merged) return true;
    const { commits, complete } = await (await this.#open()).commitsBetween(commit, merged);
    return complete && commits.length === 0;
  }

  /** Empty if svc could not look for the Secrets that a message may quote. */
  async #hidden(text: string): Promise<string> {
    const { change, run } = this;
    try {
      this.#hide ??= hidingInTexts({ ...run, change, snapshot: await this.#open() }).hide;
    } catch (error) {
      if (!isOutside(error)) throw error;
      return "";
    }
    return this.#hide(text);
  }

  #open(): Promise<Snapshot> {
    return (this.#opened ??= openChange(this.change, { ...this.run, signal: undefined }).then(
      ({ snapshot }) => snapshot,
    ));
  }
}

/** Brings everything that shows a rollout up to date. All of it may have been written before, by an attempt that was interrupted. */
async function tell(before: Rollout, rollout: Rollout, change: ChangeRequest, given: Run): Promise<void> {
  const run = { ...given, runId: given.newRunId(`rollout ${identityKey(change)}`) };
  await showRollout(change, rollout, run);
  const [known, failed] = [failedIn(before), failedIn(rollout)];
  if (failed.some((name) => !known.includes(name))) {
    const text = renderRolloutFailure(rollout, linksOf(change, run), run.hostWords[change.host]);
    // Nobody is notified of an edit, so each set of failures has its own comment, whichever attempt posts it.
    const runId = run.newRunId(`rollout ${identityKey(change)} ${failed.join(" ")}`);
    try {
      await repost(run.host, change, remark(text, { runId }), { urgency: "result" });
    } catch (error) {
      if (!isFinal(error)) throw error;
      run.log.warn({ applications: failed, err: error }, "the code host refuses the comment that a rollout failed");
    }
  }
  await showEnvironments(before, rollout, change, run);
  if (rollout.ended !== undefined) await tellOfEnd(rollout, change, run);
}

async function tellOfEnd(rollout: Rollout, change: ChangeRequestRef, run: Run): Promise<void> {
  await tellOfRollout(rollout, change, run);
  const [told] = await ifReadable(run.audit.list({ limit: 1, filter: { change, action: "rolled-out" } }), []);
  if (told === undefined) await auditRun(auditFactsOfRollout(rollout), { change, asked: undefined }, run);
}

function failedIn({ applications }: Rollout): readonly ApplicationName[] {
  return applications.filter(({ state }) => state.kind === "failed").map(({ application }) => application);
}

/** Shows in the environments of the host what runs now, and what has failed for good. */
async function showEnvironments(before: Rollout, rollout: Rollout, change: ChangeRequest, run: Run): Promise<void> {
  if (!run.host.showsDeployments) return;
  const reports = new EnvironmentReports({ ...run, command: "sync", again: true });
  const earlier = new Map(before.applications.map((one) => [one.application, one]));
  for (const { application, goal, destination, state } of rollout.applications) {
    const known = earlier.get(application);
    const isManual = state.kind === "manual";
    // Nobody looks any more at what waits for a person: what was shown as running would run for ever.
    const kind = state.kind === "reached" ? "succeeded" : isManual ? "unknown" : "failed";
    const isFinal = state.kind === "reached" || rollout.ended !== undefined;
    if (goal === "go" || destination === undefined || (isManual && !isFinal)) continue;
    if (isFinal ? known?.state.kind === "reached" : known?.destination !== undefined) continue;
    reports.expect([{ application, revision: rollout.merged, destination }], change, linksOf(change, run));
    if (isFinal) reports.ended([{ application, kind, rolledBack: false }]);
    else reports.report(application, { kind: "running", message: "", done: 0, total: 0 });
  }
  await reports.settle();
}

/** What an application is once time is up, or nothing more is expected. */
export function atEnd(one: FollowedApplication): FollowedApplication {
  const { state } = one;
  return state.kind === "waiting" || state.kind === "failing" ? { ...one, state: { ...state, kind: "failed" } } : one;
}
