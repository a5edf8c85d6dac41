import type { ApplicationName } from "../core/model/brand.js";
import type { ChangeRequest } from "../core/model/change-request.js";
import { wasRolledBack, type ApplicationSync, type NotHealthy } from "../core/model/result.js";
import { code, fence, shortened, warning } from "./markdown.js";

/** Characters of a message of Argo CD about one application. */
export const MAX_MESSAGE = 4000;

/** Those that svc rolled back by itself. */
export function rolledBack(all: readonly ApplicationSync[]): readonly ApplicationName[] {
  return all.filter(wasRolledBack).map(({ application }) => application);
}

/** Argo CD deployed an application, and its rules ask for more. @param objects lines about its unhealthy objects. */
export function notHealthyLines(
  { health, rollback }: NotHealthy,
  message: string,
  objects: readonly string[],
  { baseBranch }: ChangeRequest,
): readonly string[] {
  const seen = [
    `**Result:** ❌ deployed, but not healthy: ${code(health)}`,
    fence(shortened(message, MAX_MESSAGE)),
    ...objects,
  ];
  switch (rollback?.kind) {
    case undefined:
      return seen;
    case "succeeded":
      return [...seen, `↩️ svc rolled it back: ${code(baseBranch)} is deployed again, and its lock is released.`];
    case "skipped":
      return [...seen, warning(`It was not rolled back: ${rollback.message}`)];
    case "failed":
      return [...seen, warning("the rollback that followed failed"), fence(shortened(rollback.message, MAX_MESSAGE))];
    case "unknown":
      return [
        ...seen,
        warning("how the rollback that followed ended is not known"),
        fence(shortened(rollback.message, MAX_MESSAGE)),
      ];
  }
}
