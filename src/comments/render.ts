import { type ApplicationName, shortRevision } from "../core/model/brand.js";
import type { ChangeRequest } from "../core/model/change-request.js";
import { endOf, type Hold } from "../core/model/hold.js";
import { type HostWords, listed, referenceTo } from "../core/model/host-words.js";
import type { NextStep } from "../core/model/next-step.js";
import {
  type ApplicationSync,
  type CommandResultOf,
  type NotHealthy,
  type Refusal,
  type ResultKind,
  type SyncedResource,
  type SyncedResult,
  wasRolledBack,
} from "../core/model/result.js";
import type { Advice } from "../core/policy/next-step.js";
import { SERVICE } from "../names.js";
import { code, codes, fence, headLink, type Links, sentence, shortened, toCopy, warning } from "./markdown.js";
import { markerLine } from "./marker.js";
import { commandText, nextStepClause, nextStepText } from "./next-step-words.js";
import { type Block, block, blocksOf, capitalised, counted, cutBlocks, joined, listOf, pack } from "./parts.js";
import { renderPlan, type PlanOptions } from "./plan.js";
import { commandList, refusalBlocks } from "./refusal.js";

const OVERHEAD = 600;

/** What an answer needs beside its result. */
interface AnswerFacts {
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
  planned: ({ plan, pruning }, { words, links, comments, advice }) =>
    renderPlan(plan, { words, pruning, links, comments, next: advice?.next }),
  synced: (result, facts) => titled(titleOf("Sync", result), syncBlocks(result, facts), facts),
  "rolled-back": (result, facts) => titled(titleOf("Rollback", result), rollbackBlocks(result, facts), facts),
  unlocked: (result, facts) => titled("Unlock", unlockBlocks(result, facts), facts),
  updated: (result, facts) => titled("Update", blocksOf([updateText(result, facts)]), facts),
  reverted: (result, { change, words, ...facts }) =>
    titled("Revert", blocksOf([revertedText(result, change, words)]), { change, words, ...facts }),
  held: ({ hold }, facts) => titled("Hold", blocksOf([heldText(hold, facts.words)]), facts),
  released: ({ holds }, facts) =>
    titled("Release", blocksOf([`Not held any more by ${codes(holders(holds))}: ${codes(heldIn(holds))}.`]), facts),
  closed: ({ stillDeployed }, facts) =>
    stillDeployed.length === 0 ? [] : titled("Closed", [block(closedText(stillDeployed, facts.words))], facts),
  help: (_result, facts) => titled("Help", [block(commandList(facts.words))], facts),
  refused: ({ refusal, next }, facts) => refused(refusal, facts, next),
};

function titleOf(title: string, { dryRun }: { readonly dryRun: boolean }): string {
  return `${title}${dryRun ? " (dry run)" : ""}`;
}

function refused(refusal: Refusal, { change, words, advice }: AnswerFacts, next?: NextStep): readonly string[] {
  const login = refusal.reason === "no-write-access" ? refusal.login : undefined;
  const form = refusal.reason === "not-a-command" && refusal.sign !== undefined;
  const marker = markerLine({ kind: "refused", head: change.headRevision, login, form });
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
  const nothing =
    result.notHeld.length > 0
      ? "Nothing was released."
      : `No applications are locked by this ${words.short}, so there was nothing to release.`;
  const released = result.released.length === 0 ? nothing : `Released: ${codes(result.released)}.`;
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
    advice === undefined ? "" : nextStepText(advice.next, change, words),
  ]);
}

function updateText({ done }: CommandResultOf<"updated">, { change, words, advice }: AnswerFacts): string {
  const base = code(change.baseBranch);
  if (done === undefined) {
    const next = advice === undefined ? "" : nextStepText(advice.next, change, words);
    return joined([`The branch has every commit of ${base}: there is nothing to update.`, next], "\n\n");
  }
  const [was, head] = [change.headRevision, done.head].map((commit) => code(shortRevision(commit)));
  const how = done.rewritten
    ? `Rebased the branch onto ${base}, which writes its commits anew: fetch it before you go on with it.`
    : `Merged ${base} into the branch.`;
  return `${how} The head is ${head} instead of ${was}, and is planned now. An approval of ${was} does not count for it: approve it again where an approval is required.`;
}

