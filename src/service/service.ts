import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import type { Tracer } from "@opentelemetry/api";
import type { Logger } from "pino";
import type { ServerConfig } from "../config/server/server-config.js";
import { createDetectionCaches } from "../core/detect/inputs/snapshot.js";
import { createManifestScanner } from "../core/detect/scan/manifests.js";
import type { Clock } from "../core/ports/clock.js";
import type { Compute } from "../core/ports/compute.js";
import { createRenderCache } from "../core/render/render-cache.js";
import type { StartGit } from "../git/git-process.js";
import { BodyBudget } from "../hosts/receive-body.js";
import { HOSTS, hostWords } from "../hosts/registry.js";
import { listen } from "../http/listen.js";
import { HOST_IDS } from "../names.js";
import type { ObservedHost } from "../observe/metrics/host-requests.js";
import { createTelemetry } from "../observe/telemetry.js";
import type { QueueTiming } from "../queue/queue-options.js";
import { lookUp } from "../run/answer/standing.js";
import { Complaints } from "../run/around/complaints.js";
import { Outsiders } from "../run/around/outsiders.js";
import { type Dependencies, runIdOf } from "../run/line/run.js";
import type { Stores } from "../store/stores.js";
import { createAuth } from "../web/auth/create-auth.js";
import { createWebServer } from "../web/server.js";
import { createSite } from "../web/site.js";
import { createCheckRunner } from "../workers/check-runner.js";
import { createWorkerPool } from "../workers/worker-pool.js";
import { createAdapters, createAdministrators } from "./adapters.js";
import { createChores, tellPlanned, watchHolders } from "./chores.js";
import { createQueue } from "./create-queue.js";
import { checkAtStart } from "./start-checks.js";
import { startNotifications } from "./start-notifications.js";
import { watchSystems } from "./system-watch.js";

/** The machine's time. */
export const systemClock: Clock = {
  now: () => new Date(),
  sleep: async (ms, signal) => {
    try {
      await delay(ms, undefined, { signal });
    } catch (error) {
      throw signal?.aborted === true ? signal.reason : error;
    }
  },
};

/** What tests put in place of the real thing. */
export interface Overrides {
  readonly clock?: Clock;
  readonly stores?: Stores;
  /** Exports traces; without it there are none. */
  readonly tracer?: Tracer;
  /** Shorter waits of the queue in Redis. */
  readonly queueTiming?: Partial<QueueTiming>;
  /** Worker threads that outlive this service. */
  readonly compute?: Compute;
  /** Starts git from another process than this one. */
  readonly startGit?: StartGit;
}

/** The running service. */
export interface Service {
  /** The address it listens on. */
  readonly url: string;
  /** Resolves when no event waits or runs. */
  idle(): Promise<void>;
  /** Makes up for lost webhooks; also done every 5 minutes. */
  reconcile(): Promise<void>;
  /** Looks whether the systems around answer; also done every minute, if receivers want to know. */
  watch(): Promise<void>;
  /** Deletes expired temporary Applications; also done every 10 minutes. */
  sweep(): Promise<void>;
  /** Takes no more events, waits for running ones up to the grace period, and stops everything it started. */
  close(): Promise<void>;
}

/**
 * Wires the service and starts listening, even if systems that it needs are unavailable.
 * @throws {CannotListen}
 */
