import type { Settled } from "../core/deploy/settle-records.js";
import type { ChangeRequestRef } from "../core/model/change-request.js";
import type { HostWords } from "../core/model/host-words.js";
import type { CodeHost } from "../core/ports/code-host.js";
import { SERVICE } from "../names.js";
import { code } from "./markdown.js";
import { markerLine, readMarker } from "./marker.js";

type Told = Pick<Settled, "application" | "runId" | "outcome">;

/** The outcome of earlier syncs, which was not recorded when they ended. */
export function settledText(settled: readonly Told[], words: HostWords): string {
  const lines = settled.map(({ application, outcome }) => `- ${code(application)}: ${endText(outcome, words)}`);
  return `Argo CD reports how an earlier sync ended:\n${lines.join("\n")}`;
}

function endText(outcome: Told["outcome"], { command }: HostWords): string {
  switch (outcome) {
    case "succeeded":
      return "✅ it succeeded, and its lock was released";
    case "not-healthy":
      return `❌ it was deployed and did not get healthy, and its lock is kept: push a fix and sync again, or comment ${code(`${command} rollback`)}`;
    case "rolled-back":
      return "↩️ it did not get healthy and was rolled back, and its lock was released";
    case "failed":
      return `❌ it failed, and its lock is kept: fix the cause and sync again, or comment ${code(`${command} rollback`)}`;
  }
}

/** Ends the progress comment of an interrupted run, which would otherwise show it as running forever. */
export async function endProgress(
  host: CodeHost,
  change: ChangeRequestRef,
  settled: readonly Told[],
  words: HostWords,
): Promise<void> {
  if (settled.length === 0) return;
  for (const { id, body } of await host.listOwnComments(change)) {
    const marker = readMarker(body);
    const ended = settled.filter(({ runId }) => marker?.kind === "progress" && runId === marker.runId);
    if (marker === undefined || ended.length === 0) continue;
    const text = `## ${SERVICE} Sync (interrupted)\n\nThis command was interrupted before it could report its result.\n\n${settledText(ended, words)}`;
    await host.editComment(change, id, `${markerLine({ ...marker, kind: "result" })}\n${text}`);
  }
}
