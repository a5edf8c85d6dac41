import { type Application, type Pin, type Source, sourcesOf } from "../../model/application.js";
import type { RepositoryTree, Snapshot } from "../../ports/snapshot.js";
import { cleanPath } from "../tree/repository-path.js";

/** Where to look up files. */
interface Trees {
  readonly snapshot: Pick<Snapshot, "tree">;
}

/**
 * 1-based positions of the sources that Helm renders: charts, those with a `helm` block, and directories of the change
 * request's repository with a `Chart.yaml`. For other repositories the live object shows it.
 * @param pins the commits of the sources that are in the change request's repository.
 */
export async function helmPositions(
  application: Application,
  pins: readonly Pin[],
  { snapshot }: Trees,
): Promise<readonly number[]> {
  const trees = new Map<number, RepositoryTree>();
  for (const { position, revision } of pins) trees.set(position, await snapshot.tree(revision));
  return sourcesOf(application.spec)
    .filter((source) => source.role !== "sync" && isHelm(source, trees.get(source.position)))
    .map(({ position }) => position);

  function isHelm(source: Source, ownTree: RepositoryTree | undefined): boolean {
    if (source.kustomize !== undefined || source.directory || source.plugin) return false;
    if (source.chart !== undefined || source.helm !== undefined) return true;
    if (source.ref !== undefined && source.path === "") return false;
    if (ownTree !== undefined) return ownTree.hasFile(cleanPath(source.path, "Chart.yaml"));
    return sourceTypeOf(application, source.position) === "Helm";
  }
}

function sourceTypeOf(application: Application, position: number): unknown {
  if (!("sourceTypes" in application) || !Array.isArray(application.sourceTypes)) return undefined;
  return application.sourceTypes[position - 1];
}
