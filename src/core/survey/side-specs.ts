import type { AffectedApplication } from "../detect/scan/affected.js";
import type { Application, ApplicationSpec, LiveApplication } from "../model/application.js";
import type { Deployment } from "../model/deployment.js";

/**
 * Without a record the live spec stands for the target branch. While some change request has deployed its own spec,
 * the live one does not: the target branch's resource does, or else the spec from before the first sync.
 */
export function chooseSpecs(
  affected: AffectedApplication,
  live: LiveApplication,
  records: readonly Deployment[],
  baseTip: Application | undefined,
): { readonly base: ApplicationSpec; readonly head: ApplicationSpec } {
  const written = records.some(({ specWritten }) => specWritten !== undefined);
  const oldest = [...records].sort((left, right) => left.timestamp.localeCompare(right.timestamp))[0];
  const base = written ? (baseTip?.spec ?? oldest?.specBefore ?? live.spec) : live.spec;
  const changed = affected.specChanged || affected.kind === "new";
  if (changed && affected.head !== undefined) return { base, head: affected.head.spec };
  return { base, head: written ? (affected.head?.spec ?? base) : live.spec };
}
