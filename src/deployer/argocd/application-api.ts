import { setMaxListeners } from "node:events";
import * as z from "zod";
import {
  type Application,
  type ApplicationSpec,
  isMultiSource,
  projectOf,
  specEqual,
} from "../../core/model/application.js";
import { type ApplicationName, applicationName } from "../../core/model/brand.js";
import { isJsonObject, isNestedDeeper, type Json, type JsonObject, misspelledMember } from "../../core/model/json.js";
import type { Clock } from "../../core/ports/clock.js";
import type { Compute } from "../../core/ports/compute.js";
import type { Log } from "../../core/ports/log.js";
import { ArgoCdFailure, GRPC, isAbsent, MAX_DEPTH, parseAnswer } from "./argocd-failure.js";
import type { ArgoCdConfig, Call, Client } from "./client.js";

/** Identifies one Application. Without the project, Argo CD answers the same for an absent and a forbidden one. */
export interface Target {
  readonly resourceName: string;
  readonly namespace: string | undefined;
  readonly project: string | undefined;
}

/** What the parts of this adapter share. */
export interface Parts {
  readonly config: ArgoCdConfig;
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly compute: Compute;
  readonly serverSettings: () => Promise<ServerSettings>;
}

export interface ServerSettings {
  /** The namespace that Argo CD runs in; applications there are called by their bare name. */
  readonly controllerNamespace: string;
  readonly labelKey: string;
  /** How Argo CD marks the resources of an application; empty if an old version does not report it. */
  readonly tracking: "annotation" | "label" | "annotation+label" | "";
  /** Digest of the whole answer: other members (Kustomize's options and versions, plugins) affect rendered manifests too. */
  readonly digest: string;
}

export const APPLICATIONS = ["api", "v1", "applications"] as const;

type ReadOptions = Pick<Call, "query" | "timeoutMs" | "signal">;

export function readCall(segments: readonly string[], options: ReadOptions): Call {
  return { method: "GET", path: [...APPLICATIONS, ...segments], permission: "applications, get", ...options };
}

/** The items of the list of applications, each unread. @param what Completes "Argo CD's answer about". */
export async function getItems(client: Client, what: string, options: ReadOptions): Promise<readonly unknown[]> {
  return parseAnswer(applicationList, await client.call(readCall([], options)), what).items ?? [];
}

export async function getApplication(client: Client, target: Target, signal?: AbortSignal): Promise<WholeApplication> {
  const answer = await client.call(readCall([target.resourceName], { query: identity(target), signal }));
  return parseAnswer(wholeApplication, answer, `the application ${target.resourceName}`);
}

/**
 * An application that Argo CD has just listed, or undefined if it is gone since. Argo CD answers 403 also where Kubernetes does not
 * answer (`getAppEnforceRBAC` in server/application/application.go); it lists from memory, and only what the token may read.
 */
export async function getListed(
  client: Client,
  target: Target & { readonly project: string },
  signal: AbortSignal | undefined,
): Promise<WholeApplication | undefined> {
  try {
    return await getApplication(client, target, signal);
  } catch (error) {
    if (!isAbsent(error)) throw error;
    if (error.code === GRPC.notFound) return undefined;
    const message = `Argo CD lists ${target.resourceName} and refuses to show it (${error.message}): it may not reach its Kubernetes`;
    throw new ArgoCdFailure("unreachable", message, { cause: error });
  }
}

/** Asks for a refresh, which Argo CD notes in an annotation; resolves when the controller has compared the application. */
export function refreshApplication(client: Client, target: Target, limits: Omit<ReadOptions, "query">) {
  return client.call(readCall([target.resourceName], { query: { ...identity(target), refresh: "normal" }, ...limits }));
}

export function getManagedResources(client: Client, target: Target, limits: Omit<ReadOptions, "query">) {
  return client.unread(readCall([target.resourceName, "managed-resources"], { query: identity(target), ...limits }));
}

