import { unknown } from "../api-error.js";
import { isObject, mergePatch, type Json } from "../json.js";
import type { Manifest } from "../manifest.js";
import { repaired } from "../read-request.js";
import type { Repositories } from "../repository.js";
import type { Source } from "../resource.js";
import { source as sourceSchema } from "../schemas/application-spec.js";
import { readYaml } from "../yaml.js";
import { buildEnvironment, type Rendered } from "./build-environment.js";
import { Checkout } from "./checkout.js";
import type { HandWritten } from "./hand-written.js";
import type { References } from "./helm-values.js";
import { renderHelm } from "./helm.js";
import { kustomizationFile, renderKustomize } from "./kustomize.js";
import { baseName, folderOf, globToRegExp, isInside, resolvePath } from "./paths.js";
import { readManifests } from "./yaml-documents.js";

export interface SourceAt {
  readonly source: Source;
  /** A commit id, or a chart's version. */
  readonly revision: string;
}

/** `Helm`, `Kustomize`, `Directory`, `Plugin`, or empty for a source that renders nothing. */
export type SourceType = "Helm" | "Kustomize" | "Directory" | "Plugin" | "";

export interface RenderedSource {
  readonly manifests: readonly Manifest[];
  readonly type: SourceType;
}

/** Renders one source of an application, without tracking marks. */
export async function renderSource(
  at: SourceAt,
  all: readonly SourceAt[],
  rendered: Rendered,
  repositories: Repositories,
  handWritten: HandWritten,
): Promise<RenderedSource> {
  const { source, revision } = at;
  const written = handWritten.ofSource(source, revision);
  if (written !== undefined) return { manifests: written, type: explicitType(source) ?? "Directory" };
  if (source.ref !== undefined && source.path === undefined && source.chart === undefined) {
    return { manifests: [], type: "" };
  }
  if (source.chart !== undefined) {
    throw unknown(`failed to fetch chart: no manifests were given for chart ${source.chart} ${revision}`);
  }
  if (source.repoURL.startsWith("oci://")) {
    throw unknown(`failed to fetch OCI image: no manifests were given for ${source.repoURL} ${revision}`);
  }
  const references = await openReferences(at, all, repositories);
  const checkout = await Checkout.open(repositories.at(source.repoURL), source.repoURL, revision, source.path ?? "");
  repositories.checkLinks(source.repoURL, revision);
  const merged = await withOverrides(checkout, source, rendered.instance);
  const environment = buildEnvironment(rendered, source, revision);
  const type = explicitType(merged) ?? detectedType(checkout);
  switch (type) {
    case "Helm":
      return { type, manifests: await renderHelm(checkout, merged, rendered, references, environment) };
    case "Kustomize":
      return { type, manifests: await renderKustomize(checkout, merged) };
    case "Plugin":
      throw unknown("could not find plugin supporting the given cmp");
    case "Directory":
    case "":
      return { type, manifests: await renderDirectory(checkout, merged) };
  }
}

function explicitType(source: Source): SourceType | undefined {
  const types: SourceType[] = [];
  if (source.kustomize !== undefined) types.push("Kustomize");
  if (source.helm !== undefined) types.push("Helm");
  if (source.directory !== undefined) types.push("Directory");
  if (source.plugin !== undefined) types.push("Plugin");
  if (types.length > 1) throw unknown(`multiple application sources defined: ${types.join(",")}`);
  return types[0];
}

/** A walk in the order of names finds a kustomization behind a `Chart.yaml`, and the last one counts (`Discover` of v3.5). */
function detectedType(checkout: Checkout): SourceType {
  if (kustomizationFile(checkout, checkout.path) !== undefined) return "Kustomize";
  return checkout.hasFile(resolvePath(checkout.path, "Chart.yaml")) ? "Helm" : "Directory";
}

/** The references of value files. A reference into the same repository must be at the same commit. */
async function openReferences(at: SourceAt, all: readonly SourceAt[], repositories: Repositories): Promise<References> {
  const references = new Map<string, Checkout>();
  const used = new Set((at.source.helm?.valueFiles ?? []).map((file) => /^\$([\w-]+)\//.exec(file)?.[1]));
  for (const { source, revision } of all) {
    if (source.ref === undefined || !used.has(source.ref)) continue;
    if (cleanUrl(source.repoURL) === cleanUrl(at.source.repoURL) && revision !== at.revision) {
      const [reference, own] = [quoteRevision(revision), quoteRevision(at.revision)];
      throw unknown(
        `cannot reference a different revision of the same repository ($${source.ref} references ${reference} while the application references ${own})`,
      );
    }
    references.set(source.ref, await Checkout.open(repositories.at(source.repoURL), source.repoURL, revision, ""));
  }
  return references;
}

function quoteRevision(revision: string): string {
  return `"${revision}" which resolves to "${revision}"`;
}

/** Argo CD compares repositories here ignoring case and `.git`, but not the scheme. */
function cleanUrl(url: string): string {
  return url
    .trim()
    .toLowerCase()
    .replace(/\.git$/, "");
}

/** Renders plain YAML and JSON files, in subfolders only with `recurse`. */
async function renderDirectory(checkout: Checkout, source: Source): Promise<Manifest[]> {
  const { recurse = false, include, exclude } = source.directory ?? {};
  const paths = checkout.files().filter((path) => {
    if (!isInside(checkout.path, path) || !/\.(ya?ml|json)$/.test(path)) return false;
    if (!recurse && folderOf(path) !== checkout.path) return false;
    const relative = checkout.path === "" ? path : path.slice(checkout.path.length + 1);
    if (baseName(path).startsWith(".argocd-source")) return false;
    if (exclude !== undefined && exclude !== "" && globToRegExp(exclude).test(relative)) return false;
    return include === undefined || include === "" || globToRegExp(include).test(relative);
  });
  const texts = await checkout.read(paths);
  return paths.flatMap((path) => readManifests(baseName(path), texts.get(path) ?? ""));
}

/**
 * Applies `.argocd-source.yaml` and then `.argocd-source-<instance>.yaml` to the source. They cannot change its location.
 * https://argo-cd.readthedocs.io/en/release-3.1/user-guide/parameters/#store-overrides-in-git
 */
async function withOverrides(checkout: Checkout, source: Source, instance: string): Promise<Source> {
  let merged: Json = source;
  for (const name of [".argocd-source.yaml", `.argocd-source-${instance}.yaml`]) {
    const text = await checkout.text(resolvePath(checkout.path, name));
    if (text === undefined) continue;
    const patch: unknown = readYaml(text);
    if (isObject(patch)) merged = decodedInto(merged, mergePatch(merged, patch));
    else throw unknown(`error while parsing source parameters: ${name}: Invalid JSON Patch`);
  }
  const { chart, path, repoURL, targetRevision } = source;
  const parsed = repaired(sourceSchema, merged, "ApplicationSource", () => undefined) as Source;
  return { ...parsed, chart, path, repoURL, targetRevision };
}

/** What Go decodes into a value that is there keeps what the text leaves out; items of lists are decoded by their place. */
function decodedInto(known: Json | undefined, text: Json): Json {
  if (Array.isArray(known) && Array.isArray(text)) return text.map((item, at) => decodedInto(known[at], item));
  if (!isObject(known) || !isObject(text)) return text;
  const members = Object.entries(text).flatMap(([key, member]) =>
    member === undefined ? [] : [[key, key === "valuesObject" ? member : decodedInto(known[key], member)] as const],
  );
  return { ...known, ...Object.fromEntries(members) };
}
