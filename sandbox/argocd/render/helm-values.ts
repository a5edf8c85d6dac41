import { type ApiError, unknown } from "../api-error.js";
import { isObject, type Json, type JsonObject } from "../json.js";
import type { Source } from "../resource.js";
import { readYaml } from "../yaml.js";
import { substitute } from "./build-environment.js";
import type { Checkout } from "./checkout.js";
import { resolvePath } from "./paths.js";

/** A `ref` source that value files can point into. */
export type References = ReadonlyMap<string, Checkout>;

export function helmFailure(release: string, reason: string): ApiError {
  return unknown(
    `failed to execute helm template command: failed to get command args to log: \`helm template . --name-template ${release} --include-crds\` failed exit status 1: Error: ${reason}`,
  );
}

/** Values as Helm merges them: chart, value files in order, `values` or `valuesObject`, then parameters. */
export async function helmValues(
  checkout: Checkout,
  source: Source,
  references: References,
  environment: ReadonlyMap<string, string>,
  release: string,
): Promise<JsonObject> {
  const helm = source.helm ?? {};
  let values = readValues(
    (await checkout.text(resolvePath(checkout.path, "values.yaml"))) ?? "",
    release,
    "values.yaml",
  );
  for (const file of helm.valueFiles ?? []) {
    const [at, path] = valueFile(checkout, substituteReference(file, environment), references);
    const text = await at.text(path);
    if (text === undefined) {
      throw helmFailure(release, `open <path to cached source>/${path}: no such file or directory`);
    }
    values = mergeValues(values, readValues(text, release, path));
  }
  if (helm.valuesObject !== undefined) values = mergeValues(values, helm.valuesObject);
  else if (helm.values !== undefined) values = mergeValues(values, readValues(helm.values, release, "values"));
  for (const { name, value, forceString } of helm.parameters ?? []) {
    const text = substitute(value ?? "", environment);
    setPath(values, (name ?? "").split(/(?<!\\)\./), forceString === true ? text : scalar(text));
  }
  return values;
}

/** `$values/…` names a reference, not a variable, and stays. */
function substituteReference(file: string, environment: ReadonlyMap<string, string>): string {
  const [first = "", ...rest] = file.split("/");
  if (!first.startsWith("$") || first.startsWith("$ARGOCD_")) return substitute(file, environment);
  return [first, substitute(rest.join("/"), environment)].join("/");
}

function valueFile(checkout: Checkout, file: string, references: References): [Checkout, string] {
  const reference = /^\$([A-Za-z0-9_-]+)\/(.*)$/.exec(file);
  let at = checkout;
  let path = resolvePath(checkout.path, file);
  if (reference !== null) {
    const [, name = "", rest = ""] = reference;
    const found = references.get(name);
    if (found === undefined) throw unknown(`source referenced "$${name}", but no source has a 'ref' field defined`);
    [at, path] = [found, resolvePath("", rest)];
  }
  if (path.startsWith("..")) {
    throw unknown(`failed to resolve value file path: value file '${file}' resolved to outside repository root`);
  }
  return [at, path];
}

function readValues(text: string, release: string, file: string): JsonObject {
  try {
    const value: unknown = readYaml(text);
    return isObject(value) ? value : {};
  } catch (error) {
    throw helmFailure(release, `failed to parse ${file}: ${error instanceof Error ? error.message : ""}`);
  }
}

/** Merges maps and replaces everything else; null removes a key. */
export function mergeValues(under: JsonObject, over: JsonObject): JsonObject {
  const merged: JsonObject = { ...under };
  for (const [key, value] of Object.entries(over)) {
    const below = merged[key];
    merged[key] = isObject(value) && isObject(below) ? mergeValues(below, value) : (value ?? undefined);
  }
  return merged;
}

function setPath(values: JsonObject, path: string[], value: Json): void {
  const [key = "", ...rest] = path;
  const plain = key.replaceAll("\\.", ".");
  if (rest.length === 0) {
    values[plain] = value;
    return;
  }
  const below = values[plain];
  const inner: JsonObject = isObject(below) ? { ...below } : {};
  values[plain] = inner;
  setPath(inner, rest, value);
}

/** A value as `--set` parses it. */
function scalar(text: string): Json {
  if (/^-?(0|[1-9]\d{0,15})$/.test(text)) return Number(text);
  if (text === "true" || text === "false") return text === "true";
  return text === "null" ? null : text;
}
