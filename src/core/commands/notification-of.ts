import { changeRequestRef } from "../model/change-request.js";
import type { Command } from "../model/command.js";
import type { Lock } from "../model/lock.js";
import type { RunEnded } from "../model/notification.js";
import type { CommandResult } from "../model/result.js";
import { isDeploying } from "./commands.js";

/**
 * What receivers are told of a result; undefined if there is no news. A refusal is none, for whoever asked knows how to go on; that
 * something broke is.
 */
export function notificationOf(
  result: CommandResult,
  command: Command | undefined,
): Pick<RunEnded, "command" | "applications" | "takenOver"> | undefined {
  switch (result.kind) {
    case "synced":
    case "rolled-back": {
      if (result.dryRun || result.applications.length === 0) return undefined;
      const applications = result.applications.map(({ application, kind }) => ({ application, outcome: kind }));
      const taken: readonly Lock[] = result.kind === "synced" ? [] : result.takenOver;
      return {
        command: result.kind === "synced" ? "sync" : "rollback",
        applications,
        takenOver: taken.map(({ application, holder }) => ({ application, from: changeRequestRef(holder) })),
      };
    }
    case "refused": {
      const { reason } = result.refusal;
      if (reason !== "failure" && reason !== "store-unavailable") return undefined;
      if (command === undefined || !isDeploying(command) || command.dryRun) return undefined;
      return { command: command.name, applications: [], takenOver: [] };
    }
    case "planned":
    case "unlocked":
    case "closed":
    case "help":
      return undefined;
  }
}
