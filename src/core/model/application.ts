import { createHash } from "node:crypto";
import * as z from "zod";
import type { ApplicationName, Revision } from "./brand.js";
import { canonicalJson, isJsonObject, isList, type Json, jsonEqual, type JsonObject } from "./json.js";

/** One source of an Application, with the members that decide what it reads. */
export interface Source {
  /** 1-based, like Argo CD's `sourcePositions`. Both halves of a source hydrator have position 1. */
  readonly position: number;
  /** With a source hydrator, `dry` is what people edit and `sync` is what is deployed. */
  readonly role: "plain" | "dry" | "sync";
  readonly repoURL: string;
  /** As written; empty when absent. */
  readonly path: string;
  /** As written; empty means the default branch. */
  readonly targetRevision: string;
  /** The prefix of the tags among which Argo CD, from v3.5 on, looks for the version in the target revision. */
  readonly tagPrefix: string | undefined;
  /** A chart in a Helm repository: the target revision is then a version, not a Git revision. */
  readonly chart: string | undefined;
  /** Other sources refer to this one's files as `$<ref>/<path>`. */
  readonly ref: string | undefined;
  readonly helm: HelmOptions | undefined;
  readonly kustomize: KustomizeOptions | undefined;
  readonly directory: boolean;
  readonly jsonnet: JsonnetOptions;
  readonly plugin: boolean;
}

interface HelmOptions {
  readonly valueFiles: readonly string[];
  readonly fileParameters: readonly string[];
}

interface KustomizeOptions {
  readonly components: readonly string[];
  /** Argo CD leaves out components that are no path in the tree (v3.5 `Build` in util/kustomize/kustomize.go). */
  readonly ignoreMissingComponents?: true | undefined;
  readonly patchPaths: readonly string[];
}

/** The parts of `directory.jsonnet` that affect what Jsonnet files read. */
interface JsonnetOptions {
  /** Additional import paths, relative to the repository's root. */
  readonly libraries: readonly string[];
  /** Top-level arguments and external variables that are Jsonnet code. */
  readonly code: readonly string[];
}

// Most members are absent in most of thousands of sources. None of the schemas may fail then: zod builds a costly error.
const textMember = z.unknown().optional().transform(textOf);
const optionalText = textMember.transform((value) => (value === "" ? undefined : value));
const texts = z
  .array(z.unknown())
  .optional()
  .catch(undefined)
  .transform((items = []) => items.flatMap((item) => (typeof item === "string" && item !== "" ? [item] : [])));
const paths = z
  .array(z.object({ path: textMember }).catch({ path: "" }))
  .optional()
  .catch(undefined)
  .transform((items = []) => items.flatMap(({ path }) => (path === "" ? [] : [path])));
/** Argo CD calls Helm with `--set-file <name>=<path>`, where a name may hold more such pairs and lists; Helm drops backslashes (`ParseFile`). */
const fileParameters = z
  .array(z.object({ name: textMember, path: textMember }).catch({ name: "", path: "" }))
  .optional()
  .catch(undefined)
  .transform((items = []) => items.flatMap(({ name, path }) => [path, ...pathsInName(name)]).filter(Boolean));

const pathsInName = (name: string) => name.replaceAll("\\", "").match(/(?<=[=,{}])[^=,{}]+/g) ?? [];

function textOf(value: unknown): string {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return typeof value === "string" ? value : "";
}

/** Whether a block sets anything. Argo CD drops one that does not, unless it is a plugin's (`NormalizeSource` in util/argo/argo.go of v3.5). */
export function isFilled(value: unknown): boolean {
  return isJsonObject(value) && Object.keys(withoutZeros(value, false, 0)).length > 0;
}
const BLOCKS = ["helm", "kustomize", "directory"] as const;

const sourceSchema = z.object({
  repoURL: textMember,
  path: textMember,
  targetRevision: textMember,
  tagPrefix: optionalText,
  chart: optionalText,
  ref: optionalText,
  helm: z.object({ valueFiles: texts, fileParameters }).optional().catch(undefined),
  kustomize: z
    .object({ components: texts, patches: paths, ignoreMissingComponents: z.literal(true).optional().catch(undefined) })
    .transform(({ patches, ...others }) => ({ ...others, patchPaths: patches }))
    .optional()
    .catch(undefined),
  directory: z.unknown().optional().transform(isJsonObject),
  plugin: z.unknown().optional().transform(isJsonObject),
});
const codes = z
  .array(z.object({ code: z.literal(true), value: z.string() }).catch({ code: true, value: "" }))
  .optional()
  .catch(undefined)
  .transform((items = []) => items.map(({ value }) => value));
