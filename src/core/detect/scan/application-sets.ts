import { type Application, type ApplicationSet, renderingSources, specEqual } from "../../model/application.js";
import type { ApplicationName, Revision } from "../../model/brand.js";
import type { ChangeRequest } from "../../model/change-request.js";
import { groupedBy } from "../../model/collections.js";
import { isJsonObject, type Json, jsonEqual, type JsonObject, objectsIn } from "../../model/json.js";
import type { ApplicationSetPreview } from "../../model/plan/plan.js";
import type { Commits } from "../../ports/context.js";
import type { Naming } from "../../ports/deployer.js";
import type { FoundApplicationSet, ManifestScan } from "../../ports/manifest-scanner.js";
import type { RepositoryTree } from "../../ports/snapshot.js";
import { fixedPart, mostSteps } from "../inputs/input-set.js";
import { reachedByLinks } from "../inputs/inputs.js";
import { type Branches, followsBase, isOwnSource, nameAside } from "../inputs/moving-sources.js";
import {
  cleanPath,
  decidesCheckoutOf,
  directoriesAbove,
  globMatcher,
  isWithin,
  type Steps,
  SUBMODULES,
} from "../tree/repository-path.js";
import { isOwnRepository } from "../tree/repository-url.js";
import { choosesByPath, generatorsOf, mapGenerators } from "./generators.js";

/** An ApplicationSet whose resource changes, or whose generators read something that does. */
export interface ChangedApplicationSet {
  /** `<name>`, or `<namespace>/<name>` outside of Argo CD's own namespace. */
  readonly name: string;
  /** Undefined if no searched file holds its resource: then the set is the one that Argo CD runs. */
  readonly sourceFile: string | undefined;
  readonly base?: ApplicationSet;
  readonly head?: ApplicationSet;
  /** Other files that define a set of this name differently: it is unknown which of them Argo CD runs. */
  readonly alsoIn: readonly string[];
  /** Why its resource cannot be read on one side, though it may be there. */
  readonly problem: string | undefined;
}

/** The resources of a change request on both sides, and what it changes. */
export interface ScannedSides {
  readonly changedPaths: readonly string[];
  /** At the merge base. */
  readonly base: ManifestScan;
  readonly head: ManifestScan;
}

interface SetRequest extends ScannedSides, Commits {
  /** Every ApplicationSet that Argo CD shows. */
  readonly liveSets: readonly ApplicationSet[];
  readonly nameOf: Naming;
}

/** The sets whose generated applications may differ between the merge base and the head. */
export async function changedApplicationSets(request: SetRequest): Promise<readonly ChangedApplicationSet[]> {
  const { change, snapshot, changedPaths, nameOf } = request;
  const [before, after] = [byName(request.base, nameOf), byName(request.head, nameOf)];
  const trees = await Promise.all([snapshot.tree(change.mergeBase), snapshot.tree(change.headRevision)]);
  const readsHidden = await readingHidden(request);
  const reads = (set: ApplicationSet) =>
    readsChanges(set, change, changedPaths, trees) ||
    choosesByPath(set, change, changedPaths, trees) ||
    readsHidden(set);
  const here = [...new Set([...before.keys(), ...after.keys()])].flatMap((name) =>
    paired(before.get(name) ?? [], after.get(name) ?? []).flatMap(({ base, head, alsoIn }) => {
      const same = base !== undefined && base.content === head?.content;
      if (same && !reads(base.set)) return [];
      const sourceFile = head?.file ?? base?.file ?? "";
      const problem = lost(base, head, request);
      return [{ name, sourceFile, base: base?.set, head: head?.set, alsoIn, problem }];
    }),
  );
  const elsewhere = request.liveSets.filter(reads).flatMap((set) => {
    const name = nameOf(set.namespace, set.name);
    const namesakes = here.filter((one) => one.name === name);
    // A file with a set of this name replaces the live one only if it says the same: anyone can add such a file.
    if (namesakes.some(({ base, head }) => base && [base, head].some((one) => one && isSameSet(one, set)))) return [];
    const alsoIn = namesakes.map(({ sourceFile }) => sourceFile);
    return [{ name, sourceFile: undefined, base: set, head: set, alsoIn, problem: undefined }];
  });
  return [...here, ...elsewhere].sort((left, right) => (left.name < right.name ? -1 : left.name > right.name ? 1 : 0));
}

/**
 * Whether two sets mean the same to Argo CD. It answers with blocks in generators that nobody wrote, since Go writes an empty
 * struct in spite of `omitempty` (v3.5 `pkg/apis/application/v1alpha1/applicationset_types.go`).
 */
