import type { ChangeRequest } from "../core/model/change-request.js";
import type { DeployingCommand } from "../core/model/command.js";
import type { Phase, ReportProgress } from "../core/model/progress.js";
import type { Clock } from "../core/ports/clock.js";
import type { CodeHost } from "../core/ports/code-host.js";
import type { Log } from "../core/ports/log.js";
import { remark } from "./marker.js";
import { postOnce } from "./post-once.js";
import { renderProgress } from "./progress.js";

/** Shorter runs show no progress: the answer is there soon. */
const SHOWN_AFTER_MS = 5_000;
const EDITED_EVERY_MS = 3_000;

export interface ProgressParts {
  readonly host: CodeHost;
  readonly change: ChangeRequest;
  readonly command: DeployingCommand["name"];
  readonly run: string;
  /** When the command began. */
  readonly began: Date;
  readonly clock: Clock;
  readonly log: Log;
}

/** The one comment that shows how far a long command is. */
export interface ProgressComment {
  readonly tell: ReportProgress;
  /** Writes no more; the id of the comment, for the result to take its place, or undefined when there is none. */
  end(): Promise<string | undefined>;
}

/** Writes in the background whenever something is told and enough time has passed; a failing write hinders nothing. */
export function createProgressComment(parts: ProgressParts): ProgressComment {
  const { host, change, command, run, began, clock, log } = parts;
  const phases = new Map<string, Phase>();
  let due = began.getTime() + SHOWN_AFTER_MS;
  let id: string | undefined;
  let writing: Promise<void> | undefined;
  let over = false;

  async function write(): Promise<void> {
    const body = remark(renderProgress(command, phases, change), { run });
    try {
      if (id === undefined) id = await postOnce(host, change, body);
      else await host.editComment(change, id, body);
    } catch (error) {
      log.warn({ err: error }, "progress could not be shown");
      // Without its id a second one would stand beside it.
      over = id === undefined;
    }
    due = clock.now().getTime() + EDITED_EVERY_MS;
    writing = undefined;
  }

  return {
    tell(application, phase) {
      phases.set(application, phase);
      if (!over && writing === undefined && clock.now().getTime() >= due) writing = write();
    },
    async end() {
      over = true;
      await writing;
      return id;
    },
  };
}