const jsonnetSchema = z
  .object({ libs: texts, tlas: codes, extVars: codes })
  .transform(({ libs, tlas, extVars }) => ({ libraries: libs, code: [...tlas, ...extVars] }));
const NO_JSONNET: JsonnetOptions = { libraries: [], code: [] };

/**
 * The sources of an Application in their order. As in Argo CD, `sourceHydrator` beats `sources`, and `sources` beats
 * `source` (v3.5 `ApplicationSpec.GetSources`). An entry that is not an object becomes an empty source, which keeps the
 * positions of the others.
 */
export function sourcesOf(spec: ApplicationSpec): readonly Source[] {
  const known = knownSources.get(spec) ?? readSources(spec);
  knownSources.set(spec, known);
  return known;
}

/** A plan asks for the sources of each application many times. */
const knownSources = new WeakMap<ApplicationSpec, readonly Source[]>();

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
    // In a list, Argo CD drops no empty block (v3.5 `NormalizeApplicationSpec`).
    return list.map((source: unknown, index) => readSourceAsWritten(source, index + 1));
  }
  return isJsonObject(spec.source) ? [readSource(spec.source, 1, "plain")] : [];
}

/**
 * The sources that render manifests. A `ref` source of several without path and chart only lends its files to the others
 * (v3.5 `reposerver/repository/repository.go`, `runManifestGen`).
 */
export function renderingSources(spec: ApplicationSpec): readonly Source[] {
  const lends = ({ ref, path, chart, repoURL }: Source) =>
    isMultiSource(spec) && ref !== undefined && path === "" && chart === undefined && !/^\s*oci:/i.test(repoURL);
  return sourcesOf(spec).filter((source) => !lends(source));
}

/** Reads one source. Members that are absent or of the wrong type become empty. */
export function readSource(value: unknown, position: number, role: Source["role"]): Source {
  const source = isJsonObject(value) ? value : {};
  const dropped = BLOCKS.filter((block) => source[block] !== undefined && !isFilled(source[block]));
  const kept = { ...source, ...Object.fromEntries(dropped.map((block) => [block, undefined])) };
  return readSourceAsWritten(kept, position, role);
}

/** Reads a source of which Argo CD has dropped no empty block, or an override: with `directory: {}` it is a directory of plain manifests and Jsonnet. */
export function readSourceAsWritten(value: unknown, position: number, role: Source["role"] = "plain"): Source {
  const source = isJsonObject(value) ? value : {};
  const { helm, kustomize, ...rest } = sourceSchema.parse(source);
  const given = isJsonObject(source.directory) ? source.directory.jsonnet : undefined;
  const jsonnet = isJsonObject(given) ? jsonnetSchema.parse(given) : NO_JSONNET;
  return { position, role, ...rest, helm, kustomize, jsonnet };
}

/** `spec.project`; Argo CD reads an empty one as `default`. */
export function projectOf({ project }: ApplicationSpec): string {
  return typeof project === "string" && project !== "" ? project : "default";
}

/** Whether Argo CD expects positions with revisions; a `sources` list of one element counts. */
export function isMultiSource(spec: ApplicationSpec): boolean {
  return !isHydrated(spec) && Array.isArray(spec.sources) && spec.sources.length > 0;
}

/** Whether Argo CD's source hydrator deploys it: no other revision can be synced then. */
export function isHydrated(spec: ApplicationSpec): boolean {
  return isJsonObject(spec.sourceHydrator);
}

/**
 * Whether Argo CD syncs by itself: `automated` is present, even if empty, and not disabled by `enabled: false`. Servers
 * before v3.1 drop `enabled` when they store the object, so that a file may disagree with the live spec.
 */
export function isAutoSynced(spec: ApplicationSpec): boolean {
  const policy = spec.syncPolicy;
  const automated = isJsonObject(policy) ? policy.automated : undefined;
  if (automated === undefined || automated === null) return false;
  return !(isJsonObject(automated) && automated.enabled === false);
}

/** Whether the set's controller syncs its applications itself; it takes auto-sync out of them (seen on Argo CD v3.5.1). */
export function isRollingSync({ spec }: JsonObject): boolean {
  return isJsonObject(spec) && isJsonObject(spec.strategy) && spec.strategy.type === "RollingSync";
}

/** Whether Argo CD syncs it by itself as it runs now: by auto-sync, or by the steps of its ApplicationSet. */
export function syncsItself({ spec, setStrategy }: LiveApplication): boolean {
  return isAutoSynced(spec) || setStrategy === "rolling";
}

