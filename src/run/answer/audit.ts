import type { AuditFacts } from "../../core/commands/audit-facts.js";
import type { Revision } from "../../core/model/brand.js";
import { changeRequestRef, type ChangeRequestRef } from "../../core/model/change-request.js";
import { recordAudit } from "../../core/ports/audit.js";
import { SERVICE } from "../../names.js";
import type { Answerable } from "../line/asked.js";
import type { Run } from "../line/run.js";

export interface AuditSubject {
  readonly change: ChangeRequestRef & { readonly headRevision?: Revision };
  /** Undefined when the change request was closed. */
  readonly asked: Answerable | undefined;
}

/** Writes what a run did to the audit trail; does nothing without facts. Never throws. */
export async function auditRun(
  facts: AuditFacts | undefined,
  { change, asked }: AuditSubject,
  run: Run,
): Promise<void> {
  if (facts === undefined) return;
  const { by, command } = asked ?? {};
  const entry = {
    at: run.clock.now().toISOString(),
    runId: run.runId,
    delivery: run.delivery,
    who: by === undefined ? SERVICE : { host: change.host, id: by.id, login: by.login },
    change: changeRequestRef(change),
    head: change.headRevision,
    command: command?.name,
    ...facts,
  } as const;
  await recordAudit(entry, run);
}
