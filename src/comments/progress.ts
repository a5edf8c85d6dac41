import type { ChangeRequest } from "../core/model/change-request.js";
import type { DeployingCommand } from "../core/model/command.js";
import type { Phase } from "../core/model/progress.js";
import { SERVICE } from "../names.js";
import { code, shortened } from "./markdown.js";
import { markerLine } from "./marker.js";

const BAR_LENGTH = 10;
const MAX_MESSAGE = 200;
const MAX_LINES = 100;

/** What a running command has reached: a line with a bar per application. */
export function renderProgress(
  command: DeployingCommand["name"],
  phases: ReadonlyMap<string, Phase>,
  change: ChangeRequest,
): string {
  const target = command === "sync" ? change.headRevision.slice(0, 8) : change.baseBranch;
  const lines = [...phases].map(([application, phase]) => `- ${code(application)} ${phaseText(phase)}`);
  const more = lines.length - MAX_LINES;
  return [
    markerLine({ kind: "progress", head: change.headRevision }),
    `## ${SERVICE} ${command === "sync" ? "Sync" : "Rollback"} (running)`,
    "",
    `Deploying ${code(target)}. This comment is edited while it runs and becomes the result.`,
    "",
    ...lines.slice(0, MAX_LINES),
    ...(more > 0 ? [`- and ${more} more`] : []),
  ].join("\n");
}

function phaseText(phase: Phase): string {
  switch (phase.kind) {
    case "waiting":
      return `${bar(0)} waiting`;
    case "running": {
      const { done, total, message } = phase;
      const counted = total === 0 ? "running" : `running, ${done} of ${total} resources`;
      return `${bar(total === 0 ? 0 : done / total)} ${counted}${message === "" ? "" : `: ${code(shortened(message, MAX_MESSAGE))}`}`;
    }
    case "ended":
      return `${bar(1)} ${ENDS[phase.outcome]}`;
  }
}

const ENDS = { succeeded: "✅ succeeded", failed: "❌ failed", unknown: "❓ its end is not known" } as const;

function bar(part: number): string {
  const full = Math.min(BAR_LENGTH, Math.floor(part * BAR_LENGTH));
  return "▰".repeat(full) + "▱".repeat(BAR_LENGTH - full);
}
