import { movingPositions, notMovingReason } from "../detect/inputs/moving-sources.js";
import type { AffectedApplication } from "../detect/scan/affected.js";
import { isAutoSynced, isHydrated, specEqual } from "../model/application-spec.js";
import type { Application, ApplicationSpec, LiveApplication } from "../model/application.js";
import { sameChangeRequest, type ChangeRequest } from "../model/change-request.js";
import type { Deployment } from "../model/deployment.js";
import { isJsonObject } from "../model/json.js";
import type { NotDeployed } from "../model/plan.js";
import type { Subject, UnreadableSubject } from "../model/subject.js";
import type { Snapshot } from "../ports/snapshot.js";
import { definitionObstacle, type DrivingClaim } from "./driving-right.js";
import { sideOf } from "./sides.js";

/** What became of the application before. */
export interface Past {
  /** Its records "deployed, not merged". */
  readonly records: readonly Deployment[];
  /** Its definition at the tip of the target branch; read only if a change request wrote a live one. */
  readonly baseTip: Application | undefined;
}

/**
 * A running application that the change request may drive. One whose definition changes without the right to that is looked
 * at with its live definition, and not deployed; one that only such a definition reaches is left out.
 * @throws {RepositoryFailure}
 */
export async function liveSubject(
  affected: AffectedApplication,
  claim: DrivingClaim,
  past: Past,
  snapshot: Snapshot,
): Promise<Subject | NotDeployed> {
  const { live, change } = claim;
  const { records } = past;
  const wanted = chooseSpecs(affected, live, past);
  const hydrated = [wanted.head, live.spec].find(isHydrated);
  if (hydrated !== undefined) return { application: live.name, reason: notMovingReason(hydrated, change) ?? "" };
  const changesDefinition = affected.specChanged || !specEqual(wanted.head, live.spec);
  const obstacle = changesDefinition ? definitionObstacle(claim) : undefined;
  const foreign = obstacle === undefined || affected.specChanged ? obstacle : othersReason(claim);
  if (movingPositions(live.spec, change).length === 0 && (!changesDefinition || foreign !== undefined)) {
    return { application: live.name, reason: foreign ?? notReachedReason(change) };
  }
  // What may not be deployed is not rendered either.
  const specs = foreign === undefined ? wanted : { base: deployedFrom(live, records), head: live.spec };
  const writesSpec = !specEqual(specs.head, live.spec);
  const owner = writesSpec ? definitionOwner(live, claim.everyApplication) : undefined;
  const ownRecord = records.find((record) => sameChangeRequest(record.change, change));
  const foreignRecords = records.filter((record) => record !== ownRecord);
  const autoSynced = isAutoSynced(live.spec) || isAutoSynced(specs.head);
  const notDriven = foreign ?? (owner?.reverts === true ? owner.sentence : undefined);
  const around = { change, snapshot };
  const [head, base] = await Promise.all([sideOf(specs.head, around), sideOf(specs.base, around)]);
  if (head.unclear !== undefined && !autoSynced && notDriven === undefined) {
    return { ...shownOf(affected), kind: "unreadable", problem: head.unclear };
  }
  return {
    kind: "live",
    name: live.name,
    sourceFile: affected.sourceFile,
    live,
    head: head.side,
    base: base.side,
    ownRecord,
    foreignRecords,
    autoSynced,
    hasChildren: claim.everyApplication.some(({ parent }) => parent === live.name),
    notDriven,
    warnings: owner === undefined || owner.reverts ? [] : [owner.sentence],
  };
}

/** What people see of an affected application, whatever becomes of it. */
export function shownOf(affected: AffectedApplication): Omit<UnreadableSubject, "kind" | "problem"> {
  const { name, sourceFile, head, live, base } = affected;
  return { name, sourceFile, definition: head ?? live ?? base };
}

function othersReason({ change, words }: DrivingClaim): string {
  return `its live definition is the one of another ${words.short}, which is deployed and not merged, and ${change.repository} may not replace it: wait until that ${words.short} is merged or rolled back`;
}

function notReachedReason({ baseBranch, repository }: ChangeRequest): string {
  return `no source of it follows ${baseBranch} of ${repository}, so this change does not reach it before its target revision moves`;
}

/**
 * The definitions of both sides. The live spec is the target branch's, unless a change request has deployed its own: then
 * it is the target branch's resource, or else the spec from before the first sync.
 */
function chooseSpecs(
  affected: AffectedApplication,
  live: LiveApplication,
  { records, baseTip }: Past,
): { readonly base: ApplicationSpec; readonly head: ApplicationSpec } {
  const written = isWritten(records);
  const base = written ? (baseTip?.spec ?? deployedFrom(live, records)) : live.spec;
  const changed = affected.specChanged || affected.kind === "new";
  if (changed && affected.head !== undefined) return { base, head: affected.head.spec };
  return { base, head: written ? (affected.head?.spec ?? base) : live.spec };
}

/** The definition from before change requests wrote theirs. */
function deployedFrom({ spec }: LiveApplication, records: readonly Deployment[]): ApplicationSpec {
  const oldest = [...records].sort((left, right) => left.timestamp.localeCompare(right.timestamp))[0];
  return isWritten(records) ? (oldest?.specBefore ?? spec) : spec;
}

function isWritten(records: readonly Deployment[]): boolean {
  return records.some(({ specWritten }) => specWritten !== undefined);
}

/** Who else writes the definition of an application, and whether it would revert ours. */
interface DefinitionOwner {
  readonly reverts: boolean;
  readonly sentence: string;
}

/**
 * The owner of an application's definition. An ApplicationSet and a parent application with self-heal revert a changed
 * spec (seen on Argo CD v3.5: within half a second, after the sync had already applied it); another parent only shows
 * OutOfSync.
 */
function definitionOwner(live: LiveApplication, everyApplication: readonly Application[]): DefinitionOwner | undefined {
  if (live.owningSet !== undefined) {
    return {
      reverts: true,
      sentence: `its definition belongs to the ApplicationSet ${live.owningSet}, which would revert a change: the change takes effect at the merge`,
    };
  }
  if (live.parent === undefined) return undefined;
  const parent = everyApplication.find(({ name }) => name === live.parent);
  // A parent that the token may not see could self-heal, so it counts as reverting.
  if (parent === undefined || selfHeals(parent)) {
    return {
      reverts: true,
      sentence: `its definition belongs to the application ${live.parent}, which ${parent === undefined ? "svc cannot see and which may" : "has self-heal and would"} revert a change: the change takes effect at the merge`,
    };
  }
  return {
    reverts: false,
    sentence: `its definition belongs to the application ${live.parent}, which shows OutOfSync until the merge`,
  };
}

function selfHeals(application: Application): boolean {
  const policy = application.spec.syncPolicy;
  const automated = isJsonObject(policy) ? policy.automated : undefined;
  return isAutoSynced(application.spec) && isJsonObject(automated) && automated.selfHeal === true;
}
