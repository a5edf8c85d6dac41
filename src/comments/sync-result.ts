import type { ApplicationName } from "../core/model/brand.js";
import type { ChangeRequest } from "../core/model/change-request.js";
import { counted, type HostWords, listed } from "../core/model/host-words.js";
import type { NextStep } from "../core/model/next-step.js";
import {
  type ApplicationSync,
  type CommandResultOf,
  type SyncedResource,
  type SyncedResult,
  wasRolledBack,
  type NotHealthy,
} from "../core/model/result.js";
import type { Advice } from "../core/policy/next-step.js";
import { commandText, leftText, nextStepClause, nextStepText } from "./next-step-words.js";
import {
  applicationAddress,
  type Block,
  block,
  blocksOf,
  capitalised,
  code,
  codes,
  fence,
  fitting,
  headLink,
  joined,
  linked,
  type Links,
  listOf,
  messageWarning,
  shortened,
  warning,
} from "./parts.js";
import { lengthText } from "./present.js";

/** What the answer to a command is written with. */
export interface ResultFacts {
  readonly change: ChangeRequest;
  readonly words: HostWords;
  readonly links: Links;
  readonly advice?: Advice | undefined;
  /** Who gave the command, and how long it took; undefined if that is not known. */
  readonly by?: string | undefined;
  readonly seconds?: number | undefined;
  /** The address of the comment with the plan of the head, which says what comes next; undefined if that is not known. */
  readonly plan?: string | undefined;
}

const MAX_RESOURCES = 30;
const MAX_NOT_PRUNED = 10;
const MAX_DEGRADED = 5;

/** The result of a sync: the verdict with the next step, then each application. */
export function syncBlocks(result: SyncedResult, facts: ResultFacts): readonly Block[] {
  const { change, words, advice } = facts;
  const { dryRun, applications, skipped, merge, notMerged } = result;
  const announced = result.announced.map(({ application, kind }) => `${code(application)} (${kind})`);
  // A failed application has its own advice.
  const isDeployed = !dryRun && applications.length > 0 && applications.every(({ kind }) => kind === "succeeded");
  const texts = [
    skipped.length === 0
      ? ""
      : `Skipped, because the plan proved that nothing changes${dryRun ? "" : "; lock released"}: ${codes(skipped)}.`,
    announced.length === 0 ? "" : `Not deployed by a sync: ${fitting(announced)}.`,
    notMerged.length === 0 ? "" : listOf("Not merged automatically:", notMerged, facts.links),
    ...(merge?.overridden ?? []).map(
      ({ application, check, by }) =>
        `**Checks:** ⚠️ ${code(check)} failed for ${code(application)}, which the merge deploys; the approval of ${codes(by)} lifts that`,
    ),
    isDeployed && merge === undefined && advice?.undo !== undefined
      ? `To deploy ${code(change.baseBranch)} again, comment ${joined([code(commandText(advice.undo, words)), leftText(advice.undo.applications)], ", ")}.`
      : "",
  ];
  const merging = { kind: "merging", into: change.baseBranch } as const;
  const merged = mergedMeanwhile(result, facts);
  const left = applications.some(({ kind }) => kind !== "succeeded");
  const next = merged !== "" && left ? undefined : (advice?.next ?? (merge === undefined ? undefined : merging));
  const at = change.headRevision.slice(0, 8);
  const run: Run = { ...facts, command: "sync", at, dryRun, next, alone: applications.length === 1 };
  return [
    ...verdictBlocks(applications, run, skipped.length),
    ...blocksOf([merged]),
    ...applications.map((one) => syncBlock(one, run)),
    ...blocksOf(texts),
  ];
}

/** What it means that somebody merged the change request before its sync ended; empty if nobody did. */
function mergedMeanwhile({ dryRun, applications, merge }: SyncedResult, { change, words }: ResultFacts): string {
  // If svc decided to merge, svc itself merged it, in an earlier attempt of the run.
  if (change.state !== "merged" || merge !== undefined) return "";
  const are = (...kinds: readonly ApplicationSync["kind"][]) =>
    applications.filter(({ kind }) => kinds.includes(kind)).map(({ application }) => application);
  const [done, undone, open] = [are("succeeded"), are("failed", "rejected"), are("running", "unknown")];
  const base = code(change.baseBranch);
  const what = `**Merged meanwhile:** this ${words.short} was merged while it was synced`;
  if (dryRun) return `${what}.`;
  return joined(
    [
      `${what}, so svc deploys nothing more from it.`,
      done.length === 0 ? "" : "What was deployed stays.",
      undone.length === 0
        ? ""
        : `Not deployed: ${listed(undone.map(code), MAX_DEGRADED)}; once the cause is gone, sync ${undone.length === 1 ? "it" : "them"} in Argo CD, which deploys ${base}.`,
      open.length === 0 ? "" : `How the sync of ${listed(open.map(code), MAX_DEGRADED)} ends is shown in Argo CD.`,
    ],
    " ",
  );
}

