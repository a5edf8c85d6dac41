import { isPattern, matchesName, matchesPath, mayMeanName } from "../../../config/pattern.js";
import { LABELS, REPOSITORY_FILE, TEMPORARY_NAME_PREFIX } from "../../../names.js";
import { type Application, type ApplicationSet, specText } from "../../model/application.js";
import type { ApplicationName } from "../../model/brand.js";
import { type ChangeRequest, changeRequestKey } from "../../model/change-request.js";
import { ChangedPaths, groupedBy, mapInTurns, nextTurn } from "../../model/collections.js";
import { counted } from "../../model/host-words.js";
import { canonicalJson, jsonEqual } from "../../model/json.js";
import type { NotDeployed, UnreadFile } from "../../model/plan/plan.js";
import type { Settings } from "../../model/settings.js";
import type { OpenedChange } from "../../ports/context.js";
import type { Naming } from "../../ports/deployer.js";
import type { FoundApplication, ManifestScan, ManifestScanner } from "../../ports/manifest-scanner.js";
import type { Snapshot } from "../../ports/snapshot.js";
import { mostSteps } from "../inputs/input-set.js";
import { findInputReasons, HYDRATED, movingPositions, notMovingReason } from "../inputs/moving-sources.js";
import {
  type ChangedApplicationSet,
  changedApplicationSets,
  readsChanges,
  type ScannedSides,
} from "./application-sets.js";

/** Where the resources of a change request are read. */
interface ScanOrder extends OpenedChange {
  readonly nameOf: Naming;
  readonly scanner: ManifestScanner;
  readonly signal: AbortSignal;
}

interface DetectionRequest extends Omit<ScanOrder, "scanner" | "signal"> {
  readonly sides: ScannedSides;
  /** Every application that Argo CD shows. */
  readonly live: readonly Application[];
  /** Every ApplicationSet that Argo CD shows. */
  readonly liveSets: readonly ApplicationSet[];
}

/** What a change request affects, before anything is rendered. */
export interface Detection {
  /** Sorted by name. */
  readonly applications: readonly AffectedApplication[];
  readonly applicationSets: readonly ChangedApplicationSet[];
  /** Sentences about what could not be read. */
  readonly notes: readonly string[];
  /** Changed files that may hide an Application from this detection. */
  readonly unread: readonly UnreadFile[];
  /** Applications whose inputs change in sources that do not follow the base branch. */
  readonly notFollowing: readonly NotFollowing[];
  /** Whether each changed file is read by something that was found, or defines it. A file left over may belong to an application that is newer than the list. */
  readonly allClaimed: boolean;
}

/** An application that reads what changes, and that no sync of the change request deploys. */
export interface NotFollowing extends NotDeployed {
  /** Its files refer by address to what changes, so that the merge changes it. */
  readonly byAddress?: true;
}

export interface AffectedApplication {
  readonly name: ApplicationName;
  /** `existing`: its resource is unchanged or elsewhere, and its inputs change. */
  readonly kind: "new" | "deleted" | "modified" | "existing";
  /** File of the Application resource at the head (at the merge base for `deleted`); only if the resource changes. */
  readonly sourceFile?: string;
  readonly base?: Application;
  readonly head?: Application;
  readonly live?: Application;
  /** More than labels and annotations of the resource differ. */
  readonly specChanged: boolean;
  /** Why the changed resource cannot be evaluated at the head. */
  readonly problem?: string;
  /** Sentences for users. */
  readonly reasons: readonly string[];
}

/** Reads the repository, for which Argo CD need not be asked. */
export async function scanSides(order: ScanOrder): Promise<ScannedSides> {
  const { change, settings, snapshot, nameOf, scanner, signal } = order;
  const changedPaths = await snapshot.ownChanges(change);
  // In sequence, since most of the head's files are then known from the merge base.
  const scan = { snapshot, crPaths: settings.crPaths, nameOf, owner: changeRequestKey(change), signal };
  const base = await scanner.scan({ ...scan, revision: change.mergeBase, trusted: true });
  const trusted = !change.fork && !change.draft;
  const head = await scanner.scan({ ...scan, revision: change.headRevision, trusted });
  return { changedPaths, base, head };
}

/**
 * Which applications a change request affects. Too many is fine, since rendering decides. Three definitions of each are asked: the
 * live one, and those at the head and at the merge base. It is left out if no source of any reads a changed file, whether the tree is
 * that of the head, of the merge base or of the target branch's tip.
 */
