import { movingPositions } from "../detect/inputs/moving-sources.js";
import { detect, scanSides, type AffectedApplication, type Detection } from "../detect/scan/affected.js";
import type { Application, ApplicationSet, LiveApplication } from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import { changeRequestKey, sameChangeRequest } from "../model/change-request.js";
import { byApplication, isDeployedAt, type Deployment } from "../model/deployment.js";
import { safeMessage } from "../model/errors.js";
import type { AllHostWords } from "../model/host-words.js";
import { allInTurns } from "../model/in-turns.js";
import type { NotDeployed } from "../model/plan.js";
import type { Subject } from "../model/subject.js";
import type { CommandContext, OpenedChange, Stoppable } from "../ports/context.js";
import type { Deployer, Naming } from "../ports/deployer.js";
import type { ManifestScanner } from "../ports/manifest-scanner.js";
import type { DeploymentStore } from "../ports/stores.js";
import { definitionObstacle, drivingObstacle, type DrivingClaim } from "./driving-right.js";
import { liveSubject, shownOf } from "./live-subject.js";

/** What a change request affects, found without a render. */
export interface Survey {
  readonly subjects: readonly Subject[];
  readonly detection: Detection;
  readonly notDeployed: readonly NotDeployed[];
  /** Every application that Argo CD lists. */
  readonly everyApplication: readonly Application[];
  /** Every ApplicationSet that Argo CD lists; empty if it was not asked, or failed. */
  readonly everySet: readonly ApplicationSet[];
  /** Every record "deployed, not merged". */
  readonly records: readonly Deployment[];
}

/** What a survey reads. */
export interface SurveySource extends OpenedChange, Stoppable {
  readonly deployer: Pick<Deployer, "naming" | "listApplications" | "listApplicationSets" | "findApplication">;
  readonly deployments: Pick<DeploymentStore, "list">;
  readonly scanner: ManifestScanner;
  readonly hostWords: AllHostWords;
}

export interface SurveyOptions {
  /** Also finds ApplicationSets of other repositories, for one more call to Argo CD. */
  readonly withLiveSets?: boolean;
  /** Called with each subject as soon as it is known, while others are still being read. */
  readonly onSubject?: (subject: Subject, detection: Detection) => void;
}

const NO_SETS: LiveSets = { found: [], notes: [] };

/**
 * A survey for an answer such as "no applications are affected": what Argo CD listed some seconds ago may lack a new
 * application.
 * @param isEnough Whether the answer does not depend on that.
 */
export async function surveyAfresh(
  context: SurveySource & Pick<CommandContext, "clock">,
  options: SurveyOptions,
  isEnough: (found: Survey) => boolean,
): Promise<Survey> {
  const { deployer, signal, clock } = context;
  const since = clock.now();
  const found = await survey(context, options);
  if (isEnough(found)) return found;
  const [applications, sets] = await Promise.all([
    deployer.listApplications(signal, since),
    options.withLiveSets === true ? readLiveSets(context, since) : NO_SETS,
  ]);
  const isFresh = applications === found.everyApplication && sets.found === found.everySet;
  return isFresh ? found : survey(context, options);
}

/** Finds the affected applications and what each would be deployed from. One failing application does not hide others. */
export async function survey(
  context: SurveySource,
  { withLiveSets = false, onSubject }: SurveyOptions = {},
): Promise<Survey> {
  const { change, settings, snapshot, deployer, deployments, scanner, signal } = context;
  const nameOf = await deployer.naming();
  // Argo CD answers while the repository is being read.
  const [everyApplication, sets, records, sides] = await Promise.all([
    deployer.listApplications(signal),
    withLiveSets ? readLiveSets(context) : NO_SETS,
    deployments.list(),
    scanSides({ change, settings, snapshot, nameOf, scanner, signal }),
  ]);
  const known = { live: everyApplication, liveSets: sets.found };
  const detected = await detect({ change, settings, snapshot, nameOf, sides, ...known });
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
    everySet: sets.found,
    records,
    subjects: looked.flatMap((one) => ("reason" in one ? [] : [one])),
    notDeployed: [...looked.flatMap((one) => ("reason" in one ? [one] : [])), ...detection.notFollowing],
  };
}

/** An application that this change request deployed stays affected until it runs this head or is rolled back. */
function withDeployed(
  detected: readonly AffectedApplication[],
  records: readonly Deployment[],
  { change }: Pick<SurveySource, "change">,
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
  { change, settings, snapshot, scanner, signal }: SurveySource,
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
  readonly context: SurveySource;
}

async function lookAt(affected: AffectedApplication, around: Surroundings): Promise<Subject | NotDeployed> {
  const { change, settings, deployer, hostWords, signal } = around.context;
  const { name } = affected;
  const shown = shownOf(affected);
  let live: LiveApplication | undefined;
  try {
    live = await deployer.findApplication(name, signal);
  } catch (error) {
    signal.throwIfAborted();
    return { ...shown, kind: "unreadable", problem: safeMessage(error) };
  }
  if (live === undefined) {
    if (affected.kind === "new") return { ...shown, kind: "new", problem: affected.problem };
    if (affected.kind === "deleted") return { ...shown, kind: "deleted", live };
    return { ...shown, kind: "unreadable", problem: affected.problem ?? UNKNOWN_APPLICATION };
  }
  const claim: DrivingClaim = {
    live,
    holdsResource: affected.base !== undefined,
    owner: undefined,
    everyApplication: around.everyApplication,
    change,
    settings,
    words: hostWords[change.host],
  };
  const obstacle = drivingObstacle(claim);
  // Comes first: a change request that may not drive an application must not lock it either.
  if (obstacle !== undefined) return { application: name, reason: obstacle };
  const problem = affected.kind === "deleted" ? undefined : affected.problem;
  if (affected.kind !== "deleted" && problem === undefined) {
    const records = around.recordsOf.get(name) ?? [];
    const past = { records, baseTip: around.baseTip.get(name) };
    try {
      return await liveSubject(affected, claim, past, around.context.snapshot);
    } catch (error) {
      signal.throwIfAborted();
      return { ...shown, kind: "unreadable", problem: safeMessage(error) };
    }
  }
  const follows = movingPositions(live.spec, change).length > 0;
  const foreign = affected.kind === "deleted" || !follows ? definitionObstacle(claim) : undefined;
  if (foreign !== undefined) return { application: name, reason: foreign };
  return problem === undefined ? { ...shown, kind: "deleted", live } : { ...shown, kind: "unreadable", problem };
}

const UNKNOWN_APPLICATION =
  "application not found: Argo CD does not know this application, or svc's token may not see it. " +
  "Apply its Application resource first, or give the token `get` on it.";

/** The ApplicationSets that Argo CD lists, with a sentence for people if that failed. */
interface LiveSets {
  readonly found: readonly ApplicationSet[];
  readonly notes: readonly string[];
}

async function readLiveSets(
  { deployer, signal, log }: Stoppable & Pick<SurveySource, "deployer">,
  since?: Date,
): Promise<LiveSets> {
  try {
    return { found: await deployer.listApplicationSets(signal, since), notes: [] };
  } catch (error) {
    signal.throwIfAborted();
    log.warn({ err: error }, "could not list the ApplicationSets");
    const note = "Could not check whether ApplicationSets of other repositories read what changes here";
    return { found: [], notes: [`${note}: ${safeMessage(error)}. Plan again before the merge`] };
  }
}
