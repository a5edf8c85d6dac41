import { barredFrom } from "../facts/access.js";
import { readFacts } from "../facts/read-facts.js";
import { applicationName, shortRevision, type ApplicationName } from "../model/brand.js";
import { isDeployedAt, type Deployment } from "../model/deployment.js";
import { safeMessage } from "../model/errors.js";
import type { NotDeployed, Plan } from "../model/plan.js";
import type { ApplicationSync, SyncedResult } from "../model/result.js";
import { takingEffect } from "../policy/effect-rules.js";
import type { Facts } from "../policy/facts.js";
import type { Bar } from "../policy/gates.js";
import { barsOf, judge } from "../policy/judge.js";
import { RULES } from "../policy/rules.js";
import type { CommandContext } from "../ports/context.js";

export interface SyncedSoFar {
  readonly dryRun: boolean;
  /** The applications that the sync was for. */
  readonly involved: readonly ApplicationName[];
  readonly deployed: readonly ApplicationSync[];
  readonly plan: Plan | undefined;
}

/** Whether to merge after this sync, or what blocks it; neither while auto-merge is off. */
export async function decideMerge(
  so: SyncedSoFar,
  context: CommandContext,
): Promise<Pick<SyncedResult, "merge" | "notMerged">> {
  const { settings } = context;
  if (so.dryRun || !settings.autoMerge) return { merge: undefined, notMerged: [] };
  try {
    const { facts, bars } = await judgeMerge(so, context);
    if (bars.length > 0) return { merge: undefined, notMerged: hindrancesIn(bars, facts) };
    const { mergeMethod, deleteSourceBranch, protectedBranches } = settings;
    const merge = { method: mergeMethod, deleteSourceBranch, protectedBranches };
    const { overridden } = facts.mergeChecks;
    return { merge: overridden.length === 0 ? merge : { ...merge, overridden }, notMerged: [] };
  } catch (error) {
    // The deployment must be reported whatever happens here.
    context.log.error({ err: error }, "could not decide whether to merge");
    const reason = `could not check whether everything is deployed: ${safeMessage(error)}`;
    return { merge: undefined, notMerged: so.involved.map((application) => ({ application, reason })) };
  }
}

interface JudgedMerge {
  readonly facts: Facts;
  readonly bars: readonly Bar[];
}

/** Asks the host only once everything is deployed: an approval can be withdrawn while the sync runs. */
async function judgeMerge({ involved, deployed, plan }: SyncedSoFar, context: CommandContext): Promise<JudgedMerge> {
  const notStarted = deployed.filter(({ kind }) => kind !== "succeeded").map(({ application }) => application);
  const asker = { login: context.user.login, mayWrite: true, withoutApproval: false, barred: [], selected: involved };
  const stored = await readFacts(context, { plan, review: "nothing" });
  const known = { ...stored.facts, asker, notStarted };
  const undone = barsOf(judge("merge", known)).filter(({ gate }) => RULES[gate].asks === undefined);
  if (undone.length > 0) return { facts: known, bars: undone };
  const isDeployed = (name: ApplicationName) => stored.records.some((record) => isOfHead(record, name, context));
  const byTheMerge = takingEffect(plan).filter(({ application }) => !isDeployed(application));
  const [{ facts }, barred] = await Promise.all([
    readFacts(context, { plan }),
    barredFrom("sync", byTheMerge, context),
  ]);
  const all: Facts = { ...facts, asker: { ...asker, barred }, notStarted };
  return { facts: all, bars: barsOf(judge("merge", all)) };
}

function isOfHead(record: Deployment, name: ApplicationName, { change }: Pick<CommandContext, "change">): boolean {
  return record.application === name && isDeployedAt(record, change.headRevision);
}

/** The first reason of each application, beginning with those whose sync has just failed. */
function hindrancesIn(bars: readonly Bar[], { change, notStarted, applications }: Facts): readonly NotDeployed[] {
  const head = applicationName(shortRevision(change.headRevision));
  const found = new Map<string, NotDeployed>();
  for (const { application = head, why, untold } of bars) {
    const reason = untold ? `cannot tell ${why}` : why;
    if (!found.has(application)) found.set(application, { application, reason });
  }
  const inOrder = new Set([...notStarted, ...applications.map(({ application }) => application), ...found.keys()]);
  return [...inOrder].flatMap((name) => found.get(name) ?? []);
}
