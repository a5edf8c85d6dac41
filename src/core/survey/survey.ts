import { movingPositions, notMovingReason } from "../detect/inputs/moving-sources.js";
import { detect, type AffectedApplication, type Detection } from "../detect/scan/affected.js";
import { isAutoSynced, isHydrated } from "../model/application-spec.js";
import type { Application, ApplicationSet, ApplicationSpec, LiveApplication } from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import { changeRequestKey, sameChangeRequest } from "../model/change-request.js";
import { byApplication, isDeployedAt, type Deployment } from "../model/deployment.js";
import { safeMessage } from "../model/errors.js";
import { allInTurns } from "../model/in-turns.js";
import type { NotDeployed } from "../model/plan.js";
import { specEqual } from "../model/spec-equality.js";
import type { LiveSubject, Subject } from "../model/subject.js";
import type { CommandContext } from "../ports/context.js";
import type { Naming } from "../ports/deployer.js";
import { definitionOwner } from "./definition-owner.js";
import { branchObstacle, drivingObstacle, type DrivingClaim } from "./driving-right.js";

/** What a change request affects, found without a render. */
export interface Survey {
  readonly subjects: readonly Subject[];
  readonly detection: Detection;
  readonly notDeployed: readonly NotDeployed[];
  /** Every application that Argo CD lists. */
  readonly everyApplication: readonly Application[];
  /** Every record "deployed, not merged". */
  readonly records: readonly Deployment[];
}

export interface SurveyOptions {
  /** Also finds ApplicationSets of other repositories, for one more call to Argo CD. */
  readonly withLiveSets?: boolean;
  /** Called with each subject as soon as it is known, while others are still being read. */
  readonly onSubject?: (subject: Subject, detection: Detection) => void;
}

const NO_SETS: LiveSets = { found: [], notes: [] };

/** Finds the affected applications and what each would be deployed from. One failing application does not hide others. */
export async function survey(
  context: CommandContext,
  { withLiveSets = false, onSubject }: SurveyOptions = {},
): Promise<Survey> {
  const { change, settings, snapshot, deployer, deployments, scanner, signal } = context;
  const [everyApplication, sets, nameOf, records] = await Promise.all([
    deployer.listApplications(signal),
    withLiveSets ? readLiveSets(context) : NO_SETS,
    deployer.naming(),
    deployments.list(),
  ]);
  const detected = await detect({
    change,
    settings,
    snapshot,
    live: everyApplication,
    liveSets: sets.found,
    nameOf,
    scanner,
    signal,
  });
  const detection = { ...detected, notes: [...detected.notes, ...sets.notes] };
  const affected = withDeployed(detection.applications, records, context);
  const baseTip = await baseTipApplications(affected, records, nameOf, context);
  const around = { everyApplication, recordsOf: byApplication(records), baseTip, context };
  const looked = await allInTurns(affected, async (one) => {
    const subject = await lookAt(one, around);
    if (!("reason" in subject)) onSubject?.(subject, detection);
    return subject;
  });
  signal.throwIfAborted();
  return {
    detection,
    everyApplication,
    records,
    subjects: looked.flatMap((one) => ("reason" in one ? [] : [one])),
    notDeployed: [...looked.flatMap((one) => ("reason" in one ? [one] : [])), ...detection.notFollowing],
  };
}

/** An application that this change request deployed stays affected until it runs this head or is rolled back. */
function withDeployed(
  detected: readonly AffectedApplication[],
  records: readonly Deployment[],
  { change }: CommandContext,
): readonly AffectedApplication[] {
  const known = new Set(detected.map(({ name }) => name));
  const missed = records.filter(
    (record) =>
      sameChangeRequest(record.change, change) &&
      !known.has(record.application) &&
      !isDeployedAt(record, change.headRevision),
  );
  return [
    ...detected,
    ...missed.map(({ application }) => ({
      name: application,
      kind: "existing" as const,
      specChanged: false,
      reasons: ["deployed from an earlier commit of this change request"],
    })),
  ];
}

/** Definitions at the tip of the target branch; needed only if a change request wrote a live spec. */
async function baseTipApplications(
  affected: readonly AffectedApplication[],
  records: readonly Deployment[],
  nameOf: Naming,
  { change, settings, snapshot, scanner, signal }: CommandContext,
): Promise<ReadonlyMap<ApplicationName, Application>> {
  const names = new Set(affected.map(({ name }) => name));
  const needed = records.some((record) => record.specWritten !== undefined && names.has(record.application));
  if (!needed) return new Map();
  const found = await scanner.scan({
    snapshot,
    revision: change.baseRevision,
    crPaths: settings.crPaths,
    nameOf,
    owner: changeRequestKey(change),
    trusted: true,
    signal,
  });
  return new Map(found.applications.map(({ application }) => [application.name, application]));
}