/** Refuses `Project` beside `project`, which Argo CD reads as the same, and what `listedJson` cut off. @throws {ArgoCdFailure} */
export function requireExactKeys(definition: Json): void {
  if (isNestedDeeper(MAX_DEPTH, definition)) {
    throw new ArgoCdFailure("refused", `the definition is nested deeper than ${MAX_DEPTH} levels`);
  }
  const found = misspelledMember(definition);
  if (found === undefined) return;
  const key = JSON.stringify(found.key.slice(0, LONGEST_KEY));
  throw new ArgoCdFailure("refused", `the definition has the key ${key}, which Argo CD reads as ${found.member}`);
}

const LONGEST_KEY = 60;

export function identity(target: Target): { readonly project?: string; readonly appNamespace?: string } {
  return {
    ...(target.project === undefined ? {} : { project: target.project }),
    ...(target.namespace === undefined ? {} : { appNamespace: target.namespace }),
  };
}

/** An Application in Kubernetes; no namespace means Argo CD's own. */
export interface ResourceId {
  readonly namespace: string | undefined;
  readonly resourceName: string;
}

/** svc's name: the bare one in Argo CD's own namespace, else with the namespace in front. */
export function nameOfResource(
  namespace: string | undefined,
  resourceName: string,
  controllerNamespace: string,
): ApplicationName {
  const own = ownNamespace(namespace, controllerNamespace);
  return applicationName(own === undefined ? resourceName : `${own}/${resourceName}`);
}

/** Undefined for Argo CD's own namespace, however it is written. */
export function ownNamespace(namespace: string | null | undefined, controllerNamespace: string): string | undefined {
  if (namespace === undefined || namespace === null || namespace === "") return undefined;
  return namespace === controllerNamespace ? undefined : namespace;
}

/** The inverse of `instanceName`: neither namespaces nor names can contain a `_`. */
function nameOfInstance(instance: string, controllerNamespace: string): ApplicationName {
  const cut = instance.indexOf("_");
  if (cut === -1) return applicationName(instance);
  return nameOfResource(instance.slice(0, cut), instance.slice(cut + 1), controllerNamespace);
}

const texts = z
  .record(z.string(), z.string())
  .nullish()
  .transform((value) => value ?? {});

export const json = z.custom<JsonObject>(
  (value) => isJsonObject(value) && !isNestedDeeper(MAX_DEPTH, value),
  "not an object, or nested too deep",
);

/**
 * The same for an item of a list, where one that cannot be read must not be missing: nobody would know what a change does to it.
 * Nesting beyond the limit is cut off one level below it, so that every check of the limit still refuses the value.
 */
export const listedJson = z
  .custom<JsonObject>(isJsonObject, "not an object")
  .transform((value) => (isNestedDeeper(MAX_DEPTH, value) ? members(value, MAX_DEPTH) : value));

function cutOff(value: Json, levels: number): Json {
  if (Array.isArray(value)) return levels === 0 ? [] : (value as readonly Json[]).map((one) => cutOff(one, levels - 1));
  return isJsonObject(value) ? members(value, levels) : value;
}

function members(value: JsonObject, levels: number): JsonObject {
  if (levels === 0) return {};
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, one && cutOff(one, levels - 1)]));
}

export const metadata = z.object({
  name: z.string().min(1),
  uid: z.string().nullish(),
  namespace: z.string().nullish(),
  labels: texts,
  annotations: texts,
  deletionTimestamp: z.string().nullish(),
  finalizers: z.array(z.string()).nullish(),
  ownerReferences: z
    .array(z.object({ apiVersion: z.string().nullish(), kind: z.string(), name: z.string() }))
    .nullish(),
});

/** The part that list items, generated and whole Applications share. A member that `fields` selects is null if it is absent. */
export const applicationItem = z.object({ metadata, spec: json });
type ApplicationItem = z.infer<typeof applicationItem>;

/** `{"items": null}` if nothing is visible, `{}` if nothing is generated. */
const applicationList = z.object({ items: z.array(z.unknown()).nullish() });

