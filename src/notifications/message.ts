import { shortened, withoutDeceivers } from "../comments/parts.js";
import { changePagePath, changeRequestName, type ChangeRequestRef } from "../core/model/change-request.js";
import type { AllHostWords } from "../core/model/host-words.js";
import type { Notification, RolledOut, RunEnded } from "../core/model/notification.js";
import { minuteText } from "../core/model/time.js";
import { SERVICE } from "../names.js";

/** A notification as people read it: plain text without markup, which each format escapes. */
export interface Message {
  /** One line. */
  readonly headline: string;
  /** One application each, or a sentence. */
  readonly lines: readonly string[];
  readonly links: readonly MessageLink[];
}

interface MessageLink {
  readonly title: string;
  readonly url: string;
}

export interface MessageParts {
  readonly hostWords: AllHostWords;
  /** The page of a change request on its host; undefined if that host is no longer configured. */
  readonly hostPageOf: (change: ChangeRequestRef) => string | undefined;
  /** Where the pages of svc are; undefined if nobody can log in. */
  readonly pagesUrl: string | undefined;
}

/** The first line of what failed: a message says neither what Argo CD said, nor why something broke. */
const WHY = "A comment there says why, and what to do next.";
/** The same of a rollout: its host may have refused the comment. */
const WHERE = "To see why, look at the comments there, or in Argo CD.";

const MOST_LINES = 20;
const LONGEST_LINE = 200;

export function messageOf(notification: Notification, parts: MessageParts): Message {
  const { headline, lines } = said(notification, parts);
  const shown = lines.slice(0, MOST_LINES).map(oneLine);
  const more = lines.length - shown.length;
  return {
    headline: oneLine(headline),
    lines: more === 0 ? shown : [...shown, `and ${more} more`],
    links: linksOf(notification, parts),
  };
}

type Said = Pick<Message, "headline" | "lines">;

function said(notification: Notification, { hostWords }: MessageParts): Said {
  switch (notification.kind) {
    case "run-ended":
      return runEnded(notification, hostWords[notification.change.host].command);
    case "locks-released":
      return {
        headline: `🔓 ${changeRequestName(notification.change)}: ${notification.by}, an administrator, released its ${notification.applications.length === 1 ? "lock" : "locks"}`,
        lines: notification.applications,
      };
    case "merged":
      return merged(notification);
    case "rolled-out":
      return rolledOut(notification);
    case "not-merged":
      return notMerged(notification, hostWords[notification.change.host].command);
    case "system":
      return systemChanged(notification);
    case "token-expires":
      return tokenExpires(notification);
  }
}

function runEnded({ command, change, head, by, applications, overridden, takenOver }: RunEnded, word: string): Said {
  const name = changeRequestName(change);
  const at = atCommit(command === "sync" ? head : undefined);
  const more = [
    ...takenOver.map(
      ({ application, from }) => `the lock of ${application} was taken over from ${changeRequestName(from)}`,
    ),
    ...overridden.map(
      ({ application, check, by: people }) =>
        `the check ${check} failed for ${application} and was overridden by ${people.join(", ")}`,
    ),
  ];
  if (applications.length === 0) {
    return { headline: `❌ ${name}: ${word} ${command} by ${by} could not be carried out`, lines: [WHY, ...more] };
  }
  const failed = applications.filter(({ outcome }) => outcome !== "succeeded");
  if (failed.length === 0) {
    const [symbol, did] = command === "sync" ? ["✅", "deployed"] : ["↩️", "rolled back"];
    const lines = applications.map(({ application }) => application);
    return { headline: `${symbol} ${name}: ${by} ${did} ${counted(applications)}${at}`, lines: [...lines, ...more] };
  }
  const lines = [...failed, ...applications.filter((one) => !failed.includes(one))].map(
    ({ application, outcome, rolledBack }) =>
      `${application}: ${OUTCOMES[outcome]}${rolledBack ? ", and rolled back" : ""}`,
  );
  const of = failed.length === applications.length ? "" : `${failed.length} of `;
  const headline = `❌ ${name}: ${word} ${command} by ${by} failed for ${of}${counted(applications)}${at}`;
  return { headline, lines: [WHY, ...lines, ...more] };
}

const OUTCOMES: Readonly<Record<RunEnded["applications"][number]["outcome"], string>> = {
  succeeded: "succeeded",
  failed: "failed",
  running: "still running after the time-out",
  unknown: "the outcome is not known",
  rejected: "not started",
};

