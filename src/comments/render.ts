import type { ChangeRequest } from "../core/change-request.js";
import type { ApplicationSync, CommandResult, SyncedResource, SyncedResult } from "../core/result.js";
import { SERVICE } from "../names.js";
import { code, codes, fence, sentence, shortened, warning } from "./markdown.js";
import { markerLine } from "./marker.js";
import { COMMENT_LIMITS, pack, type Block } from "./parts.js";
import { listOf, renderPlan } from "./plan.js";
import { COMMANDS, renderRefusal } from "./refusal.js";

const OVERHEAD = 600;
const MAX_MESSAGE = 4000;
const MAX_RESOURCES = 30;

/** The answer to a command as comments; a closed change request with nothing to say gives none. */
export function renderResult(result: CommandResult, change: ChangeRequest): readonly string[] {
  switch (result.kind) {
    case "planned":
      return renderPlan(result.plan, { host: change.host, pruning: result.pruning });
    case "synced":
      return answer(`Sync${result.dryRun ? " (dry run)" : ""}`, syncBlocks(result, change), change);
    case "rolled-back":
      return answer(
        `Rollback${result.dryRun ? " (dry run)" : ""}`,
        result.applications.map((one) =>
          syncBlock(one, { command: "rollback", at: change.baseBranch, dryRun: result.dryRun }),
        ),
        change,
      );
    case "unlocked":
      return answer("Unlock", unlockBlocks(result), change);
    case "closed":
      return result.stillDeployed.length === 0
        ? []
        : answer("Closed", [plain(closedText(result.stillDeployed))], change);
    case "help":
      return answer("Help", [plain(COMMANDS)], change);
    case "refused":
      return [`${refusedMarker(result, change)}\n${renderRefusal(result.refusal, change)}`];
  }
}

function refusedMarker(result: Extract<CommandResult, { kind: "refused" }>, change: ChangeRequest): string {
  const login = result.refusal.reason === "no-write-access" ? result.refusal.login : undefined;
  return markerLine({ kind: "refused", head: change.headRevision, login });
}

/** What a merge that was refused says; a merge that worked shows itself. */
export function renderMergeRefusal(reason: string, change: ChangeRequest): string {
  const marker = markerLine({ kind: "result", head: change.headRevision });
  return `${marker}\nEverything is deployed, but this PR could not be merged: ${sentence(reason)}\n\nPlease merge it by hand, so that the deployed commit reaches ${code(change.baseBranch)}.`;
}

function answer(title: string, blocks: readonly Block[], change: ChangeRequest): readonly string[] {
  const parts = pack(blocks, COMMENT_LIMITS[change.host] - OVERHEAD);
  return parts.map((part, index) => {
    const counter = parts.length === 1 ? "" : ` (part ${index + 1} of ${parts.length})`;
    return `${markerLine({ kind: "result", head: change.headRevision })}\n## ${SERVICE} ${title}${counter}\n\n${part}`;
  });
}

function plain(text: string): Block {
  return { text, section: undefined };
}

function syncBlocks(result: SyncedResult, change: ChangeRequest): readonly Block[] {
  const at = change.headRevision.slice(0, 8);
  const announced = result.announced.map(({ application, kind }) => ({
    application,
    reason:
      kind === "new"
        ? "Argo CD creates it when its Application resource is applied"
        : "Argo CD deletes it when its Application resource is removed",
  }));
  return [
    ...result.applications.map((one) => syncBlock(one, { command: "sync", at, dryRun: result.dryRun })),
    ...(result.skipped.length === 0
      ? []
      : [
          plain(
            `Nothing to deploy, proven unchanged by the plan${result.dryRun ? "" : ", lock released"}: ${codes(result.skipped)}.`,
          ),
        ]),
    ...(announced.length === 0 ? [] : [plain(listOf("Not deployed by a sync:", announced))]),
    ...(result.merge === undefined
      ? []
      : [plain(`Everything is deployed. Merging into ${code(change.baseBranch)} now.`)]),
    ...(result.notMerged.length === 0 ? [] : [plain(listOf("Not merged automatically:", result.notMerged))]),
  ];
}

