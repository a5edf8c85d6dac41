import { isWell, lookupOf } from "../deploy/health.js";
import { type Application, syncsItself } from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import { type ChangeRequest, sameChangeRequest } from "../model/change-request.js";
import { allInTurns } from "../model/collections.js";
import type { Command } from "../model/command.js";
import type { Deployment } from "../model/deployment.js";
import { DeployerFailure, safeMessage } from "../model/errors.js";
import type { Lock } from "../model/lock.js";
import { isPlanOf, type Plan } from "../model/plan/plan.js";
import type { LiveSubject } from "../model/subject.js";
import { approvalNeedsOf, touchedBy, isAnnounced } from "../policy/application-state.js";
import { definedInOf, deployedOf, requirementsIn } from "../policy/effect-rules.js";
import type { ApplicationFacts, Asker, Facts, UntoldSoFar, NowFacts } from "../policy/facts.js";
import type { CommandContext, Commits, OpenedChange } from "../ports/context.js";
import { asPlanned, findInputGaps } from "../survey/behind-base.js";
import { withPlannedDefinitions } from "../survey/children.js";
import { boundNow, type BindingSource } from "../survey/effects.js";
import { differingFrom, syncingSetOf } from "../survey/members.js";
import { haveDefaultRulesMoved } from "../survey/policy-files.js";
import { lackedBy, lackedSince } from "../survey/survey-afresh.js";
import { survey, type Survey, type SurveySource } from "../survey/survey.js";
import { type AccessContext, barredFrom, needsNoApproval, needsWriteAccess } from "./access.js";
import { type ApprovalContext, createApprovals, createLifting, type WhyWithheld, withholdingOf } from "./approval.js";
import { readMissed } from "./missed.js";
import { leftOverIn, withPruned } from "./pruned.js";
import { type ReadFacts, tell } from "./read-facts.js";

/** The facts of a sync, and the applications as it would deploy them. */
interface SyncReading {
  readonly facts: Facts;
  readonly subjects: readonly LiveSubject[];
  /** Every application that Argo CD listed. */
  readonly everyApplication: readonly Application[];
}

type SyncSource = SurveySource &
  AccessContext &
  ApprovalContext & {
    readonly deployer: Pick<CommandContext["deployer"], "healthAfter" | "applicationsOfSet" | "findApplicationSet">;
  };

type ConfirmingSource = SyncSource & BindingSource & Pick<CommandContext, "locks" | "holds" | "deployments" | "reload">;

/** Reads what a sync has to know besides what is stored. @param names what the command selects; new and deleted ones are left out. */
export async function readForSync(
  command: Command<"sync">,
  names: readonly ApplicationName[],
  { facts, plan, records, approvals }: ReadFacts,
  context: SyncSource,
): Promise<SyncReading> {
  const { host, change, user } = context;
  const untold: UntoldSoFar = { ...facts.untold };
  const selected = facts.applications.filter((one) => names.includes(one.application) && !isAnnounced(one));
  const chosen = selected.map(({ application }) => application);
  const found = await withPlannedDefinitions(await survey(context), plan, chosen, context);
  const withoutApproval = await needsNoApproval(command, context);
  const required = !withoutApproval && selected.some((one) => approvalNeedsOf(one, "sync").length > 0);
  const [approval, mergeability, barred, looked, missed] = await Promise.all([
    required ? tell(untold, "approval", approvals, undefined) : undefined,
    tell(untold, "mergeability", () => host.mergeability(change), "unknown" as const),
    barredFrom("sync", deployedOf(plan, chosen, change), context),
    lookAtAll(chosen, found, { plan, why: createLifting(context, approvals), context }),
    missedIn(plan, { ...context, approvals }),
  ]);
  const { dryRun, automatic } = command;
  const prunes = command.prune || context.settings.prune;
  const asker: Asker = {
    ...{ login: user.login, mayWrite: true, withoutApproval, barred, selected: names },
    ...{ ...(dryRun && { dryRun }), ...(automatic && { automatic }) },
    ...(prunes && { prunes }),
  };
  const unread = found.detection.unread.length > 0 ? { unread: found.detection.unread } : {};
  const now = new Map(looked.map(({ application, facts: one }) => [application, one]));
  const subjects = looked.flatMap(({ subject }) => subject ?? []);
  const left = prunes
    ? await leftOverIn(
        subjects.map((one) => withoutRendered(one, plan)),
        context,
      )
    : [];
  return {
    subjects,
    everyApplication: found.everyApplication,
    facts: {
      ...facts,
      untold,
      change: { ...change, mergeability },
      asker,
      approval,
      missed,
      ...(left.length > 0 && { reached: [...(facts.reached ?? []), ...left] }),
      ...(await lookAtEarlier(selected, records, context)),
      plan: facts.plan && { ...facts.plan, ...unread, lacks: lackedBy(plan, found.detection, change) },
      applications: facts.applications.map((one) => ({ ...one, now: now.get(one.application) })),
    },
  };
}

