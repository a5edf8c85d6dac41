import { hasAnswered } from "../../comments/publish.js";
import { isDeploying } from "../../core/commands/commands.js";
import { resumeDeployment, resumeSynced } from "../../core/commands/resume.js";
import type { ChangeRequest, ChangeRequestRef } from "../../core/model/change-request.js";
import type { Refusal } from "../../core/model/result.js";
import type { Settings } from "../../core/model/settings.js";
import type { Answerable } from "./asked.js";
import { type Finished, silent, type Silent } from "./outcome.js";
import { commandContext, openChange, type Run } from "./run.js";

/** An earlier attempt of the run may have deployed, so reporting a failure could be wrong. */
export class NotRecovered extends Error {
  override readonly name = "NotRecovered";
}

/**
 * Resumes what an earlier attempt of this run did. Returns undefined if it did nothing that must not be repeated: the
 * run starts over.
 * @throws {NotRecovered}
 */
export async function recover(
  asked: Answerable,
  change: ChangeRequest,
  run: Run,
): Promise<Finished | Silent | undefined> {
  if (!run.ticket.again) return undefined;
  try {
    return await resume(asked, change, run);
  } catch (cause) {
    throw new NotRecovered("could not determine what an earlier attempt of this run did", { cause });
  }
}

async function resume(asked: Answerable, change: ChangeRequest, run: Run): Promise<Finished | Silent | undefined> {
  const notes = await run.ticket.journal.read();
  const { started = [], skipped = [], result } = notes;
  run.attempt.deploying(started, change);
  if (result?.kind === "synced" && result.merge !== undefined) {
    const opened = await openChange(change, run);
    const resumed = await resumeSynced(result, commandContext(asked, change, opened, run));
    return { kind: "finished", result: resumed, settings: opened.settings, settled: [], recorded: true };
  }
  if (result !== undefined) {
    const settings = await settingsIfReadable(change, run);
    return { kind: "finished", result, settings, settled: [], recorded: true };
  }
  const { command } = asked;
  if (command === undefined || !isDeploying(command) || started.length + skipped.length === 0) {
    return (await hasAnswered(run.host, change, run.runId, "but-plans")) ? silent("already-answered") : undefined;
  }
  const opened = await openChange(change, run);
  const resumed = await resumeDeployment(command, notes, commandContext(asked, change, opened, run));
  return resumed && { kind: "finished", result: resumed, settings: opened.settings, settled: [] };
}

/** The settings for the commit status; the recorded result is answered without them. */
async function settingsIfReadable(change: ChangeRequest, run: Run): Promise<Settings | undefined> {
  try {
    return (await openChange(change, run)).settings;
  } catch (error) {
    run.log.warn({ err: error }, "could not read the settings; the commit status is not updated");
    return undefined;
  }
}

/**
 * Whether a comment of this run already stands as its answer, so that a refusal adds nothing. While the store is
 * unavailable a repeated delivery looks like a first one, so the comments are checked then as well.
 */
export async function isAlreadyAnswered({ reason }: Refusal, change: ChangeRequestRef, run: Run): Promise<boolean> {
  if (!run.ticket.again && reason !== "store-unavailable") return false;
  try {
    return await hasAnswered(run.host, change, run.runId, "plans-too");
  } catch (error) {
    run.log.warn({ err: error }, "could not check whether the command was already answered");
    return false;
  }
}