const info = z
  .array(z.object({ name: z.string().nullish(), value: z.string().nullish() }))
  .nullish()
  .transform((value) => value ?? []);

export const resource = z.object({
  group: z.string().nullish(),
  kind: z.string().nullish(),
  namespace: z.string().nullish(),
  name: z.string().nullish(),
  status: z.string().nullish(),
  message: z.string().nullish(),
});

/** `apps/Deployment guestbook/web`, as in a plan. */
export function titleOf({ group, kind, namespace, name }: z.infer<typeof resource>): string {
  return `${[group, kind].filter(Boolean).join("/")} ${[namespace, name].filter(Boolean).join("/")}`;
}

const flag = z.boolean().nullish();
/** One object as Argo CD compares it. Argo CD 3.0 and newer report its health only in the GET of one Application. */
const managedResource = resource.extend({
  requiresPruning: flag,
  health: z.object({ status: z.string().nullish(), message: z.string().nullish() }).nullish(),
});

const revisions = { revision: z.string().nullish(), revisions: z.array(z.string()).nullish() };
const deployed = { ...revisions, source: z.unknown().optional(), sources: z.unknown().optional() };

const operation = z.object({ info, sync: z.object({ prune: flag, dryRun: flag }).nullish() }).nullish();

const operationState = z.object({
  operation,
  phase: z.string().nullish(),
  message: z.string().nullish(),
  startedAt: z.string().nullish(),
  finishedAt: z.string().nullish(),
  syncResult: z
    .object({ ...deployed, resources: z.array(resource.extend({ hookPhase: z.string().nullish() })).nullish() })
    .nullish(),
});
export type OperationState = z.infer<typeof operationState>;

/** The definition that Argo CD compared last. */
const comparedTo = z
  .object({ source: json.nullish(), sources: z.array(json).nullish() })
  .nullish()
  .catch(undefined);

const wholeApplication = applicationItem.extend({
  operation,
  status: z
    .object({
      sync: z.object({ ...revisions, status: z.string().nullish(), comparedTo }).nullish(),
      health: z.object({ status: z.string().nullish(), lastTransitionTime: z.string().nullish() }).nullish(),
      reconciledAt: z.string().nullish(),
      conditions: z.array(z.object({ type: z.string(), message: z.string().nullish() })).nullish(),
      resources: z.array(managedResource).nullish(),
      sourceType: z.string().nullish(),
      sourceTypes: z.array(z.string()).nullish(),
      operationState: operationState.nullish(),
      history: z.array(z.object({ ...deployed, deployedAt: z.string().nullish() })).nullish(),
    })
    .nullish(),
});
export type WholeApplication = z.infer<typeof wholeApplication>;

export const TRACKING_ANNOTATION = "argocd.argoproj.io/tracking-id";

export function toApplication(item: ApplicationItem, settings: ServerSettings): Application {
  const { metadata, spec } = item;
  return {
    name: nameOfResource(metadata.namespace ?? undefined, metadata.name, settings.controllerNamespace),
    resourceName: metadata.name,
    namespace: ownNamespace(metadata.namespace, settings.controllerNamespace),
    project: projectOf(spec),
    labels: metadata.labels,
    annotations: metadata.annotations,
    spec,
    parent: parentOf(item, settings),
  };
}

/** The parent (app of apps) by Argo CD's tracking: `<instance>:<group>/<kind>:<namespace>/<name>`, or the instance label. */
export function parentOf(
  { metadata }: Pick<ApplicationItem, "metadata">,
  settings: ServerSettings,
  tracks: "Application" | "ApplicationSet" = "Application",
): ApplicationName | undefined {
  const { labels, annotations, name } = metadata;
  const namespace = metadata.namespace ?? settings.controllerNamespace;
  const [instance, kind, object] = (annotations[TRACKING_ANNOTATION] ?? "").split(":");
  // A copied annotation names another object; Argo CD ignores it as well.
  const tracked =
    instance && kind === `argoproj.io/${tracks}` && object === `${namespace}/${name}` ? instance : undefined;
  const label = labels[settings.labelKey];
  const found = instanceBy(settings.tracking, tracked, label);
  return found === undefined || found === "" ? undefined : nameOfInstance(found, settings.controllerNamespace);
}

