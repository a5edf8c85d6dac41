import { isList } from "../../model/effect.js";
import { canonicalJson, isJsonObject, type Json, type JsonObject } from "../../model/json.js";
import type { RepositoryTree } from "../../ports/snapshot.js";
import { KUSTOMIZATION_FILES } from "../inputs/kustomize-inputs.js";
import { cleanPath } from "../tree/repository-path.js";
import { NO_NAMING, type Naming, type SecretGenerator, type SecretPiece, type SecretPieces } from "./secret-piece.js";

/** Fields that leave the values of Secrets alone, or are read here. */
const KNOWN = new Set([
  ...["apiVersion", "kind", "metadata", "resources", "bases", "components", "namespace", "namePrefix", "nameSuffix"],
  ...["commonLabels", "commonAnnotations", "labels", "images", "replicas", "buildMetadata", "sortOptions"],
  ...["patches", "patchesStrategicMerge", "patchesJson6902", "configMapGenerator"],
  ...["secretGenerator", "generatorOptions"],
]);
const KNOWN_OF_GENERATOR = new Set([
  "name",
  "namespace",
  "behavior",
  "literals",
  "files",
  "envs",
  "env",
  "type",
  "options",
]);
const MAX_DIRECTORIES = 200;

/**
 * The manifests and generators that a kustomization makes Secrets of. Undefined if anything else may change a Secret: a patch
 * that may be for one, a replacement, a transformer, a remote base, a field that is not known here.
 */
export async function kustomizePieces(root: string, tree: RepositoryTree): Promise<SecretPieces | undefined> {
  const pieces = new Map<string, SecretPiece>();
  const seen = new Set<string>();
  return (await walk(root, NO_NAMING, "Kustomization")) ? pieces : undefined;

  /** False if it cannot be told. */
  async function walk(directory: string, outer: Naming, kind: "Kustomization" | "Component"): Promise<boolean> {
    if (seen.has(directory) || seen.size >= MAX_DIRECTORIES || tree.follow(directory).links.length > 0) return false;
    seen.add(directory);
    const [file, ...more] = KUSTOMIZATION_FILES.map((name) => cleanPath(directory, name)).filter((path) =>
      tree.hasFile(path),
    );
    if (file === undefined || more.length > 0) return false;
    const [kustomization, ...others] = (await tree.readYaml(file)) ?? [];
    if (!isJsonObject(kustomization) || others.length > 0) return false;
    if (Object.keys(kustomization).some((name) => !KNOWN.has(name))) return false;
    const naming = namingOf(kustomization, outer);
    // A component also renames what stands beside it.
    if (naming === undefined || (kind === "Component" && canonicalNaming(naming) !== canonicalNaming(outer))) {
      return false;
    }
    if (await mayPatchSecrets(kustomization, directory, tree)) return false;
    const generators = entriesOf(kustomization.secretGenerator);
    if (generators === undefined) return false;
    for (const entry of generators) {
      if (!isJsonObject(entry) || !addGenerator(entry, { kustomization, file, directory, naming })) return false;
    }
    const components = textsOf(kustomization.components);
    if (components === undefined) return false;
    for (const entry of components) if (!(await walk(cleanPath(directory, entry), naming, "Component"))) return false;
    const [resources, bases] = [textsOf(kustomization.resources), textsOf(kustomization.bases)];
    if (resources === undefined || bases === undefined) return false;
    for (const entry of [...resources, ...bases]) {
      const path = cleanPath(directory, entry);
      const found = tree.follow(path).links.length === 0 ? tree.entryAt(path) : undefined;
      if (found?.kind === "file") add({ kind: "manifests", path, naming }, found.blob);
      else if (!tree.hasDirectory(path) || !(await walk(path, naming, "Kustomization"))) return false;
    }
    return true;
  }

  function add(piece: SecretPiece, content: string): void {
    pieces.set(`${content} ${piece.path} ${canonicalNaming(piece.naming)}`, piece);
  }

  function addGenerator(
    entry: JsonObject,
    at: Pick<SecretGenerator, "directory" | "naming"> & { readonly file: string; readonly kustomization: JsonObject },
  ): boolean {
    const { behavior, options } = entry;
    const { generatorOptions } = at.kustomization;
    if (Object.keys(entry).some((name) => !KNOWN_OF_GENERATOR.has(name))) return false;
    if (behavior !== undefined && behavior !== "create") return false;
    const read = filesOf(entry, at.directory);
    const blobs = read?.map(({ path }) => (tree.follow(path).links.length > 0 ? undefined : tree.entryAt(path)));
    if (blobs === undefined || blobs.some((blob) => blob?.kind !== "file")) return false;
    const hashed = ![options, generatorOptions].some((one) => isJsonObject(one) && one.disableNameSuffixHash === true);
    const { directory, naming } = at;
    const contents = blobs.map((blob) => blob?.blob ?? "");
    add(
      { kind: "generator", entry, directory, path: at.file, naming, hashed },
      canonicalJson([entry, hashed, contents]),
    );
    return true;
  }
}

