import { createHash } from "node:crypto";
import * as z from "zod";
import {
  type Application,
  isMultiSource,
  isRollingSync,
  type LiveApplication,
  type SetId,
  type Standing,
} from "../../core/model/application.js";
import type { ApplicationName } from "../../core/model/brand.js";
import { type DeployerFailureReason, orAborted } from "../../core/model/errors.js";
import { canonicalJson, isJsonObject } from "../../core/model/json.js";
import type { RolloutLine } from "../../core/model/rollout.js";
import type { Clock } from "../../core/ports/clock.js";
import type { Deployer } from "../../core/ports/deployer.js";
import { LABELS, TEMPORARY_NAME_PREFIX } from "../../names.js";
import {
  applicationItem,
  APPLICATIONS,
  createSemaphore,
  getApplication,
  getItems,
  getListed,
  identity,
  isOutdated,
  listedJson,
  nameOfResource,
  ownNamespace,
  type Parts,
  rawSources,
  type ResourceId,
  type ServerSettings,
  type Target,
  titleOf,
  toApplication,
  type WholeApplication,
} from "./application-api.js";
import { ArgoCdFailure, GRPC, ifVisible, isAbsent, notLoggedIn, parseAnswer, readableText } from "./argocd-failure.js";
import type { Client } from "./client.js";

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
    const seen = (known === undefined ? undefined : await look(known)) ?? (await look(undefined));
    const listed = seen === undefined ? (await kept.get(signal)).find((one) => one.name === name) : undefined;
    const found = listed === undefined ? seen : await getListed(client, listed, signal);
    if (found === undefined || isTemporary(found)) return undefined;
    const live = toLiveApplication(found, settings);
    projects.set(name, live.project);
    return live.owningSet === undefined ? live : { ...live, ...(await ownerOf(live, signal)) };
  }

  async function isGone(name: ApplicationName, project: string): Promise<boolean> {
    const resource = parseName(name, (await serverSettings()).controllerNamespace);
    const told = resource && (await getApplication(client, { ...resource, project }).catch((error: unknown) => error));
    return told instanceof ArgoCdFailure && told.code === GRPC.notFound && (await find(name)) === undefined;
  }

  /** From the list of sets, which a plan reads anyway; an application without a set costs no call. */
  async function ownerOf(live: LiveApplication, signal?: AbortSignal): Promise<Owner> {
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

  return { list: kept.get, find, isGone, forget: kept.forget };
}

type Owner = Pick<LiveApplication, "setStrategy" | "generatedBy">;

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
    return orAborted(cached.answer, signal);
  }

  return { get, forget: () => (cached = undefined) };
}

const SETTINGS_KEPT_MS = 5 * 60_000;

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
 * namespace is kept for good, and never guessed: locks have names that depend on it, and Argo CD reports it only to a valid
 * token (`Get` in server/settings/settings.go, v2.13 as well).
 */
