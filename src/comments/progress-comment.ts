import type { Settled } from "../core/deploy/settle-records.js";
import type { ApplicationName } from "../core/model/brand.js";
import type { ChangeRequest } from "../core/model/change-request.js";
import type { DeployingCommand } from "../core/model/command.js";
import type { HostWords } from "../core/model/host-words.js";
import type { Phase, ReportProgress } from "../core/model/progress.js";
import type { Clock } from "../core/ports/clock.js";
import type { CodeHost } from "../core/ports/code-host.js";
import type { Log } from "../core/ports/log.js";
import { SERVICE } from "../names.js";
import { markerLine, remark, readMarker } from "./marker.js";
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

export interface ProgressComment {
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

/** How many settled syncs are listed: they follow an answer, and its size is limited. */
const MAX_SETTLED = 30;
const LONGEST_SETTLED = 5000;

type Told = Pick<Settled, "application" | "runId" | "outcome">;

/** The outcome of earlier syncs, which was not recorded when they ended. @param words undefined where no lock is kept. @param unlocked since then. */
export function settledText(
  settled: readonly Told[],
  words: HostWords | undefined,
  unlocked: readonly ApplicationName[] = [],
): string {
  const isWell = ({ outcome }: Told) => outcome === "succeeded";
  const lineOf = ({ application, outcome }: Told) =>
    `- ${code(application)}: ${endText(outcome, unlocked.includes(application) ? undefined : words)}`;
  const wellLast = [...settled].sort((a, b) => Number(isWell(a)) - Number(isWell(b))).map(lineOf);
  let length = 0;
  const fitting = wellLast.filter((line) => (length += line.length + 1) <= LONGEST_SETTLED).length;
  const most = Math.min(fitting, MAX_SETTLED);
  const lines = settled.length > most ? wellLast : settled.map(lineOf);
  return ["Argo CD reports how an earlier sync ended:", ...firstLines(lines, most)].join("\n");
}

function endText(outcome: Told["outcome"], words: HostWords | undefined): string {
  const after = (cure: string) =>
    words === undefined
      ? ""
      : `, and its lock is kept: ${cure} and sync again, or comment ${code(`${words.command} rollback`)}`;
  switch (outcome) {
    case "succeeded":
      return "✅ it succeeded, and its lock was released";
    case "not-healthy":
      return `❌ it was deployed and did not get healthy${after("push a fix")}`;
    case "rolled-back":
      return "↩️ it did not get healthy and was rolled back, and its lock was released";
    case "failed":
      return `❌ it failed${after("fix the cause")}`;
  }
}

/** Ends the progress comment of an interrupted run, which would otherwise show it as running forever. */
export async function endProgress(
  host: CodeHost,
  change: ChangeRequest,
  settled: readonly Told[],
  words: HostWords,
): Promise<void> {
  for (const { id, body } of await host.listOwnComments(change)) {
    const marker = readMarker(body);
    const ended = settled.filter(({ runId }) => marker?.kind === "progress" && runId === marker.runId);
    if (marker === undefined || ended.length === 0) continue;
    const text = `## ${SERVICE} Sync (interrupted)\n\nThis command was interrupted before it could report its result.\n\n${settledText(ended, change.state === "open" ? words : undefined)}`;
    await host.editComment(change, id, `${markerLine({ ...marker, kind: "result" })}\n${text}`);
  }
}