function keptSentence(kept: readonly ApplicationName[], { command }: HostWords): string {
  const one = kept.length === 1;
  const why = `because ${one ? "it was" : "they were"} never deployed from here`;
  const locks = one ? "the lock is kept" : "the locks are kept";
  const release = `To release ${one ? "it" : "them"}, comment ${code(`${command} unlock`)}`;
  return `Not rolled back, ${why}; ${locks}: ${codes(kept)}. ${release}.`;
}

/** The result of a rollback: the verdict with the next step, then each application. */
export function rollbackBlocks(
  { applications, dryRun, kept = [] }: CommandResultOf<"rolled-back">,
  facts: ResultFacts,
): readonly Block[] {
  const [at, next, alone] = [facts.change.baseBranch, facts.advice?.next, applications.length === 1];
  const run: Run = { ...facts, command: "rollback", at, dryRun, next, alone };
  return [
    ...verdictBlocks(applications, run),
    ...applications.map((one) => syncBlock(one, run)),
    // A close releases them.
    ...(kept.length === 0 || facts.change.state !== "open" ? [] : [block(keptSentence(kept, facts.words))]),
  ];
}

interface Run extends ResultFacts {
  readonly command: "sync" | "rollback";
  readonly at: string;
  readonly dryRun: boolean;
  readonly next: NextStep | undefined;
  /** Whether there is only one application, so that its block repeats nothing that the verdict says. */
  readonly alone: boolean;
}

const ENDS = ["succeeded", "failed", "rejected", "running", "unknown"] as const;
const ENDED = {
  failed: "failed",
  rejected: "not started",
  running: "still running",
  unknown: "with unknown outcome",
} as const;

function verdictBlocks(all: readonly ApplicationSync[], run: Run, unchanged = 0): readonly Block[] {
  const { command, at, dryRun, change, words, links, by, seconds, plan } = run;
  const next = plan !== undefined && (dryRun || run.next?.kind === "undone") ? undefined : run.next;
  const isCommand = next?.kind === "command";
  const step = next === undefined || isCommand ? [] : [nextStepClause(next, change, words, links)];
  const shown = plan === undefined ? [] : [linked("plan", plan)];
  const commit = command === "sync" ? headLink(change.headRevision, links) : code(at);
  const who = by === undefined ? "" : ` by ${code(by)}`;
  const length = seconds === undefined ? "" : ` in ${lengthText(seconds)}`;
  const verdict = [
    `**${countsText(all, run, unchanged)}** at ${commit}${who}${length}`,
    ...dangers(all),
    ...step,
    ...shown,
  ];
  return blocksOf([verdict.join(" · "), isCommand ? nextStepText(next, change, words, { links }) : ""]);
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

/** What is wrong with applications of which Argo CD reports success. */
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
  const warnings = one.warnings.map((text) => messageWarning(text, run.links));
  const overridden = (one.overridden ?? []).map(
    ({ check, by }) => `**Checks:** ⚠️ ${code(check)} failed; the approval of ${codes(by)} lifts that`,
  );
  return { text: [heading, ...outcomeLines(one, run), ...overridden, ...warnings].join("\n\n"), section: heading };
}

function outcomeLines(one: ApplicationSync, run: Run): readonly string[] {
  const { at, dryRun } = run;
  switch (one.kind) {
    case "succeeded":
      if (one.deleted === true) return ["**Result:** ✅ the rollback of its parent deleted it"];
      return dryRun
        ? [resultLine("✅ the dry run succeeded, nothing was changed", one, run), ...resourceLines(one.resources)]
        : [
            resultLine(`✅ succeeded, ${code(at)} is deployed`, one, run),
            ...healthLines(one),
            ...notPrunedLines(one, run),
          ];
    case "failed":
      if (one.notHealthy !== undefined) {
        return [...notHealthyLines(one, one.notHealthy, run), ...againLines(one, run)];
      }
      return notDone(`❌ ${dryRun ? "the dry run" : "the operation"} failed`, saidOnce(one), run);
    case "rejected":
      return notDone("❌ not started", one, run);
    case "running":
      return notDone("⏳ still running; svc stopped waiting and did not stop the operation", one, run);
    case "unknown":
      return notDone("❓ the outcome is not known", one, run);
  }
}

