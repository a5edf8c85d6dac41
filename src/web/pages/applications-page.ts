import { applicationAddress } from "../../comments/markdown.js";
import type { Standing } from "../../core/model/application.js";
import type { ApplicationName, Revision } from "../../core/model/brand.js";
import type { ChangeRequestRef } from "../../core/model/change-request.js";
import type { Deployment } from "../../core/model/deployment.js";
import { safeMessage } from "../../core/model/errors.js";
import type { AuditRecord } from "../../core/ports/audit.js";
import { TooSlow, within } from "../time-limit.js";
import { nameChanges } from "./change-notes.js";
import { deploymentState, type Page, type PageParts, type Reader, readText, shownTime, whoName } from "./page.js";

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

interface LastDeployment {
  readonly application: ApplicationName;
  /** Undefined once it is merged or rolled back. */
  readonly state: ReturnType<typeof deploymentState> | undefined;
  readonly change: ChangeRequestRef;
  /** Undefined for a target revision. */
  readonly commit: Revision | undefined;
  readonly user: string;
  readonly at: string;
}

/** Which rows a page shows besides all of them. The last two are for those who see Argo CD's states. */
const FILTERS: Readonly<Record<string, { readonly text: string; readonly fits: (row: Row) => boolean }>> = {
  open: { text: "deployed, not merged", fits: ({ last }) => last?.state !== undefined },
  locked: { text: "locked", fits: ({ lockedBy }) => lockedBy !== undefined },
  unhealthy: { text: "not healthy", fits: ({ standing }) => standing !== undefined && standing.health !== "Healthy" },
  "out-of-sync": { text: "not in sync", fits: ({ standing }) => standing !== undefined && standing.sync !== "Synced" },
};
const OF_STORES: readonly string[] = ["open", "locked"];

/**
 * The applications that Argo CD shows svc, for people who are logged in, and those that svc deployed for everybody: their state,
 * last deployment and lock.
 */
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
    timeline: timelineAddress(application),
    standing: standing && shownStanding(standing),
    last: last && { ...last, change: nameOf(last.change), at: shownTime(last.at, now) },
    lockedBy: lockedBy && nameOf(lockedBy),
  }));
}

function timelineAddress(application: ApplicationName): string {
  return `/timeline?${new URLSearchParams({ application }).toString()}`;
}

/** How long a page waits for Argo CD; a later answer serves the next page. */
const TIMEOUT_MS = 5_000;

/** The applications as Argo CD lists them. It is asked only for people who are logged in. */
type DeployerRows =
  | { readonly kind: "known"; readonly rows: ReadonlyMap<ApplicationName, Listed> }
  | { readonly kind: "unavailable"; readonly why: string }
  | { readonly kind: "not-asked" };

/** From the list that plans share: however many pages are opened, Argo CD is asked once in ten seconds. */
export async function deployerRows(reader: Reader, { deployer }: Pick<PageParts, "deployer">): Promise<DeployerRows> {
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
export function shownStanding({ health, sync }: Listed) {
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

/** A deployment that is not merged, as a row. */
export function rowOfRecord(record: Deployment): LastDeployment {
  const { application, change, revision: commit, user, timestamp: at } = record;
  return { application, state: deploymentState(record), change, commit, user, at };
}

/** The newest successful deployment of each application in the audit trail. */
function lastDeployments(entries: readonly AuditRecord[]): readonly LastDeployment[] {
  const known = new Set<string>();
  return entries.flatMap(({ applications, reason, action, change, head, who, at }) => {
    // A dry run deploys nothing.
    const deployed = reason === undefined ? applications.filter(({ outcome }) => outcome === "succeeded") : [];
    const first = deployed.filter(({ application }) => !known.has(application));
    for (const { application } of first) known.add(application);
    // A rollback deploys the target revision.
    const commit = action === "synced" ? head : undefined;
    return first.map(({ application }) => ({ application, state: undefined, change, commit, user: whoName(who), at }));
  });
}
