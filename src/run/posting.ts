import { isDeploying } from "../core/commands/commands.js";
import type { Command } from "../core/model/command.js";
import type { CommandResult, Refusal } from "../core/model/result.js";
import type { Posting, Urgency } from "../core/ports/code-host.js";
import type { Run } from "./run.js";

/** Who waits for an answer: a command by somebody with access, or by an outsider. */
interface Asker {
  readonly command?: Command | undefined;
  readonly outsider?: boolean;
}

/** How an answer is posted: by its urgency, and without holding up other change requests while it waits. */
export function postingOf(
  result: CommandResult,
  { ticket, signal }: Pick<Run, "ticket" | "signal">,
  asker: Asker = {},
): Posting {
  const urgency = asker.outsider === true ? "help" : urgencyOf(result, asker.command);
  return { urgency, signal: urgency === "plan" ? signal : undefined, onWait: () => ticket.stepAside() };
}

function urgencyOf(result: CommandResult, command: Command | undefined): Urgency {
  switch (result.kind) {
    case "synced":
    case "rolled-back":
      return "result";
    case "planned":
    case "unlocked":
    case "closed":
      return "plan";
    case "refused":
      return urgencyOfRefusal(result.refusal, command);
    case "help":
      return "help";
  }
}

/** A deployment that broke has a result as well. */
function urgencyOfRefusal({ reason }: Refusal, command: Command | undefined): Urgency {
  if (reason === "not-a-command") return "help";
  return reason === "failure" && command !== undefined && isDeploying(command) ? "result" : "refusal";
}
