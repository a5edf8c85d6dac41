import {
  type Application,
  type ApplicationSpec,
  isMultiSource,
  type Pin,
  readSource,
  type Source,
  sourcesOf,
} from "../../model/application.js";
import type { Revision } from "../../model/brand.js";
import { isJsonObject, isList, type Json, jsonEqual, type JsonObject, misspelledMember } from "../../model/json.js";
import type { RepositoryTree, Snapshot } from "../../ports/snapshot.js";
import { addressesIn, isPathIn, overrideFilesOf, pluginsIn } from "../inputs/input-set.js";
import { redactUserInfo } from "../tree/repository-url.js";

/** A definition as Argo CD renders it, or why that cannot be known; the problem has untrusted words. */
type Overridden = { readonly spec: ApplicationSpec } | { readonly problem: string };

interface Surroundings {
  readonly snapshot: Pick<Snapshot, "tree">;
  /** The tip of the target branch: overrides are read there, since that content was merged. */
  readonly reviewed: Revision;
}

/**
 * Lays the files `.argocd-source-<application>.yaml` of the application's own sources over its definition. Argo CD finds
 * them by the application's name, so a temporary Application is rendered without them.
 * https://argo-cd.readthedocs.io/en/stable/user-guide/parameters/#store-overrides-in-git
 * @param pins the commits of the sources that are in the change request's repository.
 */
export async function withParameterOverrides(
  application: Application,
  pins: readonly Pin[],
  around: Surroundings,
): Promise<Overridden> {
  let { spec } = application;
  for (const { position, revision } of pins) {
    const source = sourcesOf(spec)[position - 1];
    if (source?.role !== "plain" || (source.ref !== undefined && source.path === "")) continue;
    const found = await overridden(application, { spec, source, tree: await around.snapshot.tree(revision) }, around);
    if ("problem" in found) return { problem: `parameters are overridden by the application's name: ${found.problem}` };
    spec = found.spec;
  }
  return { spec };
}

interface At {
  readonly spec: ApplicationSpec;
  readonly source: Source;
  readonly tree: RepositoryTree;
}

async function overridden(application: Application, at: At, around: Surroundings): Promise<Overridden> {
  const { spec, source, tree } = at;
  const [forAll, own] = overrideFilesOf(application, source.path);
  const patch = await patchIn(own, tree);
  if (patch === undefined) return { spec };
  const shared = await patchIn(forAll, tree);
  if (typeof patch === "string") return { problem: patch };
  if (typeof shared === "string") return { problem: shared };
  const written = writtenSource(spec, source.position);
  const merged = withOverride(shared === undefined ? written : withOverride(written, shared), patch);
  // Argo CD applies the file for all applications to the temporary one once more.
  if (shared !== undefined && !jsonEqual(withOverride(merged, shared), merged)) {
    return { problem: sameParameters(forAll, own) };
  }
  const result = withSource(spec, source.position, merged);
  const more = await readsMore(at, result, own, around);
  return more === undefined ? { spec: result } : { problem: more };
}

/** The content of a file; undefined without one, a sentence if it cannot be used. */
async function patchIn(file: string, tree: RepositoryTree): Promise<JsonObject | string | undefined> {
  if (!tree.hasFile(file)) {
    const dangling = tree.follow(file).path === undefined || tree.entryAt(file)?.kind === "symlink";
    return dangling ? `${file} is a link that cannot be followed` : undefined;
  }
  const documents = await tree.readYaml(file);
  if (documents === undefined) return `${file} cannot be read`;
  const [patch, ...others] = documents;
  if (others.length > 0) return `${file} has several YAML documents, of which Argo CD reads one`;
  if (!isJsonObject(patch)) return `${file} is not a map of parameters, and Argo CD cannot render with it`;
  const strange = misspelled(patch);
  return strange === undefined ? patch : `${file} has the key ${strange}, which Argo CD may read as another one`;
}

/** The author of the file must not be shown what the definition would be withheld for. */
async function readsMore(
  { spec, source, tree }: At,
  overridden: ApplicationSpec,
  own: string,
  { snapshot, reviewed }: Surroundings,
): Promise<string | undefined> {
  const { position } = source;
  const beyond = (known: ApplicationSpec) => readsBeyond({ overridden, known, position, tree });
  const added = beyond(spec);
  if (added.length === 0) return undefined;
  const merged = await patchIn(own, await snapshot.tree(reviewed));
  const known = isJsonObject(merged) ? withOverride(writtenSource(spec, position), merged) : {};
  const left = new Set(beyond(withSource(spec, position, known)).filter((read) => added.includes(read)));
  if (left.size === 0) return undefined;
  return (
    `${own} makes it read what its definition does not: ${[...left].join(", ")}. ` +
    `Move that into the definition, which is rendered once this commit is approved`
  );
}

