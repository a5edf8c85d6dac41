import { type ChangeRequest, sameChangeRequest } from "../model/change-request.js";
import { type FailedCheck, isFailed } from "../model/check.js";
import { finishInTurns, nextTurn } from "../model/collections.js";
import { byApplication, type Deployment } from "../model/deployment.js";
import {
  DeployerFailure,
  HostFailure,
  isFinal,
  RepositoryFailure,
  safeMessage,
  StoredValueUnreadable,
} from "../model/errors.js";
import type { Hold } from "../model/hold.js";
import { type HostWords, listed } from "../model/host-words.js";
import type { Lock } from "../model/lock.js";
import {
  type ApplicationPlan,
  asCheckOf,
  checksOf,
  isPlanOf,
  isWithheld,
  type Plan,
  previewedDiff,
  tellsReach,
  waitsForApproval,
} from "../model/plan/plan.js";
import type { AccessCommand, Settings } from "../model/settings.js";
import { isDangerous } from "../policy/application-state.js";
import {
  besides,
  definedInOf,
  type Deployed,
  otherFacts,
  requirementsIn,
  takingEffect,
} from "../policy/effect-rules.js";
import {
  type ApplicationFacts,
  blankFacts,
  type FactName,
  type UntoldSoFar,
  type Facts,
  NOTHING_FAILED,
  type RecordFacts,
  writersIn,
} from "../policy/facts.js";
import type { CommandContext } from "../ports/context.js";
import { type AccessContext, barredFrom } from "./access.js";
import {
  type ApprovalContext,
  type Approvals,
  createApprovals,
  missingForRules as missingApproval,
} from "./approval.js";
import { checkedIn, readMissed } from "./missed.js";
import { checksOfMerge } from "./sync-checks.js";

export type FactSource = ApprovalContext &
  Pick<
    CommandContext,
    "host" | "change" | "settings" | "plans" | "locks" | "holds" | "deployments" | "checks" | "clock"
  >;

export interface FactOptions {
  readonly problems?: readonly string[];
  /** The newest plan; without this key it is read. */
  readonly plan?: Plan | undefined;
  /** Binds a plan with the rules of everybody who deploys to its namespaces now. A rollback goes on without a stored one. */
  readonly asNow?: (stored: Plan | undefined) => Promise<Plan | undefined>;
  /** Which facts the host is asked for: all that are required, or all but the approval of the head. */
  readonly review?: "required" | "rules";
  /** Answers that the host has just given. */
  readonly reviewed?: Reviewed | undefined;
}

/** What the code host says about a head. */
export type Reviewed = Pick<Facts, "approval" | "missingForRules">;

/** The facts, with the plan and the records that they were read from. */
export interface ReadFacts {
  readonly facts: Facts;
  readonly plan: Plan | undefined;
  readonly records: readonly Deployment[];
  readonly approvals: Approvals;
}

/**
 * Reads what every judgement of a change request needs, each source once. What cannot be read is named in the facts; only
 * the store has to answer. @throws {StoreUnavailable | HeadMoved}
 */
export async function readFacts(source: FactSource, options: FactOptions = {}): Promise<ReadFacts> {
  return askReviewers(await readStores(source, options), source, options);
}

/** The facts that the stores tell, without a question to the host. @throws {StoreUnavailable} */
export async function readStores(
  source: FactSource,
  { problems = [], asNow, ...options }: Pick<FactOptions, "problems" | "plan" | "asNow"> = {},
): Promise<ReadFacts> {
  const { change, plans, locks, holds, deployments, hostWords } = source;
  const untold: UntoldSoFar = {};
  const [found, held, records, standing] = await Promise.all([
    "plan" in options ? options.plan : tell(untold, "plan", () => plans.find(change), undefined),
    tell(untold, "locks", () => locks.list(), []),
    tell(untold, "records", () => deployments.list(), []),
    tell(untold, "holds", () => holds.list(), []),
  ]);
  const plan = asNow === undefined ? found : await asNow(found);
  await nextTurn();
  const settings = await source.settings.including(definedInOf(takingEffect(plan)));
  const words = hostWords[change.host];
  const now = source.clock.now();
  const stored = { change, words, settings, plan, locks: held, records, holds: standing, now };
  const facts = await finishInTurns(storedFacts(stored));
  return { facts: { ...facts, untold, problems }, plan, records, approvals: createApprovals(source) };
}

