import { LRUCache } from "lru-cache";
import * as z from "zod";
import { type Application, type ApplicationSpec, specEqual } from "../../core/model/application.js";
import type { ApplicationName } from "../../core/model/brand.js";
import type { JsonObject } from "../../core/model/json.js";
import { isOlder, shortVersion } from "../../core/model/version.js";
import type { Clock } from "../../core/ports/clock.js";
import type { Compute } from "../../core/ports/compute.js";
import type { Deployer } from "../../core/ports/deployer.js";
import type { Log } from "../../core/ports/log.js";
import {
  APPLICATIONS,
  getApplication,
  getItems,
  identity,
  nameOfResource,
  ownNamespace,
  type Parts,
  requireExactKeys,
  type Target,
} from "./application-api.js";
import { createApplicationSets } from "./application-sets.js";
import { createApplications, createServerSettings, keep } from "./applications.js";
import { ArgoCdFailure, ifVisible, parseAnswer, readableText } from "./argocd-failure.js";
import { type ArgoCdConfig, type Client, createClient } from "./client.js";
import { createLiveResources, type RecentAnswers } from "./live-resources.js";
import { createRender } from "./render.js";
import { createSync } from "./sync.js";
import { sweep } from "./temporary-application.js";
import { createTrials } from "./trials.js";

const versionAnswer = z.object({ Version: z.string().nullish() });
const userAnswer = z.object({ loggedIn: z.boolean().nullish(), username: z.string().nullish() });

const VERSION_KEPT_MS = 5 * 60_000;

/** Characters of answers to keep for the question to Kubernetes that may follow a comparison. */
const MAX_RECENT = 8 * 1024 * 1024;
const RECENT_MS = 30_000;

/** How often, and in which interval, to check whether an update without an answer took effect. */
const UPDATE_LOOKS = 3;
const UPDATE_PAUSE_MS = 1000;

/** Argo CD 2.13 and newer over REST. Methods throw `DeployerFailure`, or the reason of an aborted signal. `close` waits for requests. */
export function createArgoCd(
  config: ArgoCdConfig,
  environment: { clock: Clock; log: Log; compute: Compute },
): Deployer & { close(): Promise<void> } {
  const client = createClient(config, environment);
  const serverSettings = createServerSettings(client, environment.clock);
  const parts: Parts = { ...environment, config, client, serverSettings };
  const sets = createApplicationSets(parts);
  const applications = createApplications(parts, sets.listApplicationSets);
  const recent: RecentAnswers = new LRUCache({
    maxSize: MAX_RECENT,
    sizeCalculation: (answer) => answer.length + 1,
    ttl: RECENT_MS,
    ttlAutopurge: true,
  });
  const version = keep(() => askVersion(client), environment.clock, VERSION_KEPT_MS);

  return {
    check: async () => check(client, await version.get(undefined, environment.clock.now())),

    async naming() {
      const { controllerNamespace } = await serverSettings();
      return (namespace, name) => nameOfResource(namespace, name, controllerNamespace);
    },

    listApplications: applications.list,
    uncompared: (signal) => uncompared(parts, signal),
    ownersOf: (objects, signal) => ownersOf(parts, objects, signal),
    findApplication: applications.find,
    renderManifests: createRender(parts),
    renderingSettings: async () => (await serverSettings()).digest,
    whyNotFresh: () => version.get().then(ignoresNoCache, unknownVersion),
    liveResources: createLiveResources(parts, recent),
    tryObjects: createTrials(parts, recent, (signal) => version.get(signal)),
    ...sets,

    async updateSpec(application, spec) {
      applications.forget();
      await updateSpec(parts, application, spec);
    },

    ...createSync(parts),
    sweep: (now) => sweep(parts, now),
    close: () => client.close(),
  };
}

/** Returns Argo CD's version and the token's account. Both calls succeed without a valid token; `loggedIn` tells. */
async function check(client: Client, version: string): Promise<{ readonly version: string; readonly account: string }> {
  const path = ["api", "v1", "session", "userinfo"];
  const user = await client.call({ method: "GET", path, permission: "session, get" });
  const { loggedIn, username } = parseAnswer(userAnswer, user, "the account of the token");
  if (loggedIn !== true) {
    const message = "Argo CD does not accept argocd.token: it is wrong, expired or revoked";
    throw new ArgoCdFailure("unauthenticated", message);
  }
  return { version, account: username ?? "unknown" };
}