export function isSameSet(left: ApplicationSet, right: ApplicationSet): boolean {
  const [one, other] = [left, right].map(({ resource }) => mapGenerators(resource, withoutEmptyBlocks).spec);
  return isJsonObject(one) && isJsonObject(other) && specEqual(one, other);
}

const MAY_BE_EMPTY = new Set([
  ...["template", "metadata", "spec", "destination", "project"],
  ...["selector", "labelSelector", "input"],
]);

function withoutEmptyBlocks(block: JsonObject): JsonObject {
  const entries = Object.entries(block).flatMap(([key, member]): readonly [string, Json | undefined][] => {
    if (!MAY_BE_EMPTY.has(key)) return [[key, member]];
    const kept = isJsonObject(member) ? withoutEmptyBlocks(member) : member;
    const isEmpty = kept === "" || (isJsonObject(kept) && Object.keys(kept).length === 0);
    return isEmpty ? [] : [[key, kept]];
  });
  return Object.fromEntries(entries);
}

function byName(scan: ManifestScan, nameOf: Naming): ReadonlyMap<string, readonly FoundApplicationSet[]> {
  return groupedBy(scan.applicationSets, ({ set }) => nameOf(set.namespace, set.name));
}

interface Pair {
  readonly base: FoundApplicationSet | undefined;
  readonly head: FoundApplicationSet | undefined;
  readonly alsoIn: readonly string[];
}

/** One pair if each side has one definition, in whatever files. Otherwise sets of one name are compared by file. */
function paired(before: readonly FoundApplicationSet[], after: readonly FoundApplicationSet[]): readonly Pair[] {
  const contents = (found: readonly FoundApplicationSet[]) => new Set(found.map(({ content }) => content)).size;
  if (contents(before) <= 1 && contents(after) <= 1) return [{ base: before[0], head: after[0], alsoIn: [] }];
  const files = [...new Set([...before, ...after].map(({ file }) => file))].sort();
  return files.map((file) => ({
    base: before.findLast((one) => one.file === file),
    head: after.findLast((one) => one.file === file),
    alsoIn: files.filter((other) => other !== file),
  }));
}

/** A set is not missing on a side if its file cannot be read there. */
function lost(
  base: FoundApplicationSet | undefined,
  head: FoundApplicationSet | undefined,
  scans: Pick<SetRequest, "base" | "head">,
): string | undefined {
  const [missing, file, side] =
    head === undefined
      ? [scans.head, base?.file, "head"]
      : base === undefined
        ? [scans.base, head.file, "merge base"]
        : [];
  const why = file === undefined ? undefined : missing?.unreadable.get(file);
  return why === undefined
    ? undefined
    : `its resource in ${file ?? ""} cannot be read at the ${side ?? ""}: ${why.reason}`;
}

/** Names of applications that a set generates on one side only or with different specs. */
export type GeneratedChange = Pick<ApplicationSetPreview, "added" | "removed" | "changed">;

/**
 * Compares by name what a set generates on both sides. Labels, annotations, finalizers and an operation count as well: the controller
 * writes them (v3.5 `createOrUpdateInCluster`), and they decide who may drive an application, for instance, or what is deleted with it.
 */
export function compareGenerated(base: readonly Application[], head: readonly Application[]): GeneratedChange {
  const [before, after] = [firstOf(base), firstOf(head)];
  const [old, young] = [[...before.keys()].sort(), [...after.keys()].sort()];
  const [leftAlone, stillAlone] = [new Set(twice(base)), new Set(twice(head))];
  return {
    added: young.filter((name) => !before.has(name)),
    removed: old.filter((name) => !after.has(name)),
    changed: young.filter((name) => {
      const [one, other] = [before.get(name), after.get(name)];
      if (one === undefined || other === undefined) return false;
      if (leftAlone.has(name) && !stillAlone.has(name)) return true;
      return !(jsonEqual(one.spec, other.spec) && hasSameLabels(one, other));
    }),
  };
}

/** Names that occur more than once. */
export function twice(applications: readonly Application[]): readonly ApplicationName[] {
  const seen = new Set<ApplicationName>();
  const repeated = new Set<ApplicationName>();
  for (const { name } of applications) (seen.has(name) ? repeated : seen).add(name);
  return [...repeated];
}

/**
 * The applications by name. Of several of one name the controller writes the first (v2.13 `validateGeneratedApplications` in
 * `applicationset/controllers`) or none (v3.2).
 */
export function firstOf(applications: readonly Application[]): ReadonlyMap<ApplicationName, Application> {
  const found = new Map<ApplicationName, Application>();
  for (const one of applications) if (!found.has(one.name)) found.set(one.name, one);
  return found;
}