/** Argo CD may not have compared with the newest target branch yet, and no sync prunes what the head has. */
function withoutRendered({ name, live }: LiveSubject, plan: Plan | undefined): Pick<LiveSubject, "name" | "live"> {
  const planned = plan?.applications.find(({ application }) => application === name);
  const rendered = new Set(planned?.kind === "evaluated" ? planned.diff.rendered : []);
  return { name, live: { ...live, leftOver: live.leftOver?.filter((one) => !rendered.has(one)) } };
}

/** A plan of another head or base branch is stale in any case. */
async function missedIn(
  plan: Plan | undefined,
  context: Parameters<typeof readMissed>[1] & Commits,
): Promise<Facts["missed"]> {
  const missed = isPlanOf(plan, context.change) ? await readMissed(plan, context) : [];
  return missed.length === 0 ? undefined : missed;
}

interface Looked {
  readonly application: ApplicationName;
  readonly facts: NowFacts;
  /** The subject as a sync would deploy it; undefined if it cannot. */
  readonly subject: LiveSubject | undefined;
}

interface Around {
  readonly plan: Plan | undefined;
  readonly why: WhyWithheld;
  readonly context: OpenedChange & Pick<SyncSource, "hostWords">;
}

async function lookAtAll(
  chosen: readonly ApplicationName[],
  found: Survey,
  around: Around,
): Promise<readonly Looked[]> {
  const { plan, context } = around;
  const looked = await Promise.all(chosen.map((application) => lookAt(application, found, around)));
  const pinned = looked.flatMap(({ subject }) => subject ?? []);
  const differing = differingFrom(plan, pinned, found.everyApplication, context.change);
  return looked.map((one) => ({ ...one, facts: { ...one.facts, differs: differing.get(one.application) } }));
}

async function lookAt(application: ApplicationName, found: Survey, { plan, why, context }: Around): Promise<Looked> {
  const { change, hostWords } = context;
  const barred = (obstacle: string, passes?: true): Looked => {
    return { application, facts: { autoSynced: false, obstacle, ...(passes && { passes }) }, subject: undefined };
  };
  const refused = found.notDeployed.find((other) => other.application === application);
  if (refused !== undefined) return barred(refused.reason);
  const subject = found.subjects.find(({ name }) => name === application);
  if (subject === undefined) {
    const { short } = hostWords[change.host];
    return barred(`this ${short} no longer affects it: run the plan command again, which releases its lock`);
  }
  if (subject.kind === "unreadable") return barred(subject.problem, subject.passes);
  if (subject.kind !== "live") return barred(NOT_PLANNED_AS_SUCH);
  const planned = isPlanOf(plan, change) ? plan.applications.find((one) => one.application === application) : undefined;
  const { autoSynced, syncingSet, notDriven: obstacle } = subject;
  const pinned = await asPlanned(subject, planned, context);
  const moved = pinned.kind === "moved" ? pinned.sentence : undefined;
  const known = { autoSynced, syncingSet, obstacle, moved };
  const deployed = pinned.kind === "moved" ? undefined : pinned.subject;
  if (obstacle !== undefined) return { application, facts: known, subject: deployed };
  const withheld = await withholdingOf(subject, why, context);
  const gaps = withheld === undefined ? await findInputGaps(subject, context) : undefined;
  const facts = { ...known, withheld, uncovered: gaps?.uncovered, behind: gaps?.behind?.wouldRevert };
  return { application, facts, subject: deployed };
}