interface Run {
  readonly command: "sync" | "rollback";
  /** What was deployed, for people. */
  readonly at: string;
  readonly dryRun: boolean;
}

function syncBlock(one: ApplicationSync, run: Run): Block {
  const heading = `### Application: ${code(one.application)}`;
  const warnings = one.warnings.map(warning);
  return { text: [heading, ...outcomeLines(one, run), ...warnings].join("\n\n"), section: heading };
}

function outcomeLines(one: ApplicationSync, { command, at, dryRun }: Run): readonly string[] {
  const again = code(`${SERVICE} ${command} -a ${one.application}`);
  switch (one.kind) {
    case "succeeded": {
      const done = dryRun ? "the dry run succeeded, nothing was changed" : `succeeded, ${code(at)} is deployed`;
      const health = dryRun || one.health === "" ? [] : [`**Health:** ${code(one.health)}`];
      const pruned =
        one.pruneSkipped === 0
          ? []
          : [
              `**Not pruned:** ${one.pruneSkipped} resources were left in the cluster; ${again} with ${code("--prune")} removes them.`,
            ];
      return [`**Result:** ✅ ${done}`, ...health, ...pruned, ...(dryRun ? resourceLines(one.resources) : [])];
    }
    case "failed":
      return [
        `**Result:** ❌ ${dryRun ? "the dry run" : "the operation"} failed`,
        fence(shortened(one.message, MAX_MESSAGE)),
        ...resourceLines(one.resources.filter(isFailed)),
        `The lock is kept. Fix the cause and comment ${again}${command === "sync" ? `, or ${code(`${SERVICE} rollback -a ${one.application}`)}` : ""}.`,
      ];
    case "rejected":
      return [
        "**Result:** ❌ not started",
        fence(shortened(one.message, MAX_MESSAGE)),
        `Nothing was deployed and the lock is kept. Comment ${again} once the cause is gone.`,
      ];
    case "running":
      return [
        "**Result:** ⏳ still running; svc stopped waiting and did not stop the operation",
        fence(shortened(one.message, MAX_MESSAGE)),
        `The lock is kept. Look at the application in Argo CD, then comment ${again}.`,
      ];
    case "unknown":
      return [
        "**Result:** ❓ the outcome is not known",
        fence(shortened(one.message, MAX_MESSAGE)),
        `The lock is kept. Look at the application in Argo CD, then comment ${again}.`,
      ];
  }
}

function isFailed({ status }: SyncedResource): boolean {
  return status !== "Synced" && status !== "Pruned" && status !== "PruneSkipped";
}

function resourceLines(resources: readonly SyncedResource[]): readonly string[] {
  if (resources.length === 0) return [];
  const lines = resources.slice(0, MAX_RESOURCES).map(({ title, status, message }) => {
    return shortened([title, status, message].filter((text) => text !== "").join(": "), 500);
  });
  const rest = resources.length - lines.length;
  return [fence([...lines, ...(rest > 0 ? [`and ${rest} more`] : [])].join("\n"))];
}

function unlockBlocks(result: Extract<CommandResult, { kind: "unlocked" }>): readonly Block[] {
  const released =
    result.released.length === 0
      ? "No applications are locked by this PR, so there was nothing to release."
      : `Released: ${codes(result.released)}.`;
  const notHeld = result.notHeld.map(({ application, lock }) => ({
    application,
    reason:
      lock === undefined
        ? "is not locked"
        : `is locked by PR #${lock.holder.number} (${lock.user}), which alone can release it here`,
  }));
  return [plain(released), ...(notHeld.length === 0 ? [] : [plain(listOf("Not released:", notHeld))])];
}

function closedText(applications: readonly string[]): string {
  return `This PR was closed without a merge, and these applications still run its commit: ${codes(applications)}.\n\nComment ${code(`${SERVICE} rollback`)} to deploy the target branch again.`;
}
