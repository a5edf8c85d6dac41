import { LRUCache } from "lru-cache";
import * as z from "zod";
import type { Application, ApplicationSpec } from "../../core/model/application.js";
import { changeRequestKey } from "../../core/model/change-request.js";
import { specEqual } from "../../core/model/spec-equality.js";
import type { Clock } from "../../core/ports/clock.js";
import type { Compute } from "../../core/ports/compute.js";
import type { Deployer } from "../../core/ports/deployer.js";
import type { Log } from "../../core/ports/log.js";
import { getApplication, putSpec } from "./application-calls.js";
import { nameOfResource } from "./application-names.js";
import {
  applicationsOfSet,
  expandApplicationSet,
  findApplicationSet,
  listApplicationSets,
} from "./application-sets.js";
import { createApplications } from "./applications.js";
import { ArgoCdFailure, parseAnswer } from "./argocd-failure.js";
import { createClient, type ArgoCdConfig, type Client } from "./client.js";
import { createHealth } from "./health.js";
import { keep } from "./kept.js";
import { createLiveResources, type RecentAnswers } from "./live-resources.js";
import { ownersOf } from "./object-owners.js";
import { createRender } from "./render.js";
import { createServerSettings } from "./server-settings.js";
import { sweep } from "./sweep.js";
import { createSync } from "./sync.js";
import { createTrials } from "./trials.js";

const versionAnswer = z.object({ Version: z.string().nullish() });
const userAnswer = z.object({ loggedIn: z.boolean().nullish(), username: z.string().nullish() });

/** Argo CD is not upgraded every minute. */
const VERSION_KEPT_MS = 5 * 60_000;

/** In characters. Only what a comparison is about to ask Kubernetes about is worth keeping. */
const MAX_RECENT = 8 * 1024 * 1024;
const RECENT_MS = 30_000;

/** How often, and how many milliseconds apart, a lost answer to a changed definition is looked up. */
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
  const sets = keep(async () => listApplicationSets(client, await serverSettings(), log), clock);
  const render = createRender(config, { client, clock, log, compute, serverSettings });
  const recent: RecentAnswers = new LRUCache({
    maxSize: MAX_RECENT,
    sizeCalculation: (answer) => answer.length + 1,
    ttl: RECENT_MS,
    ttlAutopurge: true,
  });
  const liveResources = createLiveResources(config, { client, compute, log, recent });
  const version = keep(() => askVersion(client), clock, VERSION_KEPT_MS);
  const asked = (signal: AbortSignal) => version.get(signal);
  const tryObjects = createTrials(config, { client, compute, clock, log, recent, version: asked });
  const sync = createSync(config, { client, clock, log });
  const healthAfter = createHealth({ client, log });

  return {
    check: async () => check(client, await version.get(undefined, clock.now())),

    async naming() {
      const { controllerNamespace } = await serverSettings();
      return (namespace, name) => nameOfResource(namespace, name, controllerNamespace);
    },

    listApplications: (signal, since) => applications.list(signal, since),
    ownersOf: async (objects, signal) => ownersOf(client, await serverSettings(), objects, { signal }),
    findApplication: (name, signal) => applications.find(name, signal),
    renderManifests: (request, signal) => render(request, signal),

    async renderingSettings() {
      return (await serverSettings()).digest;
    },

    liveResources: (application, signal) => liveResources(application, signal),
    tryObjects: (request, signal) => tryObjects(request, signal),

    async expandApplicationSet(set, change, signal) {
      // Git generators make Argo CD fetch the repository, as a render does.
      const call = { timeoutMs: config.renderTimeoutMs, signal };
      const limits = { owner: changeRequestKey(change), signal };
      return expandApplicationSet({ client, compute, settings: await serverSettings() }, set, call, limits);
    },

    listApplicationSets: (signal, since) => sets.get(signal, since),

    async findApplicationSet(set, signal) {
      return findApplicationSet(client, await serverSettings(), set, signal);
    },

    async applicationsOfSet(set, signal) {
      return applicationsOfSet(client, await serverSettings(), set, { timeoutMs: config.renderTimeoutMs, signal });
    },

    async updateSpec(application, spec) {
      applications.forget();
      await updateSpec({ client, clock }, application, spec);
    },

    sync: (request) => sync.run(request),
    follow: (request) => sync.follow(request),
    findOutcome: (lookup) => sync.find(lookup),
    healthAfter,
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
