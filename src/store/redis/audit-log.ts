import * as z from "zod";
import { COMMAND_NAMES } from "../../core/commands/commands.js";
import {
  AUDIT_ACTIONS,
  AUDIT_CAPACITY,
  matchesAudit,
  type AuditEntry,
  type AuditLog,
  type AuditQuery,
  type AuditRecord,
} from "../../core/ports/audit.js";
import { AUDIT_KEY, HOST_IDS, SERVICE } from "../../names.js";
import type { RedisConnection } from "./connection.js";
import { orUndefined, readStored, stored } from "./stored-value.js";

const auditEntry: z.ZodType<AuditEntry> = z.object({
  at: stored.time,
  runId: z.string(),
  delivery: z.string(),
  who: z.union([
    z.literal(SERVICE),
    z.object({ host: z.enum([...HOST_IDS, "oidc", "basic", "api-token"]), id: z.string(), login: z.string() }),
  ]),
  change: stored.change,
  head: orUndefined(stored.revision),
  action: z.enum(AUDIT_ACTIONS),
  command: orUndefined(z.enum(COMMAND_NAMES)),
  applications: z.array(
    z.object({
      application: stored.application,
      outcome: z.string(),
      detail: orUndefined(z.string()),
      message: orUndefined(z.string()),
    }),
  ),
  reason: orUndefined(z.string()),
});

const auditRecord = z.object({ v: z.literal(1), entry: auditEntry });

/** `id` is the entry's in the stream. @throws {StoredValueUnreadable} */
function readAuditEntry(text: string, id: string): AuditEntry {
  const cure = `remove this entry: XDEL ${AUDIT_KEY} ${id}`;
  return readStored(auditRecord, text, `the entry ${id} of the audit trail`, AUDIT_KEY, cure).entry;
}

/** The only field of a stream entry; its value is the record as JSON. */
const FIELD = "entry";
const CHUNK = 500;

/** The audit trail as a stream. Redis trims it in whole blocks, so it may exceed its capacity by some hundred entries. */
export class RedisAuditLog implements AuditLog {
  constructor(private readonly connection: RedisConnection) {}

  async record(entry: AuditEntry): Promise<void> {
    const record = JSON.stringify({ v: 1, entry });
    await this.connection.run((redis) => redis.xadd(AUDIT_KEY, "MAXLEN", "~", AUDIT_CAPACITY, "*", FIELD, record));
  }

  async list({ limit, before, filter }: AuditQuery): Promise<readonly AuditRecord[]> {
    const found: AuditRecord[] = [];
    let end = before;
    for (;;) {
      const from = end === undefined ? "+" : `(${end}`;
      const chunk = await this.connection.run((redis) => redis.xrevrange(AUDIT_KEY, from, "-", "COUNT", CHUNK));
      for (const [id, [, record = ""]] of chunk) {
        if (found.length === limit) return found;
        const entry = readAuditEntry(record, id);
        if (matchesAudit(entry, filter)) found.push({ ...entry, id });
      }
      end = chunk.at(-1)?.[0];
      if (end === undefined || chunk.length < CHUNK) return found;
    }
  }
}
