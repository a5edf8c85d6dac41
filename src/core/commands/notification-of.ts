import { changeRequestRef } from "../model/change-request.js";
import type { Command } from "../model/command.js";
import type { RunEnded } from "../model/notification.js";
import { wasRolledBack, type ApplicationSync, type CommandResultOf, type ResultKind } from "../model/result.js";
import { isDeploying } from "./commands.js";

type News = Pick<RunEnded, "command" | "applications" | "overridden" | "takenOver">;

/** What receivers are told of a result; undefined if there is no news. */
export function notificationOf<K extends ResultKind>(
  result: CommandResultOf<K>,
  command: Command | undefined,
): News | undefined {
  return NEWS[result.kind](result, command);
}

type NewsOf<K extends ResultKind> = (result: CommandResultOf<K>, command: Command | undefined) => News | undefined;

const NEWS: { readonly [K in ResultKind]: NewsOf<K> } = {
  planned: () => undefined,
  synced(result) {
    const news = newsOfDeployment("sync", result);
    return news && { ...news, overridden: [...news.overridden, ...(result.merge?.overridden ?? [])] };
  },
  "rolled-back"(result) {
    const news = newsOfDeployment("rollback", result);
    const takenOver = result.takenOver.map(({ application, holder }) => ({
      application,
      from: changeRequestRef(holder),
    }));
    return news && { ...news, takenOver };
  },
  unlocked: () => undefined,
  closed: () => undefined,
  help: () => undefined,
  // A refusal is no news, for whoever asked knows how to go on; that something broke is.
  refused({ refusal: { reason } }, command) {
    if (reason !== "failure" && reason !== "store-unavailable") return undefined;
    if (command === undefined || !isDeploying(command) || command.dryRun) return undefined;
    return { command: command.name, applications: [], overridden: [], takenOver: [] };
  },
};

function newsOfDeployment(
  command: News["command"],
  { dryRun, applications }: CommandResultOf<"synced" | "rolled-back">,
): News | undefined {
  if (dryRun || applications.length === 0) return undefined;
  const overridden = applications.flatMap(({ application, overridden: lifted = [] }) =>
    lifted.map((check) => ({ ...check, application })),
  );
  return { command, applications: applications.map(notifiedOf), overridden, takenOver: [] };
}

function notifiedOf(sync: ApplicationSync): RunEnded["applications"][number] {
  return { application: sync.application, outcome: sync.kind, rolledBack: wasRolledBack(sync) };
}
