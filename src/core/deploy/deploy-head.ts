import {
  type ApplicationSpec,
  destinationOf,
  type LiveApplication,
  specEqual,
  syncsItself,
} from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import { changeRequestRef, sameChangeRequest } from "../model/change-request.js";
import type { OverriddenCheck } from "../model/check.js";
import type { Command, DeployingCommand } from "../model/command.js";
import { type Deployment, writerOf } from "../model/deployment.js";
import { ownMember } from "../model/effect.js";
import { only, safeMessage, StoreUnavailable } from "../model/errors.js";
import { listed, referenceTo } from "../model/host-words.js";
import { isJsonObject, type Json } from "../model/json.js";
import type { ApplicationSync } from "../model/result.js";
import type { HealthRule } from "../model/settings.js";
import { type BehindBase, type LiveSubject, pinsOf, type PlannedSource, specBeforeOf } from "../model/subject.js";
import {
  deployAll,
  type DeployContext,
  deployOne,
  type DeployOutcome,
  type DeployTarget,
  writesSpec,
} from "./deploy.js";
import { confirmHealth, isMerged, settleSync } from "./settle.js";

/** One application to deploy the head to. */
export interface HeadTarget extends Pick<DeployTarget, "after"> {
  readonly subject: LiveSubject;
  /** The results of its parents in an earlier attempt of the run. */
  readonly earlier: readonly ApplicationSync[];
  readonly behind: BehindBase | undefined;
  readonly overridden: readonly OverriddenCheck[];
  /** The sources that the plan showed. */
  readonly planned: readonly PlannedSource[];
  /** The objects that the plan has a sync create or change, if a sync applies all that it renders. */
  readonly applied: readonly string[];
  /** Recorded with the deployment, for a later rollback. */
  readonly basePinned: boolean;
  readonly health: HealthRule | undefined;
}

interface HeadOptions {
  readonly command: Command<"sync">;
  /** Logins whose approval this deployment runs under. */
  readonly approvers: readonly string[];
  readonly skipped: readonly LiveSubject["name"][];
  readonly context: DeployContext;
}

/** Deploys the head, parents first, with a record of each deployment; a failure restores the definition, a success releases the lock. */
export function deployHeads(targets: readonly HeadTarget[], options: HeadOptions): Promise<readonly ApplicationSync[]> {
  const { command, context, skipped } = options;
  const ordered = targets.map((target): DeployTarget & { readonly record: Deployment } => {
    const { subject, after, earlier, overridden } = target;
    const record = recordOf(target, options);
    const held: Held = { record };
    return {
      application: subject.name,
      live: subject.live,
      pins: record.pins,
      revision: record.revision,
      destination: destinationOf(subject.head.spec),
      after,
      record,
      deploy: async (parents) => {
        const deployed = await deployHead(target, held, [...earlier, ...parents], options);
        return overridden.length === 0 ? deployed : { ...deployed, overridden };
      },
      confirm: command.dryRun ? undefined : (deployed) => confirmHealth(deployed, held.record, command, context),
    };
  });
  async function writeRecords(): Promise<readonly ApplicationSync[] | undefined> {
    const written = await Promise.allSettled(ordered.map(({ record }) => context.deployments.save(record)));
    const failed = written.find((one) => one.status === "rejected");
    if (failed === undefined) return undefined;
    context.log.error({ err: failed.reason as unknown }, "nothing was deployed: could not write the record");
    // Also where it failed: most of all if the connection was lost with the answer, the record may be there.
    return Promise.all(
      ordered.map(async ({ application, record }, index): Promise<ApplicationSync> => {
        const untouched = { kind: "untouched", earlier: targets[index]?.subject.ownRecord } as const;
        const unsettled = await settleSync(record, untouched, context);
        const warnings = unsettled === undefined ? [] : [unsettled];
        return { application, warnings, kind: "rejected", message: NO_LOCK };
      }),
    );
  }

  return deployAll(ordered, context, { skipped, prepare: command.dryRun ? undefined : writeRecords });
}

/** The record of one deployment. It gets another definition where Argo CD stored another than it was sent. */
interface Held {
  record: Deployment;
}

