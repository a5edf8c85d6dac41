import type { LRUCache } from "lru-cache";
import * as z from "zod";
import { destinationOf, type LiveApplication, type Manifest } from "../../core/model/application.js";
import type { ApplicationName } from "../../core/model/brand.js";
import { isJsonObject, isNestedDeeper, withLongIntegers } from "../../core/model/json.js";
import type { Task } from "../../core/ports/compute.js";
import type { Deployer, LiveResource, LiveState } from "../../core/ports/deployer.js";
import {
  createSemaphore,
  getManagedResources,
  identity,
  type Parts,
  readCall,
  refreshApplication,
  resource,
  type ServerSettings,
  type Target,
  titleOf,
  TRACKING_ANNOTATION,
  type WholeApplication,
} from "./application-api.js";
import { keep } from "./applications.js";
import { ArgoCdFailure, MAX_DEPTH, parseAnswer, parseObjectText } from "./argocd-failure.js";
import type { Client } from "./client.js";
import { arrayAnswer, type Read, readArray, reading, readLarge, type UnreadAnswer } from "./unread-answer.js";

/** Time for a refresh: the call answers when the controller has compared the application. */
const REFRESH_MS = 60_000;
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? "");

const itemSchema = z.object({ group: text, kind: text, namespace: text, name: text, liveState: text });
type Item = z.infer<typeof itemSchema>;

const comparedSchema = itemSchema.extend({ normalizedLiveState: text, hook: z.boolean().nullish() });
type Compared = z.infer<typeof comparedSchema>;
const comparedAnswer = arrayAnswer("items", comparedSchema);

/** Answers that the same plan may soon need again, by the application that it read. */
export type RecentAnswers = LRUCache<LiveApplication, UnreadAnswer>;

interface LiveAnswer extends Pick<LiveState, "stale" | "kubernetes">, Pick<ServerSettings, "tracking"> {
  readonly answer: UnreadAnswer;
  readonly application: ApplicationName;
  readonly maybeEmpty: boolean;
}

const UNTOLD =
  "Argo CD returned none of the objects that it manages: check the conditions of the application in Argo CD, and its Redis";

/** Reads Argo CD's answer about the live resources of an application. */
export const readLiveTask: Task<LiveAnswer, Read<LiveState>> = {
  name: "read-live",
  run: ({ answer, application, tracking, stale, kubernetes, maybeEmpty }) =>
    reading(async () => {
      const what = `the live resources of ${application}`;
      const toLive = (item: Compared) => toResource(item, tracking);
      const resources = await readArray(comparedAnswer, answer, what, toLive);
      if (resources.length === 0 && !maybeEmpty) throw new ArgoCdFailure("failed", UNTOLD);
      return { resources, stale, kubernetes };
    }),
};

/** Reads an application's live state after a refresh by Argo CD; if that fails or takes too long, the last one, reported as stale. */
export function createLiveResources(
  { config, client, compute, log, clock, serverSettings }: Parts,
  recent: RecentAnswers,
): Deployer["liveResources"] {
  const clusters = keep(() => readClusters(client).catch(untoldForLong), clock, CLUSTERS_KEPT_MS);
  const semaphore = createSemaphore(config.renderConcurrency);

  async function refresh(
    application: LiveApplication,
    signal: AbortSignal,
  ): Promise<Pick<LiveAnswer, "stale" | "maybeEmpty">> {
    try {
      const told = await refreshApplication(client, application, { timeoutMs: REFRESH_MS, signal });
      return { stale: undefined, maybeEmpty: managesNothing(told) };
    } catch (error) {
      if (!(error instanceof ArgoCdFailure)) throw error;
      log.warn({ application: application.name, err: error }, "Argo CD did not refresh an application");
      const stale = "Argo CD did not refresh the application, so the live state may be out of date";
      return { stale, maybeEmpty: false };
    }
  }

  return async (application, signal) => {
    const input = await semaphore.run(async () => {
      const refreshed = await refresh(application, signal);
      // If Argo CD has lost its cache, this call makes it compare as well.
      const answer = await getManagedResources(client, application, { timeoutMs: REFRESH_MS, signal });
      recent.set(application, answer);
      const kubernetes = versionOf(destinationOf(application.spec).cluster, await clusters.get(signal).catch(untold));
      const { tracking } = await serverSettings();
      return { ...refreshed, answer, application: application.name, tracking, kubernetes };
    }, signal);
    return readLarge(compute, readLiveTask, input, { owner: "live resources", signal, what: "the live resources" });
  };
}

