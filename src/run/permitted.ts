import { wasRefusedBefore } from "../comments/publish.js";
import type { ServerConfig } from "../config/server-config.js";
import type { ChangeRequest } from "../core/model/change-request.js";
import type { Command } from "../core/model/command.js";
import type { Refusal } from "../core/model/result.js";
import type { User } from "../core/model/user.js";
import { needsWriteAccess } from "../core/policy/access.js";
import type { Run } from "./run.js";

/** Drafts and forks are planned on command only. */
export function plansByItself(change: ChangeRequest, { defaults }: ServerConfig): boolean {
  return change.state === "open" && !change.fork && (!change.draft || defaults.planDrafts);
}

/** Why this person may not give this command now; `told-before` when that was said already and is not said again. */
export async function mayNot(
  command: Command,
  by: User,
  change: ChangeRequest,
  { host, config }: Run,
): Promise<Refusal | "told-before" | undefined> {
  const needsAccess = command.name !== "help" && needsWriteAccess(config.defaults, change);
  if (needsAccess && !(await host.mayCommand(change, by))) {
    if (await wasRefusedBefore(host, change, by.login)) return "told-before";
    return { reason: "no-write-access", login: by.login };
  }
  if (command.name !== "plan" && command.name !== "sync") return undefined;
  if (change.state !== "open") return { reason: "closed", state: change.state };
  return change.fork && !config.defaults.allowForks ? { reason: "fork" } : undefined;
}
