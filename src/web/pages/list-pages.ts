import { applicationAddress } from "../../comments/parts.js";
import { lengthText } from "../../comments/present.js";
import type { Standing } from "../../core/model/application.js";
import { type ApplicationName, applicationName, type Revision } from "../../core/model/brand.js";
import type { ChangeRequestRef } from "../../core/model/change-request.js";
import type { Deployment } from "../../core/model/deployment.js";
import { safeMessage } from "../../core/model/errors.js";
import { AUDIT_ACTIONS, type AuditRecord } from "../../core/ports/audit.js";
import { activityQuery, auditQueryOf } from "../addresses.js";
import { TooSlow, within } from "../time-limit.js";
import { activityWords, outcomeWords, severalWords } from "./activity-words.js";
import {
  deploymentState,
  nameChanges,
  type Page,
  type PageParts,
  problemPage,
  type Reader,
  readText,
  shownTime,
  whoName,
} from "./page.js";

/** Audit entries read to find the last deployment of each application. */
const MOST_ENTRIES = 1_000;
const PAGE_LENGTH = 50;

type Listed = Pick<Standing, "sync" | "health">;

interface Row {
  readonly application: ApplicationName;
  /** Undefined where Argo CD was not asked, or does not list it. */
  readonly standing: Listed | undefined;
  /** The last deployment by svc; undefined if none is known. */
  readonly last: LastDeployment | undefined;
  readonly lockedBy: ChangeRequestRef | undefined;
}

interface LastDeployment extends Pick<Deployment, "application" | "change" | "user"> {
  /** Undefined once it is merged or rolled back. */
  readonly state: ReturnType<typeof deploymentState> | undefined;
  /** Undefined for a target revision. */
  readonly commit: Revision | undefined;
  readonly at: string;
}

/** The filters of the page. The last two are only for people who see Argo CD's states. */
const FILTERS: Readonly<Record<string, { readonly text: string; readonly fits: (row: Row) => boolean }>> = {
  open: { text: "deployed, not merged", fits: ({ last }) => last?.state !== undefined },
  locked: { text: "locked", fits: ({ lockedBy }) => lockedBy !== undefined },
  unhealthy: { text: "not healthy", fits: ({ standing }) => standing !== undefined && standing.health !== "Healthy" },
  "out-of-sync": { text: "not in sync", fits: ({ standing }) => standing !== undefined && standing.sync !== "Synced" },
};
const OF_STORES: readonly string[] = ["open", "locked"];

/** The applications that Argo CD shows, for people who are logged in, and those that svc deployed: state, last deployment and lock. */
export async function applicationsPage(query: unknown, reader: Reader, parts: PageParts): Promise<Page> {
  const [listed, records, locks, entries] = await Promise.all([
    deployerRows(reader, parts),
    parts.deployments.list(),
    parts.locks.list(),
    parts.audit.list({ limit: MOST_ENTRIES, filter: { action: ["synced", "rolled-back"] } }),
  ]);
  const every = rowsOf({ listed: listed.kind === "known" ? listed.rows : new Map(), records, locks, entries });
  const wanted = readText(query, "q").trim();
  const state = readText(query, "state");
  const filter = Object.hasOwn(FILTERS, state) ? FILTERS[state] : undefined;
  const found = every
    .filter((row) => row.application.toLowerCase().includes(wanted.toLowerCase()) && (filter?.fits(row) ?? true))
    .sort((left, right) => (left.application < right.application ? -1 : 1));
  const pages = Math.max(1, Math.ceil(found.length / PAGE_LENGTH));
  const page = Math.min(Math.max(1, Number(/^\d{1,6}$/.exec(readText(query, "page"))?.[0] ?? "1")), pages);
  const shown = found.slice((page - 1) * PAGE_LENGTH, page * PAGE_LENGTH);
  const to = (number: number) =>
    `/applications?${new URLSearchParams({ q: wanted, state, page: `${number}` }).toString()}`;
  const data = {
    rows: await shownRows(shown, reader, parts),
    wanted,
    state: filter === undefined ? "" : state,
    filters: Object.entries(FILTERS)
      .filter(([id]) => reader.kind === "account" || OF_STORES.includes(id))
      .map(([id, { text }]) => ({ id, text })),
    total: every.length,
    found: found.length,
    withStanding: reader.kind === "account",
    unavailable: listed.kind === "unavailable" ? listed.why : undefined,
    pager: { page, pages, previous: page > 1 && to(page - 1), next: page < pages && to(page + 1) },
  };
  return { view: "applications", title: "Applications", active: "applications", data };
}

async function shownRows(rows: readonly Row[], reader: Reader, parts: PageParts) {
  const changes = rows.flatMap(({ last, lockedBy }) => [last?.change, lockedBy].filter((one) => one !== undefined));
  const nameOf = await nameChanges(changes, reader, parts);
  const now = parts.clock.now();
  return rows.map(({ application, standing, last, lockedBy }) => ({
    application,
    argocd: applicationAddress(application, { deployer: parts.deployerUrl }),
    timeline: `/timeline?${new URLSearchParams({ application }).toString()}`,
    standing: standing && shownStanding(standing),
    last: last && { ...last, change: nameOf(last.change), at: shownTime(last.at, now) },
    lockedBy: lockedBy && nameOf(lockedBy),
  }));
}

/** How long a page waits for Argo CD; a later answer serves the next page. */
const TIMEOUT_MS = 5_000;

/** The applications as Argo CD lists them. It is asked only for people who are logged in. */
type DeployerRows =
  | { readonly kind: "known"; readonly rows: ReadonlyMap<ApplicationName, Listed> }
  | { readonly kind: "unavailable"; readonly why: string }
  | { readonly kind: "not-asked" };

