import type { ChangeRequest } from "../core/model/change-request.js";
import type { HostWords } from "../core/model/host-words.js";
import type { NextStep } from "../core/model/next-step.js";
import type { Hindrance } from "../core/model/result.js";
import { markerLine } from "./marker.js";
import { nextStepText } from "./next-step-words.js";
import { block, code, cutBlocks, type Links, listOf, sentence } from "./parts.js";

/** What holds now bars the merge, although nothing did when the sync ended. */
export function renderBarredMerge(
  { notMerged, next }: { readonly notMerged: readonly Hindrance[]; readonly next: NextStep },
  change: ChangeRequest,
  words: HostWords,
  links: Links,
): string {
  const marker = markerLine({ kind: "merge", head: change.headRevision });
  const bars = listOf(
    `Everything is deployed, but this ${words.short} was not merged, because of what changed meanwhile:`,
    notMerged,
    links,
  );
  const step = nextStepText(next, change, words);
  const [cut] = cutBlocks([block(bars)], words.maxComment - marker.length - step.length);
  return `${marker}\n${cut?.text ?? ""}\n\n${step}`;
}

/** The host merges later, or takes it out again. */
export function renderQueued(queue: string, change: ChangeRequest, { short, title }: HostWords): string {
  const marker = markerLine({ kind: "merge", head: change.headRevision });
  return `${marker}\nQueued: this ${short} is in ${queue}, and ${title} merges it into ${code(change.baseBranch)} when its turn has come. If it is taken out again, it stays deployed, and it can be queued again.`;
}

/** The host refused to merge. A merge that succeeds needs no comment. @param reason says what to do as well. */
export function renderMergeRefusal(reason: string, change: ChangeRequest, { short }: HostWords): string {
  const marker = markerLine({ kind: "merge", head: change.headRevision });
  return `${marker}\nEverything is deployed, but this ${short} could not be merged: ${sentence(reason)}\n\nUntil it is merged, ${code(change.baseBranch)} does not have what is deployed.`;
}
