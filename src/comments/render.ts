import { shortRevision } from "../core/model/brand.js";
import type { Command } from "../core/model/command.js";
import type { Hold } from "../core/model/hold.js";
import { type HostWords, listed, referenceTo } from "../core/model/host-words.js";
import type { NextStep } from "../core/model/next-step.js";
import type { ApplicationSync, CommandResultOf, Refusal, ResultKind } from "../core/model/result.js";
import { fullMinuteText } from "../core/model/time.js";
import { SERVICE } from "../names.js";
import { markerLine } from "./marker.js";
import { nextStepText } from "./next-step-words.js";
import {
  type Block,
  block,
  blocksOf,
  changeLink,
  code,
  codes,
  fitting,
  joined,
  linked,
  pack,
  sentence,
  toCopy,
} from "./parts.js";
import { renderPlan, type PlanOptions } from "./plan.js";
import { commandList, refusalBlocks } from "./refusal.js";
import { type ResultFacts, rollbackBlocks, syncBlocks } from "./sync-result.js";

const OVERHEAD = 600;

interface AnswerFacts extends ResultFacts {
  readonly comments: PlanOptions["comments"];
  /** The command that is answered; undefined if the comment was none. */
  readonly command?: Command | undefined;
}

/** The answer to a command as comments; none for a closed change request that left nothing deployed. */
export function renderResult<K extends ResultKind>(result: CommandResultOf<K>, facts: AnswerFacts): readonly string[] {
  return TEXTS[result.kind](result, facts);
}

const TEXTS: { readonly [K in ResultKind]: (result: CommandResultOf<K>, facts: AnswerFacts) => readonly string[] } = {
  planned: ({ plan, pruning }, { words, links, comments, advice }) =>
    renderPlan(plan, { words, pruning, links, comments, next: advice?.next }),
  synced: (result, facts) => titled(titleOf("Sync", result), syncBlocks(result, facts), facts),
  "rolled-back": (result, facts) => titled(titleOf("Rollback", result), rollbackBlocks(result, facts), facts),
  unlocked: (result, facts) => titled("Unlock", unlockBlocks(result, facts), facts),
  updated: (result, facts) => titled("Update", blocksOf([updateText(result, facts)]), facts),
  reverted: (result, facts) => titled("Revert", blocksOf([revertedText(result, facts)]), facts),
  held: ({ hold }, facts) => titled("Hold", blocksOf([heldText(hold, facts.words)]), facts),
  released: ({ holds }, facts) =>
    titled("Release", blocksOf([`Not held any more by ${codes(holders(holds))}: ${codes(heldIn(holds))}.`]), facts),
  closed: ({ stillDeployed }, facts) =>
    stillDeployed.length === 0 ? [] : titled("Closed", [block(closedText(stillDeployed, facts.words))], facts),
  help: (_result, facts) => titled("Help", [block(commandList(facts.words))], facts),
  refused: ({ refusal, next }, facts) => refused(refusal, facts, next),
};

function titleOf(title: string, { dryRun, applications }: CommandResultOf<"synced" | "rolled-back">): string {
  return `${title}${dryRun ? " (dry run)" : ""}${signOf(applications)}`;
}

function refused(refusal: Refusal, facts: AnswerFacts, next?: NextStep): readonly string[] {
  const { change, words } = facts;
  const login = refusal.reason === "no-write-access" ? refusal.login : undefined;
  const form = refusal.reason === "not-a-command" && refusal.sign !== undefined;
  const marker = markerLine({ kind: "refused", head: change.headRevision, login, form });
  const limit = words.maxComment - OVERHEAD;
  const blocks = refusalBlocks(refusal, facts, next);
  return pack(blocks, limit).map((part) => `${marker}\n${part}`);
}

function titled(title: string, blocks: readonly Block[], { change, words }: AnswerFacts): readonly string[] {
  const limit = words.maxComment - OVERHEAD;
  const parts = pack(blocks, limit);
  return parts.map((part, index) => {
    const counter = parts.length === 1 ? "" : ` (part ${index + 1} of ${parts.length})`;
    return `${markerLine({ kind: "result", head: change.headRevision })}\n## ${SERVICE} ${title}${counter}\n\n${part}`;
  });
}