const NOT_PLANNED_AS_SUCH = "its Application resource was added or removed since the plan: run the plan command again";

/** What is read again right before the first call that deploys. */
interface Confirmation extends Omit<SyncReading, "everyApplication"> {
  /** The change request as it is now, if its target branch or the default branch's rules moved meanwhile. */
  readonly moved: ChangeRequest | undefined;
}

interface JudgedSync {
  readonly plan: Plan | undefined;
  readonly command: Command<"sync">;
  /** Whether an approval lifts a failed check, so that it has to stand still. */
  readonly lifted: boolean;
}

/** Reads again what may have changed since a sync was judged. */
export async function readAgain(
  { facts, subjects, everyApplication }: SyncReading,
  { plan: judged, lifted, command }: JudgedSync,
  context: ConfirmingSource,
): Promise<Confirmation> {
  const { host, change, deployer, user } = context;
  const untold: UntoldSoFar = { ...facts.untold };
  const found = await planAgain(judged, everyApplication, untold, context);
  const { plan, running, lacks = facts.plan?.lacks } = found;
  const { deployed, settings, requires, required } = await rulesAgain(facts, { ...found, untold }, context);
  const approvals = createApprovals(context);
  const [now, rulesMoved, mayWrite, barred, approval, live, locks, missed] = await Promise.all([
    tell(untold, "change", () => host.getChangeRequest(change), change),
    tell(untold, "change", () => haveDefaultRulesMoved(context), false),
    needsWriteAccess(settings, change) ? tell(untold, "access", () => host.mayCommand(change, user), false) : true,
    barredFrom("sync", deployed, { ...context, settings }),
    facts.approval !== undefined || lifted || required ? tell(untold, "approval", approvals, undefined) : undefined,
    tell(untold, "applications", () => Promise.all(subjects.map(({ name }) => deployer.findApplication(name))), []),
    tell(untold, "locks", () => locksNow(facts, command.dryRun, context), new Map()),
    missedIn(plan, { ...context, approvals }),
  ]);
  const fresh = subjects.map((subject, index) => ({ ...subject, live: live[index] ?? subject.live }));
  const why = createLifting(context, approvals);
  const withheld = new Map(
    await allInTurns(fresh, async (one) => [one.name, await withholdingOf(one, why, context)] as const),
  );
  const differing = differingFrom(plan, fresh, running, change);
  const syncing = new Map(live.flatMap((one) => (one !== undefined && syncsItself(one) ? [[one.name, one]] : [])));
  const again = (one: ApplicationFacts): ApplicationFacts => {
    const { application, now: before } = one;
    if (before === undefined) return withLock(one, locks);
    const itself = syncing.get(application);
    const is = {
      ...before,
      autoSynced: itself !== undefined,
      syncingSet: itself && syncingSetOf(itself),
      differs: differing.get(application),
      withheld: withheld.get(application),
    };
    return { ...withLock(one, locks), requires: requires(application), now: is };
  };
  const applications = facts.applications.map(again);
  const moving = movingFacts({ ...facts, plan: facts.plan && { ...facts.plan, lacks } }, change, now);
  const isOther = rulesMoved || now.baseRevision !== change.baseRevision || now.defaultBranch !== change.defaultBranch;
  return {
    moved: isOther && !moving.headMoved && now.state === "open" ? now : undefined,
    subjects: fresh,
    facts: {
      ...facts,
      untold,
      ...moving,
      asker: facts.asker && { ...facts.asker, mayWrite, barred },
      approval,
      missed,
      applications,
      ...(facts.reached && { reached: facts.reached.map((one) => withLock(one, locks)) }),
      ...(facts.unhealthy && (await lookAtEarlierAgain(applications, context))),
    },
  };
}

