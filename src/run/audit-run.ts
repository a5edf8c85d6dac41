import { auditFactsOf, type AuditFacts } from "../core/commands/audit-facts.js";
import type { Revision } from "../core/model/brand.js";
import { changeRequestRef, type ChangeRequestRef } from "../core/model/change-request.js";
import type { CommandResult } from "../core/model/result.js";
import { recordAudit, type AuditEntry } from "../core/ports/audit.js";
import { SERVICE } from "../names.js";
import type { Asked, Run } from "./run.js";

/** What a run was about. */
export interface AuditSubject {
  readonly change: ChangeRequestRef & { readonly headRevision?: Revision };
  /** Undefined where no command was given: the change request was closed. */
  readonly asked: Asked | undefined;
}

/** Writes to the audit trail what a run did; without facts there is nothing to write. Never throws. */
export async function auditRun(
  facts: AuditFacts | undefined,
  { change, asked }: AuditSubject,
  run: Run,
): Promise<void> {
  if (facts === undefined) return;
  const [by, command] = [asked?.by, asked?.command];
  const entry: AuditEntry = {
    at: run.clock.now().toISOString(),
    run: run.run,
    delivery: run.delivery,
    who: by === undefined ? SERVICE : { host: change.host, id: by.id, login: by.login },
    change: changeRequestRef(change),
    head: change.headRevision,
    command: typeof command === "object" ? command.name : undefined,
    ...facts,
  };
  await recordAudit(entry, run);
}

/** Writes to the audit trail what a closed change request gave back, if it held anything. Never throws. */
export async function auditClose(
  result: CommandResult,
  change: ChangeRequestRef & { readonly merged: boolean },
  run: Run,
): Promise<void> {
  const facts = auditFactsOf(result);
  const reason = change.merged ? "merged" : "closed without a merge";
  await auditRun(facts && { ...facts, reason }, { change, asked: undefined }, run);
}
