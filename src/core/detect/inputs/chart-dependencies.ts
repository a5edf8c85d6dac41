import * as z from "zod";
import type { RepositoryTree } from "../../ports/snapshot.js";
import { cleanPath } from "../tree/repository-path.js";
import { type InputCollector, isExactVersion } from "./input-set.js";

const MAX_CHARTS = 200;
const text = z.string().catch("");
const chartSchema = z.object({
  dependencies: z
    .array(z.object({ repository: text, version: text }).catch({ repository: "", version: "" }))
    .nullish()
    .transform((dependencies) => dependencies ?? []),
});

/**
 * Adds the directories of `file://` dependencies of every chart in a directory, recursively, with subcharts and targets of
 * links. Names, aliases and conditions are ignored: everything that may be read counts.
 */
export async function addChartDependencies(
  directory: string,
  tree: RepositoryTree,
  into: InputCollector,
): Promise<void> {
  const waiting = [directory];
  const seen = new Set(waiting);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const found = [...tree.linksIn(next)];
    for (const file of chartFilesIn(next, tree)) {
      const dependencies = await dependenciesIn(file, tree);
      if (dependencies === undefined) {
        into.addWhole(`the dependencies in ${file} cannot be read`);
        return;
      }
      if (dependencies.remote) into.addRemote();
      if (dependencies.versions) into.addVersion();
      for (const path of dependencies.local) {
        found.push(path);
        into.addPath(path);
      }
    }
    for (const one of found.filter((path) => !seen.has(path))) {
      seen.add(one);
      waiting.push(one);
    }
    if (seen.size > MAX_CHARTS) {
      into.addWhole(`${directory} depends on more than ${MAX_CHARTS} charts`);
      return;
    }
  }
}

/** Both the link's path and its target's, since `..` may be relative to either. */
function chartFilesIn(directory: string, tree: RepositoryTree): readonly string[] {
  const real = tree.follow(directory).path;
  const files = tree.entriesIn(directory).filter(({ path }) => /(?:^|\/)(?:Chart|requirements)\.yaml$/.test(path));
  return [...new Set(files.flatMap(({ path }) => [path, cleanPath(directory, path.slice(real?.length ?? 0))]))];
}

interface Dependencies {
  readonly local: readonly string[];
  /** Some come from a chart repository without an exact version. */
  readonly remote: boolean;
  /** Some come from a chart repository with one. */
  readonly versions: boolean;
}

/** Undefined when the file cannot be read. */
async function dependenciesIn(path: string, tree: RepositoryTree): Promise<Dependencies | undefined> {
  const documents = await tree.readYaml(path);
  if (documents === undefined) return undefined;
  const chart = chartSchema.safeParse(documents[0] ?? {});
  if (!chart.success) return undefined;
  const { dependencies } = chart.data;
  const fetched = dependencies.filter(({ repository }) => repository !== "" && !repository.startsWith("file://"));
  return {
    local: dependencies.flatMap(({ repository }) =>
      repository.startsWith("file://") ? [cleanPath(path, "..", repository.slice("file://".length))] : [],
    ),
    remote: fetched.some(({ version }) => !isExactVersion(version)),
    versions: fetched.some(({ version }) => isExactVersion(version)),
  };
}
