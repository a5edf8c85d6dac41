import { LRUCache } from "lru-cache";
import * as z from "zod";
import {
  type Application,
  type ApplicationSet,
  type ApplicationSpec,
  type SetId,
  specEqual,
} from "../../core/model/application.js";
import type { ApplicationName } from "../../core/model/brand.js";
import { changeRequestKey } from "../../core/model/change-request.js";
import { only } from "../../core/model/errors.js";
import { isJsonObject, type JsonObject, readJsonText } from "../../core/model/json.js";
import type { Clock } from "../../core/ports/clock.js";
import type { Compute, Task } from "../../core/ports/compute.js";
import { type Deployer, isOlder, shortVersion } from "../../core/ports/deployer.js";
import type { Log } from "../../core/ports/log.js";
import {
  applicationItem,
  APPLICATIONS,
  getApplication,
  getItems,
  identity,
  json,
  listedJson,
  metadata,
  nameOfResource,
  ownNamespace,
  parentOf,
  type Parts,
  requireExactKeys,
  type ServerSettings,
  type Target,
  toApplication,
} from "./application-api.js";
import { createApplications, createServerSettings, isTemporary, keep, rolloutLines, sweep } from "./applications.js";
import { ArgoCdFailure, ifVisible, notLoggedIn, parseAnswer, readableText } from "./argocd-failure.js";
import { type ArgoCdConfig, type Call, type Client, createClient } from "./client.js";
import { requireWritable, withReadPaths } from "./kept-definition.js";
import { createLiveResources, type RecentAnswers } from "./live-resources.js";
import { createRender } from "./render.js";
import { createSync } from "./sync.js";
import { createTrials } from "./trials.js";
import { type Read, reading, readLarge, readWhole, type UnreadAnswer } from "./unread-answer.js";

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
    sizeCalculation: (answer) => (typeof answer === "string" ? answer.length : answer.gzip.length) + 1,
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
    rolloutLines: () => rolloutLines(parts),
    ownersOf: (objects, signal) => ownersOf(parts, objects, signal),
    findApplication: async (name, signal) =>
      withReadPaths(await applications.find(name, signal), () => version.get(signal)),
    isGone: applications.isGone,
    renderManifests: createRender(parts),
    renderingSettings: async () => (await serverSettings()).digest,
    whyNotFresh: () =>
      version.get().then(
        ignoresNoCache,
        only(ArgoCdFailure, () => ignoresNoCache("")),
      ),
    liveResources: createLiveResources(parts, recent),
    tryObjects: createTrials(parts, recent, (signal) => version.get(signal)),
    ...sets,

    async updateSpec(application, spec) {
      applications.forget();
      if (isSwitchedOff(spec) && isOlder(await version.get(), "3.1") === true) {
        const message = `this Argo CD does not know syncPolicy.automated.enabled: the definition of ${application.name} would turn auto-sync on. Leave "automated" out`;
        throw new ArgoCdFailure("refused", message);
      }
      requireWritable(application, spec);
      return updateSpec(parts, application, spec);
    },

    ...createSync(parts),
    sweep: (now) => sweep(parts, now),
    close: () => client.close(),
  };
}

/** Versions before 3.1 drop `enabled` when they store a spec, and take any `automated` for auto-sync. */
function isSwitchedOff({ syncPolicy: policy }: ApplicationSpec): boolean {
  return isJsonObject(policy) && isJsonObject(policy.automated) && policy.automated.enabled === false;
}

