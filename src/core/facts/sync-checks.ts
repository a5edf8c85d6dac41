import { checksFor } from "../../config/rules/rule-match.js";
import type { ApplicationName } from "../model/brand.js";
import type { Approver, User } from "../model/change-request.js";
import { type Check, type CheckResult, definitionOf, type FailedCheck, isFailed } from "../model/check.js";
import { HostFailure, only } from "../model/errors.js";
import { asCheckOf, type Checked, checksOf, isPlanOf, type Plan, changesNothing } from "../model/plan/plan.js";
import type { LiveSubject } from "../model/subject.js";
import type { Facts } from "../policy/facts.js";
import type { CommandContext } from "../ports/context.js";
import { brokenChecks, checkManifests, type CheckSource } from "../render/check-manifests.js";
import { createRenderLine, renderInputs, type RenderSource } from "../render/render.js";
import { allowsAny } from "./access.js";
import type { Approvals } from "./approval.js";
import { checkedIn, isLater, timedAs, whyEarly } from "./missed.js";

/** The required checks of what a sync deploys. */
export interface SyncChecks {
  /** The failed checks, each with the people whose approval lifts it. */
  readonly failed: ReadonlyMap<ApplicationName, readonly Failed[]>;
  /** Tells how a failed check can pass. */
  readonly sentence: (check: FailedCheck) => string;
}

interface Failed {
  readonly one: FailedCheck;
  readonly by: readonly User[];
}

type SyncCheckSource = RenderSource & CheckSource & Pick<CommandContext, "host">;

/** The failing required checks: by the plan's results where a sync certainly deploys what they were made of, else by a new render. */
export async function readSyncChecks(
  subjects: readonly LiveSubject[],
  plan: Plan | undefined,
  approvals: Approvals,
  context: SyncCheckSource,
): Promise<SyncChecks> {
  const own = await resultsOf(subjects, plan, context);
  const names = subjects.map(({ name }) => name);
  // A plan of another head or base branch is stale in any case.
  const reachedFrom = isPlanOf(plan, context.change) ? checkedIn(plan) : () => [];
  const results = names.map(
    (name) => [name, [...(own.get(name) ?? []), ...reachedBy(reachedFrom(name), names, context)]] as const,
  );
  const overriding = createOverriding({ ...context, approvals });
  const judged = await Promise.all(
    results.map(async ([application, all]) => [application, await overriding.judge(all)] as const),
  );
  return { failed: new Map(judged.filter(([, failed]) => failed.length > 0)), sentence: overriding.sentence };
}

/** @param again The approvals as read right before deploying, if they were. One that was withdrawn or cannot be read lifts no check. */
export function withChecks(facts: Facts, checks: SyncChecks, again?: ReadAgain): Facts {
  return {
    ...facts,
    applications: facts.applications.map((one) => {
      const { application, now } = one;
      return now === undefined ? one : { ...one, now: { ...now, checks: unlifted(application, checks, again) } };
    }),
  };
}

type ReadAgain = Pick<Facts, "approval" | "untold">;

function unlifted(application: ApplicationName, { failed, sentence }: SyncChecks, again: ReadAgain | undefined) {
  const people = again?.approval?.approved === true ? again.approval.people : [];
  const stands = ({ by }: Failed) => by.some(({ id }) => again === undefined || people.some((one) => one.id === id));
  const left = (failed.get(application) ?? []).filter((one) => !stands(one));
  const problem = again?.untold.approval;
  const unread = problem === undefined ? "" : ` (the approvals could not be read again: ${problem})`;
  return left.map(({ one }) => ({ sentence: `${sentence(one)}${unread}`, printed: firstLineOf(one) }));
}

/** The required checks of what Argo CD deploys by itself after a sync; without a result they failed. @param deployed what the sync deploys */
function reachedBy(
  reached: readonly Checked[],
  deployed: readonly ApplicationName[],
  { checks }: Pick<SyncCheckSource, "checks">,
): readonly CheckResult[] {
  const required = checks.filter((check) => check.required);
  return reached
    .filter(({ application }) => !deployed.includes(application))
    .flatMap(({ application, checks: known }) =>
      checksFor(required, application)
        .flatMap((check) => resultFor(check, known) ?? brokenChecks([check], UNCHECKED))
        .map((result) => asCheckOf(application, result)),
    );
}

const UNCHECKED = "the plan has no result of it, and Argo CD would deploy what it checks: plan again";

/** The results of the required checks, of applications that have some. */
async function resultsOf(
  subjects: readonly LiveSubject[],
  plan: Plan | undefined,
  context: Omit<SyncCheckSource, "host">,
): Promise<ReadonlyMap<ApplicationName, readonly CheckResult[]>> {
  const required = context.checks.filter((check) => check.required);
  const concerned = subjects.filter(({ name }) => checksFor(required, name).length > 0);
  if (concerned.length === 0) return new Map();
  const line = createRenderLine(context);
  const results = new Map<ApplicationName, readonly CheckResult[]>();
  const before = new Map<ApplicationName, readonly CheckResult[]>();
  for (const subject of concerned) {
    const planned = plannedResults(subject, checksFor(required, subject.name), plan, context);
    // A foreign branch or a range of versions may mean something else to Argo CD by now.
    const counts = planned !== undefined && (await renderInputs("head", subject, context)).pinned;
    if (counts) results.set(subject.name, planned);
    else {
      if (planned !== undefined) before.set(subject.name, planned);
      await line.begin({ subject, locked: true });
    }
  }
  const again = [...line.finish()].map(async ([subject, rendering]) => {
    const checks = checksFor(required, subject.name);
    const sides = await rendering;
    const found =
      sides.kind === "failed"
        ? brokenChecks(checks, "its manifests could not be rendered again", sides.reason)
        : await checkManifests(subject, sides, { reuse: true }, { ...context, checks });
    // What fails as it did in the plan is what people approved in spite of.
    const planned = before.get(subject.name) ?? [];
    results.set(
      subject.name,
      found.map((one) => timedAs(one, planned)),
    );
  });
  await Promise.all(again);
  return results;
}

