import { parse } from "yaml";
import { unknown } from "../api-error.js";
import { isObject, listAt, objectAt, omit, stringAt, type Json, type JsonObject } from "../json.js";
import { annotation, type Manifest } from "../manifest.js";
import type { Source } from "../resource.js";
import { textOf } from "../template/functions.js";
import { substitute } from "./build-environment.js";
import type { Checkout } from "./checkout.js";
import { contentHash, generated } from "./kustomize-generators.js";
import { applyPatch, mapTexts, merged, strategicMerge, withLabels } from "./kustomize-transform.js";
import { resolvePath } from "./paths.js";
import { readManifests } from "./yaml-documents.js";

const fileNames = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/** The folder's kustomization file, if it has one. */
export function kustomizationFile(checkout: Checkout, folder: string): string | undefined {
  return fileNames.map((name) => resolvePath(folder, name)).find((path) => checkout.hasFile(path));
}

/** Just enough of kustomize for a demo; what it does not know it refuses instead of rendering something else. */
export async function renderKustomize(
  checkout: Checkout,
  source: Source,
  environment: ReadonlyMap<string, string>,
): Promise<Manifest[]> {
  try {
    const built = await build(checkout, checkout.path, 0);
    const { images, namePrefix, nameSuffix, namespace, commonLabels, commonAnnotations, patches } =
      source.kustomize ?? {};
    const expand = (values: Record<string, string> | undefined): JsonObject =>
      Object.fromEntries(Object.entries(values ?? {}).map(([key, value]) => [key, substitute(value, environment)]));
    const extra: JsonObject = {
      namePrefix,
      nameSuffix,
      namespace,
      commonLabels: expand(commonLabels),
      commonAnnotations: expand(commonAnnotations),
      images: (images ?? []).map((image) => imageOverride(substitute(image, environment))),
      patches: patches ?? [],
    };
    return (await transform(checkout, checkout.path, extra, built)).map(withoutMark);
  } catch (error) {
    const reason = error instanceof Error ? error.message : "";
    throw unknown(
      `\`kustomize build <path to cached source>/${checkout.path}\` failed exit status 1: Error: ${reason}`,
    );
  }
}

const known = new Set([
  "apiVersion",
  "kind",
  "metadata",
  "resources",
  "bases",
  "components",
  "namePrefix",
  "nameSuffix",
  "namespace",
  "commonLabels",
  "commonAnnotations",
  "labels",
  "images",
  "replicas",
  "patches",
  "patchesStrategicMerge",
  "patchesJson6902",
  "configMapGenerator",
  "secretGenerator",
  "generatorOptions",
]);
const hashMark = "sandbox.invalid/hashed";

async function build(checkout: Checkout, folder: string, depth: number): Promise<Manifest[]> {
  const file = kustomizationFile(checkout, folder);
  if (depth > 20 || folder.startsWith("..")) {
    throw new Error(`cycle detected or path outside of the repository: ${folder}`);
  }
  if (file === undefined) {
    throw new Error(
      `unable to find one of 'kustomization.yaml', 'kustomization.yml' or 'Kustomization' in directory '${folder}'`,
    );
  }
  const kustomization: unknown = parse((await checkout.text(file)) ?? "", { maxAliasCount: 100 });
  if (!isObject(kustomization)) throw new Error("kustomization.yaml is empty");
  const strange = Object.keys(kustomization).find((key) => !known.has(key));
  if (strange !== undefined) throw new Error(`invalid Kustomization: json: unknown field "${strange}"`);
  let manifests: Manifest[] = [];
  for (const entry of [...listAt(kustomization, "resources"), ...listAt(kustomization, "bases")]) {
    const path = resolvePath(folder, textOf(entry));
    if (checkout.hasFile(path)) manifests.push(...readManifests(path, (await checkout.text(path)) ?? ""));
    else if (checkout.hasFolder(path)) manifests.push(...(await build(checkout, path, depth + 1)));
    else {
      throw new Error(
        `accumulating resources: accumulation err='accumulating resources from '${textOf(entry)}': no such file or directory'`,
      );
    }
  }
  for (const { manifest, hashed } of await generated(checkout, folder, kustomization)) {
    manifests.push(hashed ? merged(manifest, ["metadata", "annotations"], { [hashMark]: "true" }) : manifest);
  }
  for (const entry of listAt(kustomization, "components")) {
    const component = await readComponent(checkout, resolvePath(folder, textOf(entry)), depth);
    manifests = await transform(checkout, component.folder, component.kustomization, [
      ...manifests,
      ...component.manifests,
    ]);
  }
  return withSuffixes(await transform(checkout, folder, kustomization, manifests), depth);
}

async function readComponent(
  checkout: Checkout,
  folder: string,
  depth: number,
): Promise<{ folder: string; kustomization: JsonObject; manifests: Manifest[] }> {
  const file = kustomizationFile(checkout, folder);
  const kustomization: unknown = parse((file === undefined ? undefined : await checkout.text(file)) ?? "");
  if (!isObject(kustomization) || depth > 20) throw new Error(`component ${folder} is missing`);
  const manifests: Manifest[] = [];
  for (const entry of listAt(kustomization, "resources")) {
    const path = resolvePath(folder, textOf(entry));
    manifests.push(
      ...(checkout.hasFile(path)
        ? readManifests(path, (await checkout.text(path)) ?? "")
        : await build(checkout, path, depth + 1)),
    );
  }
  return { folder, kustomization, manifests };
}

