import type { ApplicationSet } from "../../model/application.js";
import type { ChangeRequest } from "../../model/change-request.js";
import { isJsonObject, type Json, type JsonObject } from "../../model/json.js";
import type { RepositoryTree } from "../../ports/snapshot.js";
import { fixedPart } from "../inputs/input-set.js";
import { matchesGlob } from "../tree/path-glob.js";
import { cleanPath, isWithin, parentOf } from "../tree/repository-path.js";
import { gitGenerators, mayMove } from "./git-generators.js";

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

/** Only added and removed directories matter, not changes inside them. */
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
