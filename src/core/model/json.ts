import type { Brand } from "./brand.js";

/** Plain JSON, as exchanged with other programs. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

/** A value as JSON. Large values are kept and passed between threads like this: a text is cheap to copy, objects are not. */
export type JsonText<T> = Brand<string, "JsonText"> & { readonly [value]?: T };
declare const value: unique symbol;

export function jsonText<T>(of: T): JsonText<T> {
  return JSON.stringify(of) as JsonText<T>;
}

export function readJsonText<T>(text: JsonText<T>): T {
  return JSON.parse(text) as T;
}

/** A quick test for an integer of so many digits that a number may not hold it. */
const LONG_INTEGER = /[:,[\s]-?\d{16,}[\s,}\]]/;
const WORD = "(a number)";
/** Where a text begins or ends, an escape in it, a text that looks like one of `withLongIntegers`, or a long integer. */
const TOKEN = /\\[^]|"(?:-?\d{16,} \(a number\)(?: as text)*")?|(?<![\w.+-])-?\d{16,}(?![\d.eE])/g;

/**
 * A text of JSON with integers of more than 53 bits as texts that say so: Kubernetes has integers of 64 bits, and as numbers two
 * different ones would be equal. A text that looks like one of these says that it is a text, so that it passes for no integer.
 */
export function withLongIntegers(json: string): string {
  // Only in valid JSON can the ends of texts be told.
  if (!(LONG_INTEGER.test(json) || json.includes(WORD)) || parseJson(json) === undefined) return json;
  let inText = false;
  return json.replace(TOKEN, (token) => {
    if (token === '"') inText = !inText;
    if (inText || token.length <= 2) return token;
    if (token.startsWith('"')) return `${token.slice(0, -1)} as text"`;
    return String(Number(token)) === token ? token : `"${token} ${WORD}"`;
  });
}

