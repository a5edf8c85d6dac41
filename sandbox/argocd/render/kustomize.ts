import { createHash } from "node:crypto";
import { unknown } from "../api-error.js";
import { isObject, listAt, objectAt, sortedText, stringAt, textOf, type Json, type JsonObject } from "../json.js";
import type { Manifest } from "../manifest.js";
import type { Source } from "../resource.js";
import { readYaml } from "../yaml.js";
import type { Checkout } from "./checkout.js";
import { resolvePath } from "./paths.js";
import { readManifests, readObjects } from "./yaml-documents.js";

const fileNames = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/** The folder's kustomization file, if it has one. */
export function kustomizationFile(checkout: Checkout, folder: string): string | undefined {
  return fileNames.map((name) => resolvePath(folder, name)).find((path) => checkout.hasFile(path));
}

/**
 * The part of kustomize that the tests and the demo use: resources, generated ConfigMaps and Secrets, JSON patches, images, a name
 * prefix, and the Application's option `nameSuffix`. Anything else is refused.
 */
export async function renderKustomize(checkout: Checkout, source: Source): Promise<Manifest[]> {
  try {
    const { nameSuffix = "", ...others } = source.kustomize ?? {};
    const [option] = Object.keys(others);
    if (option !== undefined) throw new Error(`the sandbox does not support the option ${option}`);
    return (await build(checkout, checkout.path, 0)).map((manifest) => renamed(manifest, "", nameSuffix));
  } catch (error) {
    const reason = error instanceof Error ? error.message : "";
    throw unknown(
      `\`kustomize build <path to cached source>/${checkout.path}\` failed exit status 1: Error: ${reason}`,
    );
  }
}

const known = [
  ...["apiVersion", "kind", "resources", "patches", "images", "namePrefix"],
  ...["configMapGenerator", "secretGenerator", "generatorOptions"],
];

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
  const kustomization: unknown = readYaml((await checkout.text(file)) ?? "");
  if (!isObject(kustomization)) throw new Error("kustomization.yaml is empty");
  const strange = Object.keys(kustomization).find((key) => !known.includes(key));
  if (strange !== undefined) throw new Error(`invalid Kustomization: json: unknown field "${strange}"`);
  let manifests: Manifest[] = [];
  for (const entry of listAt(kustomization, "resources")) {
    const path = resolvePath(folder, textOf(entry));
    if (checkout.hasFile(path)) manifests.push(...readManifests(path, (await checkout.text(path)) ?? ""));
    else if (checkout.hasFolder(path)) manifests.push(...(await build(checkout, path, depth + 1)));
    else {
      throw new Error(
        `accumulating resources: accumulation err='accumulating resources from '${textOf(entry)}': no such file or directory'`,
      );
    }
  }
  const hashed = objectAt(kustomization, "generatorOptions").disableNameSuffixHash !== true;
  for (const kind of ["ConfigMap", "Secret"] as const) {
    const entries = listAt(kustomization, kind === "Secret" ? "secretGenerator" : "configMapGenerator").filter(
      isObject,
    );
    for (const entry of entries) {
      manifests.push(generated(kind, entry, await valuesOf(entry, folder, checkout), hashed));
    }
  }
  for (const patch of listAt(kustomization, "patches").filter(isObject)) manifests = patched(manifests, patch);
  const prefix = stringAt(kustomization, "namePrefix") ?? "";
  const images = listAt(kustomization, "images").filter(isObject);
  return manifests.map((manifest) => withImages(renamed(manifest, prefix, ""), "", images) as Manifest);
}

function renamed(manifest: Manifest, prefix: string, suffix: string): Manifest {
  const metadata = objectAt(manifest, "metadata");
  return { ...manifest, metadata: { ...metadata, name: `${prefix}${textOf(metadata.name)}${suffix}` } };
}

