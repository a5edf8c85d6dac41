import { runCommand } from "../../core/commands/commands.js";
import type { ChangeRequest } from "../../core/model/change-request.js";
import type { OwnComment } from "../../core/ports/code-host.js";
import { releaseIfClosed } from "./close-change-request.js";
import { commandContext } from "./context.js";
import { refused, silent, type Finished, type Silent } from "./outcome.js";
import type { Permitted } from "./permit.js";
import type { Run } from "./run.js";

/** Runs a permitted command. */
export async function execute(
  { asked, settings, problems, snapshot, settled }: Permitted,
  change: ChangeRequest,
  run: Run,
): Promise<Finished | Silent> {
  const done = await runCommand(asked.command, commandContext(asked, change, { settings, snapshot }, run));
  const result = done.kind === "planned" && asked.kind === "autoplan" ? { ...done, turn: asked.turn } : done;
  const planned = result.kind === "planned";
  const [closed, earlier] = await Promise.all([
    releaseIfClosed(change, run),
    planned ? earlierComments(change, run) : undefined,
  ]);
  if (closed === undefined || !planned) return { kind: "finished", result, settings, problems, settled, earlier };
  return asked.kind === "autoplan" ? silent("closed-meanwhile") : refused({ reason: "closed", state: closed });
}

/** Undefined if the host fails: the answer asks again and reports the failure. */
async function earlierComments(change: ChangeRequest, { host }: Run): Promise<readonly OwnComment[] | undefined> {
  return host.listOwnComments(change).catch(() => undefined);
}