interface Compared {
  readonly overridden: ApplicationSpec;
  readonly known: ApplicationSpec;
  readonly position: number;
  /** The tree of the source at that position. */
  readonly tree: RepositoryTree;
}

function readsBeyond({ overridden, known, position, tree }: Compared): readonly string[] {
  const addresses = new Set(addressesIn(known));
  const plugins = new Set(pluginsIn(known));
  const references = new Set(referencesIn(readSource(writtenSource(known, position), position, "plain")));
  return [
    ...addressesIn(overridden, (entry, { path }) => isPathIn(tree, path, entry))
      .filter((address) => !addresses.has(address))
      .map(redactUserInfo),
    ...referencesIn(readSource(writtenSource(overridden, position), position, "plain")).filter(
      (one) => !references.has(one),
    ),
    ...(pluginsIn(overridden).every((plugin) => plugins.has(plugin)) ? [] : ["what a plugin makes of other settings"]),
  ];
}

function writtenSource(spec: ApplicationSpec, position: number): JsonObject {
  const { source, sources } = spec;
  const written = isMultiSource(spec) && isList(sources) ? sources[position - 1] : source;
  return isJsonObject(written) ? written : {};
}

/** Only its tools are taken over: the files cannot move a source. */
function withSource(spec: ApplicationSpec, position: number, overridden: JsonObject): ApplicationSpec {
  const tools = Object.fromEntries(
    TOOLS.flatMap((tool) => (overridden[tool] === undefined ? [] : [[tool, overridden[tool]]])),
  );
  const source = { ...writtenSource(spec, position), ...tools };
  if (!isMultiSource(spec) || !isList(spec.sources)) return { ...spec, source };
  return { ...spec, sources: spec.sources.map((one, index) => (index + 1 === position ? source : one)) };
}

function sameParameters(forAll: string, own: string): string {
  return (
    `${forAll} and ${own} set the same parameters: a preview under a temporary name would take the first one's. ` +
    `Keep each parameter in one of them, or move it into the definition`
  );
}

/** The members of a source that an override file can set. */
const TOOLS = ["helm", "kustomize", "directory", "plugin"] as const;
/** It may name these, without effect. */
const IGNORED = new Set(["chart", "path", "repoURL", "targetRevision", "ref", "name", "tagPrefix"]);
/**
 * Applies an override to a source as Argo CD does (v3.5 `mergeSourceParameters`): a JSON merge patch, decoded by Go into the
 * source that is there. So lists are replaced, but an item takes over what only the earlier item at its place has, and
 * `null` removes nothing but free text.
 */
export function withOverride(source: JsonObject, override: JsonObject): JsonObject {
  return decodeInto(source, mergePatch(source, override));
}

function decodeInto(known: JsonObject, merged: JsonObject): JsonObject {
  const members = Object.entries(merged).map(([key, value]) => [
    key,
    key === "valuesObject" ? value : decoded(Object.hasOwn(known, key) ? known[key] : undefined, value),
  ]);
  return { ...known, ...(Object.fromEntries(members) as JsonObject) };
}

function decoded(known: Json | undefined, value: Json | undefined): Json | undefined {
  if (isJsonObject(known) && isJsonObject(value)) return decodeInto(known, value);
  return isList(known) && isList(value) ? value.map((item, at) => decoded(known[at], item) ?? null) : value;
}

/** RFC 7396. */
function mergePatch(target: JsonObject, patch: JsonObject): JsonObject {
  const merged = Object.entries(patch).map(([key, value]): readonly [string, Json | undefined] => {
    const known = Object.hasOwn(target, key) ? target[key] : undefined;
    if (value === null) return [key, undefined];
    return [key, isJsonObject(value) ? mergePatch(isJsonObject(known) ? known : {}, value) : value];
  });
  const members = Object.entries({ ...target, ...Object.fromEntries(merged) });
  return Object.fromEntries(members.filter(([, value]) => value !== undefined));
}

/** A key that is not a member of a source, or that differs from a member only in its case. */
export function misspelled(override: JsonObject): string | undefined {
  const tools: readonly string[] = TOOLS;
  const strange = Object.keys(override).find((key) => !tools.includes(key) && !IGNORED.has(key));
  return strange ?? misspelledMember(override)?.key;
}

/** The other sources whose files it names, as `$values`. */
function referencesIn({ helm }: Pick<Source, "helm">): readonly string[] {
  const files = [...(helm?.valueFiles ?? []), ...(helm?.fileParameters ?? [])];
  return files.flatMap((file) => /^\$[\w-]+(?=\/)/.exec(file) ?? []);
}
