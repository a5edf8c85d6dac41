import { publish, publishPlan } from "../comments/publish.js";
import { renderMergeRefusal, renderResult } from "../comments/render.js";
import { settledText } from "../comments/settled.js";
import { auditFactsOfMerge } from "../core/commands/audit-facts.js";
import { changePagePath } from "../core/model/change-page.js";
import type { ChangeRequest } from "../core/model/change-request.js";
import { safeMessage } from "../core/model/errors.js";
import type { Refusal, SyncedResult } from "../core/model/result.js";
import type { MergeOutcome } from "../core/ports/code-host.js";
import { auditRun } from "./audit-run.js";
import type { Executed } from "./execute.js";
import type { Asked, Run } from "./run.js";
import { refreshStatus, showPlannedStatus, showStatus } from "./show-status.js";

/** Tells the people of a change request what became of what was asked for, brings the status up to date and merges. */
export async function answer(
  asked: Asked,
  { result, settings, settled, earlier }: Executed,
  change: ChangeRequest,
  run: Run,
  /** The progress comment that the answer takes the place of. */
  into?: string,
): Promise<void> {
  const rendered = renderResult(result, change, changePageUrl(change, run.config));
  const parts = settled.length === 0 ? rendered : withNote(rendered, settledText(settled));
  switch (result.kind) {
    case "planned": {
      const automatic = asked.by === undefined;
      const planComment = await publishPlan(run.host, change, parts, {
        run: run.run,
        automatic,
        earlier,
        log: run.log,
      });
      if (settings !== undefined) await showPlannedStatus(change, { settings, planComment }, run);
      return;
    }
    case "synced": {
      await publish(run.host, change, parts, { run: run.run, into });
      const notStarted = result.applications.filter(({ kind }) => kind === "rejected");
      if (settings !== undefined && !result.dryRun) {
        const options = { settings, notStarted: notStarted.map(({ application }) => application) };
        await showPlannedStatus(change, options, run);
      }
      for (const other of result.replaced) {
        if (other.host === change.host) await refreshStatus(other, run);
      }
      return merge(asked, result, change, run);
    }
    case "rolled-back":
    case "unlocked":
      await publish(run.host, change, parts, { run: run.run, into });
      if (settings !== undefined && change.state === "open") await showPlannedStatus(change, { settings }, run);
      return;
    case "refused":
      await publish(run.host, change, parts, { run: run.run, into });
      if (asked.by === undefined) {
        await showStatus(change, { kind: "plan-failed", reason: shortReason(result.refusal) }, run);
      } else if (settings !== undefined && settled.length > 0 && change.state === "open") {
        await showPlannedStatus(change, { settings }, run);
      }
      return;
    case "closed":
    case "help":
      await publish(run.host, change, parts, { run: run.run });
  }
}

/** Where people read the whole plan; without a login the page shows no diff, and without a base URL it has no address. */
function changePageUrl(change: ChangeRequest, { server, auth }: Run["config"]): string | undefined {
  return server.baseUrl === undefined || !auth.enabled ? undefined : server.baseUrl + changePagePath(change);
}

/** The limit of a comment leaves room for it. */
function withNote(parts: readonly string[], note: string): readonly string[] {
  return parts.map((part, index) => (index === parts.length - 1 ? `${part}\n\n${note}` : part));
}

/** For the status of a plan that nobody asked for; its comment says the whole. */
function shortReason({ reason }: Refusal): string {
  if (reason === "repository-file") return "the repository's file cannot be used";
  return reason === "store-unavailable" ? "the lock store did not answer" : "see the comment";
}

async function merge(asked: Asked, { merge: intent }: SyncedResult, change: ChangeRequest, run: Run): Promise<void> {
  if (intent === undefined) return;
  // By the attempt of this run that was cut off.
  if (run.ticket.again && change.state === "merged") return;
  const merged = await run.host.merge(change, intent).catch((error: unknown): MergeOutcome => {
    run.log.error({ err: error }, "the merge broke");
    return { kind: "refused", reason: safeMessage(error) };
  });
  await auditRun(auditFactsOfMerge(merged, intent), { change, asked }, run);
  if (merged.kind === "refused") await publish(run.host, change, [renderMergeRefusal(merged.reason, change)], run);
  else run.log.info({ note: merged.note }, "merged");
}
