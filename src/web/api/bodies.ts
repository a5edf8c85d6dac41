import type { Account } from "../../core/model/account.js";
import { changePagePath } from "../../core/model/change-page.js";
import type { ChangeRequestRef } from "../../core/model/change-request.js";
import type { Lock } from "../../core/model/lock.js";
import type { AuditRecord } from "../../core/ports/audit.js";
import { hostPageOf, type HostPages } from "../host-pages.js";

/** The bodies of `/api/v1`, as `openapi.yaml` describes them; members without a value are left out. */

export function userBody({ id, username, email, role, provider }: Account) {
  return { id, username, email, role, provider };
}

export function changeBody(change: ChangeRequestRef, pages: HostPages) {
  const { host, repository, number } = change;
  return { host, repository, number, url: hostPageOf(change, pages), page: changePagePath(change) };
}

export function lockBody({ application, holder, user, timestamp, planRevision, sourceFile }: Lock, pages: HostPages) {
  return {
    application,
    pr_number: holder.number,
    repository: holder.repository,
    host: holder.host,
    user,
    timestamp,
    plan_revision: planRevision,
    source_file: sourceFile,
    url: hostPageOf(holder, pages),
  };
}

export function activityBody(record: AuditRecord, pages: HostPages) {
  const { id, at, run, who, change, head, action, command, applications, reason } = record;
  return {
    id,
    at,
    run,
    who:
      typeof who === "string"
        ? { kind: "service" as const }
        : { kind: "person" as const, provider: who.host, id: who.id, username: who.login },
    change: changeBody(change, pages),
    head,
    action,
    command,
    applications,
    reason,
  };
}
