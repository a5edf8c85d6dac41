import { createHash } from "node:crypto";
import * as z from "zod";
import { type Application, type Source, sourcesOf } from "../../model/application.js";
import { canonicalJson, isJsonObject, isList, type Json, type JsonObject } from "../../model/json.js";
import type { Task } from "../../ports/compute.js";
import type { Unreadable } from "../../ports/manifest-scanner.js";
import { readYamlDocuments, TEMPLATE } from "../tree/yaml-documents.js";

/** An Application or ApplicationSet resource as a file has it. Of thousands of Applications only what is read is kept. */
export type Resource = ResourceParts &
  (
    | { readonly kind: "Application"; readonly operation: JsonObject | null }
    | { readonly kind: "ApplicationSet"; readonly whole: JsonObject }
  );

interface ResourceParts extends Pick<Application, "namespace" | "labels" | "annotations"> {
  readonly name: string;
  readonly spec: JsonObject;
  /** Digest of the whole resource without its status. */
  readonly content: string;
  /** Why it is too incomplete to be deployed. */
  readonly problem: string | undefined;
  /** It has placeholders of Helm. */
  readonly isFilledIn: boolean;
}

/** The resources of one file's text. */
export interface FileResources {
  readonly resources: readonly Resource[];
  /** Why there may be more resources in it than were found. */
  readonly problem: Unreadable | undefined;
}

/** An undefined text is a file that could not be read as text. */
export function readResources(text: string | undefined): FileResources {
  if (text === undefined) return { resources: [], problem: NO_TEXT };
  if (!mayHoldResource(text)) return { resources: [], problem: undefined };
  const { values, problems: unread } = readYamlDocuments(text, mayHoldResource);
  const read = values.flatMap(flattened).map(readResource);
  const broken = read.filter((one) => one !== undefined && "reason" in one);
  const problems = [...unread, ...broken];
  return {
    resources: read.filter((one) => one !== undefined && "spec" in one),
    problem: problems.find(({ mayHide }) => mayHide) ?? problems[0],
  };
}

const NO_TEXT: Unreadable = { reason: "it is not a text, or it is larger than 1 MiB", mayHide: true };

/** An object with `items` is a list to Argo CD, whatever its kind says. */
function flattened(value: Json): readonly Json[] {
  return isJsonObject(value) && isList(value.items) ? [value, ...value.items.flatMap(flattened)] : [value];
}

const scalar = z.union([z.string(), z.number().transform(String), z.boolean().transform(String)]);
const stringRecord = z
  .record(z.string(), scalar.nullable().catch(null))
  .catch({})
  .transform((record) =>
    Object.fromEntries(
      Object.entries(record).flatMap(([key, value]) => (value === null ? [] : [[key, value] as const])),
    ),
  );
const kindSchema = z.object({
  apiVersion: z.string().startsWith("argoproj.io/"),
  kind: z.enum(["Application", "ApplicationSet"]),
});
const metadataSchema = z.object({
  name: z.string().min(1),
  namespace: z
    .string()
    .nullish()
    .transform((namespace) => (namespace === null || namespace === "" ? undefined : namespace)),
  labels: stringRecord,
  annotations: stringRecord,
});

/** Undefined for other kinds, a reason for a resource that cannot be read. */
function readResource(value: Json): Resource | Unreadable | undefined {
  const kind = kindSchema.safeParse(value);
  if (!kind.success || !isJsonObject(value)) return undefined;
  const metadata = metadataSchema.safeParse(value.metadata);
  if (!metadata.success) {
    return { reason: `it has an ${kind.data.kind} without a usable name`, mayHide: hasName(value) };
  }
  if (metadata.data.name.includes("{{")) return TEMPLATE;
  const whole: JsonObject = { ...value, status: undefined };
  const spec = isJsonObject(value.spec) ? value.spec : {};
  if (kind.data.kind === "Application" && sourcesOf(spec).some(hasPlaceholder)) return TEMPLATE;
  const text = canonicalJson(whole);
  const content = createHash("sha256").update(text).digest("base64");
  const parts = { ...metadata.data, spec, content, isFilledIn: OF_HELM.test(text) };
  if (kind.data.kind === "ApplicationSet") return { kind: "ApplicationSet", ...parts, whole, problem: undefined };
  return {
    kind: "Application",
    ...parts,
    operation: isJsonObject(value.operation) ? value.operation : null,
    problem: !isComplete(spec)
      ? "it has no source with a repository or no destination, as a patch of another file would"
      : undefined,
  };
}

