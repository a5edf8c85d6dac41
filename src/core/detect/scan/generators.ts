import type { ApplicationSet } from "../../model/application.js";
import type { ChangeRequest } from "../../model/change-request.js";
import {
  isJsonObject,
  isList,
  type Json,
  type JsonObject,
  objectsIn,
  stringsIn,
  withExactKeys,
} from "../../model/json.js";
import type { RepositoryTree } from "../../ports/snapshot.js";
import { cleanPath, parentOf } from "../tree/repository-path.js";

type Listed = Pick<ChangeRequest, "repository" | "baseBranch" | "defaultBranch">;

/**
 * Whether a path comes or goes by which an SCM provider generator of the set chooses among the repositories and branches of a
 * code host (`pathsExist`, `pathsDoNotExist`): the merge then adds or removes the application of this repository. The host is
 * asked for its branches as they are, so that Argo CD cannot tell before (v3.5 `applicationset/services/scm_provider/utils.go`).
 */
export function choosesByPath(
  set: ApplicationSet,
  change: Listed,
  changedPaths: readonly string[],
  [base, head]: readonly RepositoryTree[],
): boolean {
  const asked = generatorsOf(set, "scmProvider").flatMap((scm) => (mayList(scm, change) ? pathsIn(scm.filters) : []));
  if (asked.length === 0) return false;
  const differing = withParents(changedPaths).filter((path) => isAt(path, base) !== isAt(path, head));
  if (asked.length * differing.length > MOST_COMPARED) return true;
  return asked.some((path) => differing.some((one) => mayMean(path, one)));
}

/** How many comparisons one set may cost. */
const MOST_COMPARED = 1_000_000;

function withParents(paths: readonly string[]): readonly string[] {
  const all = new Set<string>();
  for (const path of paths) for (let at = path; at !== "" && !all.has(at); at = parentOf(at)) all.add(at);
  return [...all];
}

/** @param written may be a template, which gets what another generator of a matrix yields. */
function mayMean(written: string, path: string): boolean {
  const [start, end] = [written.indexOf("{{"), written.lastIndexOf("}}") + 2];
  if (start === -1) return written === path;
  return path.startsWith(written.slice(0, start)) && path.endsWith(written.slice(end));
}

/** Argo CD allows two levels of matrix and merge generators. */
export const NESTING = 3;

/** The options of every generator of this kind, also inside matrix and merge generators. */
export function generatorsOf({ resource }: ApplicationSet, wanted: string): readonly JsonObject[] {
  const found: JsonObject[] = [];
  mapGenerators(resource, (options, kind) => {
    if (kind === wanted) found.push(options);
    return options;
  });
  return found;
}

/** @param replace Gets the options of every generator, those of a matrix or merge after the generators in it. */
export function mapGenerators(
  resource: JsonObject,
  replace: (options: JsonObject, kind: string) => JsonObject,
): JsonObject {
  const spec = resource.spec;
  if (!isJsonObject(spec)) return resource;
  return { ...resource, spec: { ...spec, generators: mapped(spec.generators, NESTING) } };

  function mapped(generators: Json | undefined, levels: number): Json | undefined {
    if (!isList(generators) || levels === 0) return generators;
    return generators.map((generator): Json => {
      if (!isJsonObject(generator)) return generator;
      const members = Object.entries(generator).map(
        ([kind, options]) => [kind, member(kind, options, levels)] as const,
      );
      return Object.fromEntries<Json | undefined>(members);
    });
  }

  function member(kind: string, options: Json | undefined, levels: number): Json | undefined {
    if (!isJsonObject(options)) return options;
    if (kind !== "matrix" && kind !== "merge") return replace(options, kind);
    // Kubernetes does not know the members of one in another one, and keeps them in any spelling (v3.5 `ToNestedMatrixGenerator`).
    const read = levels === NESTING ? options : withExactKeys(options);
    return replace({ ...read, generators: mapped(read.generators, levels - 1) }, kind);
  }
}

/** Whether it may list the base branch of this repository. It may name the owner by a number, or in a member that svc does not know. */
function mayList(scm: JsonObject, { repository, baseBranch, defaultBranch }: Listed): boolean {
  const providers = Object.entries(scm).filter(([member]) => member !== "template" && member !== "values");
  return providers
    .map(([, options]) => options)
    .filter(isJsonObject)
    .some((options) => {
      if (options.allBranches !== true && baseBranch !== defaultBranch) return false;
      // Projects of other groups that are shared with this one are listed too.
      if (options.group !== undefined && options.includeSharedProjects !== false) return true;
      const owner = options.organization ?? options.group ?? options.owner ?? options.project;
      if (typeof owner !== "string" || owner.includes("{{") || /^\d+$/.test(owner)) return true;
      return repository.toLowerCase().startsWith(`${cleanPath(owner).toLowerCase()}/`);
    });
}

function pathsIn(filters: Json | undefined): readonly string[] {
  return objectsIn(filters)
    .flatMap(({ pathsExist, pathsDoNotExist }) => [pathsExist, pathsDoNotExist].flatMap(stringsIn))
    .map((path) => cleanPath(path));
}

function isAt(path: string, tree: RepositoryTree | undefined): boolean {
  return tree !== undefined && (tree.entryAt(path) !== undefined || tree.hasDirectory(path));
}
