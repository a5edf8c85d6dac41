import { publish } from "../../comments/publish.js";
import { renderMergeRefusal, renderTakenOver } from "../../comments/render.js";
import { auditFactsOfMerge } from "../../core/commands/audit-facts.js";
import { changeRequestKey } from "../../core/model/change-request.js";
import { safeMessage } from "../../core/model/errors.js";
import type { CommandResultOf, MergeIntent } from "../../core/model/result.js";
import type { MergeOutcome } from "../../core/ports/code-host.js";
import { auditRun } from "./audit.js";
import { postingOf, postWithStatus, type Answer } from "./posting.js";
import { refreshPlanStatus, setPlanStatus } from "./status.js";

/** Posts what a sync did, updates the commit statuses that it changed, and merges if nothing is left to do. */
export async function replyToSync(result: CommandResultOf<"synced">, answer: Answer): Promise<boolean> {
  const { finished, change, run, reviewed } = answer;
  const { settings } = finished;
  await answer.post();
  if (settings !== undefined && !result.dryRun) {
    const rejected = result.applications.filter(({ kind }) => kind === "rejected");
    const notStarted = rejected.map(({ application }) => application);
    await setPlanStatus(change, { settings, notStarted, reviewed }, run);
  }
  for (const other of result.replaced) {
    if (other.host === change.host) await refreshPlanStatus(other, run);
  }
  if (result.merge !== undefined) await merge(result.merge, answer);
  return true;
}

/** Posts what a rollback did, updates the commit status, and tells those whose locks it took over. */
export async function replyToRollback(result: CommandResultOf<"rolled-back">, answer: Answer): Promise<boolean> {
  await postWithStatus(answer);
  await tellFormerHolders(result, answer);
  return true;
}

/** Merges a change request whose applications are all deployed. If the host refuses, a comment says so. */
async function merge(intent: MergeIntent, { asked, change, run }: Answer): Promise<void> {
  // An earlier attempt of this run merged it.
  if (run.ticket.again && change.state === "merged") return;
  // The branch's rules may require deployments.
  await run.attempt.shown();
  const merged = await run.host.merge(change, intent).catch((error: unknown): MergeOutcome => {
    run.log.error({ err: error }, "could not merge");
    return { kind: "refused", reason: safeMessage(error) };
  });
  await auditRun(auditFactsOfMerge(merged, intent), { change, asked }, run);
  if (merged.kind === "refused") {
    const body = renderMergeRefusal(merged.reason, change, run.hostWords[change.host]);
    await publish(run.host, change, [body], { runId: run.runId, posting: postingOf("result", run) });
  } else run.log.info({ note: merged.note }, "merged");
}

/** Tells change requests that a rollback took over their locks. What it did stands, whether or not they can be told. */
async function tellFormerHolders(
  { takenOver: taken, applications }: CommandResultOf<"rolled-back">,
  { asked: { by }, change, run }: Answer,
): Promise<void> {
  const kept = applications.filter(({ kind }) => kind !== "succeeded").map(({ application }) => application);
  const holders = new Map(taken.map(({ holder }) => [changeRequestKey(holder), holder]));
  for (const [key, holder] of holders) {
    const theirs = taken.filter((lock) => changeRequestKey(lock.holder) === key);
    const host = holder.host === change.host ? run.host : run.hosts[holder.host];
    if (host === undefined) continue;
    try {
      const body = renderTakenOver(theirs, change, by?.login ?? "", run.hostWords[holder.host], kept);
      await publish(host, holder, [body], { runId: run.runId, posting: { urgency: "result" } });
      if (holder.host === change.host) await refreshPlanStatus(holder, run);
    } catch (error) {
      run.log.warn({ holder: key, err: error }, "could not tell a change request that its lock was taken over");
    }
  }
}
