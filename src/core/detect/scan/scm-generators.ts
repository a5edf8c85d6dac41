import type { ApplicationSet } from "../../model/application.js";
import type { ChangeRequest } from "../../model/change-request.js";
import { isJsonObject, type Json, type JsonObject } from "../../model/json.js";
import type { RepositoryTree } from "../../ports/snapshot.js";
import { cleanPath } from "../tree/repository-path.js";

type Listed = Pick<ChangeRequest, "repository" | "baseBranch" | "defaultBranch">;

/**
 * Whether a path comes or goes by which an SCM provider generator of the set chooses among the repositories and branches of a
 * code host (`pathsExist`, `pathsDoNotExist`): the merge then adds or removes the application of this repository. The host is
 * asked for its branches as they are, so that Argo CD cannot tell before (v3.5 `applicationset/services/scm_provider/utils.go`).
 */
export function choosesByPath(set: ApplicationSet, change: Listed, [base, head]: readonly RepositoryTree[]): boolean {
  const { spec } = set.resource;
  return scmGenerators(isJsonObject(spec) ? spec.generators : undefined, NESTING).some(
    (scm) => mayList(scm, change) && pathsIn(scm.filters).some((path) => isAt(path, base) !== isAt(path, head)),
  );
}

/** Argo CD allows two levels of matrix and merge generators. */
const NESTING = 3;

function scmGenerators(generators: Json | undefined, levels: number): readonly JsonObject[] {
  if (!Array.isArray(generators) || levels === 0) return [];
  return (generators as readonly Json[])
    .filter(isJsonObject)
    .flatMap(({ scmProvider, matrix, merge }) => [
      ...(isJsonObject(scmProvider) ? [scmProvider] : []),
      ...[matrix, merge].flatMap((one) => (isJsonObject(one) ? scmGenerators(one.generators, levels - 1) : [])),
    ]);
}

/** Whether it may list the base branch of this repository. It may name the owner by a number, or in a member that svc does not know. */
function mayList(scm: JsonObject, { repository, baseBranch, defaultBranch }: Listed): boolean {
  const providers = Object.entries(scm).filter(([member]) => member !== "template" && member !== "values");
  return providers
    .map(([, options]) => options)
    .filter(isJsonObject)
    .some((options) => {
      if (options.allBranches !== true && baseBranch !== defaultBranch) return false;
      const owner = options.organization ?? options.group ?? options.owner ?? options.project;
      if (typeof owner !== "string" || owner.includes("{{") || /^\d+$/.test(owner)) return true;
      return repository.toLowerCase().startsWith(`${cleanPath(owner).toLowerCase()}/`);
    });
}

function pathsIn(filters: Json | undefined): readonly string[] {
  if (!Array.isArray(filters)) return [];
  return (filters as readonly Json[])
    .filter(isJsonObject)
    .flatMap(({ pathsExist, pathsDoNotExist }) =>
      [pathsExist, pathsDoNotExist].flatMap((paths) =>
        Array.isArray(paths)
          ? paths.flatMap((path: unknown) => (typeof path === "string" ? [cleanPath(path)] : []))
          : [],
      ),
    );
}

function isAt(path: string, tree: RepositoryTree | undefined): boolean {
  return tree !== undefined && (tree.entryAt(path) !== undefined || tree.hasDirectory(path));
}
