import type { SERVICE } from "../../names.js";
import type { LoginProvider } from "../model/account.js";
import type { ApplicationName, Revision } from "../model/brand.js";
import { sameChangeRequest, type ChangeRequestRef } from "../model/change-request.js";
import type { CommandName } from "../model/command.js";
import type { Log } from "./log.js";

/** The trail keeps about this many entries; the oldest go. */
export const AUDIT_CAPACITY = 10_000;

export const AUDIT_ACTIONS = [
  "planned",
  "synced",
  "rolled-back",
  "unlocked",
  "force-unlocked",
  "merged",
  "closed",
  "refused",
  "failed",
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** Who asked, what was done to which applications on which commit, and why it was not. Never a comment's text, never a secret. */
export interface AuditEntry {
  /** When it was done. ISO 8601. */
  readonly at: string;
  /** One id per run, the same as in log lines and in Argo CD's operation. */
  readonly run: string;
  /** The host's delivery that began the run; empty where a person began it on a page or through the API. */
  readonly delivery: string;
  /** A person, or the service itself: an automatic plan, a lost webhook. */
  readonly who: AuditPerson | typeof SERVICE;
  readonly change: ChangeRequestRef;
  /** Undefined where the run ended before it was known. */
  readonly head: Revision | undefined;
  readonly action: AuditAction;
  /** Undefined where no command was given. */
  readonly command: CommandName | undefined;
  readonly applications: readonly AuditedApplication[];
  /** Why it was refused or failed, or how it was done (`dry run`). */
  readonly reason: string | undefined;
}

export interface AuditPerson {
  /** Where the person is known: the code host of a comment, or where an admin logged in. */
  readonly host: LoginProvider;
  /** The id there: logins can be renamed. */
  readonly id: string;
  readonly login: string;
}

export interface AuditedApplication {
  readonly application: ApplicationName;
  /** One word or two: `succeeded`, `changed`, `released`, `refused`. */
  readonly outcome: string;
  readonly detail: string | undefined;
}

/** An entry as it is kept. */
export interface AuditRecord extends AuditEntry {
  /** Says where it stands in the trail. */
  readonly id: string;
}

/** Entries to look for; what is left out does not matter. */
export interface AuditFilter {
  readonly change?: ChangeRequestRef;
  readonly application?: string;
  /** The person's login, in any case of letters. */
  readonly login?: string;
  readonly action?: AuditAction;
}

export interface AuditQuery {
  readonly limit: number;
  /** The `id` of a record: only older ones. */
  readonly before?: string;
  readonly filter?: AuditFilter;
}

/** The newest entries of the trail. Methods throw `StoreUnavailable`. */
export interface AuditLog {
  /** Written once: an entry whose outcome is unknown is not repeated. */
  record(entry: AuditEntry): Promise<void>;
  /** Newest first. @throws {StoredValueUnreadable} for an entry of another version. */
  list(query: AuditQuery): Promise<readonly AuditRecord[]>;
}

/** Whether an entry is one of those that are looked for. */
export function matchesAudit(entry: AuditEntry, { change, application, login, action }: AuditFilter = {}): boolean {
  const { who } = entry;
  return (
    (change === undefined || sameChangeRequest(entry.change, change)) &&
    (application === undefined || entry.applications.some((one) => one.application === application)) &&
    (login === undefined || (typeof who === "object" && who.login.toLowerCase() === login.toLowerCase())) &&
    (action === undefined || entry.action === action)
  );
}

/** Writes an entry to the log and to the trail. A trail that cannot be written never fails the work; the log has it then. */
export async function recordAudit(
  entry: AuditEntry,
  { audit, log }: { readonly audit: AuditLog; readonly log: Log },
): Promise<void> {
  log.info({ audit: entry }, "audit");
  try {
    await audit.record(entry);
  } catch (error) {
    log.error({ audit: entry, err: error }, "the audit trail could not be written");
  }
}