export async function detect(request: DetectionRequest): Promise<Detection> {
  const { change, settings, snapshot, liveSets, nameOf } = request;
  const { changedPaths, base, head } = request.sides;
  const resources = new Map((await compareResources(base, head)).map((one) => [one.name, one]));
  const live = new Map(request.live.filter((one) => !isTemporary(one)).map((one) => [one.name, one]));
  const names = [...new Set([...resources.keys(), ...live.keys()])].sort();
  const trees = await Promise.all([snapshot.tree(change.mergeBase), snapshot.tree(change.headRevision)]);
  const paths = {
    leadsOut: trees[1].leadingOut.find((link) => !trees[0].leadingOut.includes(link)),
    changed: new ChangedPaths(changedPaths),
    since: new ChangedPaths(await snapshot.changedPaths(change.mergeBase, change.baseRevision)),
    unclaimed: withoutDefinitions(request.sides),
  };
  const looked = await mapInTurns(names, (name) =>
    lookAt({ name, resource: resources.get(name), live: live.get(name) }, paths, request),
  );
  const applicationSets = await changedApplicationSets({
    base,
    head,
    liveSets,
    changedPaths,
    change,
    snapshot,
    nameOf,
  });
  await nextTurn();
  const sets = applicationSets.flatMap(({ base, head }) => [base, head]).filter((one) => one !== undefined);
  const steps = mostSteps();
  const isRead = (path: string) => sets.some((set) => readsChanges(set, change, [path], trees, undefined, steps));
  return {
    applications: looked.flatMap((one) => (one !== undefined && "kind" in one ? [one] : [])),
    notFollowing: looked.flatMap((one) => (one !== undefined && !("kind" in one) ? [one] : [])),
    applicationSets,
    allClaimed: paths.unclaimed.size <= MAX_ASKED && [...paths.unclaimed].every(isRead) && steps.left > 0,
    unread: unreadFiles(head, changedPaths),
    notes: [
      ...(await unknownNotes(change, snapshot)),
      ...unreadableNotes(base, head, changedPaths),
      ...duplicateNotes(head, changedPaths),
      ...unknownNameNotes(names, changedPaths, settings),
    ],
  };
}

/** How many files are checked for whether an ApplicationSet reads them. Further ones count as read by nothing. */
const MAX_ASKED = 100;

/** The changed files in which nothing is defined. */
function withoutDefinitions({ changedPaths, base, head }: ScannedSides): Set<string> {
  const left = new Set(changedPaths);
  left.delete(REPOSITORY_FILE);
  for (const scan of [base, head]) {
    for (const { file } of [...scan.applications, ...scan.applicationSets]) left.delete(file);
  }
  return left;
}

interface Paths {
  /** A symbolic link out of the repository that the head adds. */
  readonly leadsOut: string | undefined;
  readonly changed: ChangedPaths;
  /** What the base branch changed since the head left it. */
  readonly since: ChangedPaths;
  /** The changed files that no application found so far reads, and in which nothing is defined. */
  readonly unclaimed: Set<string>;
}

interface Candidate {
  readonly name: ApplicationName;
  readonly resource: ResourceChange | undefined;
  readonly live: Application | undefined;
}