function instanceBy(
  method: ServerSettings["tracking"],
  tracked: string | undefined,
  label: string | undefined,
): string | undefined {
  switch (method) {
    case "label":
      return label;
    case "annotation":
    case "annotation+label":
      return tracked;
    case "":
      return tracked ?? label;
  }
}

/** The rendered sources, in the order of their positions; for a hydrated application its dry source. */
export function rawSources(spec: ApplicationSpec): readonly JsonObject[] {
  const { sourceHydrator: hydrator, sources, source } = spec;
  if (isJsonObject(hydrator)) return isJsonObject(hydrator.drySource) ? [hydrator.drySource] : [];
  if (Array.isArray(sources) && sources.length > 0) {
    return sources.map((one: unknown) => (isJsonObject(one) ? one : {}));
  }
  return isJsonObject(source) ? [source] : [];
}

/** Whether a status is of an earlier definition, decided as the controller does (`specEqualsCompareTo` in its `state.go`). */
export function isOutdated({ spec, status }: WholeApplication): boolean {
  const compared = status?.sync?.comparedTo;
  // The controller compares what a hydrated application is deployed from, not its dry source.
  if (!compared || spec.sourceHydrator !== undefined) return false;
  const sources = isMultiSource(spec) ? (compared.sources ?? []) : [compared.source ?? {}];
  const present = rawSources(spec);
  return JSON.stringify(sources) !== JSON.stringify(present) && !specEqual({ sources }, { sources: present });
}

/** Runs at most `limit` tasks at a time, in the order of the calls. */
interface Semaphore {
  /** @throws the signal's reason if it is aborted before the task starts. */
  run<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

interface Waiting {
  readonly start: () => void;
  readonly giveUp: (reason: unknown) => void;
}

export function createSemaphore(limit: number): Semaphore {
  let free = limit;
  const line = new Map<Waiting, AbortSignal | undefined>();
  // One listener for all tasks of a signal: adding the n-th listener to a signal compares it with all earlier ones.
  const bySignal = new WeakMap<AbortSignal, Set<Waiting>>();

  async function enter(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    // Hundreds of requests of one plan share a signal; more than ten listeners are not a leak.
    if (signal !== undefined) setMaxListeners(0, signal);
    if (free > 0) {
      free -= 1;
      return;
    }
    await new Promise<void>((start, giveUp) => {
      const waiting = { start, giveUp };
      line.set(waiting, signal);
      if (signal !== undefined) waitingFor(signal).add(waiting);
    });
  }

  function waitingFor(signal: AbortSignal): Set<Waiting> {
    const known = bySignal.get(signal);
    if (known !== undefined) return known;
    const waiting = new Set<Waiting>();
    bySignal.set(signal, waiting);
    signal.addEventListener("abort", () => giveUpAll(waiting, signal.reason), { once: true });
    return waiting;
  }

  function giveUpAll(all: Set<Waiting>, reason: unknown): void {
    for (const waiting of all) {
      line.delete(waiting);
      waiting.giveUp(reason);
    }
    all.clear();
  }

  /** Hands the place to the next waiting task, so that a later call cannot overtake it. */
  function leave(): void {
    const [next] = line;
    if (next === undefined) {
      free += 1;
      return;
    }
    const [waiting, signal] = next;
    line.delete(waiting);
    if (signal !== undefined) bySignal.get(signal)?.delete(waiting);
    waiting.start();
  }

  return {
    async run(task, signal) {
      await enter(signal);
      try {
        signal?.throwIfAborted();
        return await task();
      } finally {
        leave();
      }
    },
  };
}
