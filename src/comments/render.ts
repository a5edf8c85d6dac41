import type { ChangeRequest } from "../core/model/change-request.js";
import type { CommandResult } from "../core/model/result.js";
import { SERVICE } from "../names.js";
import { code, codes, sentence } from "./markdown.js";
import { markerLine } from "./marker.js";
import { COMMENT_LIMITS, cutBlocks, pack, type Block } from "./parts.js";
import { listOf, renderPlan } from "./plan.js";
import { COMMAND_LIST, refusalBlocks } from "./refusal.js";
import { rollbackBlocks, syncBlocks } from "./sync-result.js";

const OVERHEAD = 600;

/**
 * The answer to a command as comments; a closed change request with nothing to say gives none.
 * @param page address of the change request's page here; undefined where people cannot log in to one.
 */
export function renderResult(result: CommandResult, change: ChangeRequest, page?: string): readonly string[] {
  switch (result.kind) {
    case "planned":
      return renderPlan(result.plan, { host: change.host, pruning: result.pruning, page });
    case "synced":
      return answer(`Sync${result.dryRun ? " (dry run)" : ""}`, syncBlocks(result, change), change);
    case "rolled-back":
      return answer(`Rollback${result.dryRun ? " (dry run)" : ""}`, rollbackBlocks(result, change), change);
    case "unlocked":
      return answer("Unlock", unlockBlocks(result), change);
    case "closed":
      return result.stillDeployed.length === 0
        ? []
        : answer("Closed", [plain(closedText(result.stillDeployed))], change);
    case "help":
      return answer("Help", [plain(COMMAND_LIST)], change);
    case "refused":
      return refused(result, change);
  }
}

function refused({ refusal }: Extract<CommandResult, { kind: "refused" }>, change: ChangeRequest): readonly string[] {
  const login = refusal.reason === "no-write-access" ? refusal.login : undefined;
  const marker = markerLine({ kind: "refused", head: change.headRevision, login });
  const limit = COMMENT_LIMITS[change.host] - OVERHEAD;
  return pack(cutBlocks(refusalBlocks(refusal, change), limit), limit).map((part) => `${marker}\n${part}`);
}

/** What a merge that was refused says; a merge that worked shows itself. */
export function renderMergeRefusal(reason: string, change: ChangeRequest): string {
  const marker = markerLine({ kind: "merge", head: change.headRevision });
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
