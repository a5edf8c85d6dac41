import type { ChangeRequest, User } from "../core/model/change-request.js";
import type { Deployment } from "../core/model/deployment.js";
import { HostFailure } from "../core/model/errors.js";
import { counted, type HostWords } from "../core/model/host-words.js";
import type { AdvisedCommand, NextStep } from "../core/model/next-step.js";
import { minuteText } from "../core/model/time.js";
import type { CodeHost } from "../core/ports/code-host.js";
import type { CommitRange } from "../core/ports/repositories.js";
import { SERVICE } from "../names.js";
import { markerLine, readMarker } from "./marker.js";
import { commandText, leftText, nextStepClause } from "./next-step-words.js";
import { applicationLink, code, details, fence, firstLines, joined, shortened } from "./parts.js";
import { publish, type PublishPlanOptions } from "./publish.js";
import type { ResultFacts } from "./sync-result.js";

const MINUTE_MS = 60 * 1000;
const HOUR_MS = 60 * MINUTE_MS;
const MAX_APPLICATIONS = 30;
const MAX_COMMITS = 10;
const MAX_SUBJECT = 100;

export interface ReminderFacts {
  /** What is deployed, the oldest first. */
  readonly records: readonly Deployment[];
  /** What the target branch has received since, and what to do; undefined if the repository could not be read. */
  readonly around: Around | undefined;
  readonly now: Date;
}

interface Around {
  readonly gained: CommitRange;
  readonly next: NextStep;
  /** Undefined if a rollback would be refused. */
  readonly undo: AdvisedCommand | undefined;
}

type Reader = Pick<ResultFacts, "change" | "words" | "links">;

export async function publishReminder(
  host: CodeHost,
  facts: ReminderFacts,
  reader: Reader,
  { runId, posting, log }: Pick<PublishPlanOptions, "runId" | "posting" | "log">,
): Promise<void> {
  const { change } = reader;
  const posted = await publish(host, change, [renderReminder(facts, reader)], { runId, posting });
  try {
    for (const { id, body } of await host.listOwnComments(change)) {
      const folded = id === posted ? undefined : foldedReminder(body);
      if (folded === undefined) continue;
      await host.editComment(change, id, folded);
      await host.minimise(change, id);
    }
  } catch (error) {
    if (!(error instanceof HostFailure)) throw error;
    log.warn({ err: error }, "could not fold an earlier reminder");
  }
}

export function renderReminder({ records, around, now }: ReminderFacts, { change, words, links }: Reader): string {
  const since = Math.max(0, now.getTime() - Date.parse(records[0]?.timestamp ?? now.toISOString()));
  return [
    markerLine({ kind: "reminder", head: change.headRevision }),
    `## ${SERVICE} Reminder`,
    "",
    [
      `**Deployed and not merged for ${lengthText(since)}**`,
      ...(around === undefined ? [] : [nextStepClause(around.next, change, words, links)]),
    ].join(" · "),
    "",
    ...firstLines(
      records.map((one) => `- ${applicationLink(one.application, links)}: ${deployedText(one)}`),
      MAX_APPLICATIONS,
    ),
    ...headLines(records, change),
    ...gainedLines(around?.gained, change),
    ...(around?.undo === undefined
      ? []
      : [
          "",
          `To deploy ${code(change.baseBranch)} again, comment ${joined([code(commandText(around.undo, words)), leftText(around.undo.applications)], ", ")}.`,
        ]),
  ].join("\n");
}

function deployedText({ revision, outcome, user, timestamp }: Deployment): string {
  const what = `${code(revision.slice(0, 8))} by ${code(user)}, ${minuteText(timestamp)}`;
  switch (outcome) {
    case "succeeded":
      return what;
    case "failed":
      return `${what}; that sync failed`;
    case "started":
    case "unknown":
      return `${what}; how that sync ended is not known`;
  }
}

function headLines(records: readonly Deployment[], { headRevision }: ChangeRequest): readonly string[] {
  if (records.every(({ revision }) => revision === headRevision)) return [];
  return ["", `⚠️ The head is now ${code(headRevision.slice(0, 8))}, and not all of these run it.`];
}

function gainedLines(gained: CommitRange | undefined, { baseBranch }: ChangeRequest): readonly string[] {
  if (gained === undefined) return [];
  const { commits, complete } = gained;
  if (commits.length === 0) return complete ? ["", `${code(baseBranch)} has not changed since.`] : [];
  const lines = commits
    .slice(0, MAX_COMMITS)
    .map(({ id, subject }) => `${id.slice(0, 8)} ${shortened(subject, MAX_SUBJECT)}`);
  const left = commits.length - lines.length;
  const rest = left > 0 || !complete ? [`and ${complete ? left : `${left} or`} more`] : [];
  const count = complete ? counted(commits.length, "commit") : `more than ${counted(commits.length, "commit")}`;
  return ["", `${code(baseBranch)} has received ${count} since:`, "", fence([...lines, ...rest].join("\n"))];
}

function lengthText(ms: number): string {
  const hours = Math.floor(ms / HOUR_MS);
  if (hours === 0) return counted(Math.floor(ms / MINUTE_MS), "minute");
  return hours < 48 ? counted(hours, "hour") : `${Math.floor(hours / 24)} days`;
}

/** The comment marked as outdated and collapsed; undefined if it is no current reminder. */
function foldedReminder(body: string): string | undefined {
  const marker = readMarker(body);
  if (marker?.kind !== "reminder" || marker.stale === true) return undefined;
  const content = body.slice(body.indexOf("-->") + 3).trim();
  return `${markerLine({ ...marker, stale: true })}\n${details("An earlier reminder: a newer one is below", content)}`;
}

/** The note below the answer to a command that an approval gave. */
export function byApprovalText({ login }: Pick<User, "login">, { command }: HostWords): string {
  return `The approval by ${code(login)} started ${code(`${command} sync`)}.`;
}
