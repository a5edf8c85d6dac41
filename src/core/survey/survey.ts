import { endReplaced } from "../deploy/settle-records.js";
import { HYDRATED, movingPositions, sideOf } from "../detect/inputs/moving-sources.js";
import { type AffectedApplication, detect, type Detection, scanSides } from "../detect/scan/affected.js";
import {
  type Application,
  type ApplicationSet,
  type ApplicationSpec,
  isAutoSynced,
  isHydrated,
  type LiveApplication,
  projectOf,
  specEqual,
} from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import { type ChangeRequest, changeRequestKey, sameChangeRequest } from "../model/change-request.js";
import { allInTurns, nextTurn } from "../model/collections.js";
import { byApplication, type Deployment, isDeployedAt } from "../model/deployment.js";
import { safeMessage, unlessAborted } from "../model/errors.js";
import type { NotDeployed } from "../model/plan/plan.js";
import { type Subject, unreadableBy, type UnreadableSubject } from "../model/subject.js";
import type { CommandContext, OpenedChange, Stoppable } from "../ports/context.js";
import type { Deployer, Naming } from "../ports/deployer.js";
import type { DeploymentStore } from "../ports/stores.js";
import {
  definedElsewhere,
  definitionObstacle,
  definitionOwner,
  type DrivingClaim,
  drivingObstacle,
  projectObstacle,
  withDefinedIn,
} from "./driving-right.js";
import { operates, syncingSetOf, unreadSet } from "./members.js";

/** What a change request affects, found without a render. */
export interface Survey {
  readonly subjects: readonly Subject[];
  readonly detection: Detection;
  readonly notDeployed: readonly NotDeployed[];
  /** Every application that Argo CD lists. */
  readonly everyApplication: readonly Application[];
  /** When the command began, or the survey: what Argo CD listed before may lack a new application. */
  readonly since: Date;
  /** Every ApplicationSet that Argo CD lists; empty if it was not asked, or failed. */
  readonly everySet: readonly ApplicationSet[];
  /** Every record "deployed, not merged". */
  readonly records: readonly Deployment[];
}

export interface SurveySource
  extends OpenedChange, Stoppable, Pick<CommandContext, "scanner" | "hostWords" | "clock" | "since"> {
  readonly deployer: Pick<Deployer, "naming" | "listApplications" | "listApplicationSets" | "findApplication">;
  readonly deployments: Pick<DeploymentStore, "list" | "remove">;
}

export interface SurveyOptions {
  /** Also finds ApplicationSets of other repositories, for one more call to Argo CD. */
  readonly withLiveSets?: boolean;
  /** Called with each subject as soon as it is known, while others are still being read. */
  readonly onSubject?: (subject: Subject, detection: Detection) => void;
}

/** Reads of applications at a time: more would keep the service too busy to send the next render as soon as one ends. */
const READS = 4;
/** The sets of a survey that does not ask for ApplicationSets. */
export const NO_SETS: LiveSets = { found: [], notes: [] };

