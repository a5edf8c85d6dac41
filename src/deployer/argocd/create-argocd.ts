import { LRUCache } from "lru-cache";
import * as z from "zod";
import { type Application, type ApplicationSpec, specEqual } from "../../core/model/application.js";
import type { ApplicationName } from "../../core/model/brand.js";
import type { SyncedResource } from "../../core/model/result.js";
import type { Clock } from "../../core/ports/clock.js";
import type { Compute } from "../../core/ports/compute.js";
import type { Deployer, HealthReport, SyncLookup } from "../../core/ports/deployer.js";
import type { Log } from "../../core/ports/log.js";
import { ANNOTATION_EXPIRES, LABEL_TEMPORARY } from "../../names.js";
import {
  applicationItem,
  type ApplicationItem,
  getApplication,
  getItems,
  getResourceTree,
  nameOfResource,
  putSpec,
  refreshApplication,
  type ResourceNode,
  toApplication,
  type WholeApplication,
} from "./application-api.js";
import { createApplicationSets } from "./application-sets.js";
import { createApplications, keep, LIST_FIELDS } from "./applications.js";
import { ArgoCdFailure, parseAnswer, readableText } from "./argocd-failure.js";
import { type ArgoCdConfig, type Call, type Client, createClient } from "./client.js";
import { createLiveResources, type RecentAnswers } from "./live-resources.js";
import { createRender } from "./render.js";
import { createServerSettings, type ServerSettings } from "./server-settings.js";
import { createSync, isOurs, shownResource, targetOf, unhealthyOf } from "./sync.js";
import { isTemporary, removeTemporary } from "./temporary-application.js";
import { createTrials } from "./trials.js";

const versionAnswer = z.object({ Version: z.string().nullish() });
const userAnswer = z.object({ loggedIn: z.boolean().nullish(), username: z.string().nullish() });

/** Argo CD is not upgraded every minute. */
const VERSION_KEPT_MS = 5 * 60_000;

/** Characters of answers to keep for the question to Kubernetes that may follow a comparison. */
const MAX_RECENT = 8 * 1024 * 1024;
const RECENT_MS = 30_000;

/** How often, and in which interval, to check whether an update without an answer took effect. */
const UPDATE_LOOKS = 3;
const UPDATE_PAUSE_MS = 1000;

/**
 * Argo CD 2.13 and newer over its REST API. Methods throw `DeployerFailure`, or the reason of an aborted signal.
 * `close` waits for running requests, then drops the connections.
 */
export function createArgoCd(
  config: ArgoCdConfig,
  parts: { clock: Clock; log: Log; compute: Compute },
): Deployer & { close(): Promise<void> } {
  const { clock, log, compute } = parts;
  const client = createClient(config, parts);
  const serverSettings = createServerSettings(client, clock);
  const applications = createApplications({ client, clock, log, serverSettings });
  const recent: RecentAnswers = new LRUCache({
    maxSize: MAX_RECENT,
    sizeCalculation: (answer) => answer.length + 1,
    ttl: RECENT_MS,
    ttlAutopurge: true,
  });
  const version = keep(() => askVersion(client), clock, VERSION_KEPT_MS);

  return {
    check: async () => check(client, await version.get(undefined, clock.now())),

    async naming() {
      const { controllerNamespace } = await serverSettings();
      return (namespace, name) => nameOfResource(namespace, name, controllerNamespace);
    },

    listApplications: applications.list,
    ownersOf: async (objects, signal) => ownersOf(client, await serverSettings(), objects, { signal }),
    findApplication: applications.find,
    renderManifests: createRender(config, { client, clock, log, compute, serverSettings }),

    async renderingSettings() {
      return (await serverSettings()).digest;
    },

    liveResources: createLiveResources(config, { client, compute, log, recent }),
    tryObjects: createTrials(config, { client, compute, clock, log, recent, version: (signal) => version.get(signal) }),
    ...createApplicationSets({ client, clock, compute, log, serverSettings }, config.renderTimeoutMs),

    async updateSpec(application, spec) {
      applications.forget();
      await updateSpec({ client, clock }, application, spec);
    },

    ...createSync(config, { client, clock, log }),
    healthAfter: createHealth({ client, log }),
    sweep: async (now) => sweep({ client, clock, log, settings: await serverSettings() }, now),
    close: () => client.close(),
  };
}

