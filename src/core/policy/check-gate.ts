import type { ApplicationName } from "../model/brand.js";
import type { Approval, User } from "../model/change-request.js";
import {
  checksFor,
  firstLineOf,
  isFailed,
  resultFor,
  type Check,
  type CheckResult,
  type FailedCheck,
  type OverriddenCheck,
} from "../model/check.js";
import { HostFailure } from "../model/errors.js";
import { isPlanOf, type Plan } from "../model/plan.js";
import type { Refusal } from "../model/result.js";
import type { LiveSubject } from "../model/subject.js";
import type { CommandContext } from "../ports/context.js";
import { brokenChecks, checkManifests } from "../render/check-manifests.js";
import { renderInputs } from "../render/render-inputs.js";
import { createRenderLine } from "../render/render.js";
import { allowsAny } from "./access.js";
import { approvalOf, type ApprovalContext } from "./approval.js";

/** Where approvals and the members of teams are read. */
export type OverridingContext = ApprovalContext & Pick<CommandContext, "host" | "change">;

/** No required check keeps the applications from being deployed; some may have failed. */
export interface ChecksLifted {
  readonly overridden: ReadonlyMap<ApplicationName, readonly OverriddenCheck[]>;
}

/**
 * Refuses a sync of what a required check fails for, unless somebody who may override it has approved the head. The plan's
 * results count where a sync certainly deploys what they were made of; everything else is rendered and checked again.
 */
export async function gateChecks(
  subjects: readonly LiveSubject[],
  plan: Plan | undefined,
  context: CommandContext,
): Promise<ChecksLifted | Refusal> {
  const results = await resultsOf(subjects, plan, context);
  const overriding = createOverriding(context);
  const judged = await Promise.all(
    [...results].map(async ([application, all]) => ({ application, lifted: await overriding.judge(all) })),
  );
  const failing = judged.flatMap(({ application, lifted }) => {
    const left = lifted.filter(({ by }) => by.length === 0).map(({ one }) => one);
    if (left.length === 0) return [];
    const lines = left.map(firstLineOf).filter((line) => line !== undefined);
    const printed = lines.length === 0 ? undefined : lines.join("; ").slice(0, MAX_PRINTED);
    return [{ application, reason: left.map((one) => overriding.sentence(one)).join("; "), printed }];
  });
  if (failing.length > 0) {
    const names = new Set(failing.map(({ application }) => application));
    const others = subjects.map(({ name }) => name).filter((name) => !names.has(name));
    return { reason: "not-deployable", applications: failing, others };
  }
  const overridden = judged.flatMap(({ application, lifted }) => {
    const checks = lifted.map(({ one, by }) => ({ check: one.name, by: by.map(({ login }) => login) }));
    if (checks.length > 0) context.log.info({ application, checks }, "failed checks are overridden");
    return checks.length === 0 ? [] : [[application, checks] as const];
  });
  return { overridden: new Map(overridden) };
}

/** The results of the required checks, of applications that have some. */
async function resultsOf(
  subjects: readonly LiveSubject[],
  plan: Plan | undefined,
  context: CommandContext,
): Promise<ReadonlyMap<ApplicationName, readonly CheckResult[]>> {
  const required = context.checks.filter((check) => check.required);
  const concerned = subjects.filter(({ name }) => checksFor(required, name).length > 0);
  if (concerned.length === 0) return new Map();
  const line = createRenderLine(context);
  const results = new Map<ApplicationName, readonly CheckResult[]>();
  for (const subject of concerned) {
    const planned = plannedResults(subject, checksFor(required, subject.name), plan, context);
    // Of a foreign branch or a range of versions, Argo CD may take something else by now.
    const counts = planned !== undefined && (await renderInputs("head", subject, context)).pinned;
    if (counts) results.set(subject.name, planned);
    else await line.begin({ subject, locked: true });
  }
  const again = [...line.finish()].map(async ([subject, rendering]) => {
    const checks = checksFor(required, subject.name);
    const sides = await rendering;
    const found =
      sides.kind === "failed"
        ? brokenChecks(checks, "its manifests could not be rendered again", sides.reason)
        : await checkManifests(subject, sides, { reuse: true }, { ...context, checks });
    results.set(subject.name, found);
  });
  await Promise.all(again);
  return results;
}

/** What the plan of this head says of these checks; undefined unless it has a result for each as it is configured now. */
function plannedResults(
  { name }: LiveSubject,
  checks: readonly Check[],
  plan: Plan | undefined,
  { change }: CommandContext,
): readonly CheckResult[] | undefined {
  const planned = isPlanOf(plan, change)
    ? plan.applications.find(({ application }) => application === name)
    : undefined;
  const known = planned?.kind === "evaluated" ? (planned.checks ?? []) : [];
  const found = checks.map((check) => resultFor(check, known));
  return found.some((one) => one === undefined) ? undefined : found.filter((one) => one !== undefined);
}

/** Who may lift failures by their approval. The host is asked only if there is one to lift. */
export function createOverriding(context: OverridingContext) {
  let reading: Promise<Approval | string> | undefined;
  const asked = new Map<string, Promise<readonly User[]>>();
  let problem: string | undefined;

  async function approvers(teams: readonly string[]): Promise<readonly User[]> {
    reading ??= approvalOf(context).catch((error: unknown) => {
      if (error instanceof HostFailure) return error.message;
      throw error;
    });
    const approval = await reading;
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

  async function whoLifts({ overridableBy: teams }: FailedCheck): Promise<readonly User[]> {
    if (teams.length === 0) return [];
    const key = JSON.stringify(teams);
    const found = asked.get(key) ?? approvers(teams);
    asked.set(key, found);
    return found;
  }

  return {
    /** The failed ones, each with those whose approval lifts it. */
    judge: (all: readonly CheckResult[]) =>
      Promise.all(all.filter(isFailed).map(async (one) => ({ one, by: await whoLifts(one) }))),
    sentence(failed: FailedCheck): string {
      const { name, overridableBy: teams } = failed;
      const unread = problem === undefined ? "" : ` (the approvals could not be read: ${problem})`;
      const cure =
        teams.length === 0
          ? "fix it and push"
          : `fix it and push, or get an approval of this commit by a member of ${teams.join(" or ")}${unread}`;
      return `check ${name} failed: ${failed.outcome.reason}: ${cure}`;
    },
  };
}

/** Characters. */
const MAX_PRINTED = 400;
