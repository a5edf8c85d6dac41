import type { ApplicationName } from "../model/brand.js";
import { checksFor, resultFor, type Check, type CheckResult } from "../model/check.js";
import { checksOf, type ApplicationPlan, type Plan } from "../model/plan.js";
import type { MergeChecks } from "../policy/facts.js";
import { createOverriding, type OverridingContext } from "./overriding.js";

/** The host is asked only if a required check failed. */
export async function checksOfMerge(
  plan: Plan,
  context: OverridingContext & { readonly checks: readonly Check[] },
): Promise<MergeChecks> {
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

interface Checked {
  readonly application: ApplicationName;
  readonly checks: readonly CheckResult[];
}

function deployedByMerge({ applications, previews }: Plan): readonly Checked[] {
  return [
    ...applications
      .filter((one) => one.kind === "new" || (one.atMerge !== undefined && !isUnchanged(one)))
      .map((one) => ({ application: one.application, checks: checksOf(one) })),
    ...previews
      .filter(({ origin }) => origin.change !== "removed")
      .map(({ application, content }) => ({ application, checks: content.checks ?? [] })),
  ];
}

function isUnchanged(plan: ApplicationPlan): boolean {
  return plan.kind === "evaluated" && plan.verdict === "unchanged" && !plan.writesDefinition;
}
