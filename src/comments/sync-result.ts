import type { ApplicationName } from "../core/model/brand.js";
import type { ChangeRequest } from "../core/model/change-request.js";
import type { HostWords } from "../core/model/host-words.js";
import type { NextStep } from "../core/model/next-step.js";
import {
  type ApplicationSync,
  type CommandResultOf,
  type SyncedResource,
  type SyncedResult,
  wasRolledBack,
  type NotHealthy,
} from "../core/model/result.js";
import type { Advice } from "../core/policy/advice.js";
import { headLink, type Links, code, codes, fence, shortened, warning } from "./markdown.js";
import { commandText, nextStepClause } from "./next-step-words.js";
import { type Block, counted, listOf } from "./parts.js";

const MAX_RESOURCES = 30;
const MAX_NOT_PRUNED = 10;
const MAX_DEGRADED = 5;

/** The result of a sync: the verdict with the next step, then each application. */
export function syncBlocks(
  result: SyncedResult,
  change: ChangeRequest,
  words: HostWords,
  links: Links,
  advice: Advice | undefined,
): readonly Block[] {
  const { dryRun, applications, skipped, merge, notMerged } = result;
  const at = change.headRevision.slice(0, 8);
  const announced = result.announced.map(({ application, kind }) => ({
    application,
    reason:
      kind === "new"
        ? "Argo CD creates it when its Application resource is applied"
        : "Argo CD deletes it when its Application resource is removed",
  }));
  const undo = advice?.undo;
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
    isDeployed(result) && merge === undefined && undo !== undefined
      ? `To deploy ${code(change.baseBranch)} again, comment ${code(commandText(undo, words))}.`
      : "",
  ];
  const merging = { kind: "merging", into: change.baseBranch } as const;
  const next = advice?.next ?? (merge === undefined ? undefined : merging);
  const run: Run = { command: "sync", at, dryRun, change, words, links, next, each: advice?.each };
  return [
    plain(verdictLine(applications, run, skipped.length)),
    ...applications.map((one) => syncBlock(one, run)),
    ...texts.filter((text) => text !== "").map(plain),
  ];
}

/** Names the locks that a rollback leaves alone. */
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
  change: ChangeRequest,
  words: HostWords,
  links: Links,
  advice: Advice | undefined,
): readonly Block[] {
  const { next, each } = advice ?? {};
  const run: Run = { command: "rollback", at: change.baseBranch, dryRun, change, words, links, next, each };
  const left = kept.length === 0 ? [] : [plain(keptSentence(kept, words))];
  return [plain(verdictLine(applications, run)), ...applications.map((one) => syncBlock(one, run)), ...left];
}

function plain(text: string): Block {
  return { text, section: undefined };
}

/** Each failed application has its own way back. */
function isDeployed({ applications, dryRun }: SyncedResult): boolean {
  return !dryRun && applications.length > 0 && applications.every(({ kind }) => kind === "succeeded");
}

interface Run {
  readonly command: "sync" | "rollback";
  /** The commit or branch that was deployed. */
  readonly at: string;
  readonly dryRun: boolean;
  readonly change: ChangeRequest;
  readonly words: HostWords;
  readonly links: Links;
  readonly next: NextStep | undefined;
  readonly each: Advice["each"] | undefined;
}

const ENDS = ["succeeded", "failed", "rejected", "running", "unknown"] as const;
const ENDED = {
  failed: "failed",
  rejected: "not started",
  running: "still running",
  unknown: "with unknown outcome",
} as const;

/** Counts, dangers and the next step, on one line. */
function verdictLine(all: readonly ApplicationSync[], run: Run, unchanged = 0): string {
  const { command, at, change, words, links, next } = run;
  const step = next === undefined ? [] : [nextStepClause(next, change, words, links)];
  const commit = command === "sync" ? headLink(change.headRevision, links) : code(at);
  return [`**${countsText(all, run, unchanged)}** at ${commit}`, ...dangers(all), ...step].join(" · ");
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
  const undone = rolledBack(all);
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
      return [
        `**Result:** ❌ ${dryRun ? "the dry run" : "the operation"} failed`,
        fence(shortened(one.message, MAX_MESSAGE)),
        ...resourceLines(one.resources.filter(isFailed)),
        ...againLines(one, run),
      ];
    case "rejected":
      return ["**Result:** ❌ not started", fence(shortened(one.message, MAX_MESSAGE)), ...againLines(one, run)];
    case "running":
      return [
        "**Result:** ⏳ still running; svc stopped waiting and did not stop the operation",
        fence(shortened(one.message, MAX_MESSAGE)),
        ...againLines(one, run),
      ];
    case "unknown":
      return [
        "**Result:** ❓ the outcome is not known",
        fence(shortened(one.message, MAX_MESSAGE)),
        ...againLines(one, run),
      ];
  }
}

/** What to do about an application that was not deployed. */
function againLines({ application, kind }: ApplicationSync, { each, change, words }: Run): readonly string[] {
  const step = each?.get(application);
  if (step === undefined) return [];
  const untouched = kind === "rejected" ? "Nothing was deployed" : "";
  const isLost = step.kind === "wait" || (step.kind === "command" && step.command === "plan");
  const lock = isLost ? "" : "the lock is kept";
  const state = [untouched, lock].filter((text) => text !== "").join(" and ");
  const clause = nextStepClause(step, change, words);
  const again = step.kind === "command" && !isLost ? `Once the cause is gone, ${clause}` : capitalised(clause);
  return [[...(state === "" ? [] : [capitalised(state)]), again].map((text) => `${text}.`).join(" ")];
}

function capitalised(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

type Succeeded = Extract<ApplicationSync, { kind: "succeeded" }>;

/** The health right after the operation, which a rollout can outlast. */
function healthLines({ health, unhealthy }: Succeeded): readonly string[] {
  return health === "" ? [] : [`**Health:** ${code(health)}`, ...resourceLines(unhealthy)];
}

/** The success released the lock, so a plan has to take it again before the command can prune. */
function notPrunedLines({ application, pruneSkipped, resources: all }: Succeeded, run: Run): readonly string[] {
  if (pruneSkipped === 0) return [];
  const left = all.filter(({ status }) => status === "PruneSkipped").map(({ title }) => title);
  const more = left.length - MAX_NOT_PRUNED;
  const names = [...left.slice(0, MAX_NOT_PRUNED), ...(more > 0 ? [`and ${more} more`] : [])];
  return [
    `**Not pruned:** ${counted(pruneSkipped, "resource")} ${pruneSkipped === 1 ? "was" : "were"} left in the cluster. ${cureOf(application, run)}`,
    ...(names.length === 0 ? [] : [fence(names.join("\n"))]),
  ];
}

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
  if (resources.length === 0) return [];
  const lines = resources.slice(0, MAX_RESOURCES).map(({ title, status, message }) => {
    return shortened([title, status, message].filter((text) => text !== "").join(": "), 500);
  });
  const rest = resources.length - lines.length;
  return [fence([...lines, ...(rest > 0 ? [`and ${rest} more`] : [])].join("\n"))];
}

/** Characters of a message of Argo CD about one application. */
const MAX_MESSAGE = 4000;

/** Those that svc rolled back by itself. */
function rolledBack(all: readonly ApplicationSync[]): readonly ApplicationName[] {
  return all.filter(wasRolledBack).map(({ application }) => application);
}

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
    case "unknown":
      return [
        ...seen,
        warning("how the rollback that followed ended is not known"),
        fence(shortened(rollback.message, MAX_MESSAGE)),
      ];
  }
}
