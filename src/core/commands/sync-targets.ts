import type { HeadTarget } from "../deploy/deploy-head.js";
import { overriddenIn, type SyncChecks } from "../facts/sync-checks.js";
import type { ApplicationName } from "../model/brand.js";
import { type ChangeRequestRef, changeRequestKey } from "../model/change-request.js";
import { expectedRefusals } from "../model/cluster-check.js";
import type { ApplicationPlan, Plan } from "../model/plan.js";
import type { ApplicationSync } from "../model/result.js";
import type { LiveSubject } from "../model/subject.js";
import { deployedOf, healthRuleFor } from "../policy/effect-rules.js";
import type { CommandContext } from "../ports/context.js";
import { behindOf } from "../survey/input-gaps.js";

/** How parents of an application ended that an earlier attempt of the run deployed. */
export type ParentsDone = (application: ApplicationName) => readonly ApplicationSync[];

export interface TargetOptions {
  readonly plan: Plan | undefined;
  readonly checks: SyncChecks;
  readonly parentsOf: ParentsDone;
  readonly context: CommandContext;
}

/** What a sync deploys of these applications, and after which others. */
export async function targetsOf(
  subjects: readonly LiveSubject[],
  { plan, checks, parentsOf, context }: TargetOptions,
): Promise<readonly HeadTarget[]> {
  const behind = await behindOf(subjects, context);
  return subjects.map((subject): HeadTarget => {
    const planned = plan?.applications.find(({ application }) => application === subject.name);
    const deployed = deployedOf(plan, [subject.name], context.change);
    return {
      subject: planned === undefined ? subject : withRefusals(subject, planned),
      after: parentsAmong(subjects, subject, plan),
      earlier: parentsOf(subject.name),
      behind: behind.get(subject.name),
      overridden: overriddenIn(subject.name, checks),
      planned: planned?.kind === "evaluated" ? planned.sources : [],
      health: deployed.map((one) => healthRuleFor(one, context.settings))[0],
    };
  });
}

/** A sync that is known to fail is allowed, and its answer says so. */
function withRefusals(subject: LiveSubject, planned: ApplicationPlan): LiveSubject {
  const expected = planned.kind === "evaluated" ? expectedRefusals(planned.cluster) : [];
  return expected.length === 0 ? subject : { ...subject, warnings: [...subject.warnings, ...expected] };
}

/** Those of the subjects that track it, or whose head applies a new definition of it. One that applies its own does not wait. */
function parentsAmong(
  subjects: readonly LiveSubject[],
  { name, live }: LiveSubject,
  plan: Plan | undefined,
): readonly ApplicationName[] {
  const others = subjects.map((one) => one.name).filter((one) => one !== name);
  return others.filter((other) => {
    if (live.parent === other) return true;
    const planned = plan?.applications.find(({ application }) => application === other);
    if (planned?.kind !== "evaluated") return false;
    const { created, changed } = planned.diff.children;
    const applies = planned.effect.applies.some(({ application }) => application === name);
    return applies || [...created, ...changed].includes(live.resourceName);
  });
}

/** Other change requests whose record "deployed, not merged" a success replaced. */
export function replacedBy(
  deployed: readonly ApplicationSync[],
  subjects: readonly LiveSubject[],
): readonly ChangeRequestRef[] {
  const changes = deployed
    .filter(({ kind }) => kind === "succeeded")
    .flatMap(({ application }) => subjects.filter(({ name }) => name === application))
    .flatMap(({ foreignRecords }) => foreignRecords.map(({ change }) => change));
  return [...new Map(changes.map((change) => [changeRequestKey(change), change])).values()];
}