async function lookAt(
  { name, resource, live }: Candidate,
  { leadsOut, changed, since, unclaimed }: Paths,
  { change, settings, snapshot }: DetectionRequest,
): Promise<AffectedApplication | NotFollowing | undefined> {
  const common = { name, live, base: resource?.base, head: resource?.head };
  if (resource !== undefined && resource.kind !== "unchanged") {
    const { kind, sourceFile, specChanged, problem } = resource;
    return { ...common, kind, sourceFile, specChanged, problem, reasons: [RESOURCE_REASONS[kind](sourceFile)] };
  }
  const variants = distinct([...(live === undefined ? [] : [live]), ...(resource?.found ?? [])]);
  const inputs = await findInputReasons(variants, { change, snapshot, changed, since });
  const listed = settings.applications
    .filter((entry) => mayMeanName(entry.name, name))
    .flatMap(({ paths }) => paths)
    .find((pattern) => changed.paths.some((path) => matchesPath(pattern, path)));
  for (const path of unclaimed.size === 0 ? [] : inputs.touched) unclaimed.delete(path);
  for (const path of unclaimed) if (listed !== undefined && matchesPath(listed, path)) unclaimed.delete(path);
  const moves = () => variants.some(({ spec }) => movingPositions(spec, change).length > 0);
  const reasons = [
    ...(leadsOut !== undefined && moves()
      ? [`with the link ${leadsOut}, Argo CD renders nothing of the repository`]
      : []),
    ...inputs.moving,
    ...(listed === undefined ? [] : [`the repository file maps ${listed} to it, which matches changed files`]),
  ];
  // It takes effect at the merge, under the rules of whoever defines it.
  const isHydratedHere = inputs.others && live !== undefined && notMovingReason(live.spec, change) === HYDRATED;
  if (isHydratedHere || (reasons.length > 0 && moves())) {
    return { ...common, kind: "existing", specChanged: false, reasons };
  }
  const left = variants[0];
  if (left === undefined) return undefined;
  if (reasons.length === 0 && !inputs.others) {
    if (inputs.byAddress === undefined) return undefined;
    const reason = `its files read ${inputs.byAddress} when it is merged into ${change.baseBranch}, and no plan shows what it does there`;
    return { application: name, byAddress: true, reason };
  }
  return {
    application: name,
    reason: notMovingReason(left.spec, change) ?? `no source of it follows ${change.baseBranch}`,
  };
}

const RESOURCE_REASONS = {
  new: (file: string) => `its Application resource is added in ${file}`,
  deleted: (file: string) => `its Application resource is removed from ${file}`,
  modified: (file: string) => `its Application resource in ${file} changes`,
} as const;

/** The live object comes first: it is the deployed one. */
function distinct(applications: readonly Application[]): readonly Application[] {
  // A file that is the same at both commits is parsed once, so equal resources are usually the same object.
  const different = applications.filter((one, index) => {
    const before = applications[index - 1];
    return one.spec !== before?.spec || one.annotations !== before.annotations;
  });
  if (different.length < 2) return different;
  const seen = new Set<string>();
  return different.filter((one) => {
    const text = `${specText(one.spec)} ${canonicalJson(one.annotations)}`;
    return !seen.has(text) && seen.add(text);
  });
}

function isTemporary({ resourceName, labels }: Application): boolean {
  return resourceName.startsWith(TEMPORARY_NAME_PREFIX) && labels[LABELS.temporary] !== undefined;
}

/** The head's alone: what was there before is fixed or removed. */
function unreadFiles({ unreadable }: ManifestScan, changedPaths: readonly string[]): readonly UnreadFile[] {
  return changedPaths.flatMap((file) => {
    const why = unreadable.get(file);
    return why?.mayHide === true ? [{ file, reason: why.reason }] : [];
  });
}

async function unknownNotes(change: ChangeRequest, snapshot: Snapshot): Promise<readonly string[]> {
  if ((await snapshot.hiddenChanges(change)).complete) return [];
  const what = `what ${change.baseBranch} changed since the branch left it counts as changed here, too`;
  return [`The history of this branch is too long for svc to know all its commits: ${what}. Update the branch.`];
}

const MAX_NOTES = 20;

function unreadableNotes(base: ManifestScan, head: ManifestScan, changedPaths: readonly string[]): readonly string[] {
  const notes = changedPaths.flatMap((path) => {
    const why = head.unreadable.get(path) ?? base.unreadable.get(path);
    return why === undefined ? [] : [`${path} could not be searched for Application resources: ${why.reason}.`];
  });
  const more = notes.splice(MAX_NOTES).length;
  if (more > 0) notes.push(`${counted(more, "more changed file")} could not be searched for Application resources.`);
  return notes;
}

function duplicateNotes(head: ManifestScan, changedPaths: readonly string[]): readonly string[] {
  const changed = new Set(changedPaths);
  return [...byName(head)].flatMap(([name, found]) => {
    if (found.length < 2 || !found.some(({ file }) => changed.has(file))) return [];
    return [`${name} is defined more than once: ${found.map(({ file }) => file).join(", ")}.`];
  });
}

/** An exact name in the repository file that matches no application is most likely a typo. */
function unknownNameNotes(
  names: readonly string[],
  changedPaths: readonly string[],
  { applications }: Settings,
): readonly string[] {
  return applications
    .filter(({ name, paths }) => {
      const unknown = !isPattern(name) && !names.some((known) => matchesName(name, known));
      return unknown && paths.some((pattern) => changedPaths.some((path) => matchesPath(pattern, path)));
    })
    .map(
      ({ name }) => `The repository file maps changed files to ${name}, which is not an application that svc can see.`,
    );
}

