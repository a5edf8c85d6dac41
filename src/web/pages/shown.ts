import { changePagePath, changeRequestName, type ChangeRequestRef } from "../../core/model/change-request.js";
import type { Deployment } from "../../core/model/deployment.js";
import type { AuditEntry } from "../../core/ports/audit.js";
import { HOST_TITLES, SERVICE } from "../../names.js";
import type { HostPageOf } from "../addresses.js";

/** A change request as pages name and link it. */
export interface ShownChange {
  /** `acme/deploy#7`. */
  readonly name: string;
  /** Path of its page on this service. */
  readonly page: string;
  /** Its page on the host; undefined if the host is no longer configured. */
  readonly url: string | undefined;
  /** What people call its host. */
  readonly host: string;
}

export function shownChange(change: ChangeRequestRef, hostPageOf: HostPageOf): ShownChange {
  return {
    name: changeRequestName(change),
    page: changePagePath(change),
    url: hostPageOf(change),
    host: HOST_TITLES[change.host],
  };
}

/** A point in time as a page shows it. */
export interface ShownTime {
  /** ISO 8601, for programs. */
  readonly iso: string;
  /** To the minute, for people. */
  readonly text: string;
  /** `5 min`, `3 h`, `2 days`. */
  readonly age: string;
}

export function shownTime(iso: string, now: Date): ShownTime {
  return { iso, text: `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`, age: ageOf(now.getTime() - Date.parse(iso)) };
}

function ageOf(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / 60_000));
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`;
}

/** Name of a person, a program or the service in the audit trail. */
export function whoName(who: AuditEntry["who"]): string {
  if (typeof who === "string") return SERVICE;
  return who.host === "api-token" ? `${who.login} (API token)` : who.login;
}

/** A deployment record in a few words, and the tone to show it in. */
export interface DeploymentState {
  readonly tone: "good" | "attention" | "bad";
  readonly text: string;
}

export function deploymentState({ outcome }: Pick<Deployment, "outcome">): DeploymentState {
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