/** Finds the affected applications and what each would be deployed from. One failing application does not hide others. */
export async function survey(
  context: SurveySource,
  { withLiveSets = false, onSubject }: SurveyOptions = {},
): Promise<Survey> {
  const { change, settings, snapshot, deployer, deployments, scanner, signal, clock } = context;
  const since = context.since ?? clock.now();
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
  await nextTurn();
  const affected = withDeployed(detection.applications, records, context);
  const baseTip = await baseTipApplications(affected, records, nameOf, context);
  const around = {
    everyApplication,
    byName: new Map(everyApplication.map((one) => [one.name, one])),
    recordsOf: byApplication(records),
    touched: new Set([...affected.map(({ name }) => name), ...detection.notFollowing.map((one) => one.application)]),
    parents: new Map<ApplicationName, Promise<LiveApplication | undefined>>(),
    baseTip,
    sets: detection.applicationSets,
    context,
  };
  const look = async (one: AffectedApplication) => {
    const subject = await lookAt(one, around);
    if (!("reason" in subject)) onSubject?.(subject, detection);
    return subject;
  };
  const looked = await allInTurns(affected, look, READS);
  const running = { live: around.byName, change };
  const others = await allInTurns(detection.notFollowing, (one) => withDefinedIn(one, running, context), READS);
  await nextTurn();
  signal.throwIfAborted();
  return {
    detection,
    everyApplication,
    since,
    everySet: sets.found,
    records,
    subjects: looked.flatMap((one) => ("reason" in one ? [] : [one])),
    notDeployed: [...looked.flatMap((one) => ("reason" in one ? [one] : [])), ...others],
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
  readonly byName: ReadonlyMap<ApplicationName, Application>;
  readonly recordsOf: ReadonlyMap<ApplicationName, readonly Deployment[]>;
  /** The applications of which the change request changes what they read, or their files. */
  readonly touched: ReadonlySet<ApplicationName>;
  /** Those that were read whole, each once; undefined if that failed. */
  readonly parents: Map<ApplicationName, Promise<LiveApplication | undefined>>;
  readonly baseTip: ReadonlyMap<ApplicationName, Application>;
  readonly sets: Detection["applicationSets"];
  readonly context: SurveySource;
}

async function lookAt(affected: AffectedApplication, around: Surroundings): Promise<Subject | NotDeployed> {
  const { change, settings, deployer, hostWords, signal } = around.context;
  const { name } = affected;
  const shown = shownOf(affected);
  const live = await deployer.findApplication(name, signal).catch(unlessAborted(signal, unreadableBy));
  if (live !== undefined && "problem" in live) return { ...shown, kind: "unreadable", ...live };
  if (live === undefined) {
    if (affected.kind === "new") return newSubject(affected, around.context);
    if (affected.kind === "deleted") return { ...shown, kind: "deleted", live };
    const isKnown = [affected.head, affected.base, affected.live].some((one) => one !== undefined);
    if (!isKnown) return { application: name, reason: GONE };
    return { ...shown, kind: "unreadable", problem: affected.problem ?? UNKNOWN_APPLICATION };
  }
  const claim: DrivingClaim = {
    live,
    // Only its record may name it.
    holdsResource: (affected.base ?? around.baseTip.get(name)) !== undefined,
    owner: undefined,
    everyApplication: around.everyApplication,
    change,
    settings,
    words: hostWords[change.host],
  };
  const obstacle = drivingObstacle(claim);
  // Comes first: a change request that may not drive an application must not lock it either.
  if (obstacle !== undefined) return { application: name, reason: obstacle };
  const definedIn = definedElsewhere(live, { live: around.byName, change });
  const found = await lookAtDriven(await asApplied(affected, live, around), claim, around);
  return definedIn.length === 0 ? found : { ...found, definedIn };
}

/** Where the files that its parent reads do not change, no sync writes its definition: then the one that runs counts, and not the one in the files. */
async function asApplied(
  affected: AffectedApplication,
  { name, parent, owningSet }: LiveApplication,
  { byName, touched, parents, context: { change, deployer, signal } }: Surroundings,
): Promise<AffectedApplication> {
  const listed = parent === undefined || parent === name || owningSet !== undefined ? undefined : byName.get(parent);
  if (affected.kind === "existing" || listed === undefined || touched.has(listed.name)) return affected;
  // Only the whole object tells of a plugin that Argo CD found by itself, which may read any file.
  const reading = parents.get(listed.name) ?? deployer.findApplication(listed.name, signal).catch(() => undefined);
  parents.set(listed.name, reading);
  const above = await reading;
  signal.throwIfAborted();
  if (above === undefined || !specEqual(above.spec, listed.spec)) return affected;
  if (above.sourceTypes.includes("Plugin") || movingPositions(above.spec, change).length === 0) return affected;
  const { live, base, reasons } = affected;
  return { name, live, base, reasons, kind: "existing", specChanged: false };
}

/** What may not come into its project is neither locked nor rendered. */
function newSubject(affected: AffectedApplication, claim: Pick<SurveySource, "change" | "settings">): Subject {
  const shown = shownOf(affected);
  const problem = affected.head && projectObstacle(projectOf(affected.head.spec), claim);
  if (problem === undefined) return { ...shown, kind: "new", problem: affected.problem };
  return { ...shown, kind: "unreadable", problem, unlocked: true };
}

/** The subject of an application that runs and that the change request may drive. */
async function lookAtDriven(
  affected: AffectedApplication,
  claim: DrivingClaim,
  around: Surroundings,
): Promise<Subject | NotDeployed> {
  const { live, change } = claim;
  const { signal } = around.context;
  const shown = shownOf(affected);
  const problem = affected.kind === "deleted" ? undefined : affected.problem;
  if (affected.kind !== "deleted" && problem === undefined) {
    const records = await endReplaced(live, around.recordsOf.get(live.name) ?? [], around.context);
    const past = { records, baseTip: around.baseTip.get(live.name) };
    const failed = unlessAborted(
      signal,
      (error) => ({ ...shown, kind: "unreadable", ...unreadableBy(error) }) as const,
    );
    return liveSubject(affected, claim, past, around).catch(failed);
  }
  const follows = movingPositions(live.spec, change).length > 0;
  const foreign = affected.kind === "deleted" || !follows ? definitionObstacle(claim) : undefined;
  if (foreign !== undefined) return { application: live.name, reason: foreign };
  if (problem === undefined) return { ...shown, kind: "deleted", live };
  return { ...shown, kind: "unreadable", problem, below: live.parent };
}

const UNKNOWN_APPLICATION =
  "application not found: Argo CD does not know this application, or svc's token may not see it. " +
  "Apply its Application resource first, or give the token `get` on it. A file that is applied under another name alone, " +
  "as by Kustomize's `namePrefix`, can be left out with `cr_paths` in `.svc.yaml`.";

/** Only its record names it: neither side has it any more. */
const GONE =
  "an earlier commit was deployed to it, and Argo CD does not know it any more, or svc's token may not see it; if it still exists, give the token `get` on it";

/** The ApplicationSets that Argo CD lists, with a sentence for people if that failed. */
interface LiveSets {
  readonly found: readonly ApplicationSet[];
  readonly notes: readonly string[];
}

/** A failure becomes a note. @param since A list from before is too old. */
export async function readLiveSets(
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

interface Past {
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
async function liveSubject(
  affected: AffectedApplication,
  claim: DrivingClaim,
  past: Past,
  { sets, context: { snapshot } }: Pick<Surroundings, "sets" | "context">,
): Promise<Subject | NotDeployed> {
  const { live, change } = claim;
  const wanted = chooseSpecs(affected, live, past);
  if ([wanted.head, live.spec].some(isHydrated)) return { application: live.name, reason: HYDRATED };
  const changesDefinition = affected.specChanged || !specEqual(wanted.head, live.spec);
  const obstacle = changesDefinition ? definitionObstacle(claim) : undefined;
  const foreign = obstacle === undefined || affected.specChanged ? obstacle : othersReason(claim);
  if (movingPositions(live.spec, change).length === 0 && (!changesDefinition || foreign !== undefined)) {
    return { application: live.name, reason: foreign ?? notReachedReason(change) };
  }
  // What may not be deployed is not rendered either.
  const specs = foreign === undefined ? wanted : { base: deployedFrom(live, past.records), head: live.spec };
  const writesSpec = !specEqual(specs.head, live.spec);
  const owner = writesSpec ? definitionOwner(live, claim.everyApplication) : undefined;
  const ownRecord = past.records.find((record) => sameChangeRequest(record.change, change));
  const foreignRecords = past.records.filter((record) => record !== ownRecord);
  const syncingSet = syncingSetOf(live, sets);
  const autoSynced = isAutoSynced(live.spec) || isAutoSynced(specs.head) || syncingSet !== undefined;
  const notDriven = foreign ?? (owner?.reverts === true ? owner.sentence : undefined);
  const around = { change, snapshot };
  const [head, base] = await Promise.all([sideOf(specs.head, around), sideOf(specs.base, around)]);
  const unclear = head.unclear ?? base.doubtful;
  if (unclear !== undefined && !autoSynced && notDriven === undefined) {
    return { ...shownOf(affected), kind: "unreadable", problem: unclear };
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
    syncingSet,
    hasChildren: claim.everyApplication.some(({ parent }) => parent === live.name),
    notDriven,
    operates: affected.kind === "modified" && affected.head !== undefined && operates(affected.head),
    warnings: [...(owner === undefined || owner.reverts ? [] : [owner.sentence]), ...unreadSet(live)],
  };
}

/** The parts of a subject that are known of any affected application. */
function shownOf(affected: AffectedApplication): Omit<UnreadableSubject, "kind" | "problem"> {
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