/** What the plan of this head says of these checks; undefined unless it has a result for each as it is configured now. */
function plannedResults(
  { name }: LiveSubject,
  checks: readonly Check[],
  plan: Plan | undefined,
  { change }: Pick<CommandContext, "change">,
): readonly CheckResult[] | undefined {
  const planned = isPlanOf(plan, change)
    ? plan.applications.find(({ application }) => application === name)
    : undefined;
  const known = planned?.kind === "evaluated" ? (planned.checks ?? []) : [];
  const found = checks.map((check) => resultFor(check, known));
  return found.some((one) => one === undefined) ? undefined : found.filter((one) => one !== undefined);
}

/** The host is asked only if a required check failed. */
export async function checksOfMerge(
  plan: Plan,
  context: OverridingContext & { readonly checks: readonly Check[] },
): Promise<Facts["mergeChecks"]> {
  const overriding = createOverriding(context);
  const required = context.checks.filter((check) => check.required);
  const judged = await Promise.all(
    deployedByMerge(plan).map(async ({ application, checks }) => {
      const found = checksFor(required, application).map((check) => resultFor(check, checks));
      const lifted = await overriding.judge(found.filter((one) => one !== undefined));
      return { application, lifted, missing: found.includes(undefined) };
    }),
  );
  return {
    failed: judged
      .map(({ application, lifted }) => {
        return { application, failed: lifted.filter(({ by }) => by.length === 0).map(({ one }) => one) };
      })
      .filter(({ failed }) => failed.length > 0),
    overridden: judged.flatMap(({ application, lifted }) =>
      lifted
        .filter(({ by }) => by.length > 0)
        .map(({ one, by }) => ({ application, check: one.name, by: by.map(({ login }) => login) })),
    ),
    missing: judged.filter(({ missing }) => missing).map(({ application }) => application),
  };
}

function deployedByMerge({ applications, previews }: Plan): readonly Checked[] {
  return [
    ...applications
      .filter((one) => one.kind === "new" || (one.atMerge !== undefined && !changesNothing(one)))
      .map((one) => ({ application: one.application, checks: checksOf(one) })),
    ...previews
      .filter(({ origin }) => origin.change !== "removed")
      .map(({ application, content }) => ({ application, checks: content.checks ?? [] })),
  ];
}

/** What approvals and the members of teams are read from. */
type OverridingContext = Pick<CommandContext, "host" | "change"> & { readonly approvals: Approvals };

/** Finds out whose approval lifts failed checks. The host is asked only if there is one to lift. */
function createOverriding(context: OverridingContext) {
  const asked = new Map<string, Promise<readonly Approver[]>>();
  const early = new Map<FailedCheck, string>();
  let problem: string | undefined;

  async function approvers(teams: readonly string[]): Promise<readonly Approver[]> {
    const approval = await context.approvals().catch(only(HostFailure, ({ message }) => message));
    if (typeof approval === "string") {
      problem = approval;
      return [];
    }
    if (!approval.approved) return [];
    const allowed = await Promise.all(
      approval.people.map((person) => allowsAny({ users: [], teams }, [person], context)),
    );
    return approval.people.filter((_, index) => allowed[index] === true);
  }

  async function whoLifts(failed: FailedCheck): Promise<readonly User[]> {
    const { overridableBy: teams, knownAt } = failed;
    if (teams.length === 0) return [];
    const key = JSON.stringify(teams);
    const found = asked.get(key) ?? approvers(teams);
    asked.set(key, found);
    const members = await found;
    const later = members.filter(({ at }) => isLater(at, knownAt));
    if (later.length < members.length) early.set(failed, whyEarly(failed, members));
    return later;
  }

  return {
    /** The failed checks, each with the people whose approval lifts it. */
    judge: (all: readonly CheckResult[]) =>
      Promise.all(all.filter(isFailed).map(async (one) => ({ one, by: await whoLifts(one) }))),
    sentence: (failed: FailedCheck): string => {
      const { name, overridableBy: teams } = failed;
      const unread = problem === undefined ? "" : ` (the approvals could not be read: ${problem})`;
      const cure =
        teams.length === 0
          ? "fix it and push"
          : `fix it and push, or get an approval of this commit by a member of ${teams.join(" or ")}${unread}${early.get(failed) ?? ""}`;
      return `check ${name} failed: ${failed.outcome.reason}: ${cure}`;
    },
  };
}

/**
 * The result of a check as it is configured now. Of several, since two sets may make one application, the failed one that became known
 * last: whoever approved after it has seen all. Undefined if it was not run like this.
 */
function resultFor(check: Check, known: readonly CheckResult[]): CheckResult | undefined {
  const definition = definitionOf(check);
  const all = known.filter((one) => one.name === check.name && one.definition === definition);
  const failed = all.filter(isFailed).toSorted((a, b) => ((a.knownAt ?? "~") < (b.knownAt ?? "~") ? 1 : -1));
  const found = failed[0] ?? all[0];
  return found && { ...found, required: check.required, overridableBy: check.overridableBy };
}

/** The first line that a failed check printed; undefined if it printed nothing. Untrusted. */
function firstLineOf({ outcome: { output } }: FailedCheck): string | undefined {
  return output
    .split("\n")
    .find((line) => line.trim() !== "")
    ?.trim();
}