interface Surroundings {
  readonly everyApplication: readonly Application[];
  readonly recordsOf: ReadonlyMap<ApplicationName, readonly Deployment[]>;
  readonly baseTip: ReadonlyMap<ApplicationName, Application>;
  readonly context: CommandContext;
}

interface LeftOut {
  readonly application: ApplicationName;
  readonly reason: string;
}

async function lookAt(affected: AffectedApplication, around: Surroundings): Promise<Subject | LeftOut> {
  const { change, settings, deployer, signal } = around.context;
  const { name, sourceFile } = affected;
  const shown = { name, sourceFile, definition: affected.head ?? affected.live ?? affected.base };
  let live: LiveApplication | undefined;
  try {
    live = await deployer.findApplication(name, signal);
  } catch (error) {
    signal.throwIfAborted();
    return { ...shown, kind: "unreadable", problem: safeMessage(error) };
  }
  if (live === undefined) {
    if (affected.kind === "new" || affected.kind === "deleted") return { ...shown, kind: affected.kind };
    return { ...shown, kind: "unreadable", problem: affected.problem ?? UNKNOWN_APPLICATION };
  }
  const claim: DrivingClaim = {
    live,
    holdsResource: affected.base !== undefined,
    owner: undefined,
    everyApplication: around.everyApplication,
    change,
    settings,
  };
  const obstacle = drivingObstacle(claim);
  // Comes first: a change request that may not drive an application must not lock it either.
  if (obstacle !== undefined) return { application: name, reason: obstacle };
  if (affected.kind === "deleted") return { ...shown, kind: "deleted" };
  if (affected.problem !== undefined) return { ...shown, kind: "unreadable", problem: affected.problem };
  return liveSubject(affected, claim, around);
}

const UNKNOWN_APPLICATION =
  "application not found: Argo CD does not know this application, or svc's token may not see it. " +
  "Apply its Application resource first, or give the token `get` on it.";

function liveSubject(affected: AffectedApplication, claim: DrivingClaim, around: Surroundings): LiveSubject | LeftOut {
  const { live } = claim;
  const { change } = around.context;
  const records = around.recordsOf.get(live.name) ?? [];
  const specs = chooseSpecs(affected, live, records, around.baseTip.get(live.name));
  const head = { spec: specs.head, positions: movingPositions(specs.head, change) };
  const writesSpec = !specEqual(specs.head, live.spec);
  const hydrated = [specs.head, live.spec].find(isHydrated);
  if (hydrated !== undefined) return { application: live.name, reason: notMovingReason(hydrated, change) ?? "" };
  if (head.positions.length === 0 && !writesSpec && !affected.specChanged) {
    return {
      application: live.name,
      reason: `no source of it follows ${change.baseBranch} of ${change.repository}, so this change does not reach it before its target revision moves`,
    };
  }
  const owner = writesSpec ? definitionOwner(live, around.everyApplication) : undefined;
  const ownRecord = records.find((record) => sameChangeRequest(record.change, change));
  const foreignRecords = records.filter((record) => record !== ownRecord);
  return {
    kind: "live",
    name: live.name,
    sourceFile: affected.sourceFile,
    live,
    head,
    base: { spec: specs.base, positions: movingPositions(specs.base, change) },
    ownRecord,
    foreignRecords,
    autoSynced: isAutoSynced(live.spec) || isAutoSynced(specs.head),
    notDriven:
      (writesSpec ? branchObstacle(claim) : undefined) ?? (owner?.reverts === true ? owner.sentence : undefined),
    warnings: owner === undefined || owner.reverts ? [] : [owner.sentence],
  };
}

/** The ApplicationSets that Argo CD lists, with a sentence for people if that failed. */
interface LiveSets {
  readonly found: readonly ApplicationSet[];
  readonly notes: readonly string[];
}

async function readLiveSets({ deployer, signal, log }: CommandContext): Promise<LiveSets> {
  try {
    return { found: await deployer.listApplicationSets(signal), notes: [] };
  } catch (error) {
    signal.throwIfAborted();
    log.warn({ err: error }, "could not list the ApplicationSets");
    const note = "Could not check whether ApplicationSets of other repositories read what changes here";
    return { found: [], notes: [`${note}: ${safeMessage(error)}. Plan again before the merge`] };
  }
}

/**
 * The definitions of both sides. The live spec is the target branch's, unless a change request has deployed its own: then
 * it is the target branch's resource, or else the spec from before the first sync.
 */
function chooseSpecs(
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
