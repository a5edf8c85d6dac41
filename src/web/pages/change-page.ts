import { nextStepPieces, type Piece } from "../../comments/next-step-words.js";
import { withPresentLocks } from "../../core/commands/locks.js";
import type { ApplicationName, Revision } from "../../core/model/brand.js";
import {
  changePagePath,
  changeRequestName,
  type ChangeRequestRef,
  sameChangeRequest,
} from "../../core/model/change-request.js";
import { type Deployment, isDeployedAt, runningSync } from "../../core/model/deployment.js";
import type { HostWords } from "../../core/model/host-words.js";
import type { Lock } from "../../core/model/lock.js";
import type { Plan } from "../../core/model/plan/plan.js";
import type { AuditRecord } from "../../core/ports/audit.js";
import { CHANGE_ADDRESS, readChangeAddress } from "../addresses.js";
import type { ChangeSummary } from "../host-summaries.js";
import { activityWords, outcomeWords } from "./activity-words.js";
import {
  changeState,
  deploymentState,
  isAdmin,
  type Page,
  type PageParts,
  problemPage,
  type Reader,
  shownChange,
  shownTime,
  whoName,
} from "./page.js";
import { planView } from "./plan-view.js";

const MOST_ENTRIES = 20;

/** One change request: its locks, its deployments, and its plan with the whole diff. */
export async function changePage(
  address: Readonly<Record<string, unknown>>,
  reader: Reader,
  parts: PageParts,
): Promise<Page> {
  const named = readChangeAddress(address);
  if (named === undefined) {
    return problemPage(404, "No such page", [
      `The address of such a page is \`/changes/${CHANGE_ADDRESS}\`.`,
      "Subgroups are part of the owner, with `%2F` for each slash.",
    ]);
  }
  const words = parts.hostWords[named.host];
  const stored = await parts.plans.find(named);
  // The plan says whose it is: another repository may have had the name, or have got it since.
  const change = stored?.change ?? named;
  const [locks, everyRecord, entries] = await Promise.all([
    parts.locks.list(change),
    parts.deployments.ofChange(change),
    parts.audit.list({ limit: MOST_ENTRIES, filter: { change } }),
  ]);
  const plan = stored && (await withPresentLocks(stored, parts));
  if (plan === undefined && locks.length === 0 && everyRecord.length === 0) return unknownChange(change, words);
  const { hostPageOf, clock } = parts;
  const right = plan && (await parts.readers.ask(reader, change));
  const withDiff = right?.kind === "shown";
  const known = [plan?.head, plan?.plannedAt, locks, everyRecord];
  const answer = withDiff ? await summaryOf(change, known, parts) : undefined;
  const now = clock.now();
  const last = lastDeployments(entries, now);
  return {
    view: "change",
    title: changeRequestName(change),
    data: {
      change: shownChange(change, hostPageOf),
      words,
      head: answer?.kind === "known" ? changeHead(answer.summary, everyRecord, words) : undefined,
      headless: answer?.kind === "unknown" ? answer.why : undefined,
      failure: lastFailure(entries, { withDiff, now }),
      live: `${changePagePath(change)}/live`,
      plan: plan && {
        head: plan.head,
        at: shownTime(plan.plannedAt, now),
        applications: planView(plan, { withDiff, words, hostPageOf }),
        sets: plan.applicationSets.map((set) => (withDiff ? set : { ...set, notes: [] })),
        notDeployed: plan.notDeployed,
        released: plan.released,
        notes: withDiff ? plan.notes : [],
      },
      withDiff,
      hidden: right?.kind === "hidden" && reader.kind === "account" ? right : undefined,
      admin: isAdmin(reader),
      rows: stateRows(change, plan, locks, everyRecord, now).map((row) => ({
        ...row,
        deployment: row.deployment ?? last(row.application),
      })),
    },
  };
}

/**
 * Reads what the host says, or takes it from the cache until the stores hold something else or svc has written another status or plan
 * to the host. The texts stand for the approvals, which are in no store.
 */
async function summaryOf(change: ChangeRequestRef, stored: readonly unknown[], { marks, summaries }: PageParts) {
  const written = await Promise.all([marks.written(change, "status"), marks.written(change, "plan")]);
  return summaries.ask(change, [...stored, written]);
}

function unknownChange(change: ChangeRequestRef, { command, title }: HostWords): Page {
  return problemPage(404, `${changeRequestName(change)} has no plan`, [
    "No plan is stored for it, it holds no lock, and nothing is deployed from it.",
    `Comment \`${command} plan\` on it on ${title}. The plan then appears here and is kept for 30 days.`,
  ]);
}

/** One row per application that this change request has planned, locked or deployed. */
function stateRows(
  change: ChangeRequestRef,
  plan: Plan | undefined,
  locks: readonly Lock[],
  records: readonly Deployment[],
  now: Date,
) {
  const planned = plan?.applications.map(({ application }) => application) ?? [];
  const names = new Set([...planned, ...locks.map((one) => one.application), ...records.map((one) => one.application)]);
  const lockOf = new Map(locks.map((one) => [one.application, one]));
  const own = records.filter((one) => sameChangeRequest(one.change, change));
  const recordOf = new Map(own.map((one) => [one.application, one]));
  return [...names].sort().map((application) => {
    const [lock, record] = [lockOf.get(application), recordOf.get(application)];
    return {
      application,
      lock: lock && {
        user: lock.user,
        since: shownTime(lock.timestamp, now),
        current: lock.planRevision === plan?.head,
      },
      deployment: record && {
        ...ownDeploymentState(record, plan?.head),
        commit: record.revision,
        user: record.user,
        at: shownTime(record.timestamp, now),
      },
    };
  });
}