async function askVersion(client: Client): Promise<string> {
  const answer = await client.call({ method: "GET", path: ["api", "version"], permission: "version, get" });
  return parseAnswer(versionAnswer, answer, "its version").Version ?? "unknown";
}

/** Servers without the parameter ignore it without a word. */
function ignoresNoCache(version: string): string | undefined {
  const older = isOlder(version, "3.2");
  if (older === undefined) return "The version of Argo CD is not known, so it may render from its cache";
  return older ? `Argo CD ${shortVersion(version)} cannot render again without its cache; 3.2 or newer can` : undefined;
}

function unknownVersion(error: unknown): string | undefined {
  if (error instanceof ArgoCdFailure) return ignoresNoCache("");
  throw error;
}

/** Sends the spec once, under the present project. If the answer is lost, the live object shows whether it took effect. */
async function updateSpec(
  { client, clock }: Pick<Parts, "client" | "clock">,
  application: Application,
  spec: ApplicationSpec,
): Promise<void> {
  try {
    await putSpec(client, application, spec);
  } catch (error) {
    if (!(error instanceof ArgoCdFailure) || !error.maybeDone) throw error;
    for (let looks = 0; looks < UPDATE_LOOKS; looks += 1) {
      await clock.sleep(UPDATE_PAUSE_MS);
      // Without the project: the new spec may have changed it.
      const found = await getApplication(client, { ...application, project: undefined }).catch(() => undefined);
      if (found !== undefined && specEqual(found.spec, spec)) return;
    }
    const message = `svc could not find out whether the definition of ${application.name} was changed (${error.message})`;
    throw new ArgoCdFailure(error.reason, message, { maybeDone: true, cause: error });
  }
}

async function putSpec(client: Client, target: Target, spec: JsonObject): Promise<void> {
  requireExactKeys(spec);
  await client.call({
    method: "PUT",
    path: [...APPLICATIONS, target.resourceName, "spec"],
    query: { validate: false, ...identity(target) },
    body: spec,
    permission: "applications, update",
  });
}

const text = z.string().nullish();

/** `fields` selects no conditions, so those of the applications that this shows as unknown are read one by one. */
const SYNC_FIELDS = ["items.metadata.name", "items.metadata.namespace", "items.status.sync.status"].join(",");
const MOST_UNCOMPARED = 10;
const LONGEST_REASON = 500;

const syncSchema = z.object({
  metadata: z.object({ name: z.string().min(1), namespace: text }),
  status: z.object({ sync: z.object({ status: text }).nullish() }).nullish(),
});

async function uncompared(
  { client, serverSettings }: Pick<Parts, "client" | "serverSettings">,
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<ApplicationName, string>> {
  const { controllerNamespace } = await serverSettings();
  const items = await getItems(client, "the list of applications", { query: { fields: SYNC_FIELDS }, signal });
  const unknown = items.flatMap((item) => {
    const { data } = syncSchema.safeParse(item);
    return data?.status?.sync?.status === "Unknown" ? [data.metadata] : [];
  });
  const reasons = unknown.slice(0, MOST_UNCOMPARED).map(async ({ name, namespace }) => {
    const target = { namespace: ownNamespace(namespace ?? undefined, controllerNamespace), resourceName: name };
    const found = await ifVisible(getApplication(client, { ...target, project: undefined }, signal));
    const failed = found?.status?.conditions?.find(({ type }) => type === "ComparisonError");
    if (failed === undefined) return [];
    const reason = readableText(failed.message ?? "", LONGEST_REASON);
    return [[nameOfResource(namespace ?? undefined, name, controllerNamespace), reason] as const];
  });
  return new Map((await Promise.all(reasons)).flat());
}

/** Without the rest of the status, which is many times as large. */
const FIELDS = ["items.metadata.name", "items.metadata.namespace", "items.status.resources"].join(",");

const objectSchema = z.object({ group: text, kind: text, namespace: text, name: text });
const ownerSchema = z.object({
  metadata: z.object({ name: z.string().min(1), namespace: text }),
  status: z.object({ resources: z.array(objectSchema).nullish() }).nullish(),
});

/** Reads what Argo CD compared last of every application, in one call. An item that cannot be read owns nothing. */
async function ownersOf(
  { client, serverSettings }: Pick<Parts, "client" | "serverSettings">,
  objects: ReadonlySet<string>,
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<string, readonly ApplicationName[]>> {
  const { controllerNamespace } = await serverSettings();
  const items = await getItems(client, "the list of applications", { query: { fields: FIELDS }, signal });
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
