import type { Command } from "../model/command.js";
import type { CommandResult } from "../model/result.js";
import type { CommandContext } from "../ports/context.js";
import { plan } from "./plan.js";
import { rollback } from "./rollback.js";
import { sync } from "./sync.js";
import { unlock } from "./unlock.js";

/** Runs one command; expected outcomes are values, broken things throw. */
export async function runCommand(command: Command, context: CommandContext): Promise<CommandResult> {
  switch (command.name) {
    case "plan":
      return plan(command, context);
    case "sync":
      return sync(command, context);
    case "rollback":
      return rollback(command, context);
    case "unlock":
      return unlock(command, context);
    case "help":
      return { kind: "help" };
  }
}
