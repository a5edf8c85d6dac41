import {
  AUDIT_CAPACITY,
  matchesAudit,
  type AuditEntry,
  type AuditLog,
  type AuditQuery,
  type AuditRecord,
} from "../../core/ports/audit.js";

/** The audit trail in this process. */
export class MemoryAuditLog implements AuditLog {
  /** Oldest first; ids are numbers that grow. */
  readonly #records: AuditRecord[] = [];
  #last = 0;

  record(entry: AuditEntry): Promise<void> {
    this.#last += 1;
    this.#records.push({ ...entry, id: String(this.#last) });
    if (this.#records.length > AUDIT_CAPACITY) this.#records.shift();
    return Promise.resolve();
  }

  list({ limit, before, filter }: AuditQuery): Promise<readonly AuditRecord[]> {
    const older = this.#records.filter(({ id }) => before === undefined || Number(id) < Number(before));
    const found = older.filter((record) => matchesAudit(record, filter));
    return Promise.resolve(found.reverse().slice(0, limit));
  }
}