async function deployHead(
  target: HeadTarget,
  held: Held,
  parents: readonly ApplicationSync[],
  { command, context }: HeadOptions,
): Promise<ApplicationSync> {
  const { subject, after, behind } = target;
  const { name: application, live, head } = subject;
  const reverts = command.dryRun ? behind?.wouldRevert : behind?.reverted;
  const warnings = reverts === undefined ? subject.warnings : [...subject.warnings, reverts];
  const { spec } = head;
  const { pins, health } = held.record;
  const at = pins.length === 0 ? "target" : pins;
  // A dry run writes no definitions, so that there is nothing to wait for.
  if (command.dryRun) return { application, warnings, ...(await deployOne({ live, spec, at }, command, context)) };
  const blocked = blockedBy(after, parents);
  const found = blocked ?? (await findDefinition(subject, parents, context));
  // Last: the controller of a set may take a minute.
  const taken = await lockTaken(application, "Plan it again", context);
  if (taken !== undefined) {
    await settleSync(held.record, { kind: "untouched", earlier: subject.ownRecord }, context);
    return { application, warnings: subject.warnings, kind: "rejected", message: taken };
  }
  const onWritten = async (specWritten: ApplicationSpec) => {
    if (specEqual(specWritten, spec)) return;
    held.record = { ...held.record, specWritten };
    await context.deployments.save(held.record);
  };
  const outcome: DeployOutcome =
    "live" in found ? await deployOne({ live: found.live, spec, at, onWritten }, command, context) : rejected(found);
  const { record } = held;
  if (outcome.kind === "succeeded" && health !== undefined) {
    return { application, ...outcome, warnings: [...warnings, ...otherwise(outcome, target)] };
  }
  const failed = outcome.kind === "failed" || outcome.kind === "rejected";
  // A parent has written, or may still write, what nobody has seen: the record keeps the definition from before.
  const wrote = "live" in found ? undefined : found.wrote;
  const left = blocked?.undecided === true || wrote !== undefined;
  // A set would write its own again.
  const restores = failed && !left && subject.definedBySet === undefined && writesSpec({ live, spec });
  const restored = restores ? await restoreSpec(live, record.specWritten ?? spec, command.name, context) : undefined;
  const stays = outcome.kind === "running" && "live" in found && writesSpec({ live: found.live, spec });
  const untouched = outcome.kind === "rejected" && !left && restored?.kind !== "written";
  const unsettled = await settleSync(
    wrote === undefined ? record : { ...record, specWritten: wrote },
    untouched ? { kind: "untouched", earlier: subject.ownRecord } : outcome,
    context,
  );
  const sentence = stays ? writtenSentence(context) : restored?.sentence;
  const sentences = [...otherwise(outcome, target), sentence, unsettled];
  const kept = untouched || !("live" in found) ? subject.warnings : warnings;
  return { application, ...outcome, warnings: [...kept, ...sentences.filter((one) => one !== undefined)] };
}

/** What to do about a written definition whose sync goes on. */
function writtenSentence({ change, hostWords }: Pick<DeployContext, "change" | "hostWords">): string {
  const { short } = hostWords[change.host];
  return `its definition is the one of this ${short} and stays. Once the operation has ended, run the sync command again, or the rollback command, which puts back the earlier one`;
}

function rejected({ kind, message }: Blocked): DeployOutcome {
  return { kind, message };
}

/** Sentences on what Argo CD took of other repositories, and what it left out, where that is not what the plan shows. */
function otherwise(outcome: DeployOutcome, { planned, applied }: HeadTarget): readonly string[] {
  if (outcome.kind !== "succeeded") return [];
  const done = new Set(outcome.resources.map(({ title }) => withoutNamespace(title)));
  const left = applied.filter((title) => !done.has(withoutNamespace(title)));
  const others = planned.flatMap(({ position, kind, follows, revision }) => {
    const deployed = outcome.revisions[position - 1];
    if (kind !== "foreign" || revision === undefined || deployed === undefined || deployed === revision) return [];
    const name = follows === "" ? "HEAD" : follows;
    return [
      `source ${position} is in another repository and follows ${name}: it was deployed at ${short(deployed)}, and the plan was made when it was at ${short(revision)}`,
    ];
  });
  const why = "see whether its setting resource.exclusions has that kind";
  return left.length === 0 ? others : [...others, `Argo CD did not apply ${listed(left, MOST_LACKED)}: ${why}`];
}