/** The data of a generator: literals, files, and files of lines `key=value`. */
async function valuesOf(entry: JsonObject, folder: string, checkout: Checkout): Promise<Record<string, string>> {
  const read = async (path: string): Promise<string> => {
    const text = await checkout.text(resolvePath(folder, path));
    if (text === undefined) throw new Error(`no such file: ${path}`);
    return text;
  };
  const pair = (text: string): [string, string] => {
    const [key = "", ...value] = text.split("=");
    return [key, value.join("=")];
  };
  const pairs = listAt(entry, "literals").map((literal) => pair(textOf(literal)));
  for (const file of listAt(entry, "files").map(textOf)) {
    const [key, path] = file.includes("=") ? pair(file) : [file.slice(file.lastIndexOf("/") + 1), file];
    pairs.push([key, await read(path)]);
  }
  for (const file of listAt(entry, "envs").map(textOf)) {
    const lines = (await read(file)).split("\n");
    pairs.push(...lines.filter((line) => line !== "" && !line.startsWith("#")).map(pair));
  }
  return Object.fromEntries(pairs);
}

/**
 * A generated ConfigMap or Secret. Its name ends in a hash of the content, as kustomize computes it:
 * https://github.com/kubernetes-sigs/kustomize/blob/kustomize/v5.8.1/api/hasher/hasher.go
 */
function generated(
  kind: "ConfigMap" | "Secret",
  entry: JsonObject,
  values: Readonly<Record<string, string>>,
  hashed: boolean,
): Manifest {
  const encoded = Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString("base64")]);
  const data = kind === "Secret" ? (Object.fromEntries(encoded) as Record<string, string>) : values;
  const type = kind === "Secret" ? { type: textOf(entry.type ?? "Opaque") } : {};
  const digest = createHash("sha256")
    .update(sortedText({ data, kind, name: "", ...type }))
    .digest("hex")
    .slice(0, 10);
  const instead: Readonly<Record<string, string>> = { "0": "g", "1": "h", "3": "k", a: "m", e: "t" };
  const hash = digest.replace(/[013ae]/g, (digit) => instead[digit] ?? digit);
  const name = hashed ? `${textOf(entry.name)}-${hash}` : textOf(entry.name);
  return { apiVersion: "v1", kind, metadata: { name }, data, ...type };
}

/** Applies JSON patch operations (RFC 6902) that replace a member to the objects that `target` names. */
function patched(manifests: readonly Manifest[], { patch, target }: JsonObject): Manifest[] {
  const operations = listAt(readObjects(`items:\n${textOf(patch)}`)[0], "items").filter(isObject);
  if (operations.length === 0) throw new Error("the sandbox supports inline JSON patches only");
  const { kind, name } = objectAt(target);
  return manifests.map((manifest) =>
    manifest.kind === kind && stringAt(manifest, "metadata", "name") === name
      ? (operations.reduce<Json>(patchedOnce, manifest) as Manifest)
      : manifest,
  );
}

function patchedOnce(document: Json, { op, path, value }: JsonObject): Json {
  if (op !== "replace") throw new Error(`the sandbox does not support the JSON patch operation ${textOf(op)}`);
  const replaced = (at: Json, [key, ...rest]: readonly string[]): Json => {
    if (key === undefined) return value ?? null;
    const member = isObject(at) ? at[key] : undefined;
    if (!isObject(at) || member === undefined) throw new Error(`replace operation does not apply: missing key ${key}`);
    return { ...at, [key]: replaced(member, rest) };
  };
  return replaced(document, textOf(path).split("/").slice(1));
}

/** Every `image` member with the tag that `images` gives it. */
function withImages(value: Json, key: string, images: readonly JsonObject[]): Json {
  if (Array.isArray(value)) return value.map((item) => withImages(item, key, images));
  if (isObject(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([member, inner]) => [member, withImages(inner ?? null, member, images)]),
    );
  }
  if (key !== "image" || typeof value !== "string") return value;
  const name = value.replace(/:[^:/]*$/, "");
  const tag = images.find((entry) => entry.name === name)?.newTag;
  return tag === undefined ? value : `${name}:${textOf(tag)}`;
}
