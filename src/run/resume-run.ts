import { hasTold } from "../comments/repost.js";
import type { Settings } from "../config/settings.js";
import { resumeDeployment, resumeSynced } from "../core/commands/resume.js";
import type { ChangeRequest } from "../core/model/change-request.js";
import type { TellProgress } from "../core/model/progress.js";
import type { CommandResult } from "../core/model/result.js";
import { commandContext } from "./command-context.js";
import { openChange } from "./open-change.js";
import type { Asked, Run } from "./run.js";

/** What an earlier attempt of a run did could not be told: saying that the command failed may be wrong. */
export class NotResumed extends Error {
  override readonly name = "NotResumed";
}

export interface ResumedRun {
  readonly result: CommandResult;
  readonly settings: Settings | undefined;
  /** It was written down, with the audit trail, before the run was cut off. */
  readonly noted: boolean;
}

/**
 * Goes on where an earlier attempt of this run was cut off; undefined when it had done nothing that must not be done
 * twice, and the run is to begin anew.
 * @throws {NotResumed}
 */
export async function resumeRun(
  asked: Asked,
  change: ChangeRequest,
  run: Run,
  progress: TellProgress,
): Promise<ResumedRun | "answered-before" | undefined> {
  try {
    return await resume(asked, change, run, progress);
  } catch (cause) {
    throw new NotResumed("what the run did before it was cut off could not be told", { cause });
  }
}

async function resume(
  { command, by }: Asked,
  change: ChangeRequest,
  run: Run,
  progress: TellProgress,
): Promise<ResumedRun | "answered-before" | undefined> {
  const { begun = [], result } = await run.ticket.journal.read();
  if (result?.kind === "synced" && result.merge !== undefined) {
    const opened = await openChange(change, run);
    const context = commandContext(by, change, opened, { run, progress });
    return { result: await resumeSynced(result, context), settings: opened.settings, noted: true };
  }
  if (result !== undefined) return { result, settings: await settingsIfReadable(change, run), noted: true };
  const deploys = command !== "not-a-command" && (command.name === "sync" || command.name === "rollback");
  if (!deploys || begun.length === 0) {
    return (await hasTold(run.host, change, run.run, "but-plans")) ? "answered-before" : undefined;
  }
  const opened = await openChange(change, run);
  const context = commandContext(by, change, opened, { run, progress });
  const resumed = await resumeDeployment(command, begun, context);
  return resumed && { result: resumed, settings: opened.settings, noted: false };
}

/** For the status alone: an answer that was decided is given without. */
async function settingsIfReadable(change: ChangeRequest, run: Run): Promise<Settings | undefined> {
  try {
    return (await openChange(change, run)).settings;
  } catch (error) {
    run.log.warn({ err: error }, "the settings could not be read; the commit status is not brought up to date");
    return undefined;
  }
}