/** The outcome, and where Argo CD shows it. */
function resultLine(result: string, { application, kind }: ApplicationSync, { links }: Run): string {
  const address = applicationAddress(application, links);
  // Opens the panel of the last operation (`application-details.tsx` in Argo CD).
  const operation = kind === "rejected" ? [] : [linked("operation", `${address}?operation=true`)];
  return `**Result:** ${result} · in Argo CD: ${[linked("application", address), ...operation].join(", ")}`;
}

function notDone(
  result: string,
  one: Exclude<ApplicationSync, { readonly kind: "succeeded" }>,
  run: Run,
): readonly string[] {
  const objects = one.kind === "failed" ? resourceLines(one.resources) : [];
  return [
    resultLine(result, one, run),
    fence(shortened(one.message, MAX_MESSAGE)),
    ...objects,
    ...againLines(one, run),
  ];
}

type Failed = Extract<ApplicationSync, { readonly kind: "failed" }>;

/** The objects that failed. Argo CD's message quotes the error of each: one that all share is not printed with them again. */
function saidOnce(failed: Failed): Failed {
  const resources = failed.resources.filter(isFailed);
  const [error, ...others] = [...new Set(resources.map(({ message }) => message))];
  const isSaid = others.length === 0 && error !== undefined && failed.message.includes(error);
  return { ...failed, resources: isSaid ? resources.map((one) => ({ ...one, message: "" })) : resources };
}

function againLines({ application, kind }: ApplicationSync, run: Run): readonly string[] {
  const { advice, change, words, links } = run;
  const step = advice?.each.get(application);
  if (step === undefined) return [];
  const untouched = kind === "rejected" ? "Nothing was deployed" : "";
  const isLost = step.kind === "wait" || (step.kind === "command" && step.command === "plan");
  const lock = isLost || change.state !== "open" ? "" : "the lock is kept";
  const state = joined([untouched, lock], " and ");
  const clause = nextStepClause(step, change, words, links);
  const again = step.kind === "command" && !isLost ? `Once the cause is gone, ${clause}` : capitalised(clause);
  const said = isSaid(step, application, run) ? [] : [again];
  const sentences = [...(state === "" ? [] : [capitalised(state)]), ...said].map((text) => `${text}.`);
  return sentences.length === 0 ? [] : [sentences.join(" ")];
}

/** Whether the verdict says already what to do with an application. */
function isSaid(step: NextStep, application: ApplicationName, { next, alone }: Run): boolean {
  if (alone) return step.kind === next?.kind;
  return (
    step.kind === "retry" &&
    next?.kind === "retry" &&
    step.after === next.after &&
    next.applications.includes(application)
  );
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
    `**Not pruned:** ${counted(pruneSkipped, "resource")} ${pruneSkipped === 1 ? "was" : "were"} left in the cluster. ${cureOf(application, pruned === true, pruneSkipped === 1 ? "it" : "them", run)}`,
    ...fencedList(left, MAX_NOT_PRUNED),
  ];
}

/** A change request that is merged or closed cannot be planned any more. */
function cureOf(application: string, pruned: boolean, left: "it" | "them", { command, change, words, next }: Run) {
  if (pruned) return `No sync deletes ${left}, because of Prune=false: to remove ${left}, delete ${left} by hand.`;
  if (change.state !== "open" || next?.kind === "merging") return `To remove ${left}, sync with prune in Argo CD.`;
  const commands = [`${words.command} plan -a ${application}`, `${words.command} ${command} -a ${application} --prune`];
  return `To remove ${left}, comment ${commands.map(code).join(" and then ")}.`;
}

function isFailed({ status }: SyncedResource): boolean {
  return !["Synced", "Pruned", "PruneSkipped", "Succeeded", "Running"].includes(status);
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

/** Argo CD deployed an application, and its rules ask for more. */
function notHealthyLines(one: Failed, { health, rollback }: NotHealthy, run: Run): readonly string[] {
  const { change } = run;
  const seen = [
    resultLine(`❌ deployed, but not healthy: ${code(health)}`, one, run),
    fence(shortened(one.message, MAX_MESSAGE)),
    ...resourceLines(one.resources),
  ];
  switch (rollback?.kind) {
    case undefined:
      return seen;
    case "succeeded":
      return [
        ...seen,
        `↩️ svc rolled it back: ${code(change.baseBranch)} is deployed again, and its lock is released.`,
      ];
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