/** Adds to stored facts what the code host says about the head, as far as that is required. @throws {HeadMoved} */
export async function askReviewers(
  { facts: stored, plan, records, approvals }: ReadFacts,
  source: FactSource,
  { review = "required", reviewed }: Pick<FactOptions, "review" | "reviewed"> = {},
): Promise<ReadFacts> {
  const { change } = source;
  const untold: UntoldSoFar = { ...stored.untold };
  const ask = <T>(read: () => Promise<T>, otherwise: T) => tell(untold, "approval", read, otherwise);
  const reviewing = isPlanOf(plan, change) && change.state === "open";
  const wanted = review === "required" && (needApproval(stored) || stored.plan?.waitsForApproval === true);
  const asking = reviewing && reviewed === undefined;
  const asked = { ...source, approvals };
  const [approval, missingForRules, mergeChecks, missed] = await Promise.all([
    asking && wanted ? ask(approvals, undefined) : reviewed?.approval,
    asking ? ask(() => missingApproval(asked), undefined) : reviewed?.missingForRules,
    reviewing ? ask(() => checksOfMerge(plan, asked), NOTHING_FAILED) : NOTHING_FAILED,
    reviewing ? readMissed(plan, asked) : [],
  ]);
  const known = { approval, missingForRules, mergeChecks, ...(missed.length === 0 ? {} : { missed }) };
  return { facts: { ...stored, untold, ...known }, plan, records, approvals };
}

/** The facts of a command that only asks who may give it for these applications. */
export async function factsOfAsker(
  command: AccessCommand,
  named: readonly Deployed[],
  context: AccessContext & Pick<CommandContext, "hostWords">,
): Promise<Facts> {
  const { change, settings, hostWords, user } = context;
  const names = named.map(({ application }) => application);
  const barred = await barredFrom(command, named, context);
  return {
    ...blankFacts(change, hostWords[change.host], settings),
    asker: { login: user.login, mayWrite: true, withoutApproval: false, barred, selected: names },
    applications: named.map((deployed) => otherFacts(deployed, { change, settings, holds: [] })),
  };
}

/** Reads one fact. Failures of hosts, Argo CD and stored values are noted in `untold`; everything else throws. */
export async function tell<T>(untold: UntoldSoFar, fact: FactName, read: () => Promise<T>, otherwise: T): Promise<T> {
  try {
    return await read();
  } catch (error) {
    const outside = [HostFailure, RepositoryFailure, DeployerFailure, StoredValueUnreadable];
    if (!outside.some((one) => error instanceof one)) throw error;
    untold[fact] = safeMessage(error);
    if (mayPass(error)) untold.mayPass = true;
    return otherwise;
  }
}

/** Whether a question that failed may be answered when it is asked again. */
function mayPass(error: unknown): boolean {
  if (error instanceof HostFailure) return !isFinal(error);
  return error instanceof RepositoryFailure || (error instanceof DeployerFailure && error.reason === "unreachable");
}

function planFacts(plan: Plan, change: ChangeRequest): Facts["plan"] {
  return {
    current: isPlanOf(plan, change),
    retargeted: plan.baseBranch !== change.baseBranch,
    unread: plan.unread,
    withheldSets: plan.applicationSets.filter(({ withheld }) => withheld === true).map(({ name }) => name),
    sets: plan.applicationSets.map(({ name }) => name),
    notDeployed: plan.notDeployed.map(({ application }) => application),
    ...(plan.lacks && { lacks: plan.lacks }),
    waitsForApproval: waitsForApproval(plan),
    ...(hasDanger(plan) ? { danger: true } : {}),
    ...(plan.approvalUsed ? { approvalUsed: true } : {}),
    ...(plan.next && { next: { stage: plan.next.stage, due: plan.next.due, by: plan.next.by.login } }),
  };
}

interface Stored {
  readonly change: ChangeRequest;
  readonly words: HostWords;
  readonly settings: Settings;
  readonly plan: Plan | undefined;
  readonly locks: readonly Lock[];
  readonly records: readonly Deployment[];
  readonly holds: readonly Hold[];
  readonly now: Date;
}

/** Makes facts of what the stores hold, step by step: ten thousand applications take a fifth of a second. */
export function* storedFacts(stored: Stored): Generator<void, Facts> {
  const { change, words, settings, plan, locks, records, holds, now } = stored;
  const isStaged = settings.stages.length > 0;
  const planned = new Map(plan?.applications.map((one) => [one.application, one]));
  const own = records.filter((record) => sameChangeRequest(record.change, change));
  const locked = locks.filter(({ holder }) => sameChangeRequest(holder, change));
  const names = new Set([...planned.keys(), ...[...locked, ...own].map(({ application }) => application)]);
  const lockOf = new Map(locks.map((lock) => [lock.application, lock]));
  const ownOf = new Map(own.map((record) => [record.application, record]));
  const recordsOf = byApplication(records);
  yield;
  const reachedFrom = plan === undefined ? () => [] : checkedIn(plan);
  const writers = writersIn(plan);
  yield;
  const requires = requirementsIn(plan, { change, settings, holds });
  yield;
  const applications: ApplicationFacts[] = [];
  for (const application of names) {
    const one = planned.get(application);
    const record = ownOf.get(application);
    const foreign = (recordsOf.get(application) ?? []).filter((other) => other !== record);
    applications.push({
      application,
      planned: one && { ...plannedFacts(one, reachedFrom), ...writers.of(application) },
      lock: lockOf.get(application),
      record: record && { ...recordFacts(record, change), ...(isStaged && { endedAt: endOf(record) }) },
      foreign: foreign.map((other) => recordFacts(other, change)),
      requires: requires(application),
      now: undefined,
    });
    yield;
  }
  const shown = plan && planFacts(plan, change);
  const reached = writers.outside(lockOf);
  yield;
  const others: ApplicationFacts[] = [];
  for (const deployed of plan === undefined ? [] : besides(plan)) {
    others.push(otherFacts(deployed, { change, settings, holds }));
    yield;
  }
  return {
    ...blankFacts(change, words, settings),
    ...(isStaged && { at: now.toISOString() }),
    plan: shown,
    applications,
    others,
    ...(reached.length > 0 && { reached }),
  };
}