/** The result of a sync names a namespace of objects that are in none. */
function withoutNamespace(title: string): string {
  return title.replace(/ [^ /]+\//, " ");
}

/** Shortens commit ids, and no versions of charts. */
function short(revision: string): string {
  return /^[0-9a-f]{40,}$/.test(revision) ? revision.slice(0, 8) : revision;
}

/**
 * Why nothing may be deployed; undefined if this change request holds the lock. A rollback elsewhere may take over a lock whose
 * holder has no record yet: it reads records after it took the lock, and this reads the lock after the record was written, so at
 * least one of the two notices the other.
 */
export async function lockTaken(
  application: ApplicationName,
  cure: string,
  { locks, change, hostWords }: Pick<DeployContext, "locks" | "change" | "hostWords">,
): Promise<string | undefined> {
  const lock = await locks.find(application).catch(only(StoreUnavailable, () => "unknown" as const));
  if (lock === "unknown") return NO_LOCK;
  if (lock !== undefined && sameChangeRequest(lock.holder, change)) return undefined;
  const words = hostWords[change.host];
  const by =
    lock === undefined ? "It was released" : `${referenceTo(lock.holder, change, words)} (${lock.user}) has it now`;
  return `its lock is no longer this ${words.short}'s: nothing was deployed. ${by}. ${cure}`;
}

const NO_LOCK = "failed to acquire lock: nothing was deployed";

function recordOf(
  { subject, behind, overridden, basePinned, health }: HeadTarget,
  { approvers, context }: HeadOptions,
): Deployment {
  const { change, user, clock, runId } = context;
  const { name, ownRecord, live, head, definedBy, definedBySet: set } = subject;
  const writes = writesSpec({ live, spec: head.spec });
  const isOwn = ownRecord !== undefined && writerOf(live, [ownRecord]) !== undefined;
  return {
    application: name,
    uid: live.uid,
    change: changeRequestRef(change),
    revision: change.headRevision,
    baseBranch: change.baseBranch,
    baseRevision: change.baseRevision,
    basePinned,
    outcome: "started",
    pins: pinsOf(head, change.headRevision),
    specBefore: specBeforeOf(subject),
    specWritten: writes || isOwn ? head.spec : undefined,
    specReplaced: isOwn ? live.spec : undefined,
    given: definedBy !== undefined && set !== undefined ? { parent: definedBy, set } : ownRecord?.given,
    approvers,
    user: user.login,
    reverted: behind?.reverted,
    ...(overridden.length === 0 ? {} : { overridden }),
    runId,
    health,
    timestamp: clock.now().toISOString(),
  };
}

/** What became of a definition after the deployment that wrote it was refused or failed. */
interface Restored {
  /** `other`: somebody has replaced the written definition since, or has merged it. `written`: it could not be put back. */
  readonly kind: "restored" | "other" | "written";
  readonly sentence: string | undefined;
}

/** Puts back the definition from before a deployment, `live`, if the one that it wrote is still there, and not merged. */
export async function restoreSpec(
  live: Pick<LiveApplication, "name" | "spec">,
  written: ApplicationSpec,
  command: DeployingCommand["name"],
  { change, deployer, host, hostWords, log }: Pick<DeployContext, "change" | "deployer" | "host" | "hostWords" | "log">,
): Promise<Restored> {
  const { short } = hostWords[change.host];
  let problem = "whether its definition has to be put back is not known";
  try {
    const now = await deployer.findApplication(live.name);
    if (now !== undefined && specEqual(now.spec, live.spec)) return { kind: "restored", sentence: undefined };
    if (now === undefined || !specEqual(now.spec, written)) {
      const by = command === "sync" ? `of this ${short}` : "that this rollback wrote";
      return { kind: "other", sentence: `its definition is not the one ${by} and was left as it is` };
    }
    if (command === "sync" && (await isMerged(change, host))) {
      return {
        kind: "other",
        sentence: `its definition is the one of this ${short}, which was merged meanwhile, and stays`,
      };
    }
    problem = "its definition could not be put back";
    await deployer.updateSpec(now, live.spec);
    return { kind: "restored", sentence: `its definition was put back to what it was before this ${command}` };
  } catch (error) {
    log.error({ application: live.name, err: error }, "could not restore the definition");
    const ways = command === "sync" ? "sync command again, or the rollback command" : "rollback command again";
    const sentence = `${problem} (${safeMessage(error)}): once the cause is gone, run the ${ways}, or restore it in Argo CD`;
    return { kind: "written", sentence };
  }
}

/** Why an application is not deployed although the command was allowed. */
interface Blocked {
  readonly kind: "rejected";
  readonly message: string;
  /** Whether a parent of the same run may still write its definition. */
  readonly undecided: boolean;
  /** The definition that it has now, if that is not the planned one. */
  readonly wrote: ApplicationSpec | undefined;
}

/** Why its parents, `after`, keep an application from being deployed; undefined if all of them succeeded. */
export function blockedBy(after: readonly ApplicationName[], parents: readonly ApplicationSync[]): Blocked | undefined {
  const unordered = after.find((name) => !parents.some(({ application }) => application === name));
  if (unordered !== undefined) {
    return blocked(
      `it and ${unordered} wait for each other, because each is to apply the other's definition: deploy them one by one with -a`,
    );
  }
  const failed = parents.find(({ kind }) => kind !== "succeeded");
  if (failed === undefined) return undefined;
  const undecided = failed.kind === "running" || failed.kind === "unknown";
  const why = undecided ? "is not known to be deployed yet" : "was not deployed";
  return blocked(
    `its parent ${failed.application}, which applies its definition, ${why}. See to ${failed.application} first, then run the sync command again`,
    undecided,
  );
}

/** The application as it was read before the run, or now if a parent has just written its definition, which must be the planned one. */
async function findDefinition(
  subject: LiveSubject,
  parents: readonly ApplicationSync[],
  context: Pick<DeployContext, "deployer" | "clock">,
): Promise<{ readonly live: LiveApplication } | Blocked> {
  const { name, live, head, definedBySet: set } = subject;
  const [parent] = parents;
  if (parent === undefined) return { live };
  try {
    const now = await (set === undefined
      ? context.deployer.findApplication(name)
      : findWritten(name, head.spec, context));
    if (now === undefined) return blocked(`the sync of its parent ${parent.application} removed it`);
    if (syncsItself(now) || !specEqual(now.spec, head.spec)) {
      const by = set === undefined ? `its parent ${parent.application}` : `the ApplicationSet ${set}`;
      return { ...blocked(otherDefinition(by, now.spec, head.spec)), wrote: now.spec };
    }
    return { live: now };
  } catch (error) {
    return blocked(`its definition could not be read after the sync of ${parent.application}: ${safeMessage(error)}`);
  }
}

const MOST_LACKED = 3;

function otherDefinition(by: string, wrote: ApplicationSpec, planned: ApplicationSpec): string {
  const lacks = lackedOf(planned, wrote);
  const what = `the definition that ${by} wrote is`;
  if (lacks.length === 0) return `its plan is stale: ${what} not the planned one. Run the plan command again`;
  return `${what} the planned one without ${listed(lacks, MOST_LACKED)}. Argo CD may not know that: take it out of the definition`;
}

/** The members of a planned definition that the stored one lacks; empty if anything else differs. */
function lackedOf(planned: ApplicationSpec, stored: ApplicationSpec): readonly string[] {
  const lacks: string[] = [];
  const stays = (one: Json, other: Json, path: string): Json => {
    if (!isJsonObject(one) || !isJsonObject(other)) return one;
    const members = Object.entries(one).flatMap(([key, member = null]) => {
      const [at, known] = [`${path}${key}`, ownMember(other, key)];
      if (known !== undefined) return [[key, stays(member, known, `${at}.`)] as const];
      if (!specEqual({ [key]: member }, {})) lacks.push(at);
      return [];
    });
    return Object.fromEntries(members);
  };
  const left = stays(planned, stored, "");
  return isJsonObject(left) && specEqual(left, stored) ? lacks : [];
}

const SET_POLLS = 30;
const SET_POLL_MS = 2_000;

/** Waits for a definition: the controller of an ApplicationSet writes it some seconds after the sync that applied the set. */
export async function findWritten(
  name: ApplicationName,
  expected: ApplicationSpec,
  { deployer, clock }: Pick<DeployContext, "deployer" | "clock">,
): Promise<LiveApplication | undefined> {
  for (let polls = SET_POLLS; ; polls -= 1) {
    const now = await deployer.findApplication(name);
    if (polls === 0 || now === undefined || now.deleting || specEqual(now.spec, expected)) return now;
    await clock.sleep(SET_POLL_MS);
  }
}

function blocked(message: string, undecided = false): Blocked {
  return { kind: "rejected", message, undecided, wrote: undefined };
}