interface ResourceChange {
  readonly name: ApplicationName;
  readonly kind: "new" | "deleted" | "modified" | "unchanged";
  /** The resource at the merge base; undefined if there is none or files disagree. */
  readonly base: Application | undefined;
  /** The same at the head. */
  readonly head: Application | undefined;
  /** Everything found under this name: several if files disagree. */
  readonly found: readonly Application[];
  /** The file at the head, or at the merge base when there is none at the head. */
  readonly sourceFile: string;
  /** More than labels and annotations differ. */
  readonly specChanged: boolean;
  /** Why the resource at the head cannot be used, though there is one; undefined when it can. */
  readonly problem: string | undefined;
}

/** Compares by application name: a resource that is moved to another file or reformatted is unchanged. */
async function compareResources(base: ManifestScan, head: ManifestScan): Promise<readonly ResourceChange[]> {
  const [before, after] = [byName(base), byName(head)];
  const changes: ResourceChange[] = [];
  for (const name of [...new Set([...before.keys(), ...after.keys()])].sort()) {
    const [old, young] = [before.get(name) ?? [], after.get(name) ?? []];
    changes.push(compareOne(name, { found: old, scan: base }, { found: young, scan: head }));
    if (changes.length % 200 === 0) await nextTurn();
  }
  return changes;
}

interface Side {
  readonly found: readonly FoundApplication[];
  readonly scan: ManifestScan;
}

function compareOne(name: ApplicationName, base: Side, head: Side): ResourceChange {
  const kind = kindOf(base, head);
  const [old, young] = [usable(base, head), usable(head, base)];
  const specChanged =
    kind !== "unchanged" &&
    !(old.application && young.application && jsonEqual(old.application.spec, young.application.spec));
  return {
    name,
    kind,
    base: old.application,
    head: young.application,
    found: [...base.found, ...head.found].map(({ application }) => application),
    sourceFile: young.file ?? old.file ?? "",
    specChanged,
    problem: kind === "deleted" ? undefined : young.problem,
  };
}

function kindOf(base: Side, head: Side): ResourceChange["kind"] {
  if (base.found.length === 0) return lostIn(base, head) === undefined ? "new" : "modified";
  if (head.found.length === 0) return lostIn(head, base) === undefined ? "deleted" : "modified";
  return contentsOf(base.found).join("\n") === contentsOf(head.found).join("\n") ? "unchanged" : "modified";
}

/** A file that holds the resource on the other side and cannot be (fully) read on this one: it may still be in there. */
function lostIn(side: Side, other: Side): string | undefined {
  return other.found.map(({ file }) => file).find((file) => side.scan.unreadable.has(file));
}

function contentsOf(found: readonly FoundApplication[]): readonly string[] {
  return [...new Set(found.map(({ content }) => content))].sort();
}

interface Usable {
  readonly application: Application | undefined;
  readonly file: string | undefined;
  readonly problem: string | undefined;
}

function usable(side: Side, other: Side): Usable {
  const known = new Set(other.found.map(({ content }) => content));
  const changed = side.found.find(({ content }) => !known.has(content)) ?? side.found[0];
  if (changed === undefined) {
    const file = lostIn(side, other);
    const why = file === undefined ? undefined : side.scan.unreadable.get(file)?.reason;
    return unusable(file, why && `its Application resource in ${file ?? ""} cannot be read: ${why}`);
  }
  const { application, file, problem } = changed;
  if (contentsOf(side.found).length > 1) {
    const files = [...new Set(side.found.map((one) => one.file))].join(", ");
    return unusable(file, `it is defined more than once and differently (${files}), so its definition cannot be told`);
  }
  if (problem === undefined) return { application, file, problem };
  return unusable(file, `its Application resource in ${file} is not complete: ${problem}`);
}

function unusable(file: string | undefined, problem: string | undefined): Usable {
  return { application: undefined, file, problem };
}

/** The resources of a scan by application name, in the order of their files. */
function byName(scan: ManifestScan): ReadonlyMap<ApplicationName, readonly FoundApplication[]> {
  return groupedBy(scan.applications, ({ application }) => application.name);
}
