import type { Response } from "express";
import type { AllHostWords } from "../../core/model/host-words.js";
import type { AuditLog } from "../../core/ports/audit.js";
import type { Clock } from "../../core/ports/clock.js";
import type { EventQueue } from "../../core/ports/event-queue.js";
import type { DeploymentStore, LockStore, PlanStore, UserStore, WaitStore } from "../../core/ports/stores.js";
import type { LimitWaits } from "../../hosts/limit-waits.js";
import { SERVICE } from "../../names.js";
import type { HostPageOf } from "../addresses.js";
import type { DiffReaders } from "../diff-readers.js";
import type { HostSummaries } from "../host-summaries.js";
import type { LiveStreams } from "../live-streams.js";
import type { StatusProbe } from "../status-probe.js";
import type { Viewer } from "../viewer.js";

/** The pages in the navigation. */
type PageId = "locks" | "applications" | "activity" | "users" | "status";

/** What a page shows; `data` holds the template's own variables. */
export interface Page {
  readonly view: string;
  readonly title: string;
  /** The current entry of the navigation; undefined for a page that is not in it. */
  readonly active?: PageId;
  readonly status?: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Who may read pages: anyone but anonymous visitors. */
export type Reader = Exclude<Viewer, { readonly kind: "anonymous" }>;

/** Whether this reader may release locks and change roles. */
export function isAdmin(reader: Reader): boolean {
  return reader.kind === "account" && reader.account.role === "admin";
}

/** A page that says what went wrong and what to do. */
export function problemPage(status: number, title: string, sentences: readonly string[]): Page {
  return { view: "error", title, status, data: { sentences } };
}

/** Renders a page in the common frame. */
export function show(response: Response, viewer: Viewer, { view, title, active, status = 200, data }: Page): void {
  response.set("cache-control", "no-store");
  response.status(status).render(view, { ...data, title, service: SERVICE, frame: frameOf(viewer, active) });
}

function frameOf(viewer: Viewer, active: PageId | undefined) {
  const account = viewer.kind === "account" ? viewer.account : undefined;
  const admin = account?.role === "admin";
  const entries: readonly (readonly [PageId, string, string])[] = [
    ["locks", "Locks", "/"],
    ["applications", "Applications", "/applications"],
    ["activity", "Activity", "/activity"],
    ...(admin ? [["users", "Users", "/users"] as const] : []),
    ["status", "Status", "/status"],
  ];
  return {
    unguarded: viewer.kind === "unguarded",
    account: account && { username: account.username, role: account.role },
    entries: entries.map(([id, text, path]) => ({ text, path, current: id === active })),
  };
}

/** What the pages need of the service. */
export interface PageParts {
  readonly locks: LockStore;
  readonly waiting: WaitStore;
  readonly plans: PlanStore;
  readonly deployments: DeploymentStore;
  readonly audit: AuditLog;
  readonly users: Pick<UserStore, "list">;
  readonly streams: LiveStreams;
  readonly readers: DiffReaders;
  readonly summaries: HostSummaries;
  readonly status: StatusProbe;
  readonly backlog: EventQueue["backlog"];
  readonly limitWaits: LimitWaits["current"];
  readonly hostWords: AllHostWords;
  readonly hostPageOf: HostPageOf;
  readonly version: string;
  readonly clock: Clock;
}

const MOST = 300;

/** One text of a page's query; empty if it is missing, repeated or longer than 300 characters. */
export function readText(query: unknown, name: string): string {
  if (typeof query !== "object" || query === null) return "";
  const value: unknown = Object.getOwnPropertyDescriptor(query, name)?.value;
  return typeof value === "string" && value.length <= MOST ? value : "";
}
