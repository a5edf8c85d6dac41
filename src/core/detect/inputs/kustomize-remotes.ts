import { isJsonObject, type Json, type JsonObject } from "../../model/json.js";
import type { RepositoryTree } from "../../ports/snapshot.js";
import { cleanPath } from "../tree/repository-path.js";
import { isExactVersion } from "./pinned-reads.js";

/** Their entries are files, directories, or repositories to clone. */
const GRAPH_FIELDS = ["resources", "bases", "components", "generators", "transformers", "validators"] as const;
/** Members whose strings are values, not paths. */
const VALUES = new Set([
  ...["annotations", "commonAnnotations", "commonLabels", "images", "labels", "literals", "metadata", "patch"],
  "valuesInline",
]);

/**
 * Whether a kustomization fetches something that no commit of this repository determines: a file or a repository by URL, a
 * chart without an exact version, or an entry that is not in the tree (a repository's short form, or broken).
 */
export function fetchesRemotes(kustomization: JsonObject, directory: string, tree: RepositoryTree): boolean {
  const charts = [kustomization.helmCharts, kustomization.helmChartInflationGenerator].flatMap(objectsIn);
  if (charts.some(fetchesChart)) return true;
  const read = { ...kustomization, helmCharts: charts.map(withoutRepository), helmChartInflationGenerator: undefined };
  if (namesUrl(read)) return true;
  return GRAPH_FIELDS.flatMap((field) => textsIn(kustomization[field])).some((entry) => {
    const path = cleanPath(directory, entry);
    return !tree.hasFile(path) && !tree.hasDirectory(path);
  });
}

/** Whether any text in a value is a URL or an SSH address. */
export function namesUrl(value: Json | undefined): boolean {
  return textsIn(value).some((text) => text.includes("://") || /^(?:git::|[\w.-]+@[^/]+:)/.test(text));
}

function fetchesChart({ repo, version, chartRepoUrl, chartVersion }: JsonObject): boolean {
  const from = repo ?? chartRepoUrl ?? "";
  const exact = version ?? chartVersion ?? "";
  return from !== "" && !(typeof exact === "string" && isExactVersion(exact));
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
