import type { ChangeRequest } from "../core/model/change-request.js";
import type { DeployingCommand } from "../core/model/command.js";
import type { Phase, ReportProgress } from "../core/model/progress.js";
import type { Clock } from "../core/ports/clock.js";
import type { CodeHost } from "../core/ports/code-host.js";
import type { Log } from "../core/ports/log.js";
import { SERVICE } from "../names.js";
import { markerLine, remark } from "./marker.js";
import { applicationLink, code, firstLines, headLink, type Links, shortened } from "./parts.js";
import { postOnce } from "./publish.js";

/** Runs that take less time show no progress. */
const SHOWN_AFTER_MS = 5_000;
const EDITED_EVERY_MS = 3_000;

interface ProgressParts {
  readonly host: CodeHost;
  readonly change: ChangeRequest;
  readonly links: Links;
  readonly command: DeployingCommand["name"];
  readonly runId: string;
  readonly startedAt: Date;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when the comment has to wait for the host's limit. */
  readonly onWait?: (() => void) | undefined;
  /** Runs whenever the comment was written. Never throws. */
  readonly alongside?: (() => Promise<void>) | undefined;
}

interface ProgressComment {
  readonly report: ReportProgress;
  /** Stops writing. Resolves to the id of the comment, for the result to replace it; undefined if none was posted. */
  end(): Promise<string | undefined>;
}

/** Writes in the background when progress is reported and enough time has passed. A failed write does not fail the command. */
export function createProgressComment(parts: ProgressParts): ProgressComment {
  const { host, change, links, command, runId, startedAt, clock, log, onWait, alongside } = parts;
  const phases = new Map<string, Phase>();
  let due = startedAt.getTime() + SHOWN_AFTER_MS;
  let id: string | undefined;
  let writing: Promise<void> | undefined;
  let over = false;

  async function write(): Promise<void> {
    const body = remark(renderProgress(command, phases, change, links), { runId });
    try {
      if (id === undefined) id = await postOnce(host, change, body, { urgency: "result", onWait });
      else await host.editComment(change, id, body);
    } catch (error) {
      log.warn({ err: error }, "could not show progress");
      // It may have been posted all the same. Without its id, another try could add a second one.
      over = id === undefined;
    }
    await alongside?.();
    due = clock.now().getTime() + EDITED_EVERY_MS;
    writing = undefined;
  }

  return {
    report(application, phase) {
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

const BAR_LENGTH = 10;
const MAX_MESSAGE = 200;
const MAX_LINES = 60;

/** How far a running command is: a line with a bar per application. */
export function renderProgress(
  command: DeployingCommand["name"],
  phases: ReadonlyMap<string, Phase>,
  change: ChangeRequest,
  links: Links,
): string {
  const target = command === "sync" ? headLink(change.headRevision, links) : code(change.baseBranch);
  const lines = [...phases].map(
    ([application, phase]) => `- ${applicationLink(application, links)} ${phaseText(phase)}`,
  );
  return [
    markerLine({ kind: "progress", head: change.headRevision }),
    `## ${SERVICE} ${command === "sync" ? "Sync" : "Rollback"} (running)`,
    "",
    `Deploying ${target}. This comment is edited while it runs and becomes the result.`,
    "",
    ...firstLines(lines, MAX_LINES),
  ].join("\n");
}

function phaseText(phase: Phase): string {
  switch (phase.kind) {
    case "waiting":
      return `${bar(0)} waiting`;
    case "running": {
      const { done, total, message, health } = phase;
      const running = total === 0 ? "running" : `running, ${done} of ${total} resources`;
      const state =
        health === undefined ? running : `deployed, waiting for its health (${code(shortened(health, 30))})`;
      const said = message === "" ? "" : `: ${code(shortened(message, MAX_MESSAGE))}`;
      return `${bar(total === 0 ? 0 : done / total)} ${state}${said}`;
    }
    case "ended":
      return `${bar(1)} ${ENDS[phase.outcome]}`;
  }
}

const ENDS = { succeeded: "✅ succeeded", failed: "❌ failed", unknown: "❓ the outcome is not known" } as const;

function bar(part: number): string {
  const full = Math.min(BAR_LENGTH, Math.floor(part * BAR_LENGTH));
  return "▰".repeat(full) + "▱".repeat(BAR_LENGTH - full);
}