type Of<Kind extends Notification["kind"]> = Extract<Notification, { readonly kind: Kind }>;

function merged({ change, head, applications }: Of<"merged">): Said {
  return { headline: `🔀 ${changeRequestName(change)} was merged${atCommit(head)}`, lines: applications };
}

function rolledOut({ change, head, unapproved, applications }: RolledOut): Said {
  const name = changeRequestName(change);
  const failed = applications.filter(({ end }) => end === "failed");
  const ended = applications.filter(({ end }) => end === "succeeded");
  const [symbol, some, did] =
    failed.length > 0
      ? ["❌", failed, "failed"]
      : ended.length > 0
        ? ["✅", ended, "rolled out"]
        : ["✋", applications, "must be synced in Argo CD"];
  const of = some.length === applications.length ? "" : `${some.length} of `;
  const headline = `${symbol} ${name}: after its merge, ${of}${counted(applications)} ${did}${atCommit(head)}`;
  const lines = [...failed, ...applications.filter((one) => !failed.includes(one))].map(
    ({ application, end }) => `${application}: ${ENDS[end]}`,
  );
  const why = failed.length > 0 ? [WHERE] : [];
  return {
    headline,
    lines: [...why, ...(unapproved ? ["It was merged without the approval that its rules require."] : []), ...lines],
  };
}

const ENDS: Readonly<Record<RolledOut["applications"][number]["end"], string>> = {
  succeeded: "rolled out",
  failed: "has not rolled out",
  waiting: "has no auto-sync: sync it in Argo CD",
};

function notMerged({ change, closed, head, by, since, applications }: Of<"not-merged">, word: string): Said {
  const state = closed ? "was closed without a merge, and is still deployed" : "is deployed and not merged";
  const cure = closed
    ? `To take it back, comment ${word} rollback on it.`
    : `Merge it, or comment ${word} rollback on it.`;
  return {
    headline: `⏰ ${changeRequestName(change)} ${state}: by ${by}, since ${minuteText(since)}${atCommit(head)}`,
    lines: [cure, ...applications],
  };
}

function systemChanged({ system, available, since }: Of<"system">): Said {
  if (available) {
    return {
      headline: `✅ ${SERVICE} can use ${system} again, which had been unavailable since ${minuteText(since)}`,
      lines: [],
    };
  }
  return {
    headline: `⚠️ ${SERVICE} has not been able to use ${system} since ${minuteText(since)}`,
    lines: ["Nothing can be deployed until it can. The status page and the log say more."],
  };
}

function tokenExpires({ system, expires, days, at }: Of<"token-expires">): Said {
  const left = days === 0 ? "within a day" : days === 1 ? "in 1 day" : `in ${days} days`;
  const when = Date.parse(expires) <= Date.parse(at) ? "expired" : `expires ${left},`;
  return {
    headline: `⏳ The token of ${SERVICE} for ${system} ${when} at ${minuteText(expires)}`,
    lines: [`Make a new one and give it to ${SERVICE}: without it nothing can be planned or deployed.`],
  };
}

function counted(applications: readonly unknown[]): string {
  return applications.length === 1 ? "1 application" : `${applications.length} applications`;
}

function atCommit(head: string | undefined): string {
  return head === undefined ? "" : ` at ${head.slice(0, 8)}`;
}

function linksOf(notification: Notification, { hostPageOf, pagesUrl }: MessageParts): readonly MessageLink[] {
  if (notification.kind === "system" || notification.kind === "token-expires") {
    return pagesUrl === undefined ? [] : [{ title: `status of ${SERVICE}`, url: `${pagesUrl}/status` }];
  }
  const { change } = notification;
  const page = pageOf(change, pagesUrl);
  const host = hostPageOf(change);
  return [
    ...(host === undefined ? [] : [{ title: changeRequestName(change), url: host }]),
    ...(page === undefined ? [] : [{ title: `page in ${SERVICE}`, url: page }]),
  ];
}

/** The address of a change request's page in svc; undefined if nobody can log in. */
export function pageOf(change: ChangeRequestRef, pagesUrl: string | undefined): string | undefined {
  return pagesUrl === undefined ? undefined : pagesUrl + changePagePath(change);
}

/** Shortens a text to one line without deceiving characters: names come from outside. */
function oneLine(text: string): string {
  return shortened(withoutDeceivers(text).replace(/[\n\t]+/g, " "), LONGEST_LINE);
}
