import type { Response } from "express";
import {
  type ChangeNote,
  changePagePath,
  changeRequestName,
  type ChangeRequestRef,
} from "../../core/model/change-request.js";
import type { Deployment } from "../../core/model/deployment.js";
import type { AllHostWords } from "../../core/model/host-words.js";
import { minuteText } from "../../core/model/time.js";
import type { AuditEntry } from "../../core/ports/audit.js";
import type { Clock } from "../../core/ports/clock.js";
import type { Deployer } from "../../core/ports/deployer.js";
import type { EventQueue } from "../../core/ports/event-queue.js";
import type { LimitWaits } from "../../hosts/limit-waits.js";
import { HOST_TITLES, SERVICE } from "../../names.js";
import type { Stores } from "../../store/stores.js";
import type { HostPageOf } from "../addresses.js";
import type { DiffReaders } from "../diff-readers.js";
import type { HostSummaries } from "../host-summaries.js";
import type { LiveStreams } from "../live-streams.js";
import type { StatusProbe } from "../status-probe.js";
import type { Viewer } from "../viewer.js";

/** What a page shows; `data` holds the template's own variables. */
export interface Page {
  readonly view: string;
  readonly title: string;
  /** The current entry of the navigation; undefined for a page that is not in it. */
  readonly active?: "locks" | "applications" | "activity" | "users" | "status";
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
export function problemPage(status: number, title: string, sentences: readonly string[]) {
  return { view: "error", title, status, data: { sentences } } satisfies Page;
}

/** Answers with a page. */
export function show(response: Response, viewer: Viewer, { view, title, active, status = 200, data }: Page): void {
  response.set("cache-control", "no-store");
  response.status(status).render(view, { ...data, title, service: SERVICE, frame: frameOf(viewer, active) });
}

function frameOf(viewer: Viewer, active: Page["active"]) {
  const account = viewer.kind === "account" ? viewer.account : undefined;
  const admin = account?.role === "admin";
  const entries: readonly (readonly [Page["active"], string, string])[] = [
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
export interface PageParts extends Pick<
  Stores,
  "locks" | "waiting" | "holds" | "plans" | "deployments" | "marks" | "audit" | "users"
> {
  readonly streams: LiveStreams;
  readonly readers: DiffReaders;
  readonly summaries: HostSummaries;
  readonly deployer: Pick<Deployer, "listApplications">;
  readonly status: StatusProbe;
  readonly backlog: EventQueue["backlog"];
  readonly limitWaits: LimitWaits["current"];
  readonly hostWords: AllHostWords;
  readonly hostPageOf: HostPageOf;
  /** Where people open Argo CD. */
  readonly deployerUrl: string;
  readonly version: string;
  readonly clock: Clock;
}

/** A change request as pages name and link it. `url`: its page on the host; undefined if that is no longer configured. */
export function shownChange(change: ChangeRequestRef, hostPageOf: HostPageOf) {
  return {
    name: changeRequestName(change),
    page: changePagePath(change),
    url: hostPageOf(change),
    host: HOST_TITLES[change.host],
  };
}

/** A point in time as a page shows it: to the minute, and how long ago. @param iso ISO 8601, for programs. */
export function shownTime(iso: string, now: Date) {
  return { iso, text: minuteText(iso), age: ageOf(now.getTime() - Date.parse(iso)) };
}

/** How long ago something was, for people: `just now`, `5 min ago`, `3 h ago`, `2 days ago`. */
function ageOf(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ago` : `${Math.floor(hours / 24)} days ago`;
}

/** Name of a person, a program or the service in the audit trail. */
export function whoName(who: AuditEntry["who"]): string {
  if (typeof who === "string") return SERVICE;
  return who.host === "api-token" ? `${who.login} (API token)` : who.login;
}

/** A deployment record in a few words, and the tone to show it in. */
export function deploymentState({ outcome }: Pick<Deployment, "outcome">) {
  switch (outcome) {
    case "succeeded":
      return { tone: "attention", text: "deployed, not merged" };
    case "failed":
      return { tone: "bad", text: "sync failed, not merged" };
    case "started":
      return { tone: "attention", text: "sync started" };
    case "unknown":
      return { tone: "bad", text: "outcome unknown: look in Argo CD" };
  }
}

/** One text of a page's query; empty if it is missing, repeated or longer than 300 characters. */
export function readText(query: unknown, name: string): string {
  if (typeof query !== "object" || query === null) return "";
  const value: unknown = Object.getOwnPropertyDescriptor(query, name)?.value;
  return typeof value === "string" && value.length <= 300 ? value : "";
}

/** Repositories that one page asks their host about, at most: each that is not known yet costs a call. */
const MOST_ASKED = 20;

/** How a page names change requests: with title and state for whoever may read the repository, and by their names alone for others. */
export async function nameChanges(
  changes: readonly ChangeRequestRef[],
  reader: Reader,
  { marks, readers, hostPageOf }: Pick<PageParts, "marks" | "readers" | "hostPageOf">,
) {
  const repositories = new Map(changes.map((one) => [repositoryOf(one), one] as const));
  const rights = await Promise.all(
    [...repositories].slice(0, MOST_ASKED).map(async ([name, one]) => {
      return (await readers.ask(reader, one)).kind === "shown" ? [name] : [];
    }),
  );
  const readable = new Set(rights.flat());
  const named = changes.filter((one) => readable.has(repositoryOf(one)));
  const notes = await marks.described(named);
  const known = new Map(named.map((one, index) => [keyOf(one), notes[index]] as const));
  return (change: ChangeRequestRef) => {
    const note = known.get(keyOf(change));
    return { ...shownChange(change, hostPageOf), title: note?.title, state: note && changeState(note) };
  };
}

/** The id tells a repository from an earlier one of the same name. */
function repositoryOf({ host, repository, repositoryId }: ChangeRequestRef): string {
  return JSON.stringify([host, repository, repositoryId]);
}

function keyOf(change: ChangeRequestRef): string {
  return `${repositoryOf(change)} ${change.number}`;
}

/** The state of a change request in a word, and the tone to show it in. */
export function changeState({ state, draft }: Pick<ChangeNote, "state" | "draft">) {
  switch (state) {
    case "open":
      return draft ? { tone: "attention", text: "draft" } : { tone: "good", text: "open" };
    case "merged":
      return { tone: "", text: "merged" };
    case "closed":
      return { tone: "bad", text: "closed" };
  }
}
