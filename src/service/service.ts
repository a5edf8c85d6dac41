import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Tracer } from "@opentelemetry/api";
import type { Logger } from "pino";
import type { ServerConfig } from "../config/server-config.js";
import { createManifestScanner } from "../core/detect/scan/manifests.js";
import type { Clock } from "../core/ports/clock.js";
import type { CodeHost } from "../core/ports/code-host.js";
import { createRenderCache } from "../core/render/render-cache.js";
import { createArgoCd } from "../deployer/argocd/create-argocd.js";
import { createGitMirror } from "../git/mirror.js";
import { createGitHubHost } from "../hosts/github/host.js";
import { githubWebhook } from "../hosts/github/webhook.js";
import { createGitLabHost } from "../hosts/gitlab/host.js";
import { gitlabWebhook } from "../hosts/gitlab/webhook.js";
import { SERVICE, type HostId } from "../names.js";
import { createTelemetry } from "../observe/telemetry.js";
import type { QueueTiming } from "../queue/queue-timing.js";
import { takesTurn } from "../queue/turn.js";
import { runIdOf, type Dependencies } from "../run/run.js";
import { createMemoryStores } from "../store/memory/memory-stores.js";
import { redisConfigOf } from "../store/redis/redis-config.js";
import type { Stores } from "../store/stores.js";
import { createAuth } from "../web/auth/create-auth.js";
import { createWebServer } from "../web/server.js";
import { createSite } from "../web/site.js";
import { createQueue } from "./create-queue.js";
import { reconcile } from "./reconcile.js";
import { checkAtStart } from "./start-checks.js";
import { systemClock } from "./system-clock.js";

const RECONCILE_EVERY_MS = 5 * 60_000;
const SWEEP_EVERY_MS = 10 * 60_000;

/** What tests put in the place of the real thing. */
export interface Overrides {
  readonly clock?: Clock;
  readonly stores?: Stores;
  /** Set while traces are exported. */
  readonly tracer?: Tracer;
  /** Shorter waits of the queue in Redis. */
  readonly queueTiming?: Partial<QueueTiming>;
}

/** The running service. */
export interface Service {
  /** Where it listens. */
  readonly url: string;
  /** Resolves when no event waits and none runs. */
  idle(): Promise<void>;
  /** Cleans up after lost webhooks; runs by itself every 5 minutes. */
  reconcile(): Promise<void>;
  /** Deletes expired temporary Applications; runs by itself every 10 minutes. */
  sweep(): Promise<void>;
  /** Takes no more events, waits for the running ones up to the grace time, and ends everything that it started. */
  close(): Promise<void>;
}

