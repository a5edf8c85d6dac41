import { posix } from "node:path";
import type { Revision } from "../model/brand.js";
import type { ChangeRequest } from "../model/change-request.js";
import { isList } from "../model/effect.js";
import { canonicalJson, isJsonObject, type Json, type JsonObject } from "../model/json.js";
import type { Snapshot } from "../ports/snapshot.js";
import { EmbeddedTexts } from "../secrets/embedded.js";
import { secretValues } from "../secrets/hide-values.js";

/** Files that manifests are written in, and those that Kustomize makes Secrets of. */
const MANIFEST = /\.(?:ya?ml|json)$/i;
const MOST_FILES = 20_000;
const MOST_READ = 2000;

/**
 * The values of the Secrets that stand in the repository at head and base of a change request: in manifests and their
 * carriers, in Kustomize's generators, and in templates line by line. Read only when a message has to be searched for them.
 */
export async function secretsOfRepository(snapshot: Snapshot, change: ChangeRequest): Promise<readonly Json[]> {
  const revisions = [...new Set([change.headRevision, change.baseRevision])];
  const found = await Promise.all(revisions.map((revision) => secretsAt(snapshot, revision)));
  const values = new Map(found.flat().map((value) => [canonicalJson(value), value]));
  return [...values.values()];
}

async function secretsAt(snapshot: Snapshot, revision: Revision): Promise<readonly Json[]> {
  const entries = await snapshot.list(revision);
  const paths = entries.filter(({ path, kind }) => kind === "file" && MANIFEST.test(path)).map(({ path }) => path);
  const texts = await snapshot.read(revision, paths.slice(0, MOST_FILES));
  const tree = await snapshot.tree(revision);
  const embedded = new EmbeddedTexts();
  const values: Json[] = [];
  const files: string[] = [];
  const some = [...texts].filter(([, text]) => /secret|\\[uUx]/i.test(text)).slice(0, MOST_READ);
  for (const [path, text] of some) {
    const documents = (await tree.parseYaml(text))?.filter(isJsonObject);
    if (documents === undefined) values.push(...linesOfData(text));
    values.push(...secretValues(documents ?? [], embedded));
    for (const document of documents ?? []) {
      const generated = generatorsOf(document);
      values.push(...generated.values);
      files.push(...generated.files.map((file) => posix.normalize(posix.join(posix.dirname(path), file))));
    }
  }
  const generatedFrom = await snapshot.read(revision, files.slice(0, MOST_READ));
  for (const text of generatedFrom.values()) values.push(text, ...text.split("\n").map(afterSign));
  return values;
}

/** What a Kustomization makes Secrets of. */
function generatorsOf({ secretGenerator }: JsonObject): {
  readonly values: readonly string[];
  readonly files: readonly string[];
} {
  const generators = isList(secretGenerator) ? secretGenerator.filter(isJsonObject) : [];
  const texts = (names: readonly string[]) =>
    generators.flatMap((one) => names.flatMap((name) => textsIn(one[name]))).filter((text) => text !== "");
  return { values: texts(["literals"]).map(afterSign), files: texts(["files", "envs", "env"]).map(afterSign) };
}

function textsIn(value: Json | undefined): readonly string[] {
  if (typeof value === "string") return [value];
  return isList(value) ? value.filter((item) => typeof item === "string") : [];
}

/** `key=value` to `value`; a text without a sign as it is. */
function afterSign(text: string): string {
  return text.slice(text.indexOf("=") + 1).trim();
}

/** The values of the lines below `data:` and `stringData:` in a template of a Secret, which is no YAML. */
function linesOfData(text: string): readonly string[] {
  if (!/kind:\s*["']?Secret/i.test(text)) return [];
  let indent: number | undefined;
  return text.split("\n").flatMap((line) => {
    const own = line.length - line.trimStart().length;
    if (/^\s*(?:string|binary)?data:\s*$/i.test(line)) {
      indent = own;
      return [];
    }
    if (line.trim() !== "" && indent !== undefined && own <= indent) indent = undefined;
    const value = /^\s*(?:[-._\w]+:)?\s*["']?(.*?)["']?\s*$/.exec(line)?.[1];
    return indent === undefined || value === undefined || value.includes("{{") ? [] : [value];
  });
}