/** Whether two applications have the same labels and annotations, and get the same finalizers and operation of their set. */
export function hasSameLabels(left: Application, right: Application): boolean {
  const [one, other] = [left, right].map(({ labels, annotations, alsoGiven }) => {
    return { labels, annotations, alsoGiven: alsoGiven ?? null };
  });
  return jsonEqual(one, other);
}

/** The most changed applications of one set: each is compared, stored with the plan, and looked up in the rules. */
const MAX_CHANGES = 5000;

/** Why svc does not evaluate what a set changes; undefined if it does. */
export function tooManyChanges({ added, removed, changed }: GeneratedChange): string | undefined {
  if (added.length + removed.length + changed.length <= MAX_CHANGES) return undefined;
  return (
    `it would add ${added.length} applications, remove ${removed.length} and change ${changed.length}, and svc previews ` +
    `at most ${MAX_CHANGES} of one ApplicationSet: check what its generators yield, or split the change`
  );
}

/**
 * A copy of the set with its git generators pinned to this commit where they follow the base branch of the change
 * request's repository, also inside matrix and merge generators. The template keeps its target revision, so that both
 * sides of a preview differ only by the change request.
 */
export function pinGitGenerators(set: ApplicationSet, change: Branches, revision: Revision): ApplicationSet {
  const resource = mapGitGenerators(set.resource, (git) => (moves(git, change) ? { ...git, revision } : git));
  return { ...set, resource };
}

function moves(git: JsonObject, change: Branches): boolean {
  const { revision } = git;
  return isOwn(git, change) && followsBase(typeof revision === "string" ? revision : "", change);
}

function isOwn({ repoURL }: JsonObject, change: Branches): boolean {
  return typeof repoURL === "string" && isOwnRepository(change, repoURL);
}

function mapGitGenerators(resource: JsonObject, replace: (git: JsonObject) => JsonObject): JsonObject {
  return mapGenerators(resource, (options, kind) => (kind === "git" ? replace(options) : options));
}

/** The options of every git generator of a set, also inside matrix and merge generators. */
export function gitGenerators(set: ApplicationSet): readonly JsonObject[] {
  return generatorsOf(set, "git");
}

/** Whether a git generator may read what the change request changes. A template may resolve to the base branch. */
export function mayMove(git: JsonObject, change: Branches): boolean {
  return moves(git, change) || (isTemplated(git) && (isTemplate(git.repoURL) || isOwn(git, change)));
}

/** Whether the repository or the revision of a git generator is a template, which svc cannot pin to a commit. */
export function isTemplated(git: JsonObject): boolean {
  return isTemplate(git.repoURL) || isTemplate(git.revision);
}

/**
 * What the git generators of a set follow of the change request's repository besides its base branch, where a push can add
 * and change applications. A name with a template in it counts: it may become any.
 */
export function readAside(set: ApplicationSet, change: Branches): readonly string[] {
  const own = gitGenerators(set).filter((git) => isOwn(git, change) || isTemplate(git.repoURL));
  const names = own.map(({ revision }) => nameAside(typeof revision === "string" ? revision : "", change));
  return [...new Set(names.filter((name) => name !== undefined))];
}

function isTemplate(text: Json | undefined): boolean {
  return typeof text === "string" && text.includes("{{");
}

/** Whether a generator reads the change request's repository, or every source of the template that renders manifests does. */
export function readsRepository(set: ApplicationSet, change: Branches): boolean {
  if (gitGenerators(set).some((git) => isOwn(git, change))) return true;
  const spec = set.resource.spec;
  const template = isJsonObject(spec) && isJsonObject(spec.template) ? spec.template.spec : undefined;
  if (!isJsonObject(template)) return false;
  const rendering = renderingSources(template);
  return rendering.length > 0 && rendering.every((source) => isOwnSource(source, change));
}

/** Whether a git generator reads a changed file, or lists a directory that comes or goes. @param isAsked Tells which generators count. */
export function readsChanges(
  set: ApplicationSet,
  change: ChangeRequest,
  changedPaths: readonly string[],
  trees: readonly RepositoryTree[],
  isAsked: (git: JsonObject) => boolean = () => true,
  steps = mostSteps(),
): boolean {
  return gitGenerators(set).some(
    (git) =>
      mayMove(git, change) &&
      isAsked(git) &&
      (filesChange(git, changedPaths, trees, steps) || directoriesChange(git, changedPaths, trees, steps)),
  );
}

/** Tells whether a set reads what the merge may take off the base branch although the head does not differ from the merge base. */
export async function readingHidden({ change, snapshot }: Commits): Promise<(set: ApplicationSet) => boolean> {
  const { paths } = await snapshot.hiddenChanges(change);
  if (paths.length === 0) return () => false;
  const trees = await Promise.all([snapshot.tree(change.baseRevision), snapshot.tree(change.headRevision)]);
  return (set) => readsChanges(set, change, paths, trees);
}

