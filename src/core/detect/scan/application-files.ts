import { sourcesOf, type Source } from "../../model/application-spec.js";
import type { Application } from "../../model/application.js";
import type { Revision } from "../../model/brand.js";
import type { Snapshot } from "../../ports/snapshot.js";
import type { RepositoryTree } from "../../ports/snapshot.js";
import { overrideFilesOf } from "../inputs/inputs.js";
import { ownSources, type Branches } from "../inputs/moving-sources.js";
import { cleanPath } from "../tree/repository-path.js";

/**
 * 1-based positions of the sources that Helm renders: charts, those with a `helm` block, and directories of the change
 * request's repository with a `Chart.yaml` at this commit. For other repositories the live object shows it.
 */
export async function helmPositions(
  application: Application,
  change: Branches,
  snapshot: Snapshot,
  revision: Revision,
): Promise<readonly number[]> {
  const tree = await snapshot.tree(revision);
  const own = ownSources(application.spec, change);
  const positions = sourcesOf(application.spec)
    .filter(
      (source) =>
        source.role !== "sync" && isHelm(source, own.some((one) => sameSource(one, source)) ? tree : undefined),
    )
    .map(({ position }) => position);
  return positions;

  function isHelm(source: Source, ownTree: RepositoryTree | undefined): boolean {
    if (source.kustomize !== undefined || source.directory || source.plugin) return false;
    if (source.chart !== undefined || source.helm !== undefined) return true;
    if (source.ref !== undefined && source.path === "") return false;
    if (ownTree !== undefined) return ownTree.hasFile(cleanPath(source.path, "Chart.yaml"));
    return sourceTypeOf(application, source.position) === "Helm";
  }
}

function sameSource(left: Source, right: Source): boolean {
  return left.position === right.position && left.role === right.role;
}

function sourceTypeOf(application: Application, position: number): unknown {
  if (!("sourceTypes" in application) || !Array.isArray(application.sourceTypes)) return undefined;
  return application.sourceTypes[position - 1];
}

/**
 * Files `.argocd-source-<application>.yaml` in the application's own sources at this commit. Argo CD applies them by the
 * application's name, so a temporary Application is rendered without them.
 */
export async function overrideFiles(
  application: Application,
  change: Branches,
  snapshot: Snapshot,
  revision: Revision,
): Promise<readonly string[]> {
  const tree = await snapshot.tree(revision);
  const files = ownSources(application.spec, change).map((source) => overrideFilesOf(application, source.path)[1]);
  return [...new Set(files)].filter((file) => tree.hasFile(file));
}
