import { blankFacts } from "../facts/read-facts.js";
import { changeRequestRef } from "../model/change-request.js";
import type { CommandResult } from "../model/result.js";
import { judge } from "../policy/judge.js";
import type { CommandContext } from "../ports/context.js";

type UpdateContext = Pick<CommandContext, "change" | "settings" | "host" | "hostWords" | "signal">;

/**
 * Has the host bring the base branch into the head branch. Deploys and decides nothing: whatever comes of it is a new head,
 * which has to be planned, and approved where that is required.
 */
export async function update(_command: unknown, context: UpdateContext): Promise<CommandResult> {
  const { change, settings, host, hostWords, signal } = context;
  const isBehind = change.mergeBase !== change.baseRevision;
  const mergeability = isBehind && !change.fork ? await host.mergeability(change, signal) : "unknown";
  const facts = blankFacts({ ...change, mergeability }, hostWords[change.host], settings);
  const { refusal } = judge("update", facts);
  if (refusal !== undefined) return { kind: "refused", refusal };
  if (!isBehind) return { kind: "updated", done: undefined };
  const outcome = await host.updateBranch(change);
  if (outcome.kind === "refused") return notUpdated(outcome.reason);
  const now = await host.getChangeRequest(change);
  // Somebody may have pushed something else meanwhile.
  if (now.mergeBase === change.mergeBase) {
    return notUpdated(`somebody pushed meanwhile, and the new head still lacks what ${change.baseBranch} got`);
  }
  return { kind: "updated", done: { head: now.headRevision, rewritten: outcome.rewritten } };
}

function notUpdated(because: string): CommandResult {
  return { kind: "refused", refusal: { reason: "not-done", command: "update", because } };
}

type RevertContext = Pick<CommandContext, "change" | "settings" | "host" | "hostWords" | "user">;

/** Has the host open a revert of what was merged. Deploys and decides nothing: the revert is planned and approved like any other change. */
export async function revert(_command: unknown, context: RevertContext): Promise<CommandResult> {
  const { change, settings, host, hostWords, user } = context;
  const { refusal } = judge("revert", blankFacts(change, hostWords[change.host], settings));
  if (refusal !== undefined) return { kind: "refused", refusal };
  const outcome = await host.revert(change, user);
  if (outcome.kind === "refused") {
    return { kind: "refused", refusal: { reason: "not-done", command: "revert", because: outcome.reason } };
  }
  const { number, known } = outcome;
  return { kind: "reverted", revert: { ...changeRequestRef(change), number }, known };
}
