import { isJsonObject, type Json, type JsonObject } from "../../model/json.js";
import type { RepositoryTree } from "../../ports/snapshot.js";
import { cleanPath } from "../tree/repository-path.js";
import { addChartDependencies } from "./chart-dependencies.js";
import { type InputCollector, isExactVersion, isPathIn } from "./input-set.js";

const KUSTOMIZATION_FILES = ["kustomization.yaml", "kustomization.yml", "Kustomization"] as const;

/** Where `helmCharts` looks without `helmGlobals.chartHome`. */
const DEFAULT_CHART_HOME = "charts";
const MAX_DEPTH = 20;
const MAX_FILES = 2000;

export function hasKustomization(directory: string, tree: RepositoryTree): boolean {
  return KUSTOMIZATION_FILES.some((name) => tree.hasFile(cleanPath(directory, name)));
}

/**
 * Adds everything that the kustomizations in these directories read, in whatever field: every string that names a path
 * counts, be it a resource, base, component, generator, patch, replacement, `key=path` or chart. Directories are followed.
 * A path inside the kustomization's directory is covered by that directory. As in Kustomize, paths are relative to the
 * target of a linked directory.
 */
export async function addKustomizeInputs(
  directories: readonly string[],
  tree: RepositoryTree,
  into: InputCollector,
): Promise<void> {
  const seen = new Set(directories.map(realPath));
  let files = 0;
  let level = [...seen];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) {
      into.addWhole(`its kustomizations are nested more than ${MAX_DEPTH} deep`);
      return;
    }
    const next: string[] = [];
    for (const directory of level) {
      into.addPath(directory);
      for (const name of KUSTOMIZATION_FILES) {
        const file = cleanPath(directory, name);
        if (!tree.hasFile(file)) continue;
        const reads = await readsOf(file, directory, tree);
        if (reads === undefined) {
          into.addWhole(`the kustomization ${file} cannot be read`);
          return;
        }
        if (reads.remote) into.addRemote();
        if (reads.versions) into.addVersion();
        files += 1 + reads.paths.length;
        if (files > MAX_FILES) {
          into.addWhole(`its kustomizations name more than ${MAX_FILES} files`);
          return;
        }
        for (const path of reads.paths) {
          into.addPath(path);
          const real = realPath(path);
          if (!tree.hasDirectory(path) || seen.has(real)) continue;
          seen.add(real);
          if (hasKustomization(real, tree)) next.push(real);
          else await addChartDependencies(path, tree, into);
        }
      }
    }
    level = next;
  }

  function realPath(path: string): string {
    return tree.follow(path).path ?? path;
  }
}

interface Reads {
  readonly paths: readonly string[];
  /** It also fetches something from elsewhere. */
  readonly remote: boolean;
  /** It also fetches charts of fixed versions. */
  readonly versions: boolean;
}

/** Undefined if the file, or a plugin configuration that it names, cannot be read. */
async function readsOf(file: string, directory: string, tree: RepositoryTree): Promise<Reads | undefined> {
  const kustomization = await tree.readYaml(file);
  if (kustomization === undefined) return undefined;
  const texts = [DEFAULT_CHART_HOME, ...kustomization.flatMap(textsOf)];
  const objects = kustomization.filter(isJsonObject);
  let remote = objects.some((object) => fetchesRemotes(object, directory, tree));
  for (const plugin of objects.flatMap((object) => PLUGIN_FIELDS.flatMap((field) => textsOf(object[field])))) {
    const path = cleanPath(directory, plugin);
    const documents = plugin.includes("\n")
      ? await tree.parseYaml(plugin)
      : tree.hasFile(path)
        ? await tree.readYaml(path)
        : [];
    if (documents === undefined) return undefined;
    remote ||= documents.some(namesUrl);
    for (const text of documents.flatMap(textsOf)) texts.push(text);
  }
  const named = texts.filter((text) => !text.includes("\n") && !text.includes("://"));
  if (named.some((text) => text.includes("{{"))) return undefined;
  const paths = [...new Set(named.flatMap((text) => [text, text.slice(text.indexOf("=") + 1)]))]
    .map((text) => ({ text, path: cleanPath(directory, text) }))
    .filter(({ text, path }) => text.split("/").includes("..") || tree.hasDirectory(path))
    .map(({ path }) => path)
    .filter((path) => path !== directory);
  return { paths, remote, versions: objects.flatMap(chartsIn).some(isFromRepository) };
}

/** Their entries are plugin configurations, as files or inline, which can name further files. */
const PLUGIN_FIELDS = ["generators", "transformers", "validators"] as const;

/** Every text in a value, at any depth. */
function textsOf(value: Json | undefined): readonly string[] {
  if (typeof value === "string") return value === "" ? [] : [value];
  if (Array.isArray(value)) return (value as readonly Json[]).flatMap(textsOf);
  return isJsonObject(value) ? Object.values(value).flatMap(textsOf) : [];
}

/** Their entries are files, directories, or repositories to clone. */
const GRAPH_FIELDS = ["resources", "bases", "components", "generators", "transformers", "validators"] as const;
/** Members whose strings are values, not paths. */
const VALUES = new Set([
  ...["annotations", "commonAnnotations", "commonLabels", "images", "labels", "literals", "metadata", "patch"],
  "valuesInline",
]);

/**
 * Whether a kustomization fetches something that no commit of this repository determines: a file or a repository by URL, a
 * chart without an exact version, or an entry that is no path in the tree (a repository's short form, or broken).
 */
function fetchesRemotes(kustomization: JsonObject, directory: string, tree: RepositoryTree): boolean {
  const charts = chartsIn(kustomization);
  if (charts.some(fetchesChart)) return true;
  const read = { ...kustomization, helmCharts: charts.map(withoutRepository), helmChartInflationGenerator: undefined };
  if (namesUrl(read)) return true;
  return GRAPH_FIELDS.flatMap((field) => textsIn(kustomization[field])).some(
    (entry) => !isPathIn(tree, directory, entry),
  );
}

/** Whether any text in a value is a URL or an SSH address. */
function namesUrl(value: Json | undefined): boolean {
  return textsIn(value).some((text) => text.includes("://") || /^(?:git::|[\w.-]+@[^/]+:)/.test(text));
}

function chartsIn({ helmCharts, helmChartInflationGenerator }: JsonObject): readonly JsonObject[] {
  return [helmCharts, helmChartInflationGenerator].flatMap(objectsIn);
}

function fetchesChart(chart: JsonObject): boolean {
  const exact = chart.version ?? chart.chartVersion ?? "";
  return isFromRepository(chart) && !(typeof exact === "string" && isExactVersion(exact));
}

function isFromRepository({ repo, chartRepoUrl }: JsonObject): boolean {
  return (repo ?? chartRepoUrl ?? "") !== "";
}

function withoutRepository(chart: JsonObject): JsonObject {
  return { ...chart, repo: undefined, chartRepoUrl: undefined };
}

function objectsIn(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** Strings of one line; longer ones are inline content. */
function textsIn(value: Json | undefined): readonly string[] {
  if (typeof value === "string") return value === "" || value.includes("\n") ? [] : [value];
  if (Array.isArray(value)) return (value as readonly Json[]).flatMap(textsIn);
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, member]) => (VALUES.has(key) ? [] : textsIn(member)));
}
