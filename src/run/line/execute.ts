import { linksOf } from "../../comments/parts.js";
import { hasAnswered, publish, repost } from "../../comments/publish.js";
import { renderResult } from "../../comments/render.js";
import { allowsRepository } from "../../config/repository-names.js";
import { isDeploying, runCommand } from "../../core/commands/commands.js";
import { close } from "../../core/commands/locks.js";
import { resumeSynced } from "../../core/commands/merge.js";
import { resumeDeployment } from "../../core/commands/resume.js";
import type { Revision } from "../../core/model/brand.js";
import {
  type ChangeRequest,
  type ChangeRequestRef,
  changeRequestRef,
  identityKey,
} from "../../core/model/change-request.js";
import {
  BaseBranchGone,
  HeadMoved,
  HostFailure,
  ifReadable,
  isFinal,
  NotRecovered,
  NotServed,
} from "../../core/model/errors.js";
import type { CommandResultOf } from "../../core/model/result.js";
import type { Reloaded } from "../../core/ports/context.js";
import { leavesOut } from "../../core/ports/log.js";
import { wrapPort } from "../../observe/wrap-port.js";
import { advise } from "../answer/answer.js";
import { auditFactsOf, auditRun } from "../answer/audit.js";
import { tellOfMerge } from "../answer/notify.js";
import { postingOf, urgencyOf } from "../answer/results.js";
import { showEnd } from "../answer/show.js";
import { forgetStatus } from "../answer/status.js";
import { startRollout } from "../around/rollout.js";
import {
  type Answerable,
  type CarriedOut,
  type Finished,
  type Outcome,
  type Permitted,
  refused,
  silent,
  type Silent,
} from "./outcome.js";
import { isOld } from "./permit.js";
import { commandContext, openChange, type Run } from "./run.js";

/** Fetches a pushed head while the host is still asked about the change request. What fails is reported by whoever opens it. */
export async function fetchPushed(
  change: ChangeRequestRef,
  pushed: Revision | undefined,
  { host, repositories, signal }: Run,
): Promise<void> {
  const source = await host.cloneSource(change).catch(() => undefined);
  if (source !== undefined) await repositories.fetchHead(change, source, { pushed, signal });
}

/** Reads the change request; tells nothing of a failure before an earlier deployment is looked up. @throws {NotRecovered} */
export async function readFirst(asked: Answerable, ref: ChangeRequestRef, run: Run): Promise<ChangeRequest> {
  const { ticket } = run;
  try {
    return await findToldOf(ref, asked.kind === "autoplan" ? asked.pushed : undefined, run);
  } catch (cause) {
    if (!ticket.again || !(cause instanceof HostFailure) || isFinal(cause)) throw cause;
    const notes = await ticket.journal.read().catch(() => undefined);
    const isFirst = notes !== undefined && notes.result === undefined && (notes.started ?? []).length === 0;
    if (isFirst) throw cause;
    throw new NotRecovered("could not read the change request of an earlier attempt of this run", { cause });
  }
}

/** Resumes what an earlier attempt of this run did; undefined if the run may start over. @throws {NotRecovered} */
export async function recover(
  asked: Answerable,
  change: ChangeRequest,
  run: Run,
): Promise<Finished | Silent | undefined> {
  if (!run.ticket.again) return undefined;
  try {
    return await resume(asked, change, run);
  } catch (cause) {
    throw new NotRecovered("could not determine what an earlier attempt of this run did", { cause });
  }
}

async function resume(asked: Answerable, change: ChangeRequest, run: Run): Promise<Finished | Silent | undefined> {
  const notes = await run.ticket.journal.read();
  const { started = [], skipped = [], result } = notes;
  run.attempt.deploying(started, change);
  run.attempt.takenBefore = notes.takenOver;
  if (result?.kind === "synced" && result.merge !== undefined) {
    const opened = await openChange(change, run);
    const resumed = await resumeSynced(result, commandContext(asked, change, opened, run));
    return { kind: "finished", result: resumed, ...opened, settled: [], recorded: true };
  }
  if (result !== undefined) {
    return { kind: "finished", result, ...(await openIfReadable(change, run)), settled: [], recorded: true };
  }
  const { command } = asked;
  if (command === undefined || !isDeploying(command) || started.length + skipped.length === 0) {
    return (await hasAnswered(run.host, change, run.runId, "but-plans")) ? silent("already-answered") : undefined;
  }
  const opened = await openChange(change, run);
  const isLate = asked.kind === "command" && asked.found !== undefined && isOld(asked.found, run.clock);
  const resumed = await resumeDeployment(command, notes, commandContext(asked, change, opened, run), isLate);
  // A command that starts over has given back what it took.
  if (resumed === undefined) run.attempt.takenBefore = undefined;
  return resumed && { kind: "finished", result: resumed, ...opened, settled: [] };
}

/** The rules for what is shown: the recorded result is answered without them, and the rest is brought up to date later. */
async function openIfReadable(change: ChangeRequest, run: Run): Promise<Reloaded | undefined> {
  try {
    return await openChange(change, run);
  } catch (error) {
    run.log.warn({ err: error }, "could not read the settings; plan and commit status are updated later");
    return undefined;
  }
}

/** Runs the work, and once more if the head moved between reading its facts and fetching it. */
export async function withFreshFacts<T>(work: () => Promise<T>): Promise<T> {
  return work().catch((error: unknown) => {
    if (error instanceof HeadMoved) return work();
    throw error;
  });
}

const FIND_PAUSES_MS = [1000, 2000, 4000];