/** The plan with the rules of all who deploy to the same namespaces by now, and the applications that it lacks by now. */
async function planAgain(
  plan: Plan | undefined,
  earlier: readonly Application[],
  untold: UntoldSoFar,
  context: ConfirmingSource,
) {
  const { deployer, clock, signal } = context;
  const running = await tell(untold, "applications", () => deployer.listApplications(signal, clock.now()), undefined);
  if (plan === undefined || running === undefined) return { plan, running, lacks: undefined };
  const lacks = await lackedSince(earlier, running, plan, context);
  return { plan: await boundNow(plan, running, context), running, lacks };
}

/**
 * Whether the stages before these applications still run what was deployed, and are healthy. A sync of another change request that
 * failed stands in its record alone once Argo CD has forgotten it for a dry run.
 */
async function lookAtEarlier(
  deploying: readonly ApplicationFacts[],
  records: readonly Deployment[],
  { change, deployer }: Pick<SyncSource, "change" | "deployer">,
): Promise<Pick<Facts, "unhealthy">> {
  const before = new Set(deploying.flatMap(({ requires }) => requires.stages?.flatMap(({ earlier }) => earlier) ?? []));
  if (before.size === 0) return {};
  const deployed = records.filter(
    (record) => before.has(record.application) && sameChangeRequest(record.change, change),
  );
  const isTouched = ({ application, timestamp }: Deployment) =>
    records.some((one) => {
      const isOther = one.application === application && !sameChangeRequest(one.change, change);
      return isOther && Date.parse(one.timestamp) > Date.parse(timestamp);
    });
  const ills = await allInTurns(
    deployed,
    async (record) => [record.application, isTouched(record) ? REPLACED : await illOf(record, deployer)] as const,
  );
  return { unhealthy: Object.fromEntries(ills.flatMap(([name, ill]) => (ill === undefined ? [] : [[name, ill]]))) };
}

/** Another change request may have replaced meanwhile what an earlier stage deployed, which removes its record. */
async function lookAtEarlierAgain(
  applications: readonly ApplicationFacts[],
  context: Pick<SyncSource, "change" | "deployer"> & Pick<CommandContext, "deployments">,
): Promise<Pick<Facts, "unhealthy" | "applications">> {
  const deploying = applications.filter(({ now }) => now !== undefined);
  const records = await context.deployments.list();
  const own = records.filter(({ change }) => sameChangeRequest(change, context.change));
  const left = new Set(own.map(({ application }) => application));
  const found = applications.map((one) => (left.has(one.application) ? one : { ...one, record: undefined }));
  return { ...(await lookAtEarlier(deploying, records, context)), applications: found };
}

const REPLACED = "was synced by somebody else since: plan it and sync it again";

/** A clause about a deployed application that does not run what was deployed, or not well. */
async function illOf(record: Deployment, deployer: SyncSource["deployer"]): Promise<string | undefined> {
  try {
    const live = await deployer.findApplication(record.application);
    if (live === undefined) return "no longer exists";
    const seen = await deployer.healthAfter(lookupOf(record, live, record.runId ?? ""), { refresh: true });
    switch (seen.kind) {
      case "not-compared":
        return "was not compared by Argo CD since its sync: repeat the command";
      case "replaced":
        return REPLACED;
      case "compared":
        return isWell(seen.health) ? undefined : `is ${seen.health}`;
    }
  } catch (error) {
    if (!(error instanceof DeployerFailure)) throw error;
    return `could not be looked at: ${safeMessage(error)}`;
  }
}

