import { access, constants, lstat, mkdtemp, readdir, rm } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Logger } from "pino";
import { errorCode } from "../config/files.js";
import type { ServerConfig } from "../config/server/server.js";
import { StoreUnavailable } from "../core/model/errors.js";
import type { HostEvent } from "../core/model/event.js";
import type { Clock } from "../core/ports/clock.js";
import type { CodeHost } from "../core/ports/code-host.js";
import type { Compute } from "../core/ports/compute.js";
import type { EventQueue } from "../core/ports/event-queue.js";
import type { Repositories } from "../core/ports/repositories.js";
import type { LockStore, MarkStore } from "../core/ports/stores.js";
import { createArgoCd } from "../deployer/argocd/create-argocd.js";
import type { StartGit } from "../git/git-process.js";
import { createGitMirror } from "../git/mirror.js";
import type { ConnectedHost } from "../hosts/host-module.js";
import { createLimitWaits } from "../hosts/limit-waits.js";
import { HOSTS } from "../hosts/registry.js";
import { CannotStart } from "../http/listen.js";
import { HOST_IDS, type HostId, SERVICE, STORE_TITLE } from "../names.js";
import type { Telemetry } from "../observe/telemetry.js";
import { createDurableQueue } from "../queue/durable.js";
import { createInProcessQueue, type QueueTiming } from "../queue/in-process.js";
import { Publisher } from "../run/around/publisher.js";
import type { Dependencies } from "../run/line/run.js";
import { supervise } from "../run/line/supervise.js";
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

/** Creates every adapter. None connects yet, so their systems may be unavailable. */
export async function createAdapters(parts: AdapterParts) {
  const { config, telemetry, stores, compute, startGit, repositories, clock, log } = parts;
  const { dataDir: given } = config.server;
  const dataDir = await (given === undefined ? temporaryFolder() : lastingFolder(given));
  const observedStores = telemetry.stores(stores ?? (await createStores(config, clock, log)));
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
      if (given === undefined) await rm(dataDir, { recursive: true, force: true });
    },
  };
}

const CLONES = new RegExp(`^${SERVICE}-clones-(\\d+)-(\\d+)-(.+)-[^-]+$`);
/** In a container that starts again, the new process has the id of the old one. */
const BEGAN = String(Math.floor(performance.timeOrigin));
/** Ids of processes mean nothing in another container, which may share the folder. One that starts again keeps its host name. */
const HERE = encodeURIComponent(hostname());

/** A folder for clones, removed at the end. Those of killed processes would fill the disk with up to 8 GiB each, so they go first. @throws {CannotStart} */
async function temporaryFolder(): Promise<string> {
  const folders = await readdir(tmpdir()).catch(() => []);
  const left = folders.filter((name) => isLeftBehind(CLONES.exec(name))).map((name) => join(tmpdir(), name));
  await Promise.allSettled(
    left.map(async (path) => {
      if (await isOurs(path)) await rm(path, { recursive: true, force: true });
    }),
  );
  return mkdtemp(join(tmpdir(), `${SERVICE}-clones-${process.pid}-${BEGAN}-${HERE}-`)).catch(noRoomIn(tmpdir()));
}

/**
 * The configured folder for clones, which the first clone creates: `svc check --online` may run as another user, to whom it would belong.
 * @throws {CannotStart} if svc can write neither to it nor to what there is of the folders above it.
 */
async function lastingFolder(path: string, existing = path): Promise<string> {
  try {
    // The slash says that it is a folder.
    await access(`${existing}/`, constants.W_OK);
    return path;
  } catch (error) {
    const above = dirname(existing);
    if (errorCode(error) === "ENOENT" && above !== existing) return lastingFolder(path, above);
    return noRoomIn(path)(error);
  }
}

function noRoomIn(path: string): (error: unknown) => never {
  return (error) => {
    const why = `no folder for clones can be created in ${path} (${errorCode(error) ?? "unknown reason"})`;
    throw new CannotStart(`${why}: set server.data_dir to a folder that ${SERVICE} can write to`, { cause: error });
  };
}

function isLeftBehind(found: RegExpExecArray | null): boolean {
  const [, pid, began, host] = found ?? [];
  if (pid === undefined || host !== HERE) return false;
  if (Number(pid) === process.pid) return began !== BEGAN;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return errorCode(error) === "ESRCH";
  }
}

/** Whoever owns a folder can put a link into it while it is emptied, which leads root to delete what lies elsewhere. */
async function isOurs(path: string): Promise<boolean> {
  const found = await lstat(path);
  return found.isDirectory() && found.uid === (process.getuid?.() ?? found.uid);
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

interface LineParts {
  readonly marks: MarkStore;
  /** Redis that holds the queue; without it the queue is in memory. */
  readonly connection: Stores["connection"];
  /** Wraps the run of each event. */
  readonly observe: Telemetry["run"];
  readonly timing: Partial<QueueTiming> | undefined;
  /** Called when this replica takes over the work of a dead one. */
  readonly onTakeOver: () => void;
}

/** Starts the event queue and the publisher, which turns marks into events. */
export function startLine(given: Omit<Dependencies, "push" | "publisher">, parts: LineParts) {
  const { marks, connection, observe, timing, onTakeOver } = parts;
  const { clock, log, config } = given;
  const push: EventQueue["push"] = (event) => queue.push(event);
  const waitingQueue = { push, isBusy: (change) => queue.isBusy(change) } satisfies Pick<EventQueue, "push" | "isBusy">;
  const publisher = new Publisher({ marks, queue: waitingQueue, clock, log });
  const dependencies: Dependencies = { ...given, push, publisher };
  const common = {
    concurrency: config.server.concurrency,
    run: (event: HostEvent, ticket: Parameters<typeof supervise>[2]) =>
      observe(event, () => supervise(event, dependencies, ticket)),
    clock,
    log,
  };
  const openQueue = (): EventQueue => {
    if (connection === undefined) return createInProcessQueue(common);
    const unavailable: Dependencies = { ...dependencies, locks: UNAVAILABLE_LOCKS };
    return createDurableQueue({
      ...common,
      connection,
      ...(timing && { timing }),
      onTakeOver,
      refuse: (event, ticket) =>
        observe(event, async () => {
          // Nobody waits for an answer: it is run once the store is back.
          if (event.kind !== "commented") {
            publisher.later(event);
            return "failed";
          }
          // Answers the command. The store cannot tell whether this is a redelivery, so it counts as one and an earlier answer stands.
          await supervise(event, unavailable, { ...ticket, again: true });
          return "refused";
        }),
    });
  };
  const queue = openQueue();
  return { queue, publisher, dependencies };
}

const reject = (): Promise<never> =>
  Promise.reject(new StoreUnavailable(`${STORE_TITLE} was unavailable when the event came`));

/** The locks for a refused event: unavailable, even if the store has come back since. */
const UNAVAILABLE_LOCKS: LockStore = {
  acquire: reject,
  release: reject,
  find: reject,
  list: reject,
  ping: reject,
};