/** JSON for other programs, from a value that `withLongIntegers` has changed: with the integers and texts themselves. */
export function withoutLongIntegers(json: string): string {
  if (!json.includes(WORD)) return json;
  return json.replace(/(?<=[[{:,])"(-?\d{16,})( \(a number\)(?: as text)*)"/g, (_, digits: string, rest: string) =>
    rest.endsWith(WORD) ? digits : `"${digits}${rest.slice(0, -" as text".length)}"`,
  );
}

/** Whether a text stands for an integer of more than 53 bits. */
export function isLongInteger(value: Json | undefined): boolean {
  return typeof value === "string" && /^-?\d{16,} \(a number\)$/.test(value);
}

/** Whether a number in it is not exactly the one that was read, unless it is a fraction. */
export function hasLargeNumber(value: Json | undefined): boolean {
  if (typeof value === "number") {
    return Number.isInteger(value) ? !Number.isSafeInteger(value) : !Number.isFinite(value);
  }
  return typeof value === "object" && value !== null && Object.values(value).some(hasLargeNumber);
}

/** Whether a value has more than so many levels of lists and maps; functions that recurse need a limit. */
export function isNestedDeeper(than: number, inside: unknown): boolean {
  if (typeof inside !== "object" || inside === null) return false;
  return than === 0 || Object.values(inside).some((member) => isNestedDeeper(than - 1, member));
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

/** The objects in a list; none in anything else. */
export function objectsIn(value: Json | undefined): readonly JsonObject[] {
  return isList(value) ? value.filter(isJsonObject) : [];
}

/** The texts in a list; none in anything else. */
export function stringsIn(value: Json | undefined): readonly string[] {
  return isList(value) ? value.filter((item) => typeof item === "string") : [];
}

/** The value of a JSON text; undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Compares as JSON: the order of keys does not matter, and an undefined member equals a missing one. */
export function jsonEqual(left: Json | undefined, right: Json | undefined): boolean {
  if (left === right) return true;
  if (isList(left) && isList(right)) {
    return left.length === right.length && left.every((item, at) => jsonEqual(item, right[at]));
  }
  if (!isJsonObject(left) || !isJsonObject(right)) return false;
  return hasMembersOf(left, right) && Object.keys(right).every((key) => right[key] === undefined || isOwn(left, key));
}

function hasMembersOf(left: JsonObject, right: JsonObject): boolean {
  return Object.keys(left).every((key) => jsonEqual(left[key], isOwn(right, key) ? right[key] : undefined));
}

function isOwn(object: JsonObject, key: string): boolean {
  return Object.hasOwn(object, key);
}

/** Without members that are null. In a list a null keeps its place. */
export function withoutNulls(value: Json): Json {
  if (isList(value)) return value.map(withoutNulls);
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).flatMap(([key, member]): readonly (readonly [string, Json])[] =>
    member === undefined || member === null ? [] : [[key, withoutNulls(member)]],
  );
  return Object.fromEntries(members);
}

/** Canonical JSON: keys sorted, no white space. Empty for undefined. */
export function canonicalJson(value: Json | undefined): string {
  return value === undefined ? "" : JSON.stringify(sortedKeys(value));
}

/** Sorts the keys of every object. */
export function sortedKeys(value: Json): Json {
  if (isList(value)) return value.map(sortedKeys);
  if (!isJsonObject(value)) return value;
  const entries: (readonly [string, Json])[] = [];
  for (const key of Object.keys(value).sort()) {
    const member = value[key];
    if (member !== undefined) entries.push([key, sortedKeys(member)]);
  }
  return Object.fromEntries(entries);
}

/** Members whose value is free text with keys of its own. */
const FREE = new Set([
  ...["annotations", "commonAnnotations", "commonLabels", "elements", "labels", "map", "matchLabels", "options"],
  ...["values", "valuesObject"],
]);

/** Every other member of an Application's or ApplicationSet's definition (Argo CD v3.5, `assets/swagger.json`), without generators' hosts. */
const NAMES: readonly string[] = [
  ...["accessTokenRef", "allBranches", "allowEmpty", "annotationSelector", "annotations", "api", "apiVersion"],
  ...["apiVersions", "appPasswordRef", "appSecretName", "applicationsSync", "applyNestedSelectors", "array"],
  ...["automated", "awsCodeCommit", "azureDevOps", "azuredevops", "backoff", "basicAuth", "bearerToken", "bitbucket"],
  ...["bitbucketServer", "branchMatch", "caRef", "chart", "cloneProtocol", "clusterDecisionResource", "clusters"],
  ...["code", "commonAnnotations", "commonAnnotationsEnvsubst", "commonLabels", "components", "configMapName"],
  ...["configMapRef", "continueOnRepoNotFoundError", "count", "deletionOrder", "destination", "directories"],
  ...["directory", "disableExtensionFilter", "drySource", "duration", "elements", "elementsYaml", "enabled", "env"],
  ...["exclude", "excludeArchivedRepos", "extVars", "factor", "fileParameters", "files", "filters", "finalizers"],
  ...["flatList", "forceCommonAnnotations", "forceCommonLabels", "forceString", "generators", "git", "gitea"],
  ...["goTemplate", "goTemplateOptions", "group", "gvk", "helm", "hydrateTo"],
  ...["ignoreApplicationDifferences", "ignoreDifferences", "ignoreMissingComponents", "ignoreMissingValueFiles"],
  ...["images", "include", "includeArchivedRepos", "includeSharedProjects", "includeSubgroups", "info", "input"],
  ...["insecure", "intVal", "jqPathExpressions", "jsonPointers", "jsonnet", "key", "kind", "kubeVersion", "kustomize"],
  ...["labelIncludeTemplates", "labelMatch", "labelSelector", "labelWithoutSelector", "labels", "libs", "limit"],
  ...["list", "managedFieldsManagers", "managedNamespaceMetadata", "map", "matchExpressions", "matchLabels"],
  ...["matrix", "maxDuration", "maxUpdate", "merge", "mergeKeys", "metadata", "name", "namePrefix", "nameSuffix"],
  ...["namespace", "operator", "options", "organization", "owner", "ownerReferences", "parameters"],
  ...["passCredentials", "passwordRef", "patch", "patches", "path", "pathParamPrefix", "pathsDoNotExist"],
  ...["pathsExist", "plugin", "preserveResourcesOnDeletion", "preservedFields", "project", "prune", "pullRequest"],
  ...["pullRequestState", "recurse", "ref", "refresh", "region", "releaseName", "replicas", "repo", "repoURL"],
  ...["repositoryMatch", "requeueAfterSeconds", "resId", "resourceVersion", "retry", "revision"],
  ...["revisionHistoryLimit", "role", "rollingSync", "scmProvider", "secretName", "selector", "selfHeal", "server"],
  ...["skipCrds", "skipSchemaValidation", "skipTests", "source", "sourceHydrator", "sources", "spec", "steps"],
  ...["strVal", "strategy", "string", "syncOptions", "syncPolicy", "syncSource", "tagFilters", "tagPrefix", "target"],
  ...["targetBranch", "targetBranchMatch", "targetRevision", "teamProject", "template", "templatePatch"],
  ...["titleMatch", "tlas", "tokenRef", "topic", "type", "user", "username", "value", "valueFiles", "values"],
  ...["valuesObject", "version"],
];
const KNOWN: ReadonlySet<string> = new Set(NAMES);
const MEMBERS = new Map(NAMES.map((name) => [folded(name), name]));

/**
 * A key in a definition that Argo CD would take for a member although it is spelled otherwise, with that member. Its API
 * decodes bodies with Go's `encoding/json`, which ignores upper and lower case; svc and Kubernetes do not.
 */
export function misspelledMember(value: Json | undefined): Misspelled | undefined {
  return misspelled(value)[0];
}

interface Misspelled {
  readonly key: string;
  readonly member: string;
}

function misspelled(value: Json | undefined): readonly Misspelled[] {
  if (isList(value)) return value.flatMap(misspelled);
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const member = memberOf(key);
    if (member !== key) return [{ key, member }];
    return isFree(key, inner) ? [] : misspelled(inner);
  });
}

/** Spells the keys of a block as Go's `encoding/json` reads them, which ignores case. A member in two spellings is merged. */
export function withExactKeys(block: JsonObject): JsonObject {
  const exact = new Map<string, Json>();
  for (const [key, inner = null] of Object.entries(block)) {
    const name = memberOf(key);
    const [known, read] = [exact.get(name), isFree(name, inner) ? inner : exactIn(inner)];
    exact.set(name, isJsonObject(known) && isJsonObject(read) ? { ...known, ...read } : read);
  }
  return Object.fromEntries(exact);
}

function exactIn(value: Json): Json {
  if (isList(value)) return value.map(exactIn);
  return isJsonObject(value) ? withExactKeys(value) : value;
}

function memberOf(key: string): string {
  return KNOWN.has(key) ? key : (MEMBERS.get(folded(key)) ?? key);
}

function isFree(key: string, inner: Json | undefined): boolean {
  return FREE.has(key) || (key === "parameters" && isJsonObject(inner));
}

/** Upper case first: Go also takes letters such as `ſ` for those that they become. */
function folded(key: string): string {
  return key.toUpperCase().toLowerCase();
}
