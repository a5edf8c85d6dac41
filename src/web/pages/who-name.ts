import type { AuditEntry } from "../../core/ports/audit.js";
import { SERVICE } from "../../names.js";

/** Who did something, as a page names them. */
export function whoName(who: AuditEntry["who"]): string {
  return typeof who === "string" ? SERVICE : who.login;
}