/** What syncs deployed whose record has ended, by the merge or since another change request deployed the application. */
function lastDeployments(entries: readonly AuditRecord[], now: Date) {
  const newest = new Map<ApplicationName, AuditRecord>();
  for (const entry of entries) {
    const { action, reason, applications } = entry;
    if ((action !== "synced" && action !== "rolled-back") || reason !== undefined) continue;
    for (const { application, outcome } of applications) {
      if (outcome === "succeeded" && !newest.has(application)) newest.set(application, entry);
    }
  }
  return (application: ApplicationName) => {
    const { action, head: commit, who, at = "" } = newest.get(application) ?? {};
    if (action !== "synced" || commit === undefined || who === undefined) return undefined;
    return { tone: "", text: "was deployed", commit, user: whoName(who), at: shownTime(at, now) };
  };
}

/** While a sync of the head runs, the next step is to wait for its end; undefined if none runs. */
function waitForSync(records: readonly Deployment[], head: Revision): readonly Piece[] | undefined {
  const running = runningSync(records, head);
  if (running === undefined) return undefined;
  const { user, done, total } = running;
  return [{ text: `wait for the sync of ${user}, which has started: ${done} of ${total} applications are done` }];
}

function changeHead(summary: ChangeSummary, records: readonly Deployment[], words: HostWords) {
  const { change, next } = summary;
  return {
    title: change.title,
    author: change.author?.login,
    branches: { head: change.headBranch, base: change.baseBranch },
    state: changeState(change),
    // Once it is closed, nothing can be approved any more.
    approval: change.state === "open" ? approvalOf(summary) : undefined,
    next: (waitForSync(records, change.headRevision) ?? nextStepPieces(next, change, words)).map(shownPiece),
  };
}

function approvalOf({ approval, missingForRules, planned }: ChangeSummary) {
  if (missingForRules !== undefined) return { tone: "attention", badge: "needed", sentence: missingForRules };
  if (approval === undefined) return planned ? { tone: "", badge: "not required", sentence: undefined } : undefined;
  const { approved, approvers, missing } = approval;
  return approved
    ? { tone: "good", badge: `by ${approvers.join(", ")}`, sentence: undefined }
    : { tone: "attention", badge: "needed", sentence: missing };
}

function shownPiece(piece: Piece) {
  if (typeof piece === "string") return { text: piece, code: false };
  if ("commit" in piece) return { text: piece.commit.slice(0, 8), code: true };
  return "text" in piece ? { text: piece.text, code: false } : { text: piece.code, code: true };
}

interface FailureOptions {
  readonly withDiff: boolean;
  readonly now: Date;
}

const FAILED: ReadonlySet<string> = new Set(["failed", "rejected", "unknown"]);

/** The last failure that no later command has fixed. @param entries the newest of one change request, newest first. */
export function lastFailure(entries: readonly AuditRecord[], options: FailureOptions) {
  const commands = new Set<string | undefined>();
  const deployed = new Set<string>();
  for (const entry of entries) {
    const { action, applications, command, reason } = entry;
    switch (action) {
      case "merged":
      case "closed":
        return undefined;
      case "failed":
        if (!commands.has(command)) return shown(entry, [], options);
        break;
      case "synced":
      case "rolled-back": {
        if (reason !== undefined) break; // A dry run proves nothing about the next attempt.
        const failed = applications.filter((one) => FAILED.has(one.outcome) && !deployed.has(one.application));
        if (failed.length > 0) return shown(entry, failed, options);
        commands.add(command);
        for (const { application } of applications) deployed.add(application);
        break;
      }
      case "refused":
        if (activityWords(entry).badge === "merge refused") return shown(entry, applications, options);
        break;
      case "planned":
      case "rolled-out":
      case "unlocked":
      case "updated":
      case "reverted":
      case "held":
      case "released":
        commands.add(command);
        break;
      case "queued":
      case "force-unlocked":
      case "role-changed":
        break;
    }
  }
  return undefined;
}

function shown(entry: AuditRecord, failed: AuditRecord["applications"], { withDiff, now }: FailureOptions) {
  const { badge, sentence } = activityWords(entry);
  return {
    at: shownTime(entry.at, now),
    who: whoName(entry.who),
    what: badge,
    why: sentence,
    applications: failed.map((one) => ({
      application: one.application,
      outcome: [outcomeWords(one, entry), one.detail].filter((text) => text !== undefined).join(": "),
      // What Argo CD said.
      message: withDiff ? one.message : undefined,
    })),
  };
}

/** As `deploymentState`, on the page of the change request that deployed it, where the head is known. */
function ownDeploymentState(record: Deployment, head: Revision | undefined) {
  if (head !== undefined && isDeployedAt(record, head)) return { tone: "good", text: "this commit is deployed" };
  if (record.outcome === "succeeded") return { tone: "attention", text: "an earlier commit is deployed" };
  return deploymentState(record);
}