/** Returns Argo CD's version and the token's account. Both calls succeed without a valid token; `loggedIn` tells. */
async function check(client: Client, version: string): Promise<{ readonly version: string; readonly account: string }> {
  const path = ["api", "v1", "session", "userinfo"];
  const user = await client.call({ method: "GET", path, permission: "session, get" });
  const { loggedIn, username } = parseAnswer(userAnswer, user, "the account of the token");
  if (loggedIn !== true) {
    const message = "Argo CD does not accept deployer.token: it is wrong, expired or revoked";
    throw new ArgoCdFailure("unauthenticated", message);
  }
  return { version, account: username ?? "unknown" };
}

async function askVersion(client: Client): Promise<string> {
  const answer = await client.call({ method: "GET", path: ["api", "version"], permission: "version, get" });
  return parseAnswer(versionAnswer, answer, "its version").Version ?? "unknown";
}

/**
 * Replaces the live spec. The request is sent once, under the application's present project; if its answer is lost, the live
 * object shows whether it took effect.
 */
async function updateSpec(
  parts: { readonly client: Client; readonly clock: Clock },
  application: Application,
  spec: ApplicationSpec,
): Promise<void> {
  try {
    await putSpec(parts.client, application, spec);
  } catch (error) {
    if (!(error instanceof ArgoCdFailure) || !error.maybeDone) throw error;
    for (let looks = 0; looks < UPDATE_LOOKS; looks += 1) {
      await parts.clock.sleep(UPDATE_PAUSE_MS);
      // Without the project: the new spec may have changed it.
      const found = await getApplication(parts.client, { ...application, project: undefined }).catch(() => undefined);
      if (found !== undefined && specEqual(found.spec, spec)) return;
    }
    const message = `svc could not find out whether the definition of ${application.name} was changed (${error.message})`;
    throw new ArgoCdFailure(error.reason, message, { maybeDone: true, cause: error });
  }
}

const MOST_OBJECTS = 30;

/**
 * Reads the health that includes a sync. Argo CD compares an application by itself once a sync has ended, but leaves the time
 * of the comparison as it was if nothing else changed: then a refresh writes it.
 */
function createHealth({ client, log }: { readonly client: Client; readonly log: Log }): Deployer["healthAfter"] {
  return async (lookup, { refresh }) => {
    const target = targetOf(lookup);
    let found = await getApplication(client, target);
    if (refresh && stateOf(found, lookup) === "not-compared") {
      await refreshApplication(client, target, {});
      found = await getApplication(client, target);
    }
    const state = stateOf(found, lookup);
    if (state !== "compared") return { kind: state };
    const health = found.status?.health?.status ?? "Unknown";
    const since = found.status?.health?.lastTransitionTime ?? undefined;
    return { kind: "compared", health: readableText(health, 50), since, unhealthy: await objectsOf(found, lookup) };
  };

  async function objectsOf(found: WholeApplication, lookup: SyncLookup): Promise<readonly SyncedResource[]> {
    if (found.status?.health?.status === "Healthy") return [];
    try {
      const nodes = unhealthyNodes(await getResourceTree(client, targetOf(lookup)));
      if (nodes.length > 0) return nodes;
    } catch (error) {
      if (!(error instanceof ArgoCdFailure)) throw error;
      log.debug(
        { application: lookup.application.name, err: error },
        "could not read the objects below an application",
      );
    }
    return unhealthyOf(found).slice(0, MOST_OBJECTS);
  }
}

/**
 * Times have whole seconds, so a comparison in the second in which the sync ended counts: Argo CD's own `app wait` reads it
 * like this, and the health has to hold for longer than that.
 */
