import { z } from "zod";
import type { Source } from "../application-spec.js";
import type { InputCollector } from "./input-set.js";
import { fixedPart } from "./input-set.js";
import { hasGlob } from "./path-glob.js";
import { cleanPath } from "./repository-path.js";
import type { RepositoryTree } from "./repository-tree.js";

/** Whose value files are read, and which sources of the application are in this repository. */
export interface HelmReader {
  readonly source: Source;
  readonly sources: readonly Source[];
  /** Positions whose files count. */
  readonly positions: readonly number[];
  /** What `$ARGOCD_APP_NAME` stands for. */
  readonly instanceName: string;
}

/**
 * Value files and file parameters. `$ref/…` is read from the root of the source of that name, `/…` from the root of the
 * own repository, all else from the source's path; they may be globs. Files that do not exist yet count as well.
 */
export function addHelmFiles(reader: HelmReader, options: Source["helm"], into: InputCollector): void {
  for (const written of [...(options?.valueFiles ?? []), ...(options?.fileParameters ?? [])]) {
    if (/^https?:\/\//i.test(written)) continue;
    const file = written.replaceAll(/\$(?:ARGOCD_APP_NAME\b|\{ARGOCD_APP_NAME\})/g, () => reader.instanceName);
    const path = readablePath(file, reader);
    if (path === "unknown") into.addWhole(`its value file ${written} cannot be told before rendering`);
    else if (path !== undefined) addFile(path.clean, into);
  }
}

/** Undefined for a file of another repository. */
function readablePath(
  file: string,
  { source, sources, positions }: HelmReader,
): { clean: string } | "unknown" | undefined {
  if (file.includes("://") || file.includes("{{") || file.includes("$ARGOCD_") || file.includes("${")) return "unknown";
  const [, ref, rest] = /^\$([^/]+)(?:\/(.*))?$/s.exec(file) ?? [];
  if (ref !== undefined) {
    const target = sources.find((other) => other.ref === ref);
    if (target === undefined) return "unknown";
    return positions.includes(target.position) ? { clean: cleanPath(rest ?? "") } : undefined;
  }
  if (!positions.includes(source.position)) return undefined;
  return { clean: file.startsWith("/") ? cleanPath(file) : cleanPath(source.path, file) };
}

function addFile(path: string, into: InputCollector): void {
  into.addPath(path);
  if (path.includes("{")) into.addPath(fixedPart(path));
  else if (hasGlob(path)) into.addPattern(path);
}

const MAX_CHARTS = 200;
const chartSchema = z.object({
  dependencies: z
    .array(z.object({ repository: z.string().catch("") }).catch({ repository: "" }))
    .nullish()
    .transform((dependencies) => dependencies ?? []),
});

/** The directories of `file://` dependencies of every chart in a directory, and of those charts in turn. */
export async function addChartDependencies(
  directory: string,
  tree: RepositoryTree,
  into: InputCollector,
): Promise<void> {
  const waiting = [directory];
  const seen = new Set(waiting);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const { path } of tree.entriesIn(next)) {
      if (!/(?:^|\/)(?:Chart|requirements)\.yaml$/.test(path)) continue;
      const dependencies = await localDependencies(path, tree);
      if (dependencies === undefined) {
        into.addWhole(`the dependencies in ${path} cannot be read`);
        return;
      }
      for (const dependency of dependencies) {
        into.addPath(dependency);
        if (!seen.has(dependency)) waiting.push(dependency);
        seen.add(dependency);
      }
      if (seen.size > MAX_CHARTS) {
        into.addWhole(`${directory} depends on more than ${MAX_CHARTS} charts`);
        return;
      }
    }
  }
}

/** Undefined when the file cannot be read. */
async function localDependencies(path: string, tree: RepositoryTree): Promise<readonly string[] | undefined> {
  const documents = await tree.readYaml(path);
  if (documents === undefined) return undefined;
  const chart = chartSchema.safeParse(documents[0] ?? {});
  if (!chart.success) return undefined;
  return chart.data.dependencies.flatMap(({ repository }) =>
    repository.startsWith("file://") ? [cleanPath(path, "..", repository.slice("file://".length))] : [],
  );
}