/** Whether a git generator of the set reads one of these files. */
export function readsFiles(set: ApplicationSet, change: ChangeRequest, paths: readonly string[]): boolean {
  const steps = mostSteps();
  return gitGenerators(set).some((git) => mayMove(git, change) && filesChange(git, paths, [], steps));
}

/**
 * Whether one of a generator's files changes. Argo CD finds them with `git ls-files`, for which a directory stands for everything
 * below it, and a colon at the beginning of a pattern has a meaning of its own (`:(glob)`). Argo CD follows symbolic links, and its
 * newer globs also look into submodules (v3.5 `LsFiles` in util/git/client.go).
 */
function filesChange(
  git: JsonObject,
  changedPaths: readonly string[],
  trees: readonly RepositoryTree[],
  steps: Steps,
): boolean {
  return pathsOf(git.files).some((pattern) => {
    const directory = fixedPart(pattern);
    const targets = trees.flatMap((tree) => linkTargets(directory, tree));
    steps.left -= (10 + targets.length) * changedPaths.length;
    const matches = globMatcher(pattern, { doubleStar: true }, steps);
    return changedPaths.some((path) => {
      if (steps.left <= 0 || pattern.startsWith(":") || decidesCheckoutOf(directory, path)) return true;
      if (targets.some((target) => isWithin(path, target) || isWithin(target, path))) return true;
      if (isWithin(directory, path)) return true;
      if (!isWithin(path, directory)) return false;
      if (/[{\\]/.test(pattern) || isSubmoduleChange(path, trees)) return true;
      return isWithin(path, pattern) || matchesLoosely(pattern, path) || matches(path);
    });
  });
}

const knownTargets = new WeakMap<RepositoryTree, Map<string, readonly string[]>>();

/** Where the links below a directory lead; the root for one that cannot be read. Kept for each tree, since many sets ask. */
function linkTargets(directory: string, tree: RepositoryTree): readonly string[] {
  const known = knownTargets.get(tree) ?? new Map<string, readonly string[]>();
  knownTargets.set(tree, known);
  const found = known.get(directory);
  if (found !== undefined) return found;
  const { paths, unreadable } = reachedByLinks([directory], tree);
  const targets = unreadable === undefined ? paths : [""];
  known.set(directory, targets);
  return targets;
}

/** In Git's own patterns `*` crosses slashes: everything below the fixed part with the same ending may match. */
function matchesLoosely(pattern: string, path: string): boolean {
  if (!/[*?[]/.test(pattern)) return false;
  const ending = pattern.split(/[*?[\]]/).at(-1) ?? "";
  return isWithin(path, fixedPart(pattern)) && path.endsWith(ending);
}

/** Only added and removed directories matter, not changes inside them. What is in a submodule is not known. */
function directoriesChange(
  git: JsonObject,
  changedPaths: readonly string[],
  [base, head]: readonly RepositoryTree[],
  steps: Steps,
): boolean {
  const patterns = pathsOf(git.directories);
  if (patterns.length === 0) return false;
  const submodules = [base, head].filter((tree) => tree?.touchesSubmodule("") === true);
  if (submodules.length > 0 && changedPaths.some((path) => isSubmoduleChange(path, submodules))) return true;
  const differing = [...directoriesAbove(changedPaths)].filter((one) => isListed(one, base) !== isListed(one, head));
  // A template may become anything, and a class of Go's `path.Match`, which Argo CD asks, may stand for a slash (v3.5 `filterApps`).
  return patterns.some((pattern) => {
    const [isLoose, directory] = [/[{[\\]/.test(pattern), fixedPart(pattern)];
    const matches = globMatcher(pattern, { doubleStar: true }, steps);
    return differing.some((one) => (isLoose ? isWithin(one, directory) : matches(one)));
  });
}

/** Argo CD follows no link when it lists directories (v3.5 `GetGitDirectories` in reposerver/repository/repository.go). */
function isListed(directory: string, tree: RepositoryTree | undefined): boolean {
  return tree?.hasDirectory(directory) === true && tree.follow(directory).links.length === 0;
}

function isSubmoduleChange(path: string, trees: readonly (RepositoryTree | undefined)[]): boolean {
  return path === SUBMODULES || trees.some((tree) => tree?.entryAt(path)?.kind === "submodule");
}

function pathsOf(list: Json | undefined): readonly string[] {
  return objectsIn(list).flatMap(({ path }) => (typeof path === "string" ? [cleanPath(path)] : []));
}
