import { type ApplicationSet, renderingSources } from "../../model/application.js";
import type { Revision } from "../../model/brand.js";
import type { ChangeRequest } from "../../model/change-request.js";
import { isJsonObject, type Json, type JsonObject } from "../../model/json.js";
import type { RepositoryTree } from "../../ports/snapshot.js";
import { fixedPart } from "../inputs/input-set.js";
import { type Branches, followsBase, isOwnSource, nameAside } from "../inputs/moving-sources.js";
import { cleanPath, decidesCheckoutOf, isWithin, matchesGlob, parentOf, SUBMODULES } from "../tree/repository-path.js";
import { isOwnRepository } from "../tree/repository-url.js";

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

/** Argo CD allows two levels of matrix and merge generators. */
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

/** The options of every git generator of a set, also inside matrix and merge generators. */
export function gitGenerators(set: ApplicationSet): readonly JsonObject[] {
  const found: JsonObject[] = [];
  mapGitGenerators(set.resource, (git) => {
    found.push(git);
    return git;
  });
  return found;
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

/**
 * Whether a generator reads the change request's repository, at any revision, or every source of the template that renders
 * manifests does.
 */
export function readsRepository(set: ApplicationSet, change: Branches): boolean {
  if (gitGenerators(set).some((git) => isOwn(git, change))) return true;
  const spec = set.resource.spec;
  const template = isJsonObject(spec) && isJsonObject(spec.template) ? spec.template.spec : undefined;
  if (!isJsonObject(template)) return false;
  const rendering = renderingSources(template);
  return rendering.length > 0 && rendering.every((source) => isOwnSource(source, change));
}

/** Whether a git generator of the set reads a changed file, or lists directories of which one is added or removed. */
export function readsChanges(
  set: ApplicationSet,
  change: ChangeRequest,
  changedPaths: readonly string[],
  trees: readonly RepositoryTree[],
): boolean {
  return gitGenerators(set).some(
    (git) => mayMove(git, change) && (filesChange(git, changedPaths) || directoriesChange(git, changedPaths, trees)),
  );
}

/** Whether a git generator of the set reads one of these files. */
export function readsFiles(set: ApplicationSet, change: ChangeRequest, paths: readonly string[]): boolean {
  return gitGenerators(set).some((git) => mayMove(git, change) && filesChange(git, paths));
}

function filesChange(git: JsonObject, changedPaths: readonly string[]): boolean {
  return pathsOf(git.files).some((pattern) =>
    changedPaths.some((path) => {
      if (decidesCheckoutOf(fixedPart(pattern), path)) return true;
      if (/[{\\]/.test(pattern)) return isWithin(path, fixedPart(pattern));
      return path === pattern || matchesGlob(pattern, path, { doubleStar: true }) || matchesLoosely(pattern, path);
    }),
  );
}

/** In Git's own patterns `*` crosses slashes: everything below the fixed part with the same ending may match. */
function matchesLoosely(pattern: string, path: string): boolean {
  if (!/[*?[]/.test(pattern)) return false;
  const ending = /[^*?[\]]*$/.exec(pattern)?.[0] ?? "";
  return isWithin(path, fixedPart(pattern)) && path.endsWith(ending);
}

/** Only added and removed directories matter, not changes inside them. What is in a submodule is not known. */
function directoriesChange(
  git: JsonObject,
  changedPaths: readonly string[],
  [base, head]: readonly RepositoryTree[],
): boolean {
  const patterns = pathsOf(git.directories);
  if (patterns.length === 0) return false;
  const submodules = [base, head].filter((tree) => tree?.touchesSubmodule("") === true);
  if (submodules.length > 0 && changedPaths.some((path) => isSubmoduleChange(path, submodules))) return true;
  const directories = new Set(changedPaths.flatMap(directoriesAbove));
  return [...directories].some(
    (directory) =>
      base?.hasDirectory(directory) !== head?.hasDirectory(directory) &&
      patterns.some((pattern) => pattern.includes("{{") || matchesGlob(pattern, directory, { doubleStar: true })),
  );
}

function isSubmoduleChange(path: string, trees: readonly (RepositoryTree | undefined)[]): boolean {
  return path === SUBMODULES || trees.some((tree) => tree?.entryAt(path)?.kind === "submodule");
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
