import { changeRequestRef } from "../model/change-request.js";
import type { Command } from "../model/command.js";
import type { Lock } from "../model/lock.js";
import type { RunEnded } from "../model/notification.js";
import { wasRolledBack, type ApplicationSync, type CommandResult } from "../model/result.js";
import { isDeploying } from "./commands.js";

/**
 * What receivers are told of a result; undefined if there is no news. A refusal is none, for whoever asked knows how to go on; that
 * something broke is.
 */
export function notificationOf(
  result: CommandResult,
  command: Command | undefined,
): Pick<RunEnded, "command" | "applications" | "overridden" | "takenOver"> | undefined {
  switch (result.kind) {
    case "synced":
    case "rolled-back": {
      if (result.dryRun || result.applications.length === 0) return undefined;
      const overridden = result.applications.flatMap(({ application, overridden: lifted = [] }) =>
        lifted.map((check) => ({ ...check, application })),
      );
      const atMerge = (result.kind === "synced" ? result.merge?.overridden : undefined) ?? [];
      const taken: readonly Lock[] = result.kind === "synced" ? [] : result.takenOver;
      return {
        command: result.kind === "synced" ? "sync" : "rollback",
        applications: result.applications.map(notifiedOf),
        overridden: [...overridden, ...atMerge],
        takenOver: taken.map(({ application, holder }) => ({ application, from: changeRequestRef(holder) })),
      };
    }
    case "refused": {
      const { reason } = result.refusal;
      if (reason !== "failure" && reason !== "store-unavailable") return undefined;
      if (command === undefined || !isDeploying(command) || command.dryRun) return undefined;
      return { command: command.name, applications: [], overridden: [], takenOver: [] };
    }
    case "planned":
    case "unlocked":
    case "closed":
    case "help":
      return undefined;
  }
}

function notifiedOf(sync: ApplicationSync): RunEnded["applications"][number] {
  return { application: sync.application, outcome: sync.kind, rolledBack: wasRolledBack(sync) };
}