const managing = z.object({
  status: z.object({ resources: z.array(z.object({ hook: z.boolean().nullish() })).nullish() }).nullish(),
});

/** Argo CD 3.3 answers that there is nothing live also where its cache has no answer (`ManagedResources` in `server/application`). */
function managesNothing(application: unknown): boolean {
  const { data } = managing.safeParse(application);
  return data !== undefined && (data.status?.resources ?? []).every(({ hook }) => hook === true);
}

const CLUSTERS_KEPT_MS = 5 * 60_000;
const version = z.string().nullish();
const clustersSchema = z.object({
  items: z
    .array(
      z.object({
        server: text,
        name: text,
        serverVersion: version,
        info: z.object({ serverVersion: version }).nullish(),
      }),
    )
    .nullish(),
});
type Clusters = z.infer<typeof clustersSchema>;

/** Argo CD leaves out the clusters that the token may not see. */
async function readClusters(client: Parts["client"]): Promise<Clusters> {
  const answer = await client.call({ method: "GET", path: ["api", "v1", "clusters"], permission: "clusters, get" });
  return parseAnswer(clustersSchema, answer, "the clusters");
}

function versionOf(cluster: string, clusters: Clusters | undefined): string | undefined {
  const found = clusters?.items?.find(({ server, name }) => cluster !== "" && [server, name].includes(cluster));
  return found?.info?.serverVersion ?? found?.serverVersion ?? undefined;
}

/** Lets a missing permission be kept as the answer. An outage is not kept: the next plan asks again. */
function untoldForLong(error: unknown): undefined {
  if (error instanceof ArgoCdFailure && error.reason === "unreachable") throw error;
  untold(error);
}

function untold(error: unknown): undefined {
  if (!(error instanceof ArgoCdFailure)) throw error;
}

function toResource(item: Compared, tracking: ServerSettings["tracking"]): LiveResource {
  const { group, kind, namespace, name } = item;
  const [raw, normalized] = [readState(item.liveState), readState(item.normalizedLiveState)];
  // An answer without the normalised state must not be read as "not in the cluster".
  const live = normalized ?? raw;
  const whole = raw ?? live;
  return {
    group,
    kind,
    namespace,
    name,
    live,
    whole,
    lastApplied: lastAppliedOf(raw),
    hook: item.hook === true,
    copied: tracking.startsWith("annotation") && whole !== undefined && isCopied(whole, item),
  };
}

/**
 * Controllers copy annotations with an object (Kyverno, for one). Argo CD then sees that the tracking id names the original, and
 * leaves the copy alone (`isSelfReferencedObj` in `controller/state.go`, v2.13 and v3.5). A cluster-scoped object is tracked
 * with the namespace of its application.
 */
function isCopied({ metadata }: Manifest, { group, kind, namespace, name }: Item): boolean {
  const annotations = isJsonObject(metadata) ? metadata.annotations : undefined;
  const id = isJsonObject(annotations) ? annotations[TRACKING_ANNOTATION] : undefined;
  const tracks = typeof id === "string" ? /^[^:]*:([^:/]*\/[^:/]*):([^/]*)\/([^/]*)$/.exec(id) : null;
  if (tracks === null) return false;
  const [, type, place, tracked] = tracks;
  return type !== `${group}/${kind}` || tracked !== name || (namespace !== "" && place !== namespace);
}

/** Undefined for an absent object (`null`). @throws {ArgoCdFailure} for anything else: skipping it would hide a change. */
function readState(state: string): Manifest | undefined {
  if (state === "") return undefined;
  const value = parseObjectText(state, "returned a live object");
  if (value === null) return undefined;
  if (!isJsonObject(value)) throw new ArgoCdFailure("failed", "Argo CD returned a live object that is not an object");
  return value;
}