function revertedText(
  { revert, known }: CommandResultOf<"reverted">,
  change: ChangeRequest,
  { short, sigil, command }: HostWords,
): string {
  const number = `${sigil}${revert.number}`;
  const what = known
    ? `${number} is open already, and reverts this ${short}.`
    : `Opened ${number}, which reverts this ${short}.`;
  return `${what} It is planned like any other; ${code(`${command} sync`)} there deploys ${code(change.baseBranch)} without this change. Where an approval is required, somebody has to give it who neither asked for the revert nor wrote what it reverts.`;
}

function heldText(hold: Hold, { command }: HostWords): string {
  const what = listed(hold.applications.map(code), MAX_HELD);
  return `Held until ${endOf(hold)}: ${what}.\n\n**Reason:** ${sentence(hold.reason)}\n\n${code(`${command} sync`)} and merges by svc wait for it, ${code(`${command} rollback`)} does not. To end it, comment ${code(`${command} release`)}.`;
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
const MAX_RESOURCES = 30;
const MAX_NOT_PRUNED = 10;
const MAX_DEGRADED = 5;

/** The result of a sync: the verdict with the next step, then each application. */
function syncBlocks(result: SyncedResult, facts: AnswerFacts): readonly Block[] {
  const { change, words, advice } = facts;
  const { dryRun, applications, skipped, merge, notMerged } = result;
  const announced = result.announced.map(({ application, kind }) => ({
    application,
    reason:
      kind === "new"
        ? "Argo CD creates it when its Application resource is applied"
        : "Argo CD deletes it when its Application resource is removed",
  }));
  // A failed application has its own advice.
  const isDeployed = !dryRun && applications.length > 0 && applications.every(({ kind }) => kind === "succeeded");
  const texts = [
    skipped.length === 0
      ? ""
      : `Nothing to deploy, proven unchanged by the plan${dryRun ? "" : ", lock released"}: ${codes(skipped)}.`,
    announced.length === 0 ? "" : listOf("Not deployed by a sync:", announced),
    notMerged.length === 0 ? "" : listOf("Not merged automatically:", notMerged),
    ...(merge?.overridden ?? []).map(
      ({ application, check, by }) =>
        `**Checks:** ⚠️ ${code(check)} failed for ${code(application)}, which the merge deploys; the approval of ${codes(by)} lifts that`,
    ),
    isDeployed && merge === undefined && advice?.undo !== undefined
      ? `To deploy ${code(change.baseBranch)} again, comment ${code(commandText(advice.undo, words))}.`
      : "",
  ];
  const merging = { kind: "merging", into: change.baseBranch } as const;
  const next = advice?.next ?? (merge === undefined ? undefined : merging);
  const run: Run = { ...facts, command: "sync", at: change.headRevision.slice(0, 8), dryRun, next };
  return [
    ...verdictBlocks(applications, run, skipped.length),
    ...applications.map((one) => syncBlock(one, run)),
    ...blocksOf(texts),
  ];
}

function keptSentence(kept: readonly ApplicationName[], { command }: HostWords): string {
  const one = kept.length === 1;
  const why = `because ${one ? "it was" : "they were"} never deployed from here`;
  const locks = one ? "the lock is kept" : "the locks are kept";
  const release = `To release ${one ? "it" : "them"}, comment ${code(`${command} unlock`)}`;
  return `Not rolled back, ${why}; ${locks}: ${codes(kept)}. ${release}.`;
}

/** The result of a rollback: the verdict with the next step, then each application. */
function rollbackBlocks(
  { applications, dryRun, kept = [] }: CommandResultOf<"rolled-back">,
  facts: AnswerFacts,
): readonly Block[] {
  const run: Run = { ...facts, command: "rollback", at: facts.change.baseBranch, dryRun, next: facts.advice?.next };
  return [
    ...verdictBlocks(applications, run),
    ...applications.map((one) => syncBlock(one, run)),
    ...(kept.length === 0 ? [] : [block(keptSentence(kept, facts.words))]),
  ];
}

interface Run extends AnswerFacts {
  readonly command: "sync" | "rollback";
  readonly at: string;
  readonly dryRun: boolean;
  readonly next: NextStep | undefined;
}

const ENDS = ["succeeded", "failed", "rejected", "running", "unknown"] as const;
const ENDED = {
  failed: "failed",
  rejected: "not started",
  running: "still running",
  unknown: "with unknown outcome",
} as const;

function verdictBlocks(all: readonly ApplicationSync[], run: Run, unchanged = 0): readonly Block[] {
  const { command, at, change, words, links, next } = run;
  const isCommand = next?.kind === "command";
  const step = next === undefined || isCommand ? [] : [nextStepClause(next, change, words, links)];
  const commit = command === "sync" ? headLink(change.headRevision, links) : code(at);
  const verdict = [`**${countsText(all, run, unchanged)}** at ${commit}`, ...dangers(all), ...step].join(" · ");
  return blocksOf([verdict, isCommand ? nextStepText(next, change, words, { links }) : ""]);
}

function countsText(all: readonly ApplicationSync[], { command, dryRun }: Run, unchanged: number): string {
  const done = command === "sync" ? "deployed" : "rolled back";
  const ends = { ...ENDED, succeeded: dryRun ? "would succeed" : done };
  const counts = [
    ...ENDS.map((end) => [all.filter(({ kind }) => kind === end).length, ends[end]] as const),
    [unchanged, "unchanged"] as const,
  ].filter(([count]) => count > 0);
  const total = all.length + unchanged;
  const [only] = counts;
  if (only === undefined) return "Nothing to deploy";
  const applications = counted(total, "application");
  if (counts.length === 1) return `${applications} ${only[1]}`;
  return `${applications}: ${counts.map(([count, end]) => `${count} ${end}`).join(", ")}`;
}

/** What is wrong although Argo CD reports success. */
function dangers(all: readonly ApplicationSync[]): readonly string[] {
  const done = all.filter((one) => one.kind === "succeeded");
  const left = done.reduce((sum, { pruneSkipped }) => sum + pruneSkipped, 0);
  const degraded = done.filter(({ health }) => health === "Degraded").map(({ application }) => application);
  const undone = all.filter(wasRolledBack).map(({ application }) => application);
  return [
    ...(undone.length === 0 ? [] : [`↩️ rolled back: ${codes(undone.slice(0, MAX_DEGRADED))}`]),
    ...(degraded.length === 0 ? [] : [`⚠️ degraded: ${codes(degraded.slice(0, MAX_DEGRADED))}`]),
    ...(left === 0 ? [] : [`⚠️ ${counted(left, "resource")} not pruned`]),
  ];
}

function syncBlock(one: ApplicationSync, run: Run): Block {
  const heading = `### Application: ${code(one.application)}`;
  const warnings = one.warnings.map(warning);
  const overridden = (one.overridden ?? []).map(
    ({ check, by }) => `**Checks:** ⚠️ ${code(check)} failed; the approval of ${codes(by)} lifts that`,
  );
  return { text: [heading, ...outcomeLines(one, run), ...overridden, ...warnings].join("\n\n"), section: heading };
}

function outcomeLines(one: ApplicationSync, run: Run): readonly string[] {
  const { at, dryRun } = run;
  switch (one.kind) {
    case "succeeded":
      return dryRun
        ? ["**Result:** ✅ the dry run succeeded, nothing was changed", ...resourceLines(one.resources)]
        : [`**Result:** ✅ succeeded, ${code(at)} is deployed`, ...healthLines(one), ...notPrunedLines(one, run)];
    case "failed":
      if (one.notHealthy !== undefined) {
        const objects = resourceLines(one.resources);
        return [...notHealthyLines(one.notHealthy, one.message, objects, run.change), ...againLines(one, run)];
      }
      return notDone(
        `❌ ${dryRun ? "the dry run" : "the operation"} failed`,
        one,
        run,
        resourceLines(one.resources.filter(isFailed)),
      );
    case "rejected":
      return notDone("❌ not started", one, run);
    case "running":
      return notDone("⏳ still running; svc stopped waiting and did not stop the operation", one, run);
    case "unknown":
      return notDone("❓ the outcome is not known", one, run);
  }
}

function notDone(
  result: string,
  one: Exclude<ApplicationSync, { readonly kind: "succeeded" }>,
  run: Run,
  objects: readonly string[] = [],
): readonly string[] {
  return [`**Result:** ${result}`, fence(shortened(one.message, MAX_MESSAGE)), ...objects, ...againLines(one, run)];
}

function againLines({ application, kind }: ApplicationSync, { advice, change, words }: Run): readonly string[] {
  const step = advice?.each.get(application);
  if (step === undefined) return [];
  const untouched = kind === "rejected" ? "Nothing was deployed" : "";
  const isLost = step.kind === "wait" || (step.kind === "command" && step.command === "plan");
  const lock = isLost ? "" : "the lock is kept";
  const state = joined([untouched, lock], " and ");
  const clause = nextStepClause(step, change, words);
  const again = step.kind === "command" && !isLost ? `Once the cause is gone, ${clause}` : capitalised(clause);
  return [[...(state === "" ? [] : [capitalised(state)]), again].map((text) => `${text}.`).join(" ")];
}

type Succeeded = Extract<ApplicationSync, { kind: "succeeded" }>;

/** The health right after the operation, which a rollout can outlast. */
function healthLines({ health, unhealthy }: Succeeded): readonly string[] {
  return health === "" ? [] : [`**Health:** ${code(health)}`, ...resourceLines(unhealthy)];
}

/** The success released the lock, so a plan must take it again before the command can prune. */
function notPrunedLines({ application, pruneSkipped, pruned, resources: all }: Succeeded, run: Run): readonly string[] {
  if (pruneSkipped === 0) return [];
  const left = all.filter(({ status }) => status === "PruneSkipped").map(({ title }) => title);
  return [
    `**Not pruned:** ${counted(pruneSkipped, "resource")} ${pruneSkipped === 1 ? "was" : "were"} left in the cluster. ${pruned === true ? BY_HAND : cureOf(application, run)}`,
    ...fencedList(left, MAX_NOT_PRUNED),
  ];
}

const BY_HAND = "No sync deletes them, because of Prune=false: delete them by hand if they are to go.";

/** A change request that is merged or closed cannot be planned any more. */
function cureOf(application: string, { command, change, words, next }: Run): string {
  if (change.state !== "open" || next?.kind === "merging") return "To remove them, sync with prune in Argo CD.";
  const commands = [`${words.command} plan -a ${application}`, `${words.command} ${command} -a ${application} --prune`];
  return `To remove them, comment ${commands.map(code).join(" and then ")}.`;
}

function isFailed({ status }: SyncedResource): boolean {
  return status !== "Synced" && status !== "Pruned" && status !== "PruneSkipped";
}

function resourceLines(resources: readonly SyncedResource[]): readonly string[] {
  const lines = resources.map(({ title, status, message }) => shortened(joined([title, status, message], ": "), 500));
  return fencedList(lines, MAX_RESOURCES);
}

function fencedList(lines: readonly string[], most: number): readonly string[] {
  if (lines.length === 0) return [];
  const more = lines.length - most;
  return [fence([...lines.slice(0, most), ...(more > 0 ? [`and ${more} more`] : [])].join("\n"))];
}

const MAX_MESSAGE = 4000;

/** Argo CD deployed an application, and its rules ask for more. @param objects lines about its unhealthy objects. */
function notHealthyLines(
  { health, rollback }: NotHealthy,
  message: string,
  objects: readonly string[],
  { baseBranch }: ChangeRequest,
): readonly string[] {
  const seen = [
    `**Result:** ❌ deployed, but not healthy: ${code(health)}`,
    fence(shortened(message, MAX_MESSAGE)),
    ...objects,
  ];
  switch (rollback?.kind) {
    case undefined:
      return seen;
    case "succeeded":
      return [...seen, `↩️ svc rolled it back: ${code(baseBranch)} is deployed again, and its lock is released.`];
    case "skipped":
      return [...seen, warning(`It was not rolled back: ${rollback.message}`)];
    case "failed":
      return [...seen, warning("the rollback that followed failed"), fence(shortened(rollback.message, MAX_MESSAGE))];
    case "unknown": {
      const ended = warning("how the rollback that followed ended is not known");
      return [...seen, ended, fence(shortened(rollback.message, MAX_MESSAGE))];
    }
  }
}