/** Wires the service and starts to listen; outside systems that are away do not hinder the start. */
export async function startService(config: ServerConfig, log: Logger, overrides: Overrides = {}): Promise<Service> {
  const clock = overrides.clock ?? systemClock;
  const telemetry = await createTelemetry({ config, tracer: overrides.tracer, log });
  const stores = telemetry.stores(overrides.stores ?? (await createStores(config, clock, log)));
  const dataDir = config.server.dataDir ?? (await mkdtemp(join(tmpdir(), `${SERVICE}-`)));
  const mirror = createGitMirror({ dataDir, log });
  const deployer = telemetry.deployer(createArgoCd(deployerConfig(config), { clock, log }));
  const { hosta, hostb } = config;
  const github = hosta === undefined ? undefined : telemetry.host(createGitHubHost(hosta, { clock, log }));
  const gitlab = hostb === undefined ? undefined : telemetry.host(createGitLabHost(hostb, { clock, log }));
  const hosts: Partial<Record<HostId, CodeHost>> = { hosta: github, hostb: gitlab };
  const { live } = stores;
  const dependencies: Dependencies = {
    config,
    hosts,
    repositories: telemetry.repositories(mirror),
    deployer,
    locks: stores.locks,
    plans: stores.plans,
    deployments: stores.deployments,
    audit: stores.audit,
    scanner: createManifestScanner(),
    renders: createRenderCache(clock),
    live,
    clock,
    log,
    temporaryApps: config.deployer.temporaryApps,
    diffMode: config.deployer.diffMode,
    newRun: runIdOf,
  };
  const { connection } = stores;
  const queue = await createQueue({
    dependencies,
    connection,
    observe: (event, run) => telemetry.run(event, run),
    timing: overrides.queueTiming,
  });
  const push = telemetry.push((event) => queue.push(event));
  const auth = createAuth({ config, stores, clock, log });
  const site = createSite({
    config,
    stores,
    hosts: [github, gitlab].filter((host) => host !== undefined),
    deployer,
    live,
    push,
    backlog: () => queue.backlog(),
    newRun: randomUUID,
    clock,
    log,
  });
  const app = createWebServer({
    tracing: telemetry.tracing,
    webhooks: [
      ...(github === undefined || hosta === undefined
        ? []
        : [githubWebhook({ secret: hosta.webhookSecret, probot: github.probot, push, log })]),
      ...(hostb === undefined
        ? []
        : [gitlabWebhook({ secret: hostb.webhookSecret, signingToken: hostb.signingToken, clock, push, log })]),
    ],
    assets: site.assets,
    identify: auth.identify,
    auth: auth.routes,
    api: site.api,
    pages: site.pages,
    baseUrl: config.server.baseUrl,
    ping: () => stores.ping(),
    trustProxy: config.server.trustProxy,
    log,
  });
  await telemetry.listen({
    locks: async () => (await stores.locks.list()).length,
    queue: () => queue.backlog(),
  });
  const server = createServer(app);
  server.listen(config.server.port, config.server.host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;

  const runReconcile = () =>
    reconcile({ hosts, locks: stores.locks, deployments: stores.deployments, queue, clock, log });
  const runSweep = async () => {
    const deleted = await deployer.sweep(clock.now());
    if (deleted > 0) log.info({ deleted }, "deleted expired temporary Applications");
  };
  // Once per interval, however many replicas there are.
  const onTurn = (name: string, intervalMs: number, work: () => Promise<void>) => async () => {
    if (await takesTurn(connection, name, intervalMs)) await work();
  };
  const reconcileOnTurn = onTurn("reconcile", RECONCILE_EVERY_MS, runReconcile);
  const timers = [
    every(RECONCILE_EVERY_MS, reconcileOnTurn, "reconciling failed", log),
    every(SWEEP_EVERY_MS, onTurn("sweep", SWEEP_EVERY_MS, runSweep), "sweeping temporary Applications failed", log),
  ];
  const atStart = checkAtStart({
    config,
    hosts: [github, gitlab].filter((host) => host !== undefined),
    deployer,
    ping: () => stores.ping(),
    log,
  })
    .then(() => attempt(runSweep, "sweeping temporary Applications failed", log))
    // Webhooks may have been lost while nothing ran.
    .then(() => attempt(reconcileOnTurn, "reconciling failed", log));

  return {
    url: `http://${config.server.host.includes(":") ? `[${config.server.host}]` : config.server.host}:${port}`,
    idle: () => queue.idle(),
    reconcile: runReconcile,
    sweep: runSweep,
    async close() {
      for (const timer of timers) clearInterval(timer);
      const closed = once(server, "close");
      site.close();
      server.close();
      await queue.close(config.server.shutdownGrace);
      server.closeAllConnections();
      await Promise.all([closed, atStart]);
      await Promise.all([deployer.close(), mirror.close(), stores.close(), telemetry.close()]);
      if (config.server.dataDir === undefined) await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function createStores({ kvstore }: ServerConfig, clock: Clock, log: Logger): Promise<Stores> {
  const redis = redisConfigOf(kvstore);
  if (redis !== undefined) {
    const { createRedisStores } = await import("../store/redis/redis-stores.js");
    return createRedisStores(redis, { log });
  }
  log.warn({}, "kvstore.address is not set: locks live in this process and are lost when it ends");
  return createMemoryStores(clock);
}

function deployerConfig({ deployer }: ServerConfig) {
  return {
    ...deployer,
    renderTimeoutMs: deployer.renderTimeout,
    syncTimeoutMs: deployer.syncTimeout,
    requestTimeoutMs: deployer.requestTimeout,
    pollIntervalMs: deployer.pollInterval,
  };
}

function every(ms: number, work: () => Promise<void>, failure: string, log: Logger): NodeJS.Timeout {
  const timer = setInterval(() => void attempt(work, failure, log), ms);
  timer.unref();
  return timer;
}

async function attempt(work: () => Promise<void>, failure: string, log: Logger): Promise<void> {
  try {
    await work();
  } catch (error) {
    log.warn({ err: error }, failure);
  }
}