export function createServerSettings(client: Client, clock: Clock): () => Promise<ServerSettings> {
  let last: ServerSettings | undefined;
  const kept = keep(ask, clock, SETTINGS_KEPT_MS);

  async function ask(): Promise<ServerSettings> {
    const answer = await client.call({ method: "GET", path: ["api", "v1", "settings"], permission: "settings, get" });
    const read = parseAnswer(settingsAnswer, answer, "its settings");
    const text = canonicalJson(isJsonObject(answer) ? answer : {});
    const controllerNamespace = read.controllerNamespace ?? last?.controllerNamespace;
    if (controllerNamespace === undefined) throw notLoggedIn();
    last = {
      controllerNamespace,
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

const WAITS_MS = [500, 1000, 2000, 4000] as const;

/** Failures that a retry cannot cure. */
const FINAL: readonly DeployerFailureReason[] = ["refused", "forbidden", "unauthenticated"];

type Labelled = Pick<WholeApplication, "metadata">;

interface Removal {
  readonly target: Target;
  /** Whether svc has only just created the Application: Argo CD may answer the first request that there is none. */
  readonly created: boolean;
  /** A further condition on the present object; if it does not hold, nothing is deleted. */
  readonly only?: (found: Labelled) => boolean;
}

/** Deletes a temporary application, and tries again for some seconds; cannot be aborted. @returns Whether it existed. @throws {ArgoCdFailure} if it stays, or is not temporary. */
export async function removeTemporary(client: Client, clock: Clock, removal: Removal): Promise<boolean> {
  const waits: number[] = [...WAITS_MS];
  for (;;) {
    const outcome = await attempt(client, removal).catch((error: unknown) => error);
    if (outcome === "gone") return true;
    if (outcome === "kept") return false;
    if (outcome === "absent" && !removal.created) return false;
    if (outcome instanceof ArgoCdFailure && FINAL.includes(outcome.reason)) throw outcome;
    const wait = waits.shift();
    if (wait === undefined) {
      if (outcome === "absent") return false;
      throw outcome;
    }
    await clock.sleep(wait);
  }
}

async function attempt(client: Client, removal: Removal): Promise<"gone" | "kept" | "absent"> {
  try {
    const found = await getApplication(client, removal.target);
    if (!isTemporary(found) || found.metadata.name !== removal.target.resourceName) {
      const message = `${removal.target.resourceName} does not have the label ${LABELS.temporary} and is not deleted`;
      throw new ArgoCdFailure("refused", message);
    }
    if (removal.only !== undefined && !removal.only(found)) return "kept";
  } catch (error) {
    if (isAbsent(error)) return "absent";
    throw error;
  }
  try {
    await deleteTemporary(client, removal.target);
  } catch (error) {
    if (!(error instanceof ArgoCdFailure && error.reason === "not-found")) throw error;
  }
  return "gone";
}

/**
 * The only deletion in svc: a temporary Application, without the resources that it seems to own (`cascade` defaults to true).
 * @throws {ArgoCdFailure} for any other name, before a request is made.
 */
export async function deleteTemporary(client: Client, target: Target): Promise<void> {
  if (!target.resourceName.startsWith(TEMPORARY_NAME_PREFIX)) {
    throw new ArgoCdFailure("refused", `${target.resourceName} is not a temporary Application and is not deleted`);
  }
  await client.call({
    method: "DELETE",
    path: [...APPLICATIONS, target.resourceName],
    query: { cascade: false, ...identity(target) },
    permission: "applications, delete",
  });
}

/** Requires both the name and the label: a real Application may have one of them by mistake. */
export function isTemporary({ metadata: { name, labels } }: Labelled): boolean {
  return name.startsWith(TEMPORARY_NAME_PREFIX) && labels[LABELS.temporary] === "true";
}

/** Deletes expired temporary Applications of interrupted runs, and logs each that it cannot delete. @returns How many. */
export async function sweep({ client, clock, log, serverSettings }: Parts, now: Date): Promise<number> {
  const query = { selector: `${LABELS.temporary}=true`, fields: LIST_FIELDS };
  // One without a readable expiry was not created by svc, and stays.
  const isLeftOver = (item: Labelled) =>
    isTemporary(item) && Date.parse(item.metadata.annotations[LABELS.expires] ?? "") <= now.getTime();
  let deleted = 0;
  for (const item of await getItems(client, "temporary Applications", { query })) {
    const parsed = applicationItem.safeParse(item);
    if (!parsed.success || !isLeftOver(parsed.data)) continue;
    const target = toApplication(parsed.data, await serverSettings());
    try {
      // A new run may have taken the name since, with a new expiry, so the present object decides.
      if (await removeTemporary(client, clock, { target, created: false, only: isLeftOver })) deleted += 1;
    } catch (error) {
      log.warn({ application: target.resourceName, err: error }, "could not delete an expired temporary Application");
    }
  }
  return deleted;
}

/** Reduces the answer to a fifteenth. Old versions select `spec` only as a whole; Argo CD silently ignores unknown names. */
const LIST_FIELDS = ["name", "namespace", "labels", "annotations", "deletionTimestamp"]
  .map((member) => `items.metadata.${member}`)
  .concat("items.spec", "items.status.sync.status", "items.status.health")
  .join(",");

function toListed(item: z.infer<typeof listedItem>, settings: ServerSettings): Application {
  const { sync, health } = item.status ?? {};
  return { ...toApplication(item, settings), listed: { sync: sync?.status ?? "", health: health?.status ?? "" } };
}

const listedStatus = z.object({ status: z.string().nullish() }).nullish().catch(undefined);

/** An item of the list of applications, where `fields` selects only these members of the status. */
const listedItem = applicationItem.extend({
  spec: listedJson,
  status: z.object({ sync: listedStatus, health: listedStatus }).nullish().catch(undefined),
});
/** https://argo-cd.readthedocs.io/en/stable/user-guide/app_deletion/ */
const CASCADING = /^resources-finalizer\.argocd\.argoproj\.io(?:\/|$)/;
/** Argo CD adds these itself, where there are such hooks. */
const RUNNING_HOOKS = /^(?:pre|post)-delete-finalizer\.argocd\.argoproj\.io(?:\/|$)/;

function toLiveApplication(whole: WholeApplication, settings: ServerSettings): LiveApplication {
  const { sync, resources } = whole.status ?? {};
  const multiple = isMultiSource(whole.spec);
  const types = multiple ? (whole.status?.sourceTypes ?? []) : [whole.status?.sourceType ?? ""];
  return {
    ...toApplication(whole, settings),
    uid: whole.metadata.uid ?? undefined,
    owningSet: whole.metadata.ownerReferences?.find((owner) => owner.kind === "ApplicationSet")?.name,
    sourceTypes: rawSources(whole.spec).map((_, index) => types[index] ?? ""),
    comparedRevisions: multiple ? (sync?.revisions ?? []) : sync?.revision ? [sync.revision] : [],
    lastOperation: whole.status?.operationState?.startedAt ?? undefined,
    hasOperation: Boolean(whole.operation),
    deleting: typeof whole.metadata.deletionTimestamp === "string",
    cascades: (whole.metadata.finalizers ?? []).some((one) => CASCADING.test(one)),
    hooksAtDeletion: (whole.metadata.finalizers ?? []).some((one) => RUNNING_HOOKS.test(one)),
    standing: standingOf(whole),
    leftOver: resources?.filter((one) => one.requiresPruning && one.status === "OutOfSync").map(titleOf),
    syncedChildren: resources?.filter((one) => one.kind === "Application" && one.status === "Synced").map(titleOf),
    outdated: isOutdated(whole),
  };
}

function standingOf({ status }: WholeApplication): Standing {
  const { phase, message } = status?.operationState ?? {};
  const errors = (status?.conditions ?? []).filter(({ type }) => type.endsWith("Error"));
  return {
    sync: status?.sync?.status ?? "",
    health: status?.health?.status ?? "",
    phase: phase ?? "",
    message: phase === "Failed" || phase === "Error" ? readableText(message ?? "", LONGEST_MESSAGE) : "",
    errors: errors.map((one) => `${one.type}: ${readableText(one.message ?? "", LONGEST_MESSAGE)}`),
  };
}

const LONGEST_MESSAGE = 500;