/** Anyone can write the annotation, so an unreadable one counts as absent. */
function lastAppliedOf(live: Manifest | undefined): Manifest | undefined {
  const metadata = live?.metadata;
  const annotations = isJsonObject(metadata) ? metadata.annotations : undefined;
  const note = isJsonObject(annotations) ? annotations[LAST_APPLIED] : undefined;
  if (typeof note !== "string") return undefined;
  try {
    const value: unknown = JSON.parse(withLongIntegers(note));
    return isJsonObject(value) && !isNestedDeeper(MAX_DEPTH, value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The live objects of an application, as texts that Argo CD takes back. */
export interface LiveTexts {
  /** The wanted objects that are in the cluster, by `liveKey`. */
  readonly objects: Readonly<Record<string, LiveText>>;
  readonly namespaces: readonly string[];
}

interface LiveText {
  readonly text: string;
  readonly lastApplied: Manifest | undefined;
}

export function liveKey({ group, kind, namespace, name }: Omit<Item, "liveState">): string {
  return JSON.stringify([group, kind, namespace, name]);
}

const textsAnswer = arrayAnswer("items", itemSchema);

export const readLiveTextsTask: Task<
  { readonly answer: UnreadAnswer; readonly wanted: readonly string[] },
  Read<LiveTexts>
> = {
  name: "read-live-texts",
  run: ({ answer, wanted }) =>
    reading(async () => {
      const keys = new Set(wanted);
      const objects: Record<string, LiveText> = {};
      const namespaces = new Set<string>();
      await readArray(textsAnswer, answer, "its live resources", (item) => {
        const { liveState, namespace } = item;
        if (liveState === "" || liveState === "null") return;
        if (namespace !== "") namespaces.add(namespace);
        const key = liveKey(item);
        if (!keys.has(key)) return;
        objects[key] = { text: liveState, lastApplied: lastAppliedOf(readState(liveState)) };
      });
      return { objects, namespaces: [...namespaces] };
    }),
};

const resourceTree = z.object({
  nodes: z
    .array(
      resource.extend({
        uid: z.string().nullish(),
        parentRefs: z.array(z.object({ uid: z.string().nullish() })).nullish(),
        health: z.object({ status: z.string().nullish(), message: z.string().nullish() }).nullish(),
      }),
    )
    .nullish(),
});
type ResourceNode = NonNullable<z.infer<typeof resourceTree>["nodes"]>[number];

/** The objects of an application, and those below them, from Argo CD's cache. */
export async function getResourceTree(client: Client, target: Target): Promise<readonly ResourceNode[]> {
  const answer = await client.call(readCall([target.resourceName, "resource-tree"], { query: identity(target) }));
  return parseAnswer(resourceTree, answer, `the objects of ${target.resourceName}`).nodes ?? [];
}

/** Unhealthy objects, those that own no other first: a pod says why its Deployment does not become ready. */
export function unhealthyNodes(nodes: readonly ResourceNode[]): readonly ResourceNode[] {
  const sick = nodes.filter(({ health }) => !["Healthy", "", undefined].includes(health?.status ?? undefined));
  const owners = new Set(sick.flatMap(({ parentRefs }) => (parentRefs ?? []).map(({ uid }) => uid ?? undefined)));
  const owns = ({ uid }: ResourceNode) => uid !== null && uid !== undefined && owners.has(uid);
  return [...sick.filter((one) => !owns(one)), ...sick.filter(owns)];
}

/**
 * The health of a `Missing` application by those of its own objects that are in the cluster. Argo CD compares with the target branch,
 * which still has what a sync deleted. Since v3.4 that counts only where nothing is left, and before it hides that others are not ready
 * (`setApplicationHealth` in controller/health.go). @param pruned the sync deleted something.
 */
export function presentHealth(
  nodes: readonly ResourceNode[],
  { resources }: Pick<NonNullable<WholeApplication["status"]>, "resources">,
  pruned: boolean,
): string {
  const own = new Set((resources ?? []).map(titleOf));
  // Controllers make some objects of an application the owners of others.
  const isOwn = (one: ResourceNode) => (one.parentRefs ?? []).length === 0 || own.has(titleOf(one));
  const present = nodes.filter(isOwn).flatMap(({ health }) => (health?.status === "Missing" ? [] : [health?.status]));
  if (present.length === 0 && !pruned) return "Missing";
  return ["Progressing", "Suspended"].find((word) => present.includes(word)) ?? "Healthy";
}
