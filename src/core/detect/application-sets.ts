import type { Application, ApplicationSet } from "../application.js";
import type { ApplicationName, Revision } from "../brand.js";
import type { ChangeRequest } from "../change-request.js";
import { isJsonObject, jsonEqual, type Json, type JsonObject } from "../json.js";
import type { RepositorySnapshot } from "../ports.js";
import { fixedPart } from "./input-set.js";
import type { FoundApplicationSet, ManifestScan } from "./manifests.js";
import { followsBase, type Branches } from "./moving-sources.js";
import { matchesGlob } from "./path-glob.js";
import { cleanPath, isWithin, parentOf } from "./repository-path.js";
import { openTree, type RepositoryTree } from "./repository-tree.js";
import { isOwnRepository } from "./repository-url.js";

/** An ApplicationSet whose resource changes, or whose generators read something that does. */
export interface ChangedApplicationSet {
  /** `<name>`, or `<namespace>/<name>` where the file names a namespace. */
  readonly name: string;
  readonly sourceFile: string;
  readonly base?: ApplicationSet;
  readonly head?: ApplicationSet;
}

interface SetRequest {
  readonly base: ManifestScan;
  readonly head: ManifestScan;
  readonly changedPaths: readonly string[];
  readonly change: ChangeRequest;
  readonly snapshot: RepositorySnapshot;
}

/** The sets whose generated applications may differ between the merge base and the head. */
export async function changedApplicationSets(request: SetRequest): Promise<readonly ChangedApplicationSet[]> {
  const { change, snapshot, changedPaths } = request;
  const [before, after] = [byName(request.base), byName(request.head)];
  const trees = await Promise.all([openTree(snapshot, change.mergeBase), openTree(snapshot, change.headRevision)]);
  return [...new Set([...before.keys(), ...after.keys()])].sort().flatMap((name) => {
    const [base, head] = [before.get(name), after.get(name)];
    const same = base !== undefined && base.content === head?.content;
    if (same && !readsChanges(base.set, change, changedPaths, trees)) return [];
    return [{ name, sourceFile: head?.file ?? base?.file ?? "", base: base?.set, head: head?.set }];
  });
}

/** Of several sets of one name the last counts, as when they are applied one after the other. */
function byName(scan: ManifestScan): ReadonlyMap<string, FoundApplicationSet> {
  return new Map(
    scan.applicationSets.map((found) => {
      const { namespace, name } = found.set;
      return [namespace === undefined ? name : `${namespace}/${name}`, found];
    }),
  );
}

/**
 * A copy whose git generators of the change request's repository read it at this commit, where they follow its base
 * branch; those in matrix and merge generators too. The template keeps its target revision, so that both sides of a
 * preview differ only by what the change request changes.
 */
export function pinGitGenerators(set: ApplicationSet, change: Branches, revision: Revision): ApplicationSet {
  const resource = mapGitGenerators(set.resource, (git) => (isMoving(git, change) ? { ...git, revision } : git));
  return { ...set, resource };
}

function isMoving(git: JsonObject, change: Branches): boolean {
  const { repoURL, revision } = git;
  if (typeof repoURL !== "string" || !isOwnRepository(change, repoURL)) return false;
  return followsBase(typeof revision === "string" ? revision : "", change);
}

/** Argo CD knows matrix and merge generators in the list and in one another, two levels in all. */
const NESTING = 3;

function mapGitGenerators(resource: JsonObject, replace: (git: JsonObject) => JsonObject): JsonObject {
  const spec = resource.spec;
  if (!isJsonObject(spec)) return resource;
  return { ...resource, spec: { ...spec, generators: mapped(spec.generators, NESTING) } };

  function mapped(generators: Json | undefined, levels: number): Json | undefined {
    if (!Array.isArray(generators) || levels === 0) return generators;
    return (generators as readonly Json[]).map((generator): Json => {
      if (!isJsonObject(generator)) return generator;
      const members = Object.entries(generator).map(
        ([kind, options]) => [kind, member(kind, options, levels)] as const,
      );
      return Object.fromEntries<Json | undefined>(members);
    });
  }

  function member(kind: string, options: Json | undefined, levels: number): Json | undefined {
    if (!isJsonObject(options)) return options;
    if (kind === "git") return replace(options);
    const nests = kind === "matrix" || kind === "merge";
    return nests ? { ...options, generators: mapped(options.generators, levels - 1) } : options;
  }
}

function readsChanges(
  set: ApplicationSet,
  change: ChangeRequest,
  changedPaths: readonly string[],
  trees: readonly RepositoryTree[],
): boolean {
  let reads = false;
  mapGitGenerators(set.resource, (git) => {
    reads ||= isMoving(git, change) && (filesChange(git, changedPaths) || directoriesChange(git, changedPaths, trees));
    return git;
  });
  return reads;
}

function filesChange(git: JsonObject, changedPaths: readonly string[]): boolean {
  return pathsOf(git.files).some((pattern) =>
    changedPaths.some((path) => {
      if (/[{\\]/.test(pattern)) return isWithin(path, fixedPart(pattern));
      return path === pattern || matchesGlob(pattern, path, { doubleStar: true }) || matchesLoosely(pattern, path);
    }),
  );
}

/** In Git's own patterns a `*` crosses slashes: whatever is under the fixed part and ends alike may match. */
function matchesLoosely(pattern: string, path: string): boolean {
  if (!/[*?[]/.test(pattern)) return false;
  const ending = /[^*?[\]]*$/.exec(pattern)?.[0] ?? "";
  return isWithin(path, fixedPart(pattern)) && path.endsWith(ending);
}

/** Only directories that come or go matter, not what changes inside of them. */
function directoriesChange(
  git: JsonObject,
  changedPaths: readonly string[],
  [base, head]: readonly RepositoryTree[],
): boolean {
  const patterns = pathsOf(git.directories);
  if (patterns.length === 0) return false;
  const directories = new Set(changedPaths.flatMap(directoriesAbove));
  return [...directories].some(
    (directory) =>
      base?.hasDirectory(directory) !== head?.hasDirectory(directory) &&
      patterns.some((pattern) => pattern.includes("{{") || matchesGlob(pattern, directory, { doubleStar: true })),
  );
}

function directoriesAbove(path: string): readonly string[] {
  const directories: string[] = [];
  for (let one = parentOf(path); one !== ""; one = parentOf(one)) directories.push(one);
  return directories;
}

function pathsOf(list: Json | undefined): readonly string[] {
  if (!Array.isArray(list)) return [];
  return (list as readonly Json[]).flatMap((item) =>
    isJsonObject(item) && typeof item.path === "string" ? [cleanPath(item.path)] : [],
  );
}

/** Compares what a set generates on both sides by name; `changed` means another spec. */
export function compareGenerated(
  base: readonly Application[],
  head: readonly Application[],
): {
  readonly added: readonly ApplicationName[];
  readonly removed: readonly ApplicationName[];
  readonly changed: readonly ApplicationName[];
} {
  const before = new Map(base.map((one) => [one.name, one]));
  const after = new Map(head.map((one) => [one.name, one]));
  const [old, young] = [[...before.keys()].sort(), [...after.keys()].sort()];
  return {
    added: young.filter((name) => !before.has(name)),
    removed: old.filter((name) => !after.has(name)),
    changed: young.filter((name) => before.has(name) && !jsonEqual(before.get(name)?.spec, after.get(name)?.spec)),
  };
}
