import { auditLogContract } from "./audit-log.contract.js";
import { implementations } from "./stores-under-test.js";

for (const [name, start] of implementations) auditLogContract(name, start);