/** An object without a name cannot be applied. A name that is not a text may be one to Argo CD's parser. */
function hasName({ metadata }: JsonObject): boolean {
  return isJsonObject(metadata) && metadata.name !== undefined && metadata.name !== null && metadata.name !== "";
}

/** Whether an address begins with a placeholder. One with a `:` or an `@` counts as an address, since git may accept it. */
function hasPlaceholder({ repoURL }: Source): boolean {
  return /^\s*\{\{[^:@]*$/.test(repoURL);
}

/** Finds Helm's own placeholders, such as `{{ .Values.x }}`, and braces that a Helm template escapes for an ApplicationSet. */
const OF_HELM = /\{\{(?:[^{}]*(?:\.(?:Values|Release|Chart)|\binclude)\b|-?\s*(?:\\"|`)\{\{)/;

/** Leaves out resources with placeholders of Helm: in a chart's templates, only the render tells what they become. */
export function outsideOfHelm({ resources, problem }: FileResources): FileResources {
  const kept = resources.filter(({ isFilledIn }) => !isFilledIn);
  return { resources: kept, problem: problem ?? (kept.length < resources.length ? TEMPLATE : undefined) };
}

function isComplete(spec: JsonObject): boolean {
  const sources = sourcesOf(spec);
  return sources.length > 0 && sources.every(({ repoURL }) => repoURL !== "") && isJsonObject(spec.destination);
}

/** Escapes of double-quoted YAML and of JSON that stand for a letter, a dot or a slash, and an escaped end of a line. */
const ESCAPES =
  /\\(?:x([\dA-Fa-f]{2})|u([\dA-Fa-f]{4})|U([\dA-Fa-f]{8})|(\/)|(?:\r+\n?|[\n\u0085\u2028\u2029])[ \t]*)/g;
/** The tag `!!binary` in all its spellings: Argo CD's parser decodes the Base64 behind it. */
const ENCODED = /![!<\w:.,/-]{0,40}(?:binary|%)|(?:^|[\x85\ufeff])%TAG/m;

/**
 * Whether a text can hold an Application or ApplicationSet. Cheap, and never wrong when it says no: the words stand there
 * as they are, come out when escapes are read, or may be encoded.
 */
export function mayHoldResource(text: string): boolean {
  return hasWords(text) || (text.includes("\\") && hasWords(unescaped(text))) || ENCODED.test(text);
}

function hasWords(text: string): boolean {
  return text.includes("argoproj.io/") && text.includes("Application");
}

/** Reads escapes everywhere: a word that is spelled with them begins behind its quote, so what precedes it changes nothing. */
function unescaped(text: string): string {
  return text.replace(ESCAPES, (_, byte?: string, short?: string, long?: string, slash?: string) => {
    if (slash !== undefined) return slash;
    const code = byte ?? short ?? long;
    const point = code === undefined ? undefined : Number.parseInt(code, 16);
    return point === undefined || point > 0x10ffff ? "" : String.fromCodePoint(point);
  });
}

/** Whether a text can hold a Secret. Cheap, and never wrong when it says no. */
export function mayHoldSecret(text: string): boolean {
  return /secret/i.test(text) || (text.includes("\\") && /secret/i.test(unescaped(text))) || ENCODED.test(text);
}

export const readResourcesTask: Task<readonly string[], readonly FileResources[]> = {
  name: "read-resources",
  run: (texts) => texts.map(readResources),
};
