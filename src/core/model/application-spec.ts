import { z } from "zod";
import type { ApplicationSpec } from "./application.js";
import { isJsonObject } from "./json.js";

/** One source of an Application, with the members that decide what it reads. */
export interface Source {
  /** 1-based, as Argo CD's `sourcePositions` counts. Both halves of a source hydrator have position 1. */
  readonly position: number;
  /** `dry` is what people edit and `sync` what is deployed, where a source hydrator stands between the two. */
  readonly role: "plain" | "dry" | "sync";
  readonly repoURL: string;
  /** As written; empty when absent. */
  readonly path: string;
  /** As written; empty means the default branch. */
  readonly targetRevision: string;
  /** Name of a chart in a Helm repository: then the target revision is a version, not a Git revision. */
  readonly chart: string | undefined;
  /** Other sources read this one's files as `$<ref>/<path>`. */
  readonly ref: string | undefined;
  readonly helm: HelmOptions | undefined;
  readonly kustomize: KustomizeOptions | undefined;
  /** It has a `directory` block. */
  readonly directory: boolean;
  readonly jsonnet: JsonnetOptions;
  /** It has a `plugin` block. */
  readonly plugin: boolean;
}

export interface HelmOptions {
  readonly valueFiles: readonly string[];
  /** The paths of `fileParameters`. */
  readonly fileParameters: readonly string[];
  readonly releaseName: string | undefined;
}

export interface KustomizeOptions {
  readonly components: readonly string[];
  /** The paths of those `patches` that are files. */
  readonly patchPaths: readonly string[];
}

/** What `directory.jsonnet` says of what Jsonnet files read. */
export interface JsonnetOptions {
  /** Where imports are looked for besides, from the repository's root. */
  readonly libraries: readonly string[];
  /** Top-level arguments and external variables that are Jsonnet texts themselves. */
  readonly code: readonly string[];
}

// Most members are absent in most of thousands of sources: none may fail on it, since zod makes an error of each failure.
const text = z.unknown().optional().transform(textOf);
const optionalText = text.transform((value) => (value === "" ? undefined : value));
const texts = z
  .array(z.unknown())
  .catch([])
  .transform((items) => items.flatMap((item) => (typeof item === "string" && item !== "" ? [item] : [])));
const paths = z
  .array(z.object({ path: text }).catch({ path: "" }))
  .catch([])
  .transform((items) => items.flatMap(({ path }) => (path === "" ? [] : [path])));

function textOf(value: unknown): string {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return typeof value === "string" ? value : "";
}

/** A block without members is dropped by Argo CD and says nothing. */
function isFilled(value: unknown): boolean {
  return isJsonObject(value) && Object.values(value).some((member) => member !== null && member !== undefined);
}
const filled = z.unknown().optional().transform(isFilled);
function filledBlock<T extends z.ZodType>(schema: T) {
  return z.preprocess((value) => (isFilled(value) ? value : undefined), schema.optional().catch(undefined));
}

const sourceSchema = z.object({
  repoURL: text,
  path: text,
  targetRevision: text,
  chart: optionalText,
  ref: optionalText,
  helm: filledBlock(z.object({ valueFiles: texts, fileParameters: paths, releaseName: optionalText })),
  kustomize: filledBlock(
    z
      .object({ components: texts, patches: paths })
      .transform(({ components, patches }) => ({ components, patchPaths: patches })),
  ),
  directory: filled,
  plugin: filled,
});
const codes = z
  .array(z.object({ code: z.literal(true), value: z.string() }).catch({ code: true, value: "" }))
  .catch([])
  .transform((items) => items.map(({ value }) => value));
const jsonnetSchema = z
  .object({ libs: texts, tlas: codes, extVars: codes })
  .transform(({ libs, tlas, extVars }) => ({ libraries: libs, code: [...tlas, ...extVars] }));
const NO_JSONNET: JsonnetOptions = { libraries: [], code: [] };

/**
 * The sources of an Application in their order. As in Argo CD `sourceHydrator` beats `sources`, and `sources` beats
 * `source` (Argo CD v3.5 `ApplicationSpec.GetSources`); entries that are no object read as an empty source, so that the
 * positions of the others stay.
 */
export function sourcesOf(spec: ApplicationSpec): readonly Source[] {
  const known = sources.get(spec) ?? readSources(spec);
  sources.set(spec, known);
  return known;
}

/** A spec is never changed, and its sources are asked for many times in a plan. */
const sources = new WeakMap<ApplicationSpec, readonly Source[]>();

function readSources(spec: ApplicationSpec): readonly Source[] {
  const hydrator = spec.sourceHydrator;
  if (isJsonObject(hydrator)) {
    const dry = readSource(hydrator.drySource, 1, "dry");
    const sync = hydrator.syncSource;
    if (!isJsonObject(sync)) return [dry];
    return [dry, readSource({ repoURL: dry.repoURL, ...sync, targetRevision: sync.targetBranch }, 1, "sync")];
  }
  const list = spec.sources;
  if (isMultiSource(spec) && Array.isArray(list)) {
    return list.map((source: unknown, index) => readSource(source, index + 1, "plain"));
  }
  return isJsonObject(spec.source) ? [readSource(spec.source, 1, "plain")] : [];
}

/** Reads one source, or what overrides one; every member that is absent or of the wrong type is empty. */
export function readSource(value: unknown, position: number, role: Source["role"]): Source {
  const source = isJsonObject(value) ? value : {};
  const { helm, kustomize, ...rest } = sourceSchema.parse(source);
  const jsonnet = isJsonObject(source.directory) ? source.directory.jsonnet : undefined;
  return {
    position,
    role,
    ...rest,
    helm,
    kustomize,
    jsonnet: isJsonObject(jsonnet) ? jsonnetSchema.parse(jsonnet) : NO_JSONNET,
  };
}

/** Whether Argo CD wants positions with revisions: `sources` with a single element already counts. */
export function isMultiSource(spec: ApplicationSpec): boolean {
  return !isHydrated(spec) && Array.isArray(spec.sources) && spec.sources.length > 0;
}

/** Whether Argo CD's source hydrator deploys it: then no other revision can be synced. */
export function isHydrated(spec: ApplicationSpec): boolean {
  return isJsonObject(spec.sourceHydrator);
}

/**
 * Whether Argo CD syncs by itself: `automated` is there, even when empty, and not switched off by `enabled: false`.
 * Servers before v3.1 drop `enabled` when they store the object, so there a live spec tells the truth and a file need not.
 */
export function isAutoSynced(spec: ApplicationSpec): boolean {
  const policy = spec.syncPolicy;
  const automated = isJsonObject(policy) ? policy.automated : undefined;
  if (automated === undefined || automated === null) return false;
  return !(isJsonObject(automated) && automated.enabled === false);
}
