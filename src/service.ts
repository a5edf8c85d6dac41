import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Logger } from "pino";
import type { ServerConfig } from "./config/server-config.js";
import type { Clock } from "./core/clock.js";
import { createManifestScanner } from "./core/detect/manifests.js";
import type { CodeHost, EventQueue } from "./core/ports.js";
import { createRenderCache } from "./core/render-cache.js";
import { createArgoCd } from "./deployer/argocd/create-argocd.js";
import { createGitMirror } from "./git/mirror.js";
import { handleEvent } from "./handle-event.js";
import { createGitHubHost } from "./hosts/github/host.js";
import { githubWebhook } from "./hosts/github/webhook.js";
import { createGitLabHost } from "./hosts/gitlab/host.js";
import { gitlabWebhook } from "./hosts/gitlab/webhook.js";
import { SERVICE, type HostId } from "./names.js";
import { createInProcessQueue } from "./queue/in-process.js";
import { reconcile } from "./reconcile.js";
import type { Dependencies } from "./run.js";
import { checkAtStart } from "./start-checks.js";
import { createMemoryStores } from "./store/memory/memory-stores.js";
import { createRedisStores } from "./store/redis/redis-stores.js";
import type { Stores } from "./store/stores.js";
import { systemClock } from "./system-clock.js";
import { pagesRouter } from "./web/pages.js";
import { createWebServer } from "./web/server.js";

const RECONCILE_EVERY_MS = 5 * 60_000;
const SWEEP_EVERY_MS = 10 * 60_000;

/** What tests put in the place of the real thing. */
export interface Overrides {
  readonly clock?: Clock;
  readonly stores?: Stores;
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
  const stores = overrides.stores ?? createStores(config, clock, log);
  const dataDir = config.server.dataDir ?? (await mkdtemp(join(tmpdir(), `${SERVICE}-`)));
  const repositories = createGitMirror({ dataDir, log });
  const deployer = createArgoCd(deployerConfig(config), { clock, log });
  const { hosta, hostb } = config;
  const github = hosta === undefined ? undefined : createGitHubHost(hosta, { clock, log });
  const gitlab = hostb === undefined ? undefined : createGitLabHost(hostb, { clock, log });
  const hosts: Partial<Record<HostId, CodeHost>> = { hosta: github, hostb: gitlab };
  const dependencies: Dependencies = {
    config,
    hosts,
    repositories,
    deployer,
    locks: stores.locks,
    plans: stores.plans,
    deployments: stores.deployments,
    audit: stores.audit,
    scanner: createManifestScanner(),
    renders: createRenderCache(clock),
    clock,
    log,
    temporaryApps: config.deployer.temporaryApps,
    diffMode: config.deployer.diffMode,
    newRun: randomUUID,
  };
  const queue = createInProcessQueue({
    concurrency: config.server.concurrency,
    run: (event, signal) => handleEvent(event, dependencies, signal),
    log,
    clock,
  });
  const push = (event: Parameters<EventQueue["push"]>[0]) => queue.push(event);
  const app = createWebServer({
    webhooks: [
      ...(github === undefined || hosta === undefined
        ? []
        : [githubWebhook({ secret: hosta.webhookSecret, probot: github.probot, push, log })]),
      ...(hostb === undefined
        ? []
        : [gitlabWebhook({ secret: hostb.webhookSecret, signingToken: hostb.signingToken, clock, push, log })]),
    ],
    pages: pagesRouter({ locks: stores.locks, clock }),
    ping: () => stores.ping(),
    trustProxy: config.server.trustProxy,
    log,
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
  const timers = [
    every(RECONCILE_EVERY_MS, runReconcile, "reconciling failed", log),
    every(SWEEP_EVERY_MS, runSweep, "sweeping temporary Applications failed", log),
  ];
  const atStart = checkAtStart({
    config,
    hosts: [github, gitlab].filter((host) => host !== undefined),
    deployer,
    ping: () => stores.ping(),
    log,
  }).then(() => attempt(runSweep, "sweeping temporary Applications failed", log));

  return {
    url: `http://${config.server.host.includes(":") ? `[${config.server.host}]` : config.server.host}:${port}`,
    idle: () => queue.idle(),
    reconcile: runReconcile,
    sweep: runSweep,
    async close() {
      for (const timer of timers) clearInterval(timer);
      const closed = once(server, "close");
      server.close();
      await queue.close(config.server.shutdownGrace);
      server.closeAllConnections();
      await Promise.all([closed, atStart]);
      await Promise.all([deployer.close(), repositories.close(), stores.close()]);
      if (config.server.dataDir === undefined) await rm(dataDir, { recursive: true, force: true });
    },
  };
}

function createStores({ kvstore }: ServerConfig, clock: Clock, log: Logger): Stores {
  const { address } = kvstore;
  if (address === undefined) {
    log.warn({}, "kvstore.address is not set: locks live in this process and are lost when it ends");
    return createMemoryStores(clock);
  }
  const host = address.host.includes(":") ? `[${address.host}]` : address.host;
  return createRedisStores({ ...kvstore, address: `${host}:${address.port}`, ca: kvstore.caFile }, { log });
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