/** From the list that plans share: however many pages are opened, Argo CD is asked once in ten seconds. */
async function deployerRows(reader: Reader, { deployer }: Pick<PageParts, "deployer">): Promise<DeployerRows> {
  if (reader.kind !== "account") return { kind: "not-asked" };
  try {
    const list = await within(TIMEOUT_MS, deployer.listApplications());
    return {
      kind: "known",
      rows: new Map(list.map(({ name, listed }) => [name, listed ?? { sync: "", health: "" }])),
    };
  } catch (error) {
    return { kind: "unavailable", why: error instanceof TooSlow ? "it has not answered yet" : safeMessage(error) };
  }
}

const TONES: Readonly<Record<string, string>> = {
  Healthy: "good",
  Synced: "good",
  Progressing: "attention",
  Suspended: "attention",
  OutOfSync: "attention",
  Degraded: "bad",
  Missing: "bad",
};

/** Argo CD's own words, and the tones to show them in. */
function shownStanding({ health, sync }: Listed) {
  const shown = (word: string) => ({ text: word, tone: (Object.hasOwn(TONES, word) ? TONES[word] : undefined) ?? "" });
  return { health: shown(health === "" ? "Unknown" : health), sync: shown(sync === "" ? "Unknown" : sync) };
}

interface Sources {
  readonly listed: ReadonlyMap<ApplicationName, Listed>;
  readonly records: readonly Deployment[];
  readonly locks: Awaited<ReturnType<PageParts["locks"]["list"]>>;
  readonly entries: readonly AuditRecord[];
}

/** One row per application, and one for each change request that has deployed it without being merged. */
function rowsOf({ listed, records, locks, entries }: Sources): readonly Row[] {
  const holders = new Map(locks.map(({ application, holder }) => [application, holder]));
  const open = records.map(rowOfRecord);
  const deployed = new Set(open.map(({ application }) => application));
  const last = [...open, ...lastDeployments(entries).filter(({ application }) => !deployed.has(application))];
  const known = new Set(last.map(({ application }) => application));
  const rest = new Set([...listed.keys(), ...holders.keys()]);
  return [
    ...last.map((one) => ({ application: one.application, last: one })),
    ...[...rest].filter((name) => !known.has(name)).map((application) => ({ application, last: undefined })),
  ].map((row) => ({ ...row, standing: listed.get(row.application), lockedBy: holders.get(row.application) }));
}

function rowOfRecord(record: Deployment): LastDeployment {
  const { application, change, revision: commit, user, timestamp: at } = record;
  return { application, state: deploymentState(record), change, commit, user, at };
}

/** The newest successful deployment of each application in the audit trail. */
function lastDeployments(entries: readonly AuditRecord[]): readonly LastDeployment[] {
  const known = new Set<string>();
  return entries.flatMap(({ applications, reason, action, change, head, who, at }) => {
    // A dry run deploys nothing.
    if (change === undefined || reason !== undefined) return [];
    const deployed = applications.filter(({ outcome }) => outcome === "succeeded");
    const first = deployed.filter(({ application }) => !known.has(application));
    for (const { application } of first) known.add(application);
    // A rollback deploys the target revision.
    const commit = action === "synced" ? head : undefined;
    return first.map(({ application }) => ({ application, state: undefined, change, commit, user: whoName(who), at }));
  });
}

const ENTRIES_PER_PAGE = 50;

/** The audit trail, newest first, with filters and paging. */
export async function activityPage(query: unknown, reader: Reader, parts: PageParts): Promise<Page> {
  const given = filled(query);
  const parsed = activityQuery.safeParse(given);
  if (!parsed.success) return badFilter(parsed.error.issues, "Activity");
  const asked = auditQueryOf(parsed.data, ENTRIES_PER_PAGE);
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

async function shownEntries(entries: readonly AuditRecord[], reader: Reader, parts: PageParts) {
  const nameOf = await nameChanges(
    entries.flatMap(({ change }) => change ?? []),
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
    change: entry.change && nameOf(entry.change),
    commit: entry.head,
    took: entry.seconds === undefined ? undefined : lengthText(entry.seconds),
    applications: applications.slice(0, MOST_LISTED),
    more: Math.max(0, applications.length - MOST_LISTED),
    short: shortOf(applications),
  };
}

/** Applications of one entry; the API has the others. */
const MOST_LISTED = 100;

/** Applications with the same outcome together, as one line: `api, web succeeded; docs failed`. */
function shortOf(applications: readonly { readonly application: ApplicationName; readonly outcome: string }[]): string {
  const outcomes = [...new Set(applications.map(({ outcome }) => outcome))];
  const parts = outcomes.map((outcome) => {
    const names = applications.filter((one) => one.outcome === outcome).map(({ application }) => application);
    const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : "";
    const told = names.length > 1 ? severalWords(outcome) : outcome;
    return `${names.slice(0, MOST_NAMED).join(", ")}${more} ${told}`;
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
  const asked = auditQueryOf(parsed.data, ENTRIES_PER_PAGE);
  const [entries, records, lock, queue, listed] = await Promise.all([
    parts.audit.list({ ...asked, filter: { application, action: DEPLOYING } }),
    parts.deployments.ofApplication(application),
    parts.locks.find(application),
    parts.waiting.of(application),
    deployerRows(reader, parts),
  ]);
  const standing = listed.kind === "known" ? listed.rows.get(application) : undefined;
  const isKnown = standing !== undefined || lock !== undefined || entries.length + records.length + queue.length > 0;
  // A page of older entries may be empty although svc knows the application.
  if (!isKnown && before === undefined) {
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