/** The keys and paths of the files that a generator reads; `key` is undefined for a file of `key=value` lines. */
export function filesOf(
  { files, envs, env }: JsonObject,
  directory: string,
): readonly { readonly key: string | undefined; readonly path: string }[] | undefined {
  const [named, listed, single] = [textsOf(files), textsOf(envs), env === undefined ? [] : textsOf([env])];
  if (named === undefined || listed === undefined || single === undefined) return undefined;
  return [
    ...named.map((text) => {
      const at = text.indexOf("=");
      const written = text.slice(at + 1);
      return { key: at === -1 ? written.slice(written.lastIndexOf("/") + 1) : text.slice(0, at), path: written };
    }),
    ...[...listed, ...single].map((path) => ({ key: undefined, path })),
  ].map(({ key, path }) => ({ key, path: cleanPath(directory, path) }));
}

function namingOf({ namePrefix, nameSuffix, namespace }: JsonObject, outer: Naming): Naming | undefined {
  const [prefix, suffix, own] = [namePrefix ?? "", nameSuffix ?? "", namespace ?? ""];
  if (typeof prefix !== "string" || typeof suffix !== "string" || typeof own !== "string") return undefined;
  return {
    prefix: outer.prefix + prefix,
    suffix: suffix + outer.suffix,
    namespace: outer.namespace ?? (own === "" ? undefined : own),
  };
}

function canonicalNaming({ prefix, suffix, namespace }: Naming): string {
  return JSON.stringify([prefix, suffix, namespace ?? ""]);
}

/** Whether a patch of a kustomization may be for a Secret, or turns another object into one. */
async function mayPatchSecrets(
  { patches, patchesStrategicMerge, patchesJson6902 }: JsonObject,
  directory: string,
  tree: RepositoryTree,
): Promise<boolean> {
  const [some, merged, json] = [patches, patchesStrategicMerge, patchesJson6902].map(entriesOf);
  if (some === undefined || merged === undefined || json === undefined) return true;
  for (const entry of [...some, ...json, ...merged.map((patch): JsonObject => ({ patch }))]) {
    if (!isJsonObject(entry) || entry.options !== undefined) return true;
    const { target } = entry;
    if (isJsonObject(target) && target.kind !== undefined) {
      if (!isOtherKind(target.kind)) return true;
      continue;
    }
    const text = entry.path ?? entry.patch;
    // Strategic merge patches may be files as well.
    const isFile = typeof text === "string" && !text.includes("\n") && tree.hasFile(cleanPath(directory, text));
    if (target !== undefined || typeof text !== "string") return true;
    const documents = isFile ? await tree.readYaml(cleanPath(directory, text)) : await tree.parseYaml(text);
    if (!documents?.every((one) => isJsonObject(one) && isOtherKind(one.kind))) return true;
  }
  return false;
}

/** Kustomize reads the kind of a target as a regular expression. */
function isOtherKind(kind: Json | undefined): boolean {
  return typeof kind === "string" && /^[A-Za-z0-9]+$/.test(kind) && kind !== "Secret" && !kind.endsWith("List");
}

/** The items of a list that may be missing; undefined if it is no list. */
function entriesOf(value: Json | undefined): readonly Json[] | undefined {
  if (value === undefined || value === null) return [];
  return isList(value) ? value : undefined;
}

export function textsOf(value: Json | undefined): readonly string[] | undefined {
  const entries = entriesOf(value);
  const texts = entries?.filter((entry) => typeof entry === "string");
  return texts?.length === entries?.length ? texts : undefined;
}