async function transform(
  checkout: Checkout,
  folder: string,
  kustomization: JsonObject,
  input: Manifest[],
): Promise<Manifest[]> {
  let manifests = input;
  const inline = (entry: Json): JsonObject =>
    typeof entry === "string"
      ? entry.includes("\n")
        ? { patch: entry }
        : { path: entry }
      : isObject(entry)
        ? entry
        : {};
  const patches = ["patches", "patchesStrategicMerge", "patchesJson6902"].flatMap((member) =>
    listAt(kustomization, member).map(inline),
  );
  for (const entry of patches) {
    const path = stringAt(entry, "path");
    const text =
      stringAt(entry, "patch") ?? (path === undefined ? undefined : await checkout.text(resolvePath(folder, path)));
    if (text === undefined) {
      throw new Error(`failed to get the patch file from path(${path ?? ""}): no such file or directory`);
    }
    manifests = applyPatch(manifests, text, isObject(entry.target) ? entry.target : undefined);
  }
  const labels = listAt(kustomization, "labels").filter(isObject);
  const images = listAt(kustomization, "images").filter(isObject);
  const [prefix, suffix] = [stringAt(kustomization, "namePrefix") ?? "", stringAt(kustomization, "nameSuffix") ?? ""];
  const namespace = stringAt(kustomization, "namespace");
  const annotations = objectAt(kustomization, "commonAnnotations");
  return renamed(manifests, (name) => `${prefix}${name}${suffix}`).map((manifest) => {
    let result = withLabels(manifest, objectAt(kustomization, "commonLabels"), true);
    for (const entry of labels) result = withLabels(result, objectAt(entry, "pairs"), entry.includeSelectors === true);
    if (Object.keys(annotations).length > 0) result = merged(result, ["metadata", "annotations"], annotations);
    if (namespace !== undefined && stringAt(result, "kind") !== "Namespace") {
      result = merged(result, ["metadata"], { namespace });
    }
    for (const entry of listAt(kustomization, "replicas").filter(isObject)) {
      if (stringAt(result, "metadata", "name") === `${prefix}${stringAt(entry, "name") ?? ""}${suffix}`) {
        result = merged(result, ["spec"], { replicas: entry.count });
      }
    }
    return images.length === 0
      ? result
      : (mapTexts(result, (text, key) => (key === "image" ? withImage(text, images) : text)) as Manifest);
  });
}

/** Gives objects new names and follows them where configuration is referred to by name. */
function renamed(manifests: Manifest[], newName: (name: string, manifest: Manifest) => string): Manifest[] {
  const names = new Map(manifests.map((manifest) => [stringAt(manifest, "metadata", "name") ?? "", manifest]));
  const references = new Set(["configMapRef", "secretRef", "configMapKeyRef", "secretKeyRef", "configMap", "secret"]);
  const follow = (value: Json, key: string): Json => {
    if (Array.isArray(value)) return value.map((item) => follow(item, key));
    if (!isObject(value)) return value;
    const copied = Object.fromEntries(
      Object.entries(value).map(([name, member]) => [name, follow(member ?? null, name)]),
    );
    const member = key === "secret" ? "secretName" : "name";
    const named = copied[member];
    const target = typeof named === "string" ? names.get(named) : undefined;
    return references.has(key) && target !== undefined && typeof named === "string"
      ? { ...copied, [member]: newName(named, target) }
      : copied;
  };
  return manifests.map((manifest) => {
    const followed = follow(manifest, "") as Manifest;
    const name = stringAt(followed, "metadata", "name");
    if (name === undefined || stringAt(manifest, "kind") === "Namespace") return followed;
    return merged(followed, ["metadata"], { name: newName(name, manifest) });
  });
}

/** Hash suffixes come once, at the very end: a hash of an inner level would not see the outer patches. */
function withSuffixes(manifests: Manifest[], depth: number): Manifest[] {
  if (depth > 0) return manifests;
  return renamed(manifests, (name, manifest) =>
    annotation(manifest, hashMark) === "true" ? `${name}-${contentHash(manifest)}` : name,
  );
}

function withoutMark(manifest: Manifest): Manifest {
  const metadata = objectAt(manifest, "metadata");
  const annotations = omit(objectAt(metadata, "annotations"), hashMark);
  const rest = { ...metadata, annotations: Object.keys(annotations).length === 0 ? null : annotations };
  return strategicMerge({ ...manifest, metadata: {} }, { metadata: rest }) as Manifest;
}

/** `name=newName:tag`, `name:tag` or `name@digest`, as an Application writes an image. */
function imageOverride(text: string): JsonObject {
  const [left = "", right] = text.split("=");
  const target = right ?? left;
  const [, newName = "", tag, digest] = /^(.*?)(?::([^:/@]+))?(?:@(.+))?$/.exec(target) ?? [];
  const name = right === undefined ? newName : left;
  return { name, newName, newTag: tag, digest };
}

function withImage(image: string, overrides: JsonObject[]): string {
  const [, name = "", tag] = /^(.*?)(?::([^:/@]+))?(?:@.+)?$/.exec(image) ?? [];
  const override = overrides.find((entry) => entry.name === name);
  if (override === undefined) return image;
  const digest = stringAt(override, "digest");
  const newTag = stringAt(override, "newTag") ?? (typeof override.newTag === "number" ? String(override.newTag) : tag);
  const base = stringAt(override, "newName") ?? name;
  return digest !== undefined ? `${base}@${digest}` : newTag === undefined ? base : `${base}:${newTag}`;
}
