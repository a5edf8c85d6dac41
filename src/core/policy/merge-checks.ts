import type { ApplicationName } from "../model/brand.js";
import { isFailed, type CheckResult, type FailedCheck, type OverriddenOf } from "../model/check.js";
import { failedChecksOf, type ApplicationPlan, type Plan } from "../model/plan.js";
import { createOverriding, type OverridingContext } from "./check-gate.js";

/** An application that the merge deploys, not svc, although these required checks fail for it. */
export interface FailedAtMerge {
  readonly application: ApplicationName;
  readonly failed: readonly FailedCheck[];
}

/** What the checks of a plan say about its merge. */
export interface MergeChecks {
  /** What nobody who may lift it has approved. */
  readonly failed: readonly FailedAtMerge[];
  /** What an approval of the head lifts. */
  readonly overridden: readonly OverriddenOf[];
}

/** Judges what the merge deploys, not svc. The host is asked only if a required check failed. */
export async function checksOfMerge(plan: Plan, context: OverridingContext): Promise<MergeChecks> {
  const overriding = createOverriding(context);
  const judged = await Promise.all(
    takingEffect(plan).flatMap(({ application, failed }) =>
      failed.map(async (one) => ({ application, one, by: await overriding.whoLifts(one) })),
    ),
  );
  const left = judged.filter(({ by }) => by.length === 0);
  const names = [...new Set(left.map(({ application }) => application))];
  return {
    failed: names.map((application) => {
      return { application, failed: left.filter((it) => it.application === application).map(({ one }) => one) };
    }),
    overridden: judged
      .filter(({ by }) => by.length > 0)
      .map(({ application, one, by }) => ({ application, check: one.name, by: by.map(({ login }) => login) })),
  };
}

function takingEffect({ applications, previews }: Plan): readonly FailedAtMerge[] {
  const planned = applications
    .filter((one) => one.kind === "new" || (one.atMerge !== undefined && !isUnchanged(one)))
    .map((one) => ({ application: one.application, failed: failedChecksOf(one) }));
  const previewed = previews.map(({ application, content: { checks = [] } }) => {
    return { application, failed: requiredAndFailed(checks) };
  });
  return [...planned, ...previewed].filter(({ failed }) => failed.length > 0);
}

function isUnchanged(plan: ApplicationPlan): boolean {
  return plan.kind === "evaluated" && plan.verdict === "unchanged" && !plan.writesDefinition;
}

function requiredAndFailed(checks: readonly CheckResult[]): readonly FailedCheck[] {
  return checks.filter(isFailed).filter(({ required }) => required);
}