/**
 * Whether two specs mean the same to Argo CD. It answers with what Go reads of a stored spec: without members that are false,
 * zero or empty, however the file writes them (`json:"prune,omitempty"`, v3.5 `pkg/apis/application/v1alpha1/types.go`), with the
 * project filled in and without empty blocks (`NormalizeApplicationSpec`).
 */
export function specEqual(left: ApplicationSpec, right: ApplicationSpec): boolean {
  return left === right || jsonEqual(storedForm(left), storedForm(right));
}

/** The same text for all specs that are equal in this sense. */
export function specText(spec: ApplicationSpec): string {
  const known = specTexts.get(spec) ?? canonicalJson(storedForm(spec));
  specTexts.set(spec, known);
  return known;
}

/** A plan needs the text for the key of a render, and again for the digest once everything is rendered. */
const specTexts = new WeakMap<ApplicationSpec, string>();
/** A plan compares the specs of each application many times. */
const storedForms = new WeakMap<ApplicationSpec, JsonObject>();

function storedForm(spec: ApplicationSpec): JsonObject {
  const known = storedForms.get(spec) ?? withoutZeros(withProject(spec), false, 0);
  storedForms.set(spec, known);
  return known;
}

/** Digest of a definition, equal for definitions that mean the same to Argo CD. */
export function digestOf(spec: ApplicationSpec): string {
  return createHash("sha256").update(specText(spec)).digest().toString("hex", 0, DIGEST_BYTES);
}

/** No other definition with the same digest can be found. */
const DIGEST_BYTES = 16;

function withProject(spec: ApplicationSpec): JsonObject {
  const project = spec.project;
  return { ...spec, project: project === undefined || project === "" ? "default" : project };
}

/**
 * Members that are pointers in Go, and so mean something else when they are zero than when they are absent. Without `retry`, Argo CD
 * tries five times; `automated: {}` is auto-sync, and `plugin: {}` is the plugin that finds itself responsible. An empty `valuesObject`
 * takes the place of `values` (`ValuesYAML`), and a namespace with empty metadata belongs to the application (`syncNamespace`).
 */
const MEANINGFUL_WHEN_ZERO = new Set([
  ...["automated", "enabled", "factor", "plugin", "retry", "revisionHistoryLimit", "managedNamespaceMetadata"],
  ...["valuesObject", "string", "map", "array"],
]);
/** Members of which Go keeps everything, nulls and zeros too: Helm removes a value of the chart where its own is null. */
const KEPT_AS_WRITTEN = new Set([
  ...["valuesObject", "commonLabels", "commonAnnotations", "labels", "annotations", "map"],
  // Members of the generators of ApplicationSets.
  ...["elements", "matchLabels", "values"],
]);
const MAX_DEPTH = 64;

function withoutZeros(block: JsonObject, isListed: boolean, depth: number): JsonObject {
  const entries = Object.entries(block).flatMap(([key, member]): readonly [string, Json][] => {
    // Those of a generator's plugin; those of Helm are a list.
    const isKept = KEPT_AS_WRITTEN.has(key) || (key === "parameters" && isJsonObject(member));
    const kept = isKept ? member : zeroless(member, isListed, depth + 1);
    if (kept === undefined || kept === null) return [];
    if (MEANINGFUL_WHEN_ZERO.has(key)) return [[key, kept]];
    // Argo CD drops no empty block of a source in a list. There, one that stands alone says what the source is made with.
    const isBlock = isListed && isJsonObject(kept) && key !== "jsonnet" && !isKept;
    return isZero(kept) && !isBlock ? [] : [[key, kept]];
  });
  return Object.fromEntries(entries);
}

function zeroless(value: Json | undefined, isListed: boolean, depth: number): Json | undefined {
  if (depth > MAX_DEPTH) return value;
  if (isList(value)) return value.map((one) => zeroless(one, true, depth + 1) ?? null);
  return isJsonObject(value) ? withoutZeros(value, isListed, depth) : value;
}

function isZero(value: Json): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return isJsonObject(value) ? Object.keys(value).length === 0 : value === "" || value === 0 || value === false;
}

/** The unchanged `spec` of an Application resource. */
export type ApplicationSpec = JsonObject;

/** An Application, live or from a file. */
export interface Application {
  readonly name: ApplicationName;
  /** `metadata.name`. */
  readonly resourceName: string;
  /** `metadata.namespace`; undefined for Argo CD's own. */
  readonly namespace: string | undefined;
  /** `spec.project`, or `default` if empty. */
  readonly project: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: ApplicationSpec;
  /** The parent application that tracks it (app of apps); undefined if there is none, and for one from a file. */
  readonly parent?: ApplicationName | undefined;
  /** What a set gives it besides its spec: finalizers, and an operation, which Argo CD starts at once. Of a file, only the operation. */
  readonly alsoGiven?: { readonly finalizers: readonly string[]; readonly operation: JsonObject | null } | undefined;
  /** The standing in the list of applications; never read to decide anything. */
  readonly listed?: Pick<Standing, "sync" | "health"> | undefined;
}

