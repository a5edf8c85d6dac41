import { applicationAddress } from "../../comments/markdown.js";
import { lengthText } from "../../comments/present.js";
import { type ApplicationName, applicationName } from "../../core/model/brand.js";
import type { ChangeRequestRef } from "../../core/model/change-request.js";
import { AUDIT_ACTIONS, type AuditRecord } from "../../core/ports/audit.js";
import { activityQuery, auditQueryOf } from "../addresses.js";
import { activityWords, outcomeWords } from "./activity-words.js";
import { deployerRows, rowOfRecord, shownStanding } from "./applications-page.js";
import { nameChanges } from "./change-notes.js";
import { type Page, type PageParts, problemPage, type Reader, readText, shownTime, whoName } from "./page.js";

const PAGE_LENGTH = 50;

/** The audit trail, newest first, with filters and paging. */
export async function activityPage(query: unknown, reader: Reader, parts: PageParts): Promise<Page> {
  const given = filled(query);
  const parsed = activityQuery.safeParse(given);
  if (!parsed.success) return badFilter(parsed.error.issues, "Activity");
  const asked = auditQueryOf(parsed.data, PAGE_LENGTH);
  const entries = await parts.audit.list(asked);
  return {
    view: "activity",
    title: "Activity",
    active: "activity",
    data: {
      ...(await shownEntries(entries, reader, parts)),
      actions: AUDIT_ACTIONS,
      filter: { application: "", login: "", action: "", change: "", ...given },
      filtered: Object.keys(given).some((name) => name !== "before" && name !== "limit"),
      ...pagerOf("/activity", given, entries.length === asked.limit ? entries.at(-1)?.id : undefined),
    },
  };
}

function badFilter(
  [issue]: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[],
  page: string,
) {
  const what = issue === undefined ? "" : `${issue.path.join(".")}: ${issue.message}`;
  return problemPage(400, "This filter does not work", [what, `Go back to ${page} and change it.`]);
}

/** Links to the older entries, and back to the newest. @param last the id of the last one shown; undefined if none may follow. */
function pagerOf(path: string, { before, ...rest }: Readonly<Record<string, string>>, last: string | undefined) {
  const to = (query: Readonly<Record<string, string>>) => `${path}?${new URLSearchParams(query).toString()}`;
  return { older: last && to({ ...rest, before: last }), newest: before && to(rest) };
}

/** The query without the empty fields that forms send. */
function filled(query: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries(typeof query === "object" && query !== null ? query : {});
  return Object.fromEntries(
    entries.filter((entry): entry is [string, string] => typeof entry[1] === "string" && entry[1].trim() !== ""),
  );
}

/** The rows of a table of entries. */
async function shownEntries(entries: readonly AuditRecord[], reader: Reader, parts: PageParts) {
  const nameOf = await nameChanges(
    entries.map(({ change }) => change),
    reader,
    parts,
  );
  const now = parts.clock.now();
  return { rows: entries.map((entry) => rowOf(entry, now, nameOf)) };
}

function rowOf(
  entry: AuditRecord,
  now: Date,
  nameOf: (change: ChangeRequestRef) => ReturnType<Awaited<ReturnType<typeof nameChanges>>>,
) {
  const applications = entry.applications.map((one) => {
    return { application: one.application, outcome: outcomeWords(one, entry), detail: one.detail };
  });
  return {
    at: shownTime(entry.at, now),
    who: whoName(entry.who),
    ...activityWords(entry),
    change: nameOf(entry.change),
    commit: entry.head,
    took: entry.seconds === undefined ? undefined : lengthText(entry.seconds),
    applications,
    short: shortOf(applications),
  };
}

/** Applications with the same outcome together, as one line: `api, web succeeded; docs failed`. */
function shortOf(applications: readonly { readonly application: ApplicationName; readonly outcome: string }[]): string {
  const outcomes = [...new Set(applications.map(({ outcome }) => outcome))];
  const parts = outcomes.map((outcome) => {
    const names = applications.filter((one) => one.outcome === outcome).map(({ application }) => application);
    const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : "";
    return `${names.slice(0, MOST_NAMED).join(", ")}${more} ${outcome}`;
  });
  return parts.join("; ");
}

const MOST_NAMED = 3;

/** Actions that deploy an application, or that report how the rollout after a merge ended. */
const DEPLOYING = ["synced", "rolled-back", "rolled-out"] as const;
/** Outcomes of applications of which nothing was deployed. */
const UNTOUCHED: ReadonlySet<string> = new Set(["skipped", "new", "deleted"]);

/** Who deployed one application and from which change request, newest first, and the state that it is in now. */
export async function timelinePage(query: unknown, reader: Reader, parts: PageParts): Promise<Page> {
  const name = readText(query, "application").trim();
  const { before, limit } = filled(query);
  const parsed = activityQuery.safeParse({
    application: name,
    ...(before === undefined ? {} : { before }),
    ...(limit === undefined ? {} : { limit }),
  });
  if (!parsed.success) return badFilter(parsed.error.issues, "Applications");
  if (name === "") return problemPage(400, "Which application?", ["Choose one on the page Applications."]);
  const application = applicationName(name);
  const asked = auditQueryOf(parsed.data, PAGE_LENGTH);
  const [entries, records, lock, queue, listed] = await Promise.all([
    parts.audit.list({ ...asked, filter: { application, action: DEPLOYING } }),
    parts.deployments.ofApplication(application),
    parts.locks.find(application),
    parts.waiting.of(application),
    deployerRows(reader, parts),
  ]);
  const standing = listed.kind === "known" ? listed.rows.get(application) : undefined;
  if (standing === undefined && entries.length + records.length + queue.length === 0 && lock === undefined) {
    return problemPage(404, "No such application", [
      `svc knows no application called ${name.slice(0, 300)}. Choose one on the page Applications.`,
    ]);
  }
  const deployed = entries
    .filter(({ action, reason }) => action === "rolled-out" || reason === undefined)
    .map((entry) => ({ ...entry, applications: entry.applications.filter((one) => one.application === application) }))
    .filter(({ applications }) => applications.some(({ outcome }) => !UNTOUCHED.has(outcome)));
  const changes = [...records.map(({ change }) => change), ...queue, ...(lock === undefined ? [] : [lock.holder])];
  const nameOf = await nameChanges(changes, reader, parts);
  const now = parts.clock.now();
  const data = {
    application,
    argocd: applicationAddress(application, { deployer: parts.deployerUrl }),
    standing: standing && shownStanding(standing),
    unavailable: listed.kind === "unavailable" ? listed.why : undefined,
    open: records.map((record) => {
      const { change, commit, user, at, state } = rowOfRecord(record);
      return { state, commit, user, change: nameOf(change), at: shownTime(at, now) };
    }),
    lock: lock && { change: nameOf(lock.holder), user: lock.user, since: shownTime(lock.timestamp, now) },
    waiting: queue.map(nameOf),
    ...(await shownEntries(deployed, reader, parts)),
    ...pagerOf(
      "/timeline",
      { ...filled(query), application },
      entries.length === asked.limit ? entries.at(-1)?.id : undefined,
    ),
  };
  return { view: "timeline", title: name, active: "applications", data };
}