/** The rules of other repositories may have changed; those of this one come with its base branch. */
async function rulesAgain(
  facts: Facts,
  found: Awaited<ReturnType<typeof planAgain>> & { readonly untold: UntoldSoFar },
  context: ConfirmingSource,
) {
  const { asker, applications, reached = [] } = facts;
  const { change } = context;
  const names = applications.flatMap(({ application, now }) => (now === undefined ? [] : [application]));
  const holds = await tell(found.untold, "holds", () => context.holds.list(), []);
  const { plan: known, running } = found;
  const prunes = asker?.prunes === true && reached.length > 0 && known !== undefined && running !== undefined;
  const plan = prunes ? await boundNow(withPruned(known, reached, running), running, context) : known;
  const deployed = deployedOf(plan, names, change);
  const settings = await context.settings.including(definedInOf(deployed), "again");
  const requires = requirementsIn(plan, { change, settings, holds });
  const required = asker?.withoutApproval !== true && names.some((name) => requires(name).approvals.sync.length > 0);
  return { deployed, settings, requires, required };
}

/** What moves while a sync is judged. */
function movingFacts(
  { change: known, plan }: Facts,
  before: ChangeRequest,
  { state, headRevision, baseBranch, mergeability }: ChangeRequest,
): Pick<Facts, "change" | "plan" | "headMoved"> {
  const retargeted = baseBranch !== before.baseBranch;
  const conflicts = mergeability === "conflicts" ? mergeability : known.mergeability;
  return {
    change: { ...known, state, baseBranch, mergeability: conflicts },
    plan: plan && { ...plan, retargeted: plan.retargeted || retargeted },
    headMoved: retargeted || headRevision !== before.headRevision,
  };
}

type Locks = ReadonlyMap<ApplicationName, Lock | undefined>;

/** The locks of the change request, those of later stages included, and of the definitions that its sync writes or deletes. */
async function locksNow(
  facts: Facts,
  dryRun: boolean,
  context: Pick<CommandContext, "locks" | "clock">,
): Promise<Locks> {
  const chosen = facts.applications.filter(({ now }) => now !== undefined);
  const touched = chosen.flatMap((one) => touchedBy(one, facts).map(({ child }) => child));
  const held = facts.applications.filter(({ lock }) => lock && sameChangeRequest(lock.holder, facts.change));
  const all = new Set([...chosen, ...held, ...touched.filter((child) => "planned" in child)]);
  const found = await Promise.all([...all].map(({ application: one }) => refreshed(one, facts, dryRun, context)));
  const now = [...all].map(({ application }, index) => [application, found[index]] as const);
  if (facts.reached === undefined) return new Map(now);
  // There may be very many of these, and nobody has locked most of them.
  const locks = new Map((await context.locks.list()).map((lock) => [lock.application, lock]));
  return new Map([...facts.reached.map(({ application }) => [application, locks.get(application)] as const), ...now]);
}

function withLock<T extends Pick<ApplicationFacts, "application" | "lock">>(one: T, locks: Locks): T {
  return locks.has(one.application) ? { ...one, lock: locks.get(one.application) } : one;
}

/** The lock as it is now: refreshed if it is ours, so that it lives while we deploy. A dry run only reads. */
async function refreshed(
  application: ApplicationName,
  { applications, change }: Facts,
  dryRun: boolean,
  { locks, clock }: Pick<CommandContext, "locks" | "clock">,
): Promise<Lock | undefined> {
  const lock = applications.find((one) => one.application === application)?.lock;
  if (dryRun || lock === undefined) return locks.find(application);
  const { holder, user, sourceFile } = lock;
  if (!sameChangeRequest(holder, change)) return lock;
  const attempt = await locks.acquire({ application, holder, user, sourceFile, planRevision: undefined }, clock.now());
  if (attempt.kind === "held" || !attempt.fresh) return attempt.lock;
  await locks.release(application, holder);
  return undefined;
}
