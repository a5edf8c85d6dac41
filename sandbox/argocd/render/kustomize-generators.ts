import { createHash } from "node:crypto";
import { isObject, listAt, objectAt, sortedText, stringAt, type Json, type JsonObject } from "../json.js";
import type { Manifest } from "../manifest.js";
import { textOf } from "../template/functions.js";
import type { Checkout } from "./checkout.js";
import { baseName, resolvePath } from "./paths.js";

/**
 * The suffix of a generated name, as kustomize computes it: the object's content without its name.
 * https://github.com/kubernetes-sigs/kustomize/blob/kustomize/v5.8.1/api/hasher/hasher.go
 */
export function contentHash(manifest: Manifest): string {
  const { kind, data, type } = manifest;
  const content: JsonObject =
    kind === "Secret" ? { data: data ?? "", kind, name: "", type: type ?? "" } : { data: data ?? "", kind, name: "" };
  const digest = createHash("sha256").update(sortedText(content)).digest("hex").slice(0, 10);
  const instead: Readonly<Record<string, string>> = { "0": "g", "1": "h", "3": "k", a: "m", e: "t" };
  return digest.replace(/[013ae]/g, (digit) => instead[digit] ?? digit);
}

/** Objects of `configMapGenerator` and `secretGenerator`, before prefixes; `hashed` ones get a suffix afterwards. */
export async function generated(
  checkout: Checkout,
  folder: string,
  kustomization: JsonObject,
): Promise<{ manifest: Manifest; hashed: boolean }[]> {
  const options = objectAt(kustomization, "generatorOptions");
  const results: { manifest: Manifest; hashed: boolean }[] = [];
  for (const [member, kind] of [
    ["configMapGenerator", "ConfigMap"],
    ["secretGenerator", "Secret"],
  ] as const) {
    for (const entry of listAt(kustomization, member).filter(isObject)) {
      const values = await entryValues(checkout, folder, entry);
      const encoded = [...values].map(([key, value]): [string, Json] => [
        key,
        kind === "Secret" ? Buffer.from(value).toString("base64") : value,
      ]);
      const own = { ...options, ...objectAt(entry, "options") };
      const labels = objectAt(own, "labels");
      const namespace = stringAt(entry, "namespace");
      const manifest: Manifest = {
        apiVersion: "v1",
        kind,
        metadata: {
          name: stringAt(entry, "name") ?? "",
          ...(namespace === undefined ? {} : { namespace }),
          ...(Object.keys(labels).length === 0 ? {} : { labels }),
        },
        data: Object.fromEntries(encoded),
        ...(kind === "Secret" ? { type: stringAt(entry, "type") ?? "Opaque" } : {}),
      };
      results.push({ manifest, hashed: own.disableNameSuffixHash !== true });
    }
  }
  return results;
}

async function entryValues(checkout: Checkout, folder: string, entry: JsonObject): Promise<Map<string, string>> {
  const values = new Map<string, string>();
  const read = async (file: string): Promise<string> => {
    const text = await checkout.text(resolvePath(folder, file));
    if (text === undefined) {
      throw new Error(`loading KV pairs: file sources: [${file}]: evalsymlink failure on '${file}'`);
    }
    return text;
  };
  for (const file of listAt(entry, "files")) {
    const [first = "", path] = textOf(file).split("=");
    values.set(path === undefined ? baseName(first) : first, await read(path ?? first));
  }
  const env = stringAt(entry, "env");
  for (const file of [...listAt(entry, "envs"), ...(env === undefined ? [] : [env])]) {
    const lines = (await read(textOf(file))).split("\n").filter((line) => line.trim() !== "" && !line.startsWith("#"));
    for (const line of lines) setLiteral(values, line);
  }
  for (const literal of listAt(entry, "literals")) setLiteral(values, textOf(literal));
  return values;
}

function setLiteral(values: Map<string, string>, line: string): void {
  const at = line.indexOf("=");
  const value = line.slice(at + 1).replace(/^(["'])(.*)\1$/s, "$2");
  values.set(line.slice(0, at), value);
}
