import type { ChangeRequest } from "../core/model/change-request.js";
import type { HostWords } from "../core/model/host-words.js";
import type { ApplicationSync, CommandResult, SyncedResource, SyncedResult } from "../core/model/result.js";
import { code, codes, fence, shortened, warning } from "./markdown.js";
import type { Block } from "./parts.js";
import { listOf } from "./phrases.js";

const MAX_MESSAGE = 4000;
const MAX_RESOURCES = 30;
const MAX_NOT_PRUNED = 10;

/** The result of a sync for each application, and the next step. */
export function syncBlocks(result: SyncedResult, change: ChangeRequest, words: HostWords): readonly Block[] {
  const { dryRun, applications, skipped, merge, notMerged } = result;
  const at = change.headRevision.slice(0, 8);
  const announced = result.announced.map(({ application, kind }) => ({
    application,
    reason:
      kind === "new"
        ? "Argo CD creates it when its Application resource is applied"
        : "Argo CD deletes it when its Application resource is removed",
  }));
  const texts = [
    skipped.length === 0
      ? ""
      : `Nothing to deploy, proven unchanged by the plan${dryRun ? "" : ", lock released"}: ${codes(skipped)}.`,
    announced.length === 0 ? "" : listOf("Not deployed by a sync:", announced),
    merge === undefined ? "" : `${doneText(result)} Merging into ${code(change.baseBranch)} now.`,
    notMerged.length === 0 ? "" : listOf("Not merged automatically:", notMerged),
    merge === undefined && notMerged.length === 0 ? nextStep(result, change, words) : "",
  ];
  return [
    ...applications.map((one) => syncBlock(one, { command: "sync", at, dryRun, words })),
    ...texts.filter((text) => text !== "").map((text) => ({ text, section: undefined })),
  ];
}

/** The result of a rollback for each application. */
export function rollbackBlocks(
  { applications, dryRun }: Extract<CommandResult, { kind: "rolled-back" }>,
  change: ChangeRequest,
  words: HostWords,
): readonly Block[] {
  return applications.map((one) => syncBlock(one, { command: "rollback", at: change.baseBranch, dryRun, words }));
}

/** What was deployed may be nothing: new applications, for example, are created by the merge. */
function doneText({ applications, skipped }: SyncedResult): string {
  return applications.length + skipped.length === 0 ? "There was nothing to deploy." : "Everything is deployed.";
}

/** Only if everything succeeded: each failed application has its own next step. */
function nextStep(
  { applications, dryRun }: SyncedResult,
  { baseBranch }: ChangeRequest,
  { command }: HostWords,
): string {
  if (applications.length === 0 || applications.some(({ kind }) => kind !== "succeeded")) return "";
  if (dryRun) return `To deploy it, comment ${code(`${command} sync`)}.`;
  return `To deploy ${code(baseBranch)} again, comment ${code(`${command} rollback`)}.`;
}

interface Run {
  readonly command: "sync" | "rollback";
  /** The commit or branch that was deployed. */
  readonly at: string;
  readonly dryRun: boolean;
  readonly words: HostWords;
}

function syncBlock(one: ApplicationSync, run: Run): Block {
  const heading = `### Application: ${code(one.application)}`;
  const warnings = one.warnings.map(warning);
  return { text: [heading, ...outcomeLines(one, run), ...warnings].join("\n\n"), section: heading };
}

function outcomeLines(one: ApplicationSync, run: Run): readonly string[] {
  const { command, at, dryRun, words } = run;
  const again = code(`${words.command} ${command} -a ${one.application}`);
  switch (one.kind) {
    case "succeeded":
      return dryRun
        ? ["**Result:** ✅ the dry run succeeded, nothing was changed", ...resourceLines(one.resources)]
        : [`**Result:** ✅ succeeded, ${code(at)} is deployed`, ...healthLines(one), ...notPrunedLines(one, run)];
    case "failed":
      return [
        `**Result:** ❌ ${dryRun ? "the dry run" : "the operation"} failed`,
        fence(shortened(one.message, MAX_MESSAGE)),
        ...resourceLines(one.resources.filter(isFailed)),
        `The lock is kept. Fix the cause and comment ${again}${command === "sync" ? `, or ${code(`${words.command} rollback -a ${one.application}`)}` : ""}.`,
      ];
    case "rejected":
      return [
        "**Result:** ❌ not started",
        fence(shortened(one.message, MAX_MESSAGE)),
        `Nothing was deployed and the lock is kept. Comment ${again} once the cause is gone.`,
      ];
    case "running":
      return [
        "**Result:** ⏳ still running; svc stopped waiting and did not stop the operation",
        fence(shortened(one.message, MAX_MESSAGE)),
        `The lock is kept. Look at the application in Argo CD, then comment ${again}.`,
      ];
    case "unknown":
      return [
        "**Result:** ❓ the outcome is not known",
        fence(shortened(one.message, MAX_MESSAGE)),
        `The lock is kept. Look at the application in Argo CD, then comment ${again}.`,
      ];
  }
}

type Succeeded = Extract<ApplicationSync, { kind: "succeeded" }>;

/** The health right after the operation, which a rollout can outlast. */
function healthLines({ health, unhealthy }: Succeeded): readonly string[] {
  return health === "" ? [] : [`**Health:** ${code(health)}`, ...resourceLines(unhealthy)];
}

/** The success released the lock, so a plan has to take it again before the command can prune. */
function notPrunedLines(
  { application, pruneSkipped, resources }: Succeeded,
  { command, words }: Run,
): readonly string[] {
  if (pruneSkipped === 0) return [];
  const left = resources.filter(({ status }) => status === "PruneSkipped").map(({ title }) => title);
  const more = left.length - MAX_NOT_PRUNED;
  const commands = [`${words.command} plan -a ${application}`, `${words.command} ${command} -a ${application} --prune`];
  const names = [...left.slice(0, MAX_NOT_PRUNED), ...(more > 0 ? [`and ${more} more`] : [])];
  return [
    `**Not pruned:** ${pruneSkipped} resources were left in the cluster. To remove them, comment ${commands.map(code).join(" and then ")}.`,
    ...(names.length === 0 ? [] : [fence(names.join("\n"))]),
  ];
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
