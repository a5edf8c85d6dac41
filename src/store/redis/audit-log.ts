import {
  AUDIT_CAPACITY,
  matchesAudit,
  type AuditEntry,
  type AuditLog,
  type AuditQuery,
  type AuditRecord,
} from "../../core/ports/audit.js";
import { AUDIT_KEY } from "../../names.js";
import { auditRecordOf, readAuditEntry } from "./audit-record.js";
import type { RedisConnection } from "./connection.js";

/** The one field of an entry of the stream; its value is the record as JSON. */
const FIELD = "entry";
const CHUNK = 500;

/** The audit trail as a stream, which Redis trims in whole blocks: it may hold some hundred entries more. */
export class RedisAuditLog implements AuditLog {
  constructor(private readonly connection: RedisConnection) {}

  async record(entry: AuditEntry): Promise<void> {
    const record = auditRecordOf(entry);
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
