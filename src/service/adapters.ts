import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Logger } from "pino";
import { type LoginConfig, logsInWith, type ServerConfig } from "../config/server/server.js";
import type { Clock } from "../core/ports/clock.js";
import type { CodeHost } from "../core/ports/code-host.js";
import type { Compute } from "../core/ports/compute.js";
import type { CommandPorts } from "../core/ports/context.js";
import type { Repositories } from "../core/ports/repositories.js";
import type { UserStore } from "../core/ports/stores.js";
import { createArgoCd } from "../deployer/argocd/create-argocd.js";
import type { StartGit } from "../git/git-process.js";
import { createGitMirror } from "../git/mirror.js";
import type { ConnectedHost } from "../hosts/host-module.js";
import { createLimitWaits } from "../hosts/limit-waits.js";
import { HOSTS } from "../hosts/registry.js";
import { HOST_IDS, type HostId, SERVICE } from "../names.js";
import type { Telemetry } from "../observe/telemetry.js";
import { createMemoryStores } from "../store/memory/memory-stores.js";
import { redisConfigOf } from "../store/redis/redis-config.js";
import type { Stores } from "../store/stores.js";

interface AdapterParts {
  readonly config: ServerConfig;
  readonly telemetry: Telemetry;
  /** Replaces the configured stores. */
  readonly stores: Stores | undefined;
  readonly compute: Compute;
  readonly startGit?: StartGit | undefined;
  /** Replaces the mirrors. */
  readonly repositories?: Repositories | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Outside systems behind their ports, measured and traced. */
export type Adapters = Awaited<ReturnType<typeof createAdapters>>;

/** Creates every adapter. None connects yet, so their systems may be unavailable. */
export async function createAdapters(parts: AdapterParts) {
  const { config, telemetry, stores, compute, startGit, repositories, clock, log } = parts;
  const observedStores = telemetry.stores(stores ?? (await createStores(config, clock, log)));
  const dataDir = config.server.dataDir ?? (await mkdtemp(join(tmpdir(), `${SERVICE}-`)));
  const mirror = createGitMirror({ dataDir, log, startGit });
  const argocd = createArgoCd(deployerConfig(config), { clock, log, compute });
  const waits = telemetry.limitWaits(createLimitWaits(clock, log));
  const hostParts = { clock, budget: observedStores.content, waits, log };
  const hosts: Partial<Record<HostId, CodeHost>> = {};
  const webhooks: NonNullable<ConnectedHost["webhook"]>[] = [];
  for (const id of HOST_IDS) {
    const connected = await HOSTS[id].configured(config)?.connect(hostParts);
    if (connected === undefined) continue;
    hosts[id] = telemetry.host(connected.host);
    if (connected.webhook !== undefined) webhooks.push(connected.webhook);
  }
  return {
    stores: observedStores,
    repositories: telemetry.repositories(repositories ?? mirror),
    deployer: telemetry.deployer(argocd),
    hosts,
    webhooks,
    /** Writes of this replica that wait for a host's limit. */
    limitWaits: () => waits.current(),
    async close() {
      await Promise.all([argocd.close(), mirror.close(), observedStores.close()]);
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
  log.warn({}, "redis.address is not set: locks are kept in memory and lost when this process ends");
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

/** Recognises administrators of the pages by their accounts at the code hosts. */
export function createAdministrators(
  config: LoginConfig,
  users: Pick<UserStore, "list">,
): CommandPorts["isAdministrator"] {
  return async (host, { id }) => {
    if (!config.auth.enabled || !logsInWith(host, config)) return false;
    const present = await users.list();
    return present.some((account) => account.id === `${host}:${id}` && account.role === "admin");
  };
}
