import { createHash } from "node:crypto";
import * as z from "zod";
import { type Application, isRollingSync, type LiveApplication, type SetId } from "../../core/model/application.js";
import type { ApplicationName } from "../../core/model/brand.js";
import { canonicalJson, isJsonObject } from "../../core/model/json.js";
import type { RolloutLine } from "../../core/model/rollout.js";
import type { Clock } from "../../core/ports/clock.js";
import type { Deployer } from "../../core/ports/deployer.js";
import {
  getApplication,
  getItems,
  LIST_FIELDS,
  listedItem,
  nameOfResource,
  ownNamespace,
  type Parts,
  type ResourceId,
  type ServerSettings,
  toListed,
  toLiveApplication,
} from "./application-api.js";
import { ifVisible, parseAnswer } from "./argocd-failure.js";
import type { Client } from "./client.js";
import { createSemaphore } from "./semaphore.js";
import { isTemporary } from "./temporary-application.js";

/** Kubernetes accepts no other names, so others need no request. */
const RESOURCE_NAME = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;

/** The inverse of `nameOfResource`; undefined if no Kubernetes object can have the name. */
function parseName(name: ApplicationName, controllerNamespace: string): ResourceId | undefined {
  const slash = name.indexOf("/");
  const resourceName = name.slice(slash + 1);
  const namespace = slash === -1 ? undefined : name.slice(0, slash);
  if (!RESOURCE_NAME.test(resourceName)) return undefined;
  if (namespace !== undefined && !RESOURCE_NAME.test(namespace)) return undefined;
  return { namespace: ownNamespace(namespace, controllerNamespace), resourceName };
}

/** Concurrent reads of single applications. The limit is here because a time-out starts when the request is sent. */
const MAX_READS = 16;

/** Reads applications: the list is cached until `forget` or for some seconds, single applications are always fresh. */
export function createApplications(
  { client, clock, log, serverSettings }: Omit<Parts, "config" | "compute">,
  listSets: Deployer["listApplicationSets"],
) {
  const projects = new Map<ApplicationName, string>();
  const reads = createSemaphore(MAX_READS);
  const kept = keep(read, clock);

  async function read(): Promise<readonly Application[]> {
    const settings = await serverSettings();
    const items = await getItems(client, "the list of applications", { query: { fields: LIST_FIELDS } });
    const list = items.flatMap((item) => {
      const parsed = listedItem.safeParse(item);
      if (!parsed.success) log.warn({ problem: parsed.error.message }, "skipped an unreadable application");
      return parsed.success && !isTemporary(parsed.data) ? [toListed(parsed.data, settings)] : [];
    });
    for (const application of list) projects.set(application.name, application.project);
    return list;
  }

  async function find(name: ApplicationName, signal?: AbortSignal): Promise<LiveApplication | undefined> {
    const settings = await serverSettings();
    const resource = parseName(name, settings.controllerNamespace);
    if (resource === undefined) return undefined;
    const known = projects.get(name);
    const look = (project: string | undefined) =>
      ifVisible(reads.run(() => getApplication(client, { ...resource, project }, signal), signal));
    // The application may have moved to another project, so a refusal under the known one is not final.
    const found = (known === undefined ? undefined : await look(known)) ?? (await look(undefined));
    if (found === undefined || isTemporary(found)) return undefined;
    const live = toLiveApplication(found, settings);
    projects.set(name, live.project);
    return live.owningSet === undefined ? live : { ...live, ...(await ownerOf(live, signal)) };
  }

  /** From the list of sets, which a plan reads anyway; an application without a set costs no call. */
  async function ownerOf(
    live: LiveApplication,
    signal?: AbortSignal,
  ): Promise<Pick<LiveApplication, "setStrategy" | "generatedBy">> {
    const isOwner = ({ name, namespace }: SetId) => name === live.owningSet && namespace === live.namespace;
    try {
      const set = (await listSets(signal)).find(isOwner);
      if (set === undefined) return { setStrategy: "unread" };
      return { setStrategy: isRollingSync(set.resource) ? "rolling" : "other", generatedBy: set };
    } catch (error) {
      signal?.throwIfAborted();
      log.warn({ err: error }, "could not read the ApplicationSet of an application");
      return { setStrategy: "unread" };
    }
  }

  return { list: kept.get, find, forget: kept.forget };
}

const KEPT_MS = 10_000;