/** Returns Argo CD's version and the token's account. Both calls succeed without a valid token; `loggedIn` tells. */
async function check(client: Client, version: string): Promise<{ readonly version: string; readonly account: string }> {
  const path = ["api", "v1", "session", "userinfo"];
  const user = await client.call({ method: "GET", path, permission: "session, get" });
  const { loggedIn, username } = parseAnswer(userAnswer, user, "the account of the token");
  if (loggedIn !== true) throw notLoggedIn();
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

/** Sends the spec once, under the present project. If the answer is lost, the live object shows whether it took effect. */
async function updateSpec(
  { client, clock }: Pick<Parts, "client" | "clock">,
  application: Application,
  spec: ApplicationSpec,
): Promise<ApplicationSpec> {
  try {
    return await putSpec(client, application, spec);
  } catch (error) {
    if (!(error instanceof ArgoCdFailure) || !error.maybeDone) throw error;
    for (let looks = 0; looks < UPDATE_LOOKS; looks += 1) {
      await clock.sleep(UPDATE_PAUSE_MS);
      // Without the project: the new spec may have changed it.
      const found = await getApplication(client, { ...application, project: undefined }).catch(() => undefined);
      if (found !== undefined && specEqual(found.spec, spec)) return found.spec;
    }
    const message = `svc could not find out whether the definition of ${application.name} was changed (${error.message})`;
    throw new ArgoCdFailure(error.reason, message, { maybeDone: true, cause: error });
  }
}

async function putSpec(client: Client, target: Target, spec: JsonObject): Promise<ApplicationSpec> {
  requireExactKeys(spec);
  const answer = await client.call({
    method: "PUT",
    path: [...APPLICATIONS, target.resourceName, "spec"],
    query: { validate: false, ...identity(target) },
    body: spec,
    permission: "applications, update",
  });
  return parseAnswer(json, answer, `the definition of ${target.resourceName}`);
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

const generatedItem = applicationItem.extend({ operation: json.nullish() });
const generatedList = z.object({ applications: z.array(generatedItem).nullish() });

const SETS = ["api", "v1", "applicationsets"] as const;

const wholeSet = z.object({ metadata: json, spec: json });
const setList = z.object({ items: z.array(z.unknown()).nullish() });
const setItem = z.object({ metadata, spec: listedJson });

function createApplicationSets({
  config,
  client,
  clock,
  compute,
  log,
  serverSettings,
}: Parts): Pick<Deployer, "listApplicationSets" | "findApplicationSet" | "applicationsOfSet" | "expandApplicationSet"> {
  // Git generators make Argo CD fetch the repository, as a render does.
  const timeoutMs = config.renderTimeoutMs;
  const kept = keep(async () => listApplicationSets(client, await serverSettings(), log), clock);
  const owned = keep(async () => ownedApplications(client, await serverSettings(), timeoutMs), clock);
  return {
    listApplicationSets: (signal, since) => kept.get(signal, since),

    async findApplicationSet(set, signal) {
      const namespace = ownNamespace(set.namespace, (await serverSettings()).controllerNamespace);
      const answer = await ifVisible(
        client.call({
          method: "GET",
          path: [...SETS, set.name],
          query: namespace === undefined ? {} : { appsetNamespace: namespace },
          permission: "applicationsets, get",
          signal,
        }),
      );
      if (answer === undefined) return undefined;
      const resource = parseAnswer(wholeSet, answer, `the ApplicationSet ${set.name}`);
      return { name: set.name, namespace, resource };
    },

    async applicationsOfSet(set, signal) {
      const namespace = ownNamespace(set.namespace, (await serverSettings()).controllerNamespace);
      // Whoever asks for several sets at once waits for one list.
      const all = await owned.get(signal, clock.now());
      const isOwned = (one: (typeof all)[number]) => one.namespace === namespace && one.sets.includes(set.name);
      return all.flatMap((one) => (isOwned(one) ? [one.application] : [])).sort();
    },

    async expandApplicationSet(set, change, signal) {
      const answer = await generate(client, set, { timeoutMs, signal });
      const limits = { owner: changeRequestKey(change), signal, what: `what the ApplicationSet ${set.name} generates` };
      const input = { answer, set: { name: set.name, namespace: set.namespace }, settings: await serverSettings() };
      return readJsonText(await readLarge(compute, readGeneratedTask, input, limits));
    },
  };
}

/** Every ApplicationSet on which the token has `applicationsets, get`, in all namespaces. Argo CD silently omits the others. */
async function listApplicationSets(
  client: Client,
  settings: ServerSettings,
  log: Log,
): Promise<readonly ApplicationSet[]> {
  const answer = await client.call({ method: "GET", path: SETS, permission: "applicationsets, get" });
  const { items } = parseAnswer(setList, answer, "the list of ApplicationSets");
  return (items ?? []).flatMap((item) => {
    const parsed = setItem.safeParse(item);
    if (!parsed.success) {
      log.warn({ problem: parsed.error.message }, "skipped an unreadable ApplicationSet");
      return [];
    }
    const { spec, metadata } = parsed.data;
    const { name, namespace } = metadata;
    // The rest of the metadata is not used, and as large as everything else.
    const resource = { metadata: { name, ...(namespace ? { namespace } : {}) }, spec };
    const parent = parentOf(parsed.data, settings, "ApplicationSet");
    return [{ name, namespace: ownNamespace(namespace, settings.controllerNamespace), resource, parent }];
  });
}

/** The applications that sets of their namespace own. Reads whole Applications, as `fields` cannot select owners and few tokens may read a set's tree. */
async function ownedApplications(client: Client, { controllerNamespace }: ServerSettings, timeoutMs: number) {
  const items = await getItems(client, "the list of applications", { timeoutMs });
  return items.flatMap((item) => {
    const parsed = applicationItem.safeParse(item);
    if (!parsed.success || isTemporary(parsed.data)) return [];
    const { name, namespace, ownerReferences } = parsed.data.metadata;
    const sets = (ownerReferences ?? []).filter(({ kind }) => kind === "ApplicationSet").map((owner) => owner.name);
    const application = nameOfResource(namespace ?? undefined, name, controllerNamespace);
    return sets.length === 0 ? [] : [{ application, namespace: ownNamespace(namespace, controllerNamespace), sets }];
  });
}

/** Reads what a set generates. A few lines of a set may yield more applications than fit in memory. */
export const readGeneratedTask: Task<
  { readonly answer: UnreadAnswer; readonly set: SetId; readonly settings: ServerSettings },
  Read<readonly Application[]>
> = {
  name: "read-generated",
  run: ({ answer, set, settings }) =>
    reading(async () => {
      const { applications } = parseAnswer(generatedList, await readWhole(answer), `the ApplicationSet ${set.name}`);
      const count = applications?.length ?? 0;
      if (count > MAX_GENERATED) {
        const message = `it generates ${count} applications, and svc reads at most ${MAX_GENERATED}: check what its generators yield`;
        throw new ArgoCdFailure("failed", message);
      }
      return (applications ?? []).map(({ operation = null, ...item }) => {
        const alsoGiven = { finalizers: item.metadata.finalizers ?? [], operation };
        // The controller creates it there, whatever the template names, with which v2.13 answers (`GenerateApplications`).
        const metadata = { ...item.metadata, namespace: set.namespace };
        return { ...toApplication({ ...item, metadata }, settings), alsoGiven };
      });
    }),
};

const MAX_GENERATED = 20_000;

/** Begins the answer if the set itself fails. What only the repo-server could not do has its own words. */
const UNGENERATED = /^unable to generate Applications of ApplicationSet: (?:error generating applications: )?/;

/** What the controller does where the API server refuses a generator without a known kind (v3.5 `GetRelevantGenerators`). */
const EMPTY = "Its controller takes them for empty, and deletes the applications that they generated before";

/** Requests what a set would generate. It renders and writes nothing, but Argo CD requires the permission to create the set. */
async function generate(client: Client, set: ApplicationSet, options: Pick<Call, "timeoutMs" | "signal">) {
  const metadata = isJsonObject(set.resource.metadata) ? set.resource.metadata : { name: set.name };
  requireExactKeys({ spec: set.resource.spec });
  try {
    return await client.unread({
      method: "POST",
      path: [...SETS, "generate"],
      body: { applicationSet: { metadata, spec: set.resource.spec } },
      permission: "applicationsets, create",
      repeatable: true,
      ...options,
    });
  } catch (error) {
    if (!(error instanceof ArgoCdFailure)) throw error;
    // After the first line come lines of the server's own log.
    const [line = ""] = error.message.split("\n", 1);
    if (UNGENERATED.test(line)) {
      throw new ArgoCdFailure("ungenerated", line.replace(UNGENERATED, ""), { code: error.code, cause: error });
    }
    // A generator did not find a repository or a file.
    const reason = error.reason === "not-found" ? "failed" : error.reason;
    const message = line.includes("contains unrecognized generators") ? `${line}. ${EMPTY}` : line;
    throw new ArgoCdFailure(reason, message, { code: error.code, cause: error });
  }
}
