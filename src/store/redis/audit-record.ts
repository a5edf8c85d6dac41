import { z } from "zod";
import { COMMAND_NAMES } from "../../core/commands/commands.js";
import { AUDIT_ACTIONS, type AuditEntry } from "../../core/ports/audit.js";
import { AUDIT_KEY, HOST_IDS, SERVICE } from "../../names.js";
import { orUndefined, storedApplication, storedChange, storedRevision, storedTime } from "./scalars.js";
import { readStored } from "./stored-value.js";

const auditEntry: z.ZodType<AuditEntry> = z.object({
  at: storedTime,
  run: z.string(),
  delivery: z.string(),
  who: z.union([
    z.literal(SERVICE),
    z.object({ host: z.enum([...HOST_IDS, "oidc", "basic"]), id: z.string(), login: z.string() }),
  ]),
  change: storedChange,
  head: orUndefined(storedRevision),
  action: z.enum(AUDIT_ACTIONS),
  command: orUndefined(z.enum(COMMAND_NAMES)),
  applications: z.array(
    z.object({ application: storedApplication, outcome: z.string(), detail: orUndefined(z.string()) }),
  ),
  reason: orUndefined(z.string()),
});

const auditRecord = z.object({ v: z.literal(1), entry: auditEntry });

export function auditRecordOf(entry: AuditEntry): string {
  return JSON.stringify({ v: 1, entry });
}

/**
 * @param id of the entry in the stream.
 * @throws {StoredValueUnreadable}
 */
export function readAuditEntry(text: string, id: string): AuditEntry {
  const cure = `remove this entry: XDEL ${AUDIT_KEY} ${id}`;
  return readStored(auditRecord, text, `the entry ${id} of the audit trail`, AUDIT_KEY, cure).entry;
}
