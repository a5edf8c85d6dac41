import { globToRegExp } from "./render/paths.js";

export interface SyncWindow {
  readonly kind: "allow" | "deny";
  /** A cron expression of five fields, in UTC. */
  readonly schedule: string;
  /** `1h`, `30m`. */
  readonly duration: string;
  readonly manualSync?: boolean;
  /** Patterns of application names; one of the three lists must match. */
  readonly applications?: readonly string[];
  readonly namespaces?: readonly string[];
  readonly clusters?: readonly string[];
}

export interface ProjectOptions {
  readonly sourceRepos?: readonly string[];
  readonly destinations?: readonly { readonly server?: string; readonly name?: string; readonly namespace?: string }[];
  readonly syncWindows?: readonly SyncWindow[];
  /** Namespaces beside Argo CD's own whose Applications may be in it; all when absent. */
  readonly sourceNamespaces?: readonly string[];
}

export interface Project extends ProjectOptions {
  readonly name: string;
}

function some(patterns: readonly string[], value: string): boolean {
  return patterns.some((pattern) => pattern === "*" || globToRegExp(pattern).test(value));
}

export function permitsRepository(project: Project, url: string): boolean {
  const clean = (text: string): string =>
    text
      .trim()
      .toLowerCase()
      .replace(/\.git$/, "");
  return some((project.sourceRepos ?? ["*"]).map(clean), clean(url));
}

export function permitsDestination(project: Project, server: string, namespace: string): boolean {
  const allowed = project.destinations ?? [{ server: "*", namespace: "*" }];
  return allowed.some((entry) => some([entry.server ?? "*"], server) && some([entry.namespace ?? "*"], namespace));
}

export function admitsNamespace(project: Project, namespace: string, controlNamespace: string): boolean {
  return namespace === controlNamespace || some(project.sourceNamespaces ?? ["*"], namespace);
}

export interface Windows {
  readonly assigned: readonly SyncWindow[];
  readonly active: readonly SyncWindow[];
  /** For a sync that a person or a program asks for. */
  readonly canSync: boolean;
}

/** The windows that concern an application now. https://argo-cd.readthedocs.io/en/release-3.1/user-guide/sync_windows/ */
export function windowsFor(
  project: Project,
  application: { readonly name: string; readonly namespace: string; readonly cluster: string },
  now: Date,
): Windows {
  const assigned = (project.syncWindows ?? []).filter(
    (window) =>
      some(window.applications ?? [], application.name) ||
      some(window.namespaces ?? [], application.namespace) ||
      some(window.clusters ?? [], application.cluster),
  );
  const active = assigned.filter((window) => isOpen(window, now));
  const denied = active.filter(({ kind }) => kind === "deny");
  const allows = assigned.filter(({ kind }) => kind === "allow");
  const inAllow = active.some(({ kind }) => kind === "allow");
  const outside = allows.length > 0 && !inAllow;
  const canSync =
    denied.every(({ manualSync }) => manualSync === true) &&
    (!outside || allows.some(({ manualSync }) => manualSync === true));
  return { assigned, active, canSync };
}

/** Whether one of the window's starts lies less than its duration ago. */
function isOpen(window: SyncWindow, now: Date): boolean {
  const minutes = minutesOf(window.duration);
  const minute = Math.floor(now.getTime() / 60_000);
  for (let back = 0; back < minutes; back += 1) {
    if (cronMatches(window.schedule, new Date((minute - back) * 60_000))) return true;
  }
  return false;
}

function minutesOf(duration: string): number {
  const [, hours = "0", minutes = "0"] = /^(?:(\d+)h)?(?:(\d+)m)?$/.exec(duration) ?? [];
  return Number(hours) * 60 + Number(minutes);
}

function cronMatches(schedule: string, at: Date): boolean {
  const [minute = "*", hour = "*", day = "*", month = "*", weekday = "*"] = schedule.split(/\s+/);
  const fields: [string, number][] = [
    [minute, at.getUTCMinutes()],
    [hour, at.getUTCHours()],
    [day, at.getUTCDate()],
    [month, at.getUTCMonth() + 1],
    [weekday, at.getUTCDay()],
  ];
  return fields.every(([field, value]) => field.split(",").some((part) => cronPartMatches(part, value)));
}

function cronPartMatches(part: string, value: number): boolean {
  const [range = "*", step] = part.split("/");
  const [from, to] = range === "*" ? [0, Number.POSITIVE_INFINITY] : bounds(range, step !== undefined);
  return value >= from && value <= to && (value - from) % Number(step ?? 1) === 0;
}

function bounds(range: string, open: boolean): [number, number] {
  const [from = 0, to] = range.split("-").map(Number);
  return [from, to ?? (open ? Number.POSITIVE_INFINITY : from)];
}