export async function startService(config: ServerConfig, log: Logger, overrides: Overrides = {}): Promise<Service> {
  const { clock = systemClock, stores: givenStores, startGit } = overrides;
  const telemetry = await createTelemetry({ config, hosts: observedHosts(config), tracer: overrides.tracer, log });
  const workers = createWorkerPool({
    onEnd(task, owner, outcome) {
      telemetry.countTask(task, outcome);
      if (outcome === "time" || outcome === "memory") {
        log.warn({ task, owner, limit: outcome }, "a worker thread was ended");
      }
    },
  });
  const compute = overrides.compute ?? workers;
  const checkRunner = createCheckRunner({ folder: tmpdir(), clock, log, onEnd: telemetry.countCheck });
  const adapters = await createAdapters({ config, telemetry, stores: givenStores, compute, startGit, clock, log });
  const { stores, repositories, deployer } = adapters;
  const { locks, waiting, plans, deployments, audit, live, connection } = stores;
  const { notifications, ...told } = await startNotifications({ config, connection, telemetry, clock, log });
  const dependencies: Dependencies = {
    config,
    hosts: adapters.hosts,
    hostWords: hostWords(config.server.command),
    repositories,
    detection: createDetectionCaches(),
    deployer,
    locks: watchHolders(locks, (holder) => void chores.lookAtHolder(holder)),
    waiting,
    plans,
    deployments,
    audit,
    scanner: createManifestScanner(compute),
    renders: createRenderCache(clock),
    compute,
    checkRunner,
    checks: config.checks,
    live,
    notifications,
    outsiders: new Outsiders(clock),
    push: (event) => queue.push(event),
    clock,
    log,
    temporaryApps: config.deployer.temporaryApps,
    diffMode: config.deployer.diffMode,
    previewLimit: config.deployer.previewLimit,
    serverDryRun: config.deployer.serverDryRun,
    redact: config.redact,
    complaints: new Complaints(),
    isAdministrator: createAdministrators(config, stores.users),
    newRunId: runIdOf,
  };
  const queue = await createQueue({
    dependencies,
    connection,
    observe: (event, run) => telemetry.run(event, run),
    timing: overrides.queueTiming,
    onTakeOver: () => void chores.afterTakeOver(),
  });
  const chores = createChores({
    hosts: adapters.hosts,
    locks,
    waiting,
    plans,
    deployments,
    audit,
    queue,
    notifications,
    watch: watchSystems(config, { ...told, notifications, deployer, stores, clock, log }),
    deployer,
    connection,
    commandWord: config.server.command,
    remindAfter: config.comments.remindAfter,
    clock,
    log,
  });
  const bodies = new BodyBudget();
  const push = telemetry.push((event) => queue.push(event));
  const backlog = () => queue.backlog();
  const ping = () => stores.ping();
  const hosts = Object.values(adapters.hosts);

  const site = createSite({
    config,
    stores,
    hosts,
    hostWords: dependencies.hostWords,
    hostPageOf: (change) => HOSTS[change.host].configured(config)?.changeRequestUrl(change),
    deployer,
    live,
    push,
    backlog,
    limitWaits: adapters.limitWaits,
    notifications,
    receivers: () => told.states(),
    lookUp: (change) => lookUp(change, dependencies),
    newRunId: randomUUID,
    clock,
    log,
  });
  const auth = createAuth({ config, stores, clock, log });
  const app = createWebServer({
    tracing: telemetry.tracing,
    webhooks: adapters.webhooks.map((webhook) =>
      webhook({
        push,
        onBranchPushed: (pushed) => void tellPlanned(pushed, { locks, push, log }),
        bodies,
        countRefusal: telemetry.countRefusal,
      }),
    ),
    identify: auth.identify,
    auth: auth.routes,
    api: site.api,
    pages: site.pages,
    words: hosts.map(({ id }) => dependencies.hostWords[id]),
    baseUrl: config.server.baseUrl,
    ping,
    trustProxy: config.server.trustProxy,
    log,
  });
  const server = createServer(app);
  const release = async () => {
    checkRunner.close();
    await told.close();
    await Promise.all([adapters.close(), telemetry.close(), workers.close()]);
  };
  try {
    await telemetry.listen({
      locks: async () => (await locks.list()).length,
      queue: backlog,
      webhookBytes: () => bodies.heldBytes,
      workersWaiting: () => workers.waiting,
      limitWaits: adapters.limitWaits,
      hosts: hosts.map(({ id }) => id),
      receivers: () => told.states(),
    });
    await listen(server, { ...config.server, key: "server.port" });
  } catch (error) {
    site.close();
    await queue.close(config.server.shutdownGrace);
    await release();
    throw error;
  }

  const stopChores = chores.doInIntervals();
  const started = checkAtStart({ config, hosts, deployer, ping, log }).then(() => chores.doAtStart());

  return {
    url: urlOf(server, config.server),
    idle: () => queue.idle(),
    reconcile: () => chores.reconcile(),
    watch: () => chores.watch(),
    sweep: () => chores.sweep(),
    async close() {
      stopChores();
      const closed = once(server, "close");
      site.close();
      server.close();
      await queue.close(config.server.shutdownGrace);
      server.closeAllConnections();
      await Promise.all([closed, started]);
      await release();
    },
  };
}

function observedHosts(config: ServerConfig): readonly ObservedHost[] {
  return HOST_IDS.flatMap((id) => {
    const apiUrl = HOSTS[id].configured(config)?.apiUrl;
    return apiUrl === undefined ? [] : [{ id, apiUrl, rateLimitOf: (headers) => HOSTS[id].rateLimitOf(headers) }];
  });
}

function urlOf(server: Server, { host }: ServerConfig["server"]): string {
  const { port } = server.address() as AddressInfo;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