/** A definition among the manifests of a parent's head. */
export interface GivenDefinition {
  readonly parent: ApplicationName;
  readonly spec: ApplicationSpec;
  /** The one on the target branch. */
  readonly base: ApplicationSpec;
  /** The ApplicationSet that the parent applies and that generates the definition. */
  readonly set?: string | undefined;
}

/** An Application as Argo CD runs it, from one uncached GET. */
export interface LiveApplication extends Application {
  /** `metadata.uid`: another one means that it was deleted and made again. */
  readonly uid?: string | undefined;
  /** Name of the ApplicationSet that owns it. */
  readonly owningSet: string | undefined;
  /** Whether that set syncs it (`strategy.type: RollingSync`); `unread` if it could not be read. Without a set, absent. */
  readonly setStrategy?: "rolling" | "other" | "unread" | undefined;
  /** That set; undefined if there is none, or it could not be read. */
  readonly generatedBy?: ApplicationSet | undefined;
  /** `status.sourceType(s)`, one per source: `Helm`, `Kustomize`, `Directory`, `Plugin` or empty. */
  readonly sourceTypes: readonly string[];
  /** `status.sync.revision(s)`, one per source: what Argo CD compared last. */
  readonly comparedRevisions: readonly string[];
  readonly deleting: boolean;
  /** Argo CD deletes its objects with it, as its finalizers say. */
  readonly cascades: boolean;
  /** Argo CD runs hooks of its manifests when it is deleted. */
  readonly hooksAtDeletion?: boolean;
  /** When its last operation started, as Argo CD writes it (`status.operationState.startedAt`). Identifies the operation. */
  readonly lastOperation?: string | undefined;
  readonly hasOperation?: boolean;
  /** What Argo CD found when it compared it last. */
  readonly standing?: Standing | undefined;
  /** Its objects in the cluster, without hooks, that the definition did not make any more then, titled as in a plan. */
  readonly leftOver?: readonly string[] | undefined;
  /** The Applications that the cluster had as the definition made them then, titled as in a plan. */
  readonly syncedChildren?: readonly string[] | undefined;
  /** Whether its sources changed after Argo CD compared it last, so that `standing` is about the earlier ones. */
  readonly outdated?: boolean;
}

/** The words of Argo CD; empty where it has none. */
export interface Standing {
  readonly sync: string;
  readonly health: string;
  /** Phase of the last operation. */
  readonly phase: string;
  /** Why the last operation failed, and its errors by type. Untrusted. */
  readonly message: string;
  readonly errors: readonly string[];
}

/** Reads one source of the application at a commit instead of its target revision. */
export interface Pin {
  /** 1-based position in the list of sources. */
  readonly position: number;
  readonly revision: Revision;
}

/** A rendered Kubernetes object. */
export type Manifest = JsonObject;

/** A whole ApplicationSet, without what Argo CD adds to its metadata. */
export interface ApplicationSet {
  readonly name: string;
  readonly namespace: string | undefined;
  readonly resource: Json & JsonObject;
  /** The parent application that tracks the one that Argo CD runs; undefined if there is none, or it is from elsewhere. */
  readonly parent?: ApplicationName | undefined;
}

/** Identifies an ApplicationSet; no namespace means Argo CD's own. */
export type SetId = Pick<ApplicationSet, "name" | "namespace">;

/** Where an Application deploys to. */
export interface Destination {
  /** The cluster's address or name as the definition writes it. */
  readonly cluster: string;
  /** The namespace of objects that name none; empty if the definition has none. */
  readonly namespace: string;
}

/** Argo CD's own cluster has both: https://argo-cd.readthedocs.io/en/stable/operator-manual/declarative-setup/#clusters */
export const IN_CLUSTER = "https://kubernetes.default.svc";

/** Reads `spec.destination`; members that are absent or of the wrong type are empty. */
export function destinationOf({ destination }: ApplicationSpec): Destination {
  const { server, name, namespace } = isJsonObject(destination) ? destination : {};
  const cluster = text(server) || text(name);
  return { cluster: cluster === "in-cluster" ? IN_CLUSTER : cluster.replace(/\/+$/, ""), namespace: text(namespace) };
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");