/** A cached answer, requested again after ten seconds or another time, and whenever a caller wants a newer one. */
interface Kept<T> {
  /** @param since An answer that was requested before is too old. */
  readonly get: (signal?: AbortSignal, since?: Date) => Promise<T>;
  readonly forget: () => void;
}

/** Concurrent callers share one `read`, so the signal of one caller does not abort it. Failures are not cached. */
export function keep<T>(read: () => Promise<T>, clock: Clock, keptMs = KEPT_MS): Kept<T> {
  let cached: { readonly at: number; readonly answer: Promise<T> } | undefined;

  function get(signal?: AbortSignal, since?: Date): Promise<T> {
    const now = clock.now().getTime();
    const tooOld = cached === undefined || now - cached.at >= keptMs || (since && cached.at < since.getTime());
    if (cached === undefined || tooOld) {
      const entry = { at: now, answer: read() };
      cached = entry;
      entry.answer.catch(() => {
        if (cached === entry) cached = undefined;
      });
    }
    return abortable(cached.answer, signal);
  }

  return { get, forget: () => (cached = undefined) };
}

/** Rejects with the signal's reason as soon as it is aborted; the work behind the promise continues. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason as Error);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

const SETTINGS_KEPT_MS = 5 * 60_000;
const DEFAULT_NAMESPACE = "argocd";

const settingsAnswer = z.object({
  appLabelKey: z.string().nullish(),
  trackingMethod: z.enum(["annotation", "label", "annotation+label", ""]).nullish().catch(""),
  controllerNamespace: z
    .string()
    .nullish()
    .transform((value) => (value === "" ? undefined : value)),
});

/**
 * Argo CD's settings, requested at most every five minutes. While Argo CD is unavailable the last answer stays in use. The
 * namespace is kept for good: locks have names that depend on it, and Argo CD reports it only to a valid token.
 */
export function createServerSettings(client: Client, clock: Clock): () => Promise<ServerSettings> {
  let last: ServerSettings | undefined;
  const kept = keep(ask, clock, SETTINGS_KEPT_MS);

  async function ask(): Promise<ServerSettings> {
    const answer = await client.call({ method: "GET", path: ["api", "v1", "settings"], permission: "settings, get" });
    const read = parseAnswer(settingsAnswer, answer, "its settings");
    const text = canonicalJson(isJsonObject(answer) ? answer : {});
    last = {
      controllerNamespace: read.controllerNamespace ?? last?.controllerNamespace ?? DEFAULT_NAMESPACE,
      labelKey: read.appLabelKey ?? "app.kubernetes.io/instance",
      tracking: read.trackingMethod ?? "",
      digest: createHash("sha256").update(text).digest("hex"),
    };
    return last;
  }

  return () =>
    kept.get().catch((error: unknown) => {
      if (last === undefined) throw error;
      return last;
    });
}

/** Old versions leave out the revision. */
const ROLLOUT_FIELDS = ["name", "namespace", "deletionTimestamp"]
  .map((member) => `items.metadata.${member}`)
  .concat(["sync.status", "sync.revision", "health", "operationState.phase"].map((one) => `items.status.${one}`))
  .join(",");

const rolloutSchema = z.object({
  metadata: z.object({
    name: z.string().min(1),
    namespace: z.string().nullish(),
    deletionTimestamp: z.string().nullish(),
  }),
  status: z
    .object({
      sync: z.object({ status: z.string().nullish(), revision: z.string().nullish() }).nullish(),
      health: z.object({ status: z.string().nullish() }).nullish(),
      operationState: z.object({ phase: z.string().nullish() }).nullish(),
    })
    .nullish(),
});

/** @throws {DeployerFailure} also if an item cannot be read: its absence would mean that it is gone. */
export async function rolloutLines({
  client,
  serverSettings,
}: Pick<Parts, "client" | "serverSettings">): Promise<ReadonlyMap<ApplicationName, RolloutLine>> {
  const { controllerNamespace } = await serverSettings();
  const items = await getItems(client, "the list of applications", { query: { fields: ROLLOUT_FIELDS } });
  const lines = items.map((item) => {
    const { metadata, status } = parseAnswer(rolloutSchema, item, "an application in the list");
    const line = {
      sync: status?.sync?.status ?? "",
      health: status?.health?.status ?? "",
      phase: status?.operationState?.phase ?? "",
      revision: status?.sync?.revision ?? "",
      deleting: typeof metadata.deletionTimestamp === "string",
    };
    return [nameOfResource(metadata.namespace ?? undefined, metadata.name, controllerNamespace), line] as const;
  });
  return new Map(lines);
}
