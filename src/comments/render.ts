import { changeRequestName, type ChangeRequest } from "../core/model/change-request.js";
import { referenceTo, type HostWords } from "../core/model/host-words.js";
import type { Lock } from "../core/model/lock.js";
import type { NextStep } from "../core/model/next-step.js";
import type { NotDeployed } from "../core/model/plan.js";
import type { CommandResultOf, Refusal, ResultKind } from "../core/model/result.js";
import type { Advice } from "../core/policy/next-step.js";
import { SERVICE } from "../names.js";
import { type Links, code, codes, sentence } from "./markdown.js";
import { markerLine } from "./marker.js";
import { nextStepSentence } from "./next-step-words.js";
import { type Block, block, blocksOf, cutBlocks, listOf, pack } from "./parts.js";
import { renderPlan, type PlanOptions } from "./plan.js";
import { commandList, refusalBlocks } from "./refusal.js";
import { rollbackBlocks, syncBlocks } from "./sync-result.js";

const OVERHEAD = 600;

/** What an answer needs beside its result. */
export interface AnswerFacts {
  readonly change: ChangeRequest;
  readonly words: HostWords;
  readonly links: Links;
  readonly comments: PlanOptions["comments"];
  readonly advice?: Advice | undefined;
}

/** The answer to a command as comments; none for a closed change request that left nothing deployed. */
export function renderResult<K extends ResultKind>(result: CommandResultOf<K>, facts: AnswerFacts): readonly string[] {
  return TEXTS[result.kind](result, facts);
}

const TEXTS: { readonly [K in ResultKind]: (result: CommandResultOf<K>, facts: AnswerFacts) => readonly string[] } = {
  planned: ({ plan, pruning, turn }, { words, links, comments, advice }) =>
    renderPlan(plan, { words, pruning, links, turn, comments, next: advice?.next }),
  synced: (result, facts) => titled(tried("Sync", result), syncBlocks(result, facts), facts),
  "rolled-back": (result, facts) => titled(tried("Rollback", result), rollbackBlocks(result, facts), facts),
  unlocked: (result, facts) => titled("Unlock", unlockBlocks(result, facts), facts),
  closed: ({ stillDeployed }, facts) =>
    stillDeployed.length === 0 ? [] : titled("Closed", [block(closedText(stillDeployed, facts.words))], facts),
  help: (_result, facts) => titled("Help", [block(commandList(facts.words))], facts),
  refused: ({ refusal, next }, facts) => refused(refusal, facts, next),
};

function tried(title: string, { dryRun }: { readonly dryRun: boolean }): string {
  return `${title}${dryRun ? " (dry run)" : ""}`;
}

function refused(refusal: Refusal, { change, words, advice }: AnswerFacts, next?: NextStep): readonly string[] {
  const login = refusal.reason === "no-write-access" ? refusal.login : undefined;
  const marker = markerLine({ kind: "refused", head: change.headRevision, login });
  const limit = words.maxComment - OVERHEAD;
  const blocks = cutBlocks(refusalBlocks(refusal, change, words, advice, next), limit);
  return pack(blocks, limit).map((part) => `${marker}\n${part}`);
}

function titled(title: string, blocks: readonly Block[], { change, words }: AnswerFacts): readonly string[] {
  const parts = pack(blocks, words.maxComment - OVERHEAD);
  return parts.map((part, index) => {
    const counter = parts.length === 1 ? "" : ` (part ${index + 1} of ${parts.length})`;
    return `${markerLine({ kind: "result", head: change.headRevision })}\n## ${SERVICE} ${title}${counter}\n\n${part}`;
  });
}

function unlockBlocks(result: CommandResultOf<"unlocked">, { change, words, advice }: AnswerFacts): readonly Block[] {
  const released =
    result.released.length === 0
      ? `No applications are locked by this ${words.short}, so there was nothing to release.`
      : `Released: ${codes(result.released)}.`;
  const notHeld = result.notHeld.map(({ application, lock }) => ({
    application,
    reason:
      lock === undefined
        ? "is not locked"
        : `is locked by ${referenceTo(lock.holder, change, words)} (${lock.user}), which alone can release it here`,
  }));
  const next = result.next.map(({ application, change: other }) => {
    return `${code(referenceTo(other, change, words))} for ${code(application)}`;
  });
  return blocksOf([
    released,
    next.length === 0 ? "" : `Next in the queue: ${next.join(", ")}.`,
    result.left.length === 0 ? "" : `No longer in the queue for: ${codes(result.left)}.`,
    notHeld.length === 0 ? "" : listOf("Not released:", notHeld),
    advice === undefined ? "" : nextStepSentence(advice.next, change, words),
  ]);
}

function closedText(applications: readonly string[], { short, command }: HostWords): string {
  return `This ${short} was closed without a merge, and these applications still run its commit: ${codes(applications)}.\n\nComment ${code(`${command} rollback`)} to deploy the target branch again.`;
}

/** Tells a change request that a rollback of another one took its locks; those of `kept` have not succeeded. `words` are the reader's. */
export function renderTakenOver(
  taken: readonly Lock[],
  by: ChangeRequest,
  login: string,
  words: HostWords,
  kept: readonly string[],
): string {
  const names = taken.map(({ application }) => application);
  const waits = names.filter((name) => kept.includes(name));
  const next =
    waits.length === 0
      ? `To plan and lock ${names.length === 1 ? "it" : "them"} again, comment ${code(`${words.command} plan`)}.`
      : `That has not succeeded for ${codes(waits)} yet: wait until it has, then comment ${code(`${words.command} plan`)}.`;
  return [
    markerLine({ kind: "result" }),
    `## ${SERVICE} Lock taken over`,
    "",
    `${code(changeRequestName(by))} (${code(login)}) rolled back ${codes(names)}, which it had deployed, and took over the lock that a plan of this ${words.short} held. ${next}`,
  ].join("\n");
}

/** What holds now bars the merge, although nothing did when the sync ended. */
export function renderBarredMerge(
  { notMerged, next }: { readonly notMerged: readonly NotDeployed[]; readonly next: NextStep },
  change: ChangeRequest,
  words: HostWords,
): string {
  const marker = markerLine({ kind: "merge", head: change.headRevision });
  const bars = listOf(
    `Everything is deployed, but this ${words.short} was not merged, because of what changed meanwhile:`,
    notMerged,
  );
  return `${marker}\n${bars}\n\n${nextStepSentence(next, change, words)}`;
}

/** The host refused to merge. A merge that succeeds needs no comment. */
export function renderMergeRefusal(reason: string, change: ChangeRequest, { short }: HostWords): string {
  const marker = markerLine({ kind: "merge", head: change.headRevision });
  return `${marker}\nEverything is deployed, but this ${short} could not be merged: ${sentence(reason)}\n\nPlease merge it by hand, so that the deployed commit reaches ${code(change.baseBranch)}.`;
}
