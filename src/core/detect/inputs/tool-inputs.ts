import { isJsonObject, isList, type Json, type JsonObject, objectsIn } from "../../model/json.js";
import type { TreeEntry } from "../../ports/repositories.js";
import type { RepositoryTree } from "../../ports/snapshot.js";
import { cleanPath, MAX_LENGTH, parentOf } from "../tree/repository-path.js";
import { mayBeAddress } from "../tree/repository-url.js";
import { type InputCollector, isExactVersion, isPathIn, MAX_DEPTH, MAX_FILES } from "./input-set.js";

const MAX_CHARTS = 200;
const MAX_NAMED = 10_000;

/** Adds the directories of `file://` dependencies of every chart in a directory, recursively, with subcharts, links and any condition. */
export async function addChartDependencies(
  directory: string,
  tree: RepositoryTree,
  into: InputCollector,
): Promise<void> {
  const waiting = [directory];
  const seen = new Set(waiting);
  const below = new Map<string, readonly TreeEntry[]>();
  let named = 0;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const real = tree.follow(next).path ?? next;
    // Many links may lead to one large directory.
    const entries = below.get(real) ?? tree.entriesIn(next).filter((one) => one.kind === "symlink" || isChart(one));
    below.set(real, entries);
    const found = entries.flatMap(({ kind, path }) => (kind === "symlink" ? [path] : []));
    // Both the link's path and its target's, since `..` may be relative to either.
    const charts = entries.filter(isChart).flatMap(({ path }) => [path, cleanPath(next, path.slice(real.length))]);
    for (const file of new Set(charts)) {
      const dependencies = await dependenciesIn(file, tree);
      named += 1 + (dependencies?.count ?? 0);
      if (dependencies === undefined || named > MAX_NAMED) {
        into.addWhole(dependencies ? "its charts depend on too much" : `the dependencies in ${file} cannot be read`);
        return;
      }
      if (dependencies.remote) into.addRemote(dependencies.addresses);
      if (dependencies.versions) into.addVersion(dependencies.addresses);
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

/** Whether it names dependencies: Helm builds those of a lock file, which may name other places than the chart (`Manager.Build`). */
function isChart({ path }: TreeEntry): boolean {
  return /(?:^|\/)(?:Chart|requirements)\.(?:yaml|lock)$/.test(path);
}

interface Dependencies {
  readonly count: number;
  readonly local: readonly string[];
  /** Some come from a chart repository without an exact version. */
  readonly remote: boolean;
  /** Some come from a chart repository with one. */
  readonly versions: boolean;
  /** The addresses of chart repositories. One may be served from files of this repository. */
  readonly addresses: readonly string[];
}

/** Undefined when the file cannot be read. */
async function dependenciesIn(path: string, tree: RepositoryTree): Promise<Dependencies | undefined> {
  const documents = await tree.readYaml(path);
  if (documents === undefined) return undefined;
  const chart = documents[0] ?? {};
  const lists = isJsonObject(chart) ? membersOf(chart, "dependencies").filter((one) => one !== null) : [undefined];
  if (!lists.every(isList)) return undefined;
  const named = lists.flatMap(objectsIn).map((one) => {
    const versions = membersOf(one, "version");
    return {
      repositories: membersOf(one, "repository").flatMap(textsOf),
      exact: versions.length > 0 && versions.every((text) => typeof text === "string" && isExactVersion(text)),
    };
  });
  const isLocal = (repository: string) => repository.startsWith("file://");
  const fetched = named.filter(({ repositories }) => !repositories.every(isLocal));
  const local = named.flatMap(({ repositories }) => repositories.filter(isLocal));
  return {
    count: named.length,
    local: local.map((repository) => cleanPath(path, "..", repository.slice("file://".length))),
    remote: fetched.some(({ exact }) => !exact),
    versions: fetched.some(({ exact }) => exact),
    addresses: fetched.flatMap(({ repositories }) => repositories).filter((one) => /^https?:/i.test(one)),
  };
}

/**
 * The values of a member as Go's `encoding/json` finds it: Helm and Kustomize decode their files with it, and it ignores upper
 * and lower case (`LoadFiles` of Helm 3, `Kustomization.Unmarshal` of Kustomize 5).
 */
function membersOf(object: JsonObject, name: string): readonly Json[] {
  return Object.entries(object).flatMap(([key, value]) =>
    value !== undefined && key.toUpperCase() === name.toUpperCase() ? [value] : [],
  );
}

const KUSTOMIZATION_FILES = ["kustomization.yaml", "kustomization.yml", "Kustomization"] as const;

/** Where `helmCharts` looks without `helmGlobals.chartHome`. */
const DEFAULT_CHART_HOME = "charts";
/** Texts in all kustomizations of an application. Each may be a path that Kustomize reads. */
const MAX_TEXTS = 100_000;

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
  const realPath = (path: string) => tree.follow(path).path ?? path;
  const seen = new Set(directories.map(realPath));
  let files = 0;
  let texts = 0;
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
        if (reads.program) {
          into.addWhole(`the kustomization ${file} runs a program of the repository, which may read any file`);
        }
        if (reads.strange) into.addWhole(`the kustomization ${file} names a chart by which Helm may read any file`);
        if (reads.remote) into.addRemote(reads.addresses);
        if (reads.versions) into.addVersion(reads.addresses);
        files += 1 + reads.paths.length;
        texts += reads.texts;
        if (files > MAX_FILES || texts > MAX_TEXTS) {
          into.addWhole(`its kustomizations name more than ${MAX_FILES} files, or are longer than svc reads`);
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
}

/** What a kustomization reads; with what it fetches as for the dependencies of a chart. */
interface Reads extends Omit<Dependencies, "local" | "count"> {
  readonly paths: readonly string[];
  /** How many texts could have been paths. */
  readonly texts: number;
  /** It runs a program that is a file of the repository. */
  readonly program: boolean;
  /** By a name, Helm may read any file. */
  readonly strange: boolean;
}

/** Undefined if the file, or a plugin configuration that it names, cannot be read. */
async function readsOf(file: string, directory: string, tree: RepositoryTree): Promise<Reads | undefined> {
  const kustomization = await tree.readYaml(file);
  if (kustomization === undefined) return undefined;
  const texts = [DEFAULT_CHART_HOME, ...kustomization.flatMap(textsOf)];
  const objects = kustomization.filter(isJsonObject);
  let remote = objects.some((object) => fetchesRemotes(object, directory, tree));
  let program = false;
  let strange = kustomization.some(misleadsHelm);
  let open = kustomization.some(namesTemplate);
  const plugins = PLUGIN_FIELDS.flatMap((field) => objects.flatMap((object) => membersOf(object, field)));
  for (const plugin of placesIn(plugins.flatMap(textsOf), directory, tree)) {
    const documents = await configurationsOf(plugin, directory, tree);
    const functions = await functionsOf(documents ?? [], tree);
    if (documents === undefined || functions === undefined) return undefined;
    strange ||= documents.some(misleadsHelm);
    open ||= [...documents, ...functions].some(namesTemplate);
    remote ||= [...documents, ...functions].some(namesUrl);
    program ||= functions.some((one) => runsOwnProgram(one, directory, tree));
    for (const text of [...documents, ...functions].flatMap(textsOf)) texts.push(text);
    if (texts.length > MAX_TEXTS) return undefined;
  }
  if (open) return undefined;
  const isUnknown = (path: string) => tree.follow(path).unreadable !== undefined;
  const named = texts.filter((text) => !text.includes("\n") && !text.includes("://"));
  const paths = [...new Set(named.flatMap((text) => [text, text.slice(text.indexOf("=") + 1)]))]
    .map((text) => ({ text, path: cleanPath(directory, text) }))
    .filter(({ path }) => path.length <= MAX_LENGTH && path !== directory)
    .filter(({ text, path }) => text.split("/").includes("..") || tree.hasDirectory(path) || isUnknown(path))
    .map(({ path }) => path);
  const addresses = [...objects.flatMap(graphEntries).filter(mayBeAddress), ...objects.flatMap(fetchedFiles)];
  if (addresses.length > MAX_FILES) return undefined;
  return {
    paths,
    texts: texts.length,
    remote,
    addresses,
    versions: objects.flatMap(chartsIn).some(isFromRepository),
    program,
    strange,
  };
}

/**
 * Whether a chart's name or version leads out of the folder of charts, from where it may lead anywhere, or a release's name is an
 * option of Helm, such as `--values=any/file`: Kustomize hands it over as it is (`AsHelmArgs`).
 */
function misleadsHelm(value: Json | undefined): boolean {
  if (isList(value)) return value.some(misleadsHelm);
  if (!isJsonObject(value)) return false;
  const textsAt = (member: string) => membersOf(value, member).flatMap(textsOf);
  const names = ["name", "chartName", "version", "chartVersion"].flatMap(textsAt);
  const isStrange =
    names.some((name) => name.split("/").includes("..")) || textsAt("releaseName").some((name) => name.startsWith("-"));
  return isStrange || Object.values(value).some(misleadsHelm);
}

/** Each text that is no path, and each path once: one large directory may have many names. */
function placesIn(texts: readonly string[], directory: string, tree: RepositoryTree): Iterable<string> {
  const places = texts.map((text): [string, string] => {
    const path = cleanPath(directory, text);
    return [tree.hasFile(path) || tree.hasDirectory(path) ? (tree.follow(path).path ?? text) : text, text];
  });
  return new Map(places).values();
}

/** Members of a kustomization that configure plugins. A configuration is a file, a directory or inline text, and may name more files. */
const PLUGIN_FIELDS = ["generators", "transformers", "validators"] as const;

/**
 * Reads the plugin configurations that an entry names; undefined if one of them cannot be read. If the entry is a directory, they
 * are the resources of the kustomization there, and their paths start at the directory of the kustomization that has the entry
 * (`configureExternalGenerators` of Kustomize 5).
 */
async function configurationsOf(
  entry: string,
  directory: string,
  tree: RepositoryTree,
): Promise<readonly Json[] | undefined> {
  const path = cleanPath(directory, entry);
  if (tree.hasFile(path)) return tree.readYaml(path);
  if (entry.includes("\n") || !tree.hasDirectory(path)) return tree.parseYaml(entry);
  const found: Json[] = [];
  const files = new Set(tree.entriesIn(path).flatMap((one) => (isKustomization(one.path) ? [one.path] : [])));
  for (const file of files) {
    const documents = await tree.readYaml(file);
    const texts = isKustomization(file) ? (documents ?? []).flatMap(textsOf) : [];
    const named = texts.map((text) => cleanPath(parentOf(file), text));
    const leaves = texts.some((text) => /\.\.|:/.test(text)) || named.some((one) => tree.follow(one).links.length > 0);
    for (const one of named) if (tree.hasFile(one)) files.add(one);
    if (documents === undefined || leaves || files.size > MAX_CONFIGURATIONS) return undefined;
    found.push(...documents);
  }
  return found;
}

/** Files of one directory, each of which may have to be fetched by itself. */
const MAX_CONFIGURATIONS = 50;

/** Annotations that turn the configuration of a plugin into that of a function (`GetFunctionSpec` of kyaml 0.20). */
const FUNCTION_ANNOTATIONS = ["config.kubernetes.io/function", "config.k8s.io/function"] as const;

/** The functions that these configurations describe, as far as they have any; undefined if one cannot be read. */
async function functionsOf(documents: readonly Json[], tree: RepositoryTree): Promise<readonly Json[] | undefined> {
  const metadata = documents.flatMap(withItems).flatMap((one) => objectsIn([one.metadata ?? null]));
  const annotations = metadata.flatMap((one) => objectsIn([one.annotations ?? null]));
  const texts = annotations.flatMap((one) => FUNCTION_ANNOTATIONS.flatMap((key) => textsOf(one[key])));
  const read = await Promise.all(texts.map((text) => tree.parseYaml(text)));
  if (read.includes(undefined)) return undefined;
  return [...read.flatMap((one) => one ?? []), ...metadata.flatMap((one) => one.configFn ?? [])];
}

/** Kustomize treats each item of a list as a resource of its own. */
function withItems(value: Json): readonly JsonObject[] {
  return isJsonObject(value) ? [value, ...objectsIn(value.items).flatMap(withItems)] : [];
}

/** Kustomize runs a function in the directory of the kustomization that has it (`LoaderWithWorkingDir`). */
function runsOwnProgram(run: Json, directory: string, tree: RepositoryTree): boolean {
  const runs = isJsonObject(run) ? objectsIn(membersOf(run, "exec")) : [];
  const programs = runs.flatMap((one) => membersOf(one, "path")).flatMap(textsOf);
  const scripts = runs.flatMap((one) => membersOf(one, "args")).flatMap(textsOf);
  return (
    programs.some((path) => /^[^/]+\//.test(path)) || scripts.some((path) => tree.hasFile(cleanPath(directory, path)))
  );
}

function isKustomization(path: string): boolean {
  return KUSTOMIZATION_FILES.some((name) => path === name || path.endsWith(`/${name}`));
}

/** Every text in a value, at any depth. */
function textsOf(value: Json | undefined): readonly string[] {
  if (typeof value === "string") return value === "" ? [] : [value];
  if (isList(value)) return value.flatMap(textsOf);
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
  return graphEntries(kustomization).some((entry) => !isPathIn(tree, directory, entry));
}

function graphEntries(kustomization: JsonObject): readonly string[] {
  return GRAPH_FIELDS.flatMap((field) => membersOf(kustomization, field).flatMap(textsIn));
}

/** Kustomize fetches every file that is named by a web address, also behind `key=` (`FileLoader.Load` of Kustomize 5). */
function fetchedFiles(kustomization: JsonObject): readonly string[] {
  return textsIn(kustomization).flatMap((text) => /^(?:[^=:/]*=)?(https?:\/\/.*)$/i.exec(text)?.[1] ?? []);
}

/** Whether any text in a value is a URL or an SSH address. */
function namesUrl(value: Json | undefined): boolean {
  return textsIn(value).some((text) => text.includes("://") || /^(?:git::|[\w.-]+@[^/]+:)/.test(text));
}

/** Whether any text in it that may be a path is a template. */
function namesTemplate(value: Json): boolean {
  return textsIn(value).some((text) => text.includes("{{") && !text.includes("://"));
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

/** Strings of one line; longer ones are inline content. */
function textsIn(value: Json | undefined): readonly string[] {
  if (typeof value === "string") return value === "" || value.includes("\n") ? [] : [value];
  if (isList(value)) return value.flatMap(textsIn);
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, member]) => (VALUES.has(key) ? [] : textsIn(member)));
}