function unlockBlocks(result: CommandResultOf<"unlocked">, facts: AnswerFacts): readonly Block[] {
  const { change, words, links } = facts;
  const nothing =
    result.notHeld.length > 0
      ? "Nothing was released."
      : `No applications are locked by this ${words.short}, so there was nothing to release.`;
  const released = result.released.length === 0 ? nothing : `Released: ${codes(result.released)}.`;
  const notHeld = result.notHeld.map(({ application, lock }) => {
    if (lock === undefined) return `- ${code(application)}: is not locked`;
    const by = changeLink(`${referenceTo(lock.holder, change, words)} (${lock.user})`, lock.holder, links);
    return `- ${code(application)}: is locked by ${by}, which alone can release it here`;
  });
  const next = result.next.map(({ application, change: other }) => {
    return `${changeLink(referenceTo(other, change, words), other, links)} for ${code(application)}`;
  });
  return blocksOf([
    released,
    next.length === 0 ? "" : `Next in the queue: ${fitting(next)}.`,
    result.left.length === 0 ? "" : `No longer in the queue for: ${codes(result.left)}.`,
    notHeld.length === 0 ? "" : ["Not released:", ...notHeld].join("\n"),
    stepAfter(result.released.length > 0, facts),
  ]);
}

/** What comes next; the address of the plan if that says nothing else. @param changed whether the command did anything. */
function stepAfter(changed: boolean, { plan, advice, change, words, links }: AnswerFacts): string {
  if (plan !== undefined && (!changed || advice?.next.kind === "undone")) return linked("Plan", plan);
  return advice === undefined ? "" : nextStepText(advice.next, change, words, { links });
}

function updateText({ done }: CommandResultOf<"updated">, facts: AnswerFacts): string {
  const { change } = facts;
  const base = code(change.baseBranch);
  if (done === undefined) {
    const nothing = `The branch has every commit of ${base}: there is nothing to update.`;
    return joined([nothing, stepAfter(false, facts)], "\n\n");
  }
  const [was, head] = [change.headRevision, done.head].map((commit) => code(shortRevision(commit)));
  const how = done.rewritten
    ? `Rebased the branch onto ${base}, which rewrites its commits: fetch the branch before you continue on it.`
    : `Merged ${base} into the branch.`;
  return `${how} The head is ${head} instead of ${was}, and is planned now. An approval of ${was} does not count for it: approve it again where an approval is required.`;
}

function revertedText({ revert, known }: CommandResultOf<"reverted">, { change, words, links }: AnswerFacts): string {
  const { short } = words;
  const number = changeLink(referenceTo(revert, change, words), revert, links);
  const what = known ? `${number} is open already: it` : `Opened ${number}, which`;
  return `${what} reverts this ${short}, and is planned there. Where an approval is required, it has to come from somebody who neither asked for the revert nor wrote what it reverts.`;
}

function heldText(hold: Hold, { command }: HostWords): string {
  const what = listed(hold.applications.map(code), MAX_HELD);
  return `Held until ${fullMinuteText(new Date(hold.until))}: ${what}.\n\n**Reason:** ${sentence(hold.reason)}\n\n${code(`${command} sync`)} and merges by svc wait for it, ${code(`${command} rollback`)} does not. To end it, comment ${code(`${command} release`)}.`;
}

function heldIn(holds: readonly Hold[]): readonly string[] {
  return [...new Set(holds.flatMap(({ applications }) => applications))];
}

function holders(holds: readonly Hold[]): readonly string[] {
  return [...new Set(holds.map(({ by }) => by.login))];
}

function closedText(applications: readonly string[], { short, command }: HostWords): string {
  return `This ${short} was closed without a merge, and these applications still run its commit: ${codes(applications)}.\n\n${toCopy("To deploy the target branch again, comment", `${command} rollback`)}`;
}

const MAX_HELD = 50;

/** Shows in the heading how a command ended; empty if that is not known yet, or there was nothing to do. */
function signOf(all: readonly ApplicationSync[]): string {
  if (all.some(({ kind }) => kind === "failed" || kind === "rejected")) return " ❌";
  return all.length > 0 && all.every(({ kind }) => kind === "succeeded") ? " ✅" : "";
}
