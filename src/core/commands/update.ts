import { changeRequestRef } from "../model/change-request.js";
import { HostFailure, RepositoryFailure } from "../model/errors.js";
import type { CommandResult } from "../model/result.js";
import { blankFacts } from "../policy/facts.js";
import { judge } from "../policy/judge.js";
import type { RevertOutcome } from "../ports/code-host.js";
import type { CommandContext } from "../ports/context.js";

type UpdateContext = Pick<CommandContext, "change" | "settings" | "host" | "hostWords" | "signal">;

/** Has the host bring the base branch into the head branch: a new head, which has to be planned, and approved where that is required. */
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

type RevertContext = Pick<CommandContext, "change" | "settings" | "snapshot" | "host" | "hostWords" | "user" | "log">;

/** Has the host open a revert of what was merged. Deploys and decides nothing: the revert is planned and approved like any other change. */
export async function revert(_command: unknown, context: RevertContext): Promise<CommandResult> {
  const { change, settings, host, hostWords, user } = context;
  const { refusal } = judge("revert", blankFacts(change, hostWords[change.host], settings));
  if (refusal !== undefined) return { kind: "refused", refusal };
  const outcome = await host.revert(change, user);
  if (outcome.kind === "refused") return notReverted(outcome, context);
  const { number, known } = outcome;
  return { kind: "reverted", revert: { ...changeRequestRef(change), number }, known };
}

/** Hosts do not tell where a revert conflicts, so git does; where it finds nothing, the host's own words stand. */
async function notReverted(
  { reason, tried }: Extract<RevertOutcome, { readonly kind: "refused" }>,
  { change, snapshot, host, log }: RevertContext,
): Promise<CommandResult> {
  const files = await conflictsOf(tried);
  const conflicts = files !== undefined && files.length > 0;
  const because = conflicts ? `it does not apply cleanly to ${change.baseBranch} any more` : reason;
  const refusal = { reason: "not-done", command: "revert", because, ...(conflicts ? { files } : {}) } as const;
  return { kind: "refused", refusal };

  async function conflictsOf(commits: typeof tried): Promise<readonly string[] | undefined> {
    if (commits === undefined) return undefined;
    try {
      const { baseRevision } = await host.getChangeRequest(change);
      return await snapshot.revertConflicts(commits, baseRevision);
    } catch (error) {
      if (!(error instanceof HostFailure) && !(error instanceof RepositoryFailure)) throw error;
      log.warn({ err: error }, "could not find out where a revert conflicts");
      return undefined;
    }
  }
}
