import { blankFacts } from "../facts/read-facts.js";
import { changeRequestRef } from "../model/change-request.js";
import type { CommandResult } from "../model/result.js";
import { judge } from "../policy/judge.js";
import type { CommandContext } from "../ports/context.js";

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
