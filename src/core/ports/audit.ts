import type { SERVICE } from "../../names.js";
import type { Account, AccountProvider } from "../model/account.js";
import type { ApplicationName, Revision } from "../model/brand.js";
import { sameChangeRequest, type ChangeRequestRef } from "../model/change-request.js";
import type { CommandName } from "../model/command.js";

/** About how many entries the trail keeps; the oldest are dropped. */
export const AUDIT_CAPACITY = 10_000;

export const AUDIT_ACTIONS = [
  "planned",
  "synced",
  "rolled-back",
  "unlocked",
  "updated",
  "reverted",
  "held",
  "released",
  "force-unlocked",
  "merged",
  "queued",
  "rolled-out",
  "closed",
  "refused",
  "failed",
  "role-changed",
] as const;
type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** Who asked, what was done to which applications at which commit, or why not. Holds no secret and no text of a comment. */
export interface AuditEntry {
  /** ISO 8601. */
  readonly at: string;
  /** The run's id, as in log lines and in Argo CD's operation. */
  readonly runId: string;
  /** The host's delivery that started the run; empty if a page or the API did. */
  readonly delivery: string;
  /** A person or a program, or the service itself: an automatic plan, a lost webhook. */
  readonly who: AuditPerson | typeof SERVICE;
  /** Undefined for what a page or the API did without one, such as a hold or a role. */
  readonly change: ChangeRequestRef | undefined;
  /** Undefined if the run ended before it was known. */
  readonly head: Revision | undefined;
  readonly action: AuditAction;
  readonly command: CommandName | undefined;
  readonly applications: readonly AuditedApplication[];
  /** Why it was refused or failed, or how it was done, such as `dry run`. */
  readonly reason: string | undefined;
  /** How long a command took; undefined for anything else, and if an earlier attempt began it. */
  readonly seconds?: number | undefined;
}

interface AuditPerson {
  /** The code host of the comment, or where the admin logged in; `api-token` for a program. */
  readonly host: AccountProvider;
  /** The id there; logins can be renamed. A program's login is the name of its token. */
  readonly id: string;
  readonly login: string;
}

/** The entry of a role that a person got, `by` an administrator or, for the service itself, by its command line. */
export function roleChange(
  { id, role, username }: Account,
  by: AuditEntry["who"],
  run: Pick<AuditEntry, "at" | "runId">,
): AuditEntry {
  const how = typeof by === "object" ? "" : ", by `users set-role` on the command line";
  return {
    ...run,
    delivery: "",
    who: by,
    change: undefined,
    head: undefined,
    action: "role-changed",
    command: undefined,
    applications: [],
    reason: `${username} (${id}) has the role ${role}${how}`,
  };
}

export interface AuditedApplication {
  readonly application: ApplicationName;
  /** One word or two: `succeeded`, `changed`, `released`, `refused`. */
  readonly outcome: string;
  readonly detail: string | undefined;
  /** What Argo CD said of a failure; untrusted, and only for those who see the diffs. */
  readonly message?: string | undefined;
}

export interface AuditRecord extends AuditEntry {
  /** Its position in the trail. */
  readonly id: string;
}

/** Which entries to find; absent fields match everything. */
export interface AuditFilter {
  readonly change?: ChangeRequestRef;
  readonly application?: string;
  /** The person's login, compared without regard to case. */
  readonly login?: string;
  /** One, or any of several. */
  readonly action?: AuditAction | readonly AuditAction[];
}

export interface AuditQuery {
  readonly limit: number;
  /** The `id` of a record; finds older ones only. */
  readonly before?: string;
  readonly filter?: AuditFilter;
}

/** The newest entries of the trail. Methods throw `StoreUnavailable`. */
export interface AuditLog {
  /** Never retried after an unknown outcome. */
  record(entry: AuditEntry): Promise<void>;
  /** Newest first. @throws {StoredValueUnreadable} if an entry has another version. */
  list(query: AuditQuery): Promise<readonly AuditRecord[]>;
}

export function matchesAudit(entry: AuditEntry, { change, application, login, action }: AuditFilter = {}): boolean {
  const { who } = entry;
  return (
    (change === undefined || (entry.change !== undefined && sameChangeRequest(entry.change, change))) &&
    (application === undefined || entry.applications.some((one) => one.application === application)) &&
    (login === undefined || (typeof who === "object" && who.login.toLowerCase() === login.toLowerCase())) &&
    (action === undefined || [action].flat().includes(entry.action))
  );
}