/**
 * Reads a change request of which its host told. A host may do so some seconds before it finds the change request itself, or shows
 * the head that was pushed. Another head by then is a newer one.
 */
async function findToldOf(
  ref: ChangeRequestRef,
  pushed: Revision | undefined,
  { host, clock, signal }: Run,
): Promise<ChangeRequest> {
  for (const pause of FIND_PAUSES_MS) {
    try {
      const change = await host.getChangeRequest(ref, signal);
      if (change.headRevision === (pushed ?? change.headRevision)) return change;
    } catch (error) {
      if (!isUnknownYet(error)) throw error;
    }
    await clock.sleep(pause, signal);
  }
  return host.getChangeRequest(ref, signal);
}

function isUnknownYet(error: unknown): boolean {
  if (error instanceof NotServed || error instanceof BaseBranchGone) return false;
  return error instanceof HostFailure && error.reason === "not-found";
}

/** Runs a permitted command. Returns the change request as it is afterwards: somebody may have merged or closed it meanwhile. */
export async function execute(
  { asked, settings, problems, snapshot, settled }: Permitted,
  change: ChangeRequest,
  run: Run,
): Promise<CarriedOut> {
  const given = asked.kind === "autoplan" ? asked : { by: asked.by };
  const result = await runCommand(asked.command, commandContext(given, change, { settings, snapshot }, run));
  const planned = result.kind === "planned";
  const [closed, earlier, advised] = await Promise.all([
    releaseIfClosed(change, run),
    // If the host fails, the answer asks again and reports the failure.
    planned ? run.host.listOwnComments(change).catch(() => undefined) : undefined,
    // What fails is tried again for the answer, which reports it.
    planned ? advise({ result, settings, problems }, change, run).catch(() => undefined) : undefined,
  ]);
  const finished: Finished = { kind: "finished", result, settings, problems, settled, earlier, advised };
  if (closed === undefined) return [change, finished];
  const now = { ...change, state: closed };
  if (planned) {
    return [now, asked.kind === "autoplan" ? silent("closed-meanwhile") : refused({ reason: "closed", state: closed })];
  }
  const unmerged = result.kind === "synced" ? { ...result, merge: undefined, notMerged: [] } : result;
  return [now, { ...finished, result: unmerged }];
}

interface Closing {
  /** Does what the event may have stopped. */
  readonly ifOpen?: () => Promise<Outcome>;
  /** Reads no repository, follows no rollout, and leaves the comment of the plan as it is. */
  readonly briefly?: boolean;
}

/** Releases what a closed change request holds. Reads its state first: a late or repeated event proves nothing. */
export async function closeChangeRequest(
  ref: ChangeRequestRef,
  run: Run,
  { ifOpen, briefly = false }: Closing,
): Promise<Outcome> {
  const change = await run.host.getChangeRequest(ref);
  if (change.state === "open") return ifOpen === undefined ? silent("still-open") : ifOpen();
  if (change.state === "merged") await tellOfMerge(change, run);
  if (ref.repository !== change.repository) await forgetStatus(ref, run);
  // Looked up by the host's answer, since an old event may hold nothing but a name.
  const records = await run.deployments.ofChange(change, leavesOut(run.log));
  const isServed = allowsRepository(run.config.defaults.allowedRepos, change.host, change.repository);
  const follows = change.state === "merged" && isServed && !briefly;
  if (follows) await startRollout(change, records, run);
  const result = await release(change, change.state, run);
  if (!isServed) return { kind: "answered", result };
  if (result.stillDeployed.length > 0) {
    const parts = renderResult(result, {
      change,
      words: run.hostWords[change.host],
      links: linksOf(change, run),
      comments: "all",
    });
    // Several events may tell of one close; after that it is planned or deployed anew.
    const plan = await ifReadable(run.plans.find(change), undefined);
    const what = [plan?.plannedAt, ...records.map(({ timestamp }) => timestamp)].join(" ");
    const runId = run.newRunId(`closed ${identityKey(change)} ${what}`);
    const host = wrapPort(run.host, { postComment: (_call, ...given) => repost(run.host, ...given) });
    await publish(host, change, parts, { runId, posting: postingOf(urgencyOf(result), run) });
  }
  if (!briefly) await showEnd(change, records, run);
  return { kind: "answered", result };
}

/** Releases the locks of a command whose change request was closed while it took them. Returns the state of a closed one. */
async function releaseIfClosed(change: ChangeRequest, run: Run): Promise<"closed" | "merged" | undefined> {
  try {
    const state = await run.host.state(change);
    if (state === "open") return undefined;
    if (state === "merged") await tellOfMerge(change, run);
    // The merge event ends the records, because it reads from them what was deployed before.
    await release(change, state, run, "keep-records");
    return state;
  } catch (error) {
    run.log.warn({ err: error }, "could not check whether the change request was closed meanwhile");
    return undefined;
  }
}

async function release(
  change: ChangeRequestRef,
  state: "closed" | "merged",
  run: Run,
  records?: "keep-records",
): Promise<CommandResultOf<"closed">> {
  const merged = state === "merged";
  await forgetStatus(changeRequestRef(change), run);
  const result = await close(change, merged && records === undefined, run);
  await run.publisher.forget(change);
  // The event of the close itself has written what stays deployed.
  const isTold = records === undefined || result.released.length > 0;
  const facts = isTold ? auditFactsOf(merged ? { ...result, stillDeployed: [] } : result) : undefined;
  const reason = merged ? "merged" : "closed without a merge";
  await auditRun(facts && { ...facts, reason }, { change, asked: undefined }, run);
  return result;
}
