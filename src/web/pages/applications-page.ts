import type { Deployment } from "../../core/model/deployment.js";
import type { Lock } from "../../core/model/lock.js";
import type { AuditRecord } from "../../core/ports/audit.js";
import type { HostPageOf } from "../change-address.js";
import { deploymentState, type DeploymentState } from "./deployment-state.js";
import { type Page, type PageParts, readText } from "./page.js";
import { shownChange, type ShownChange, shownTime, type ShownTime, whoName } from "./shown.js";

/** Audit entries read to find the last deployment of each application. */
const MOST_ENTRIES = 500;

interface Row {
  readonly application: string;
  readonly state: DeploymentState | undefined;
  readonly change: ShownChange;
  /** Undefined for the target revision, which a rollback deploys. */
  readonly commit: string | undefined;
  readonly user: string;
  readonly at: ShownTime;
  readonly lockedBy: ShownChange | undefined;
}

/** The last deployment of each application, and what is not merged yet. */
export async function applicationsPage(query: unknown, parts: PageParts): Promise<Page> {
  const { audit, deployments, locks, hostPageOf, clock } = parts;
  const [records, held, synced, rolledBack] = await Promise.all([
    deployments.list(),
    locks.list(),
    audit.list({ limit: MOST_ENTRIES, filter: { action: "synced" } }),
    audit.list({ limit: MOST_ENTRIES, filter: { action: "rolled-back" } }),
  ]);
  const wanted = readText(query, "q").trim();
  const onlyOpen = readText(query, "state") === "open";
  const context = { hostPageOf, now: clock.now(), held };
  const open = records.map((record) => rowOfRecord(record, context));
  const known = new Set(open.map(({ application }) => application));
  const last = onlyOpen ? [] : lastOf([...synced, ...rolledBack], context);
  const settled = last.filter((row) => !known.has(row.application));
  const rows = [...open, ...settled]
    .filter(({ application }) => application.toLowerCase().includes(wanted.toLowerCase()))
    .sort((left, right) => (left.application < right.application ? -1 : 1));
  const total = open.length + settled.length;
  const data = { rows, wanted, onlyOpen, total };
  return { view: "applications", title: "Applications", active: "applications", data };
}

interface Context {
  readonly hostPageOf: HostPageOf;
  readonly now: Date;
  readonly held: readonly Lock[];
}

function rowOfRecord(record: Deployment, context: Context): Row {
  return {
    application: record.application,
    state: deploymentState(record),
    change: shownChange(record.change, context.hostPageOf),
    commit: record.revision,
    user: record.user,
    at: shownTime(record.timestamp, context.now),
    lockedBy: lockedBy(record.application, context),
  };
}

/** The newest successful deployment of each application in the audit trail. */
function lastOf(entries: readonly AuditRecord[], context: Context): readonly Row[] {
  const rows = new Map<string, Row>();
  for (const entry of [...entries].sort((left, right) => (left.at < right.at ? 1 : -1))) {
    if (entry.reason !== undefined) continue; // A dry run deploys nothing.
    for (const { application, outcome } of entry.applications) {
      if (outcome !== "succeeded" || rows.has(application)) continue;
      rows.set(application, {
        application,
        state: undefined,
        change: shownChange(entry.change, context.hostPageOf),
        commit: entry.action === "synced" ? entry.head : undefined,
        user: whoName(entry.who),
        at: shownTime(entry.at, context.now),
        lockedBy: lockedBy(application, context),
      });
    }
  }
  return [...rows.values()];
}

function lockedBy(application: string, { held, hostPageOf }: Context): ShownChange | undefined {
  const lock = held.find((one) => one.application === application);
  return lock && shownChange(lock.holder, hostPageOf);
}