function stateOf({ operation, status }: WholeApplication, { runId }: SyncLookup): HealthReport["kind"] {
  const state = status?.operationState ?? undefined;
  if (operation !== null && operation !== undefined) return "replaced";
  if (state === undefined || !isOurs(state.operation, runId)) return "replaced";
  const [compared, finished] = [Date.parse(status?.reconciledAt ?? ""), Date.parse(state.finishedAt ?? "")];
  return compared >= finished ? "compared" : "not-compared";
}

/** Unhealthy objects, those that own no other first: a pod says why its Deployment does not become ready. */
function unhealthyNodes(nodes: readonly ResourceNode[]): readonly SyncedResource[] {
  const sick = nodes.filter(({ health }) => !["Healthy", "", undefined].includes(health?.status ?? undefined));
  const owners = new Set(sick.flatMap(({ parentRefs }) => (parentRefs ?? []).map(({ uid }) => uid ?? undefined)));
  const owns = ({ uid }: ResourceNode) => uid !== null && uid !== undefined && owners.has(uid);
  return [...sick.filter((one) => !owns(one)), ...sick.filter(owns)]
    .slice(0, MOST_OBJECTS)
    .map((node) => shownResource(node, readableText(node.health?.status ?? "", 50), node.health?.message));
}

/** Without the rest of the status, which is many times as large. */
const FIELDS = ["items.metadata.name", "items.metadata.namespace", "items.status.resources"].join(",");

const text = z.string().nullish();
const objectSchema = z.object({ group: text, kind: text, namespace: text, name: text });
const ownerSchema = z.object({
  metadata: z.object({ name: z.string().min(1), namespace: text }),
  status: z.object({ resources: z.array(objectSchema).nullish() }).nullish(),
});

/** Reads what Argo CD compared last of every application, in one call. An item that cannot be read owns nothing. */
async function ownersOf(
  client: Client,
  { controllerNamespace }: ServerSettings,
  objects: ReadonlySet<string>,
  options: Pick<Call, "signal">,
): Promise<ReadonlyMap<string, readonly ApplicationName[]>> {
  const query = { fields: FIELDS };
  const items = await getItems(client, "the list of applications", { query, ...options });
  const found = new Map<string, ApplicationName[]>();
  for (const each of items) {
    const parsed = ownerSchema.safeParse(each);
    if (!parsed.success) continue;
    const { metadata, status } = parsed.data;
    for (const { group, kind, namespace, name } of status?.resources ?? []) {
      const key = [group, kind, namespace, name].map((part) => part ?? "").join("/");
      if (!objects.has(key)) continue;
      const owner = nameOfResource(metadata.namespace ?? undefined, metadata.name, controllerNamespace);
      found.set(key, [...(found.get(key) ?? []), owner]);
    }
  }
  return found;
}

interface Parts {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: ServerSettings;
}

/**
 * Deletes expired temporary Applications, which interrupted runs left behind; another replica may be using the others. Logs
 * each that it cannot delete, and continues.
 * @returns The number of deleted Applications.
 */
async function sweep(parts: Parts, now: Date): Promise<number> {
  const { client, clock, log, settings } = parts;
  const query = { selector: `${LABEL_TEMPORARY}=true`, fields: LIST_FIELDS };
  const isLeftOver = (item: ApplicationItem) => isTemporary(item) && isExpired(item, now);
  let deleted = 0;
  for (const item of await getItems(client, "temporary Applications", { query })) {
    const parsed = applicationItem.safeParse(item);
    if (!parsed.success || !isLeftOver(parsed.data)) continue;
    const target = toApplication(parsed.data, settings);
    try {
      // A new run may have taken the name since, with a new expiry, so the present object decides.
      if (await removeTemporary(client, clock, { target, created: false, only: isLeftOver })) deleted += 1;
    } catch (error) {
      log.warn({ application: target.resourceName, err: error }, "could not delete an expired temporary Application");
    }
  }
  return deleted;
}

/** An Application without a readable expiry was not created by svc, and stays. */
function isExpired(item: ApplicationItem, now: Date): boolean {
  const expires = Date.parse(item.metadata.annotations[ANNOTATION_EXPIRES] ?? "");
  return expires <= now.getTime();
}