function plannedFacts(plan: ApplicationPlan, reachedFrom: ReturnType<typeof checkedIn>) {
  const evaluated = plan.kind === "evaluated" ? plan : undefined;
  const reached = (plan.kind === "evaluated" ? reachedFrom(plan.application) : []).flatMap(({ application, checks }) =>
    checks
      .filter(isFailed)
      .filter(({ required }) => required)
      .map((check) => asCheckOf(application, check)),
  );
  const refused = evaluated?.cluster?.refused.filter(({ sure }) => sure) ?? [];
  const dangers = evaluated?.diff.dangers ?? [];
  // Even if Kubernetes was not asked, svc knows which fields it never lets change.
  const expected = dangers.filter(({ effect }) => effect === "refused").map(({ what }) => what);
  return {
    kind: plan.kind,
    unchanged: evaluated?.verdict === "unchanged" && !evaluated.writesDefinition,
    atMerge: plan.atMerge,
    ...(plan.definedBy === undefined ? {} : { definedBy: plan.definedBy.parent }),
    failure: plan.kind === "unevaluated" ? plan.reason : undefined,
    withheld: isWithheld(plan),
    behind: plan.gaps?.behind === true,
    uncovered: plan.gaps?.uncovered === true,
    unseen: unseenSentence(plan),
    failedChecks: [...failedChecksOf(plan), ...reached],
    refused: refused.length > 0 ? refused.map(({ title, message }) => `${title}: ${message}`) : expected,
    dangers,
    deleted: evaluated?.diff.deleted ?? 0,
    ...(tellsReach(plan) ? {} : { reachUnknown: true as const }),
  };
}

function recordFacts(record: Deployment, { baseRevision }: ChangeRequest): RecordFacts {
  const { change, revision, outcome, approvers, reverted } = record;
  const baseKept = record.basePinned === true && record.baseRevision === baseRevision;
  return { change, revision, outcome, approvers, reverted, baseKept };
}

/** If svc did not see the end, it has certainly ended when svc found its outcome. */
function endOf({ timestamp, seconds, settledAt }: Deployment): string | undefined {
  return seconds === undefined ? settledAt : new Date(Date.parse(timestamp) + seconds * 1000).toISOString();
}

function needApproval({ applications, others }: Facts): boolean {
  return [...applications, ...others].some(({ requires: { approvals, onApproval } }) => {
    return approvals.sync.length > 0 || onApproval === true;
  });
}

/** Whether a plan names any danger, also of what only the merge does. */
function hasDanger({ applications, applicationSets, previews }: Plan): boolean {
  return (
    applications.some(isDangerous) ||
    applicationSets.some(({ removed, failure }) => removed.length > 0 || failure !== undefined) ||
    previews.some(
      ({ origin, content }) => origin.change === "removed" || (previewedDiff(content)?.dangers.length ?? 0) > 0,
    )
  );
}

/** The required checks that keep an application from being deployed, unless an approval lifts them. */
function failedChecksOf(plan: ApplicationPlan): readonly FailedCheck[] {
  return checksOf(plan)
    .filter(isFailed)
    .filter(({ required }) => required);
}

const MOST_READS = 5;

const APPROVE_AGAIN =
  "Approve again what the plan shows: push a commit, or withdraw the approvals, run the plan command, and approve";

/** Why the approval of the head does not cover what an application deploys; undefined if it does. */
function unseenSentence(planned: ApplicationPlan | undefined): string | undefined {
  const source = planned?.kind === "evaluated" ? planned.sources.find(({ unseen }) => unseen) : undefined;
  if (source !== undefined) {
    const { position, follows, revision = "" } = source;
    const commit = revision.slice(0, 8);
    return `source ${position} follows ${follows}, and ${commit} of it was planned only after the head was approved. ${APPROVE_AGAIN}`;
  }
  const unpinned = planned?.kind === "evaluated" ? planned.unpinned : undefined;
  if (unpinned?.unseen !== true) return undefined;
  return `what it reads (${listed(unpinned.reads, MOST_READS)}) was planned like this only after the head was approved. ${APPROVE_AGAIN}`;
}
