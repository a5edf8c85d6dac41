import { createHash, randomUUID } from "node:crypto";
import { EventEmitter } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import type { Tracer } from "@opentelemetry/api";
import type { Logger } from "pino";
import { type LoginConfig, logsInWith, type ServerConfig } from "../config/server/server.js";
import { createDetectionCaches } from "../core/detect/inputs/snapshot.js";
import { createManifestScanner } from "../core/detect/scan/manifests.js";
import type { ChangeRequestRef } from "../core/model/change-request.js";
import type { BranchPushed } from "../core/model/event.js";
import type { Clock } from "../core/ports/clock.js";
import type { Compute } from "../core/ports/compute.js";
import type { CommandPorts } from "../core/ports/context.js";
import type { EventQueue } from "../core/ports/event-queue.js";
import type { Notifications } from "../core/ports/notifications.js";
import type { Repositories } from "../core/ports/repositories.js";
import type { UserStore } from "../core/ports/stores.js";
import { createRenderCache } from "../core/render/render.js";
import { createRendersAhead } from "../core/render/renders-ahead.js";
import type { StartGit } from "../git/git-process.js";
import { BodyBudget } from "../hosts/receive-body.js";
import { HOSTS, hostWords } from "../hosts/registry.js";
import { listen } from "../http/listen.js";
import { HOST_IDS } from "../names.js";
import { createTelemetry, type Telemetry, type ObservedHost } from "../observe/telemetry.js";
import { wrapPort } from "../observe/wrap-port.js";
import type { QueueTiming } from "../queue/in-process.js";
import { Complaints } from "../run/around/complaints.js";
import { Outsiders } from "../run/around/outsiders.js";
import type { Dependencies } from "../run/line/run.js";
import type { Stores } from "../store/stores.js";
import { createAuth } from "../web/auth/create-auth.js";
import { readSummary } from "../web/host-summaries.js";
import { createWebServer } from "../web/server.js";
import { createSite } from "../web/site.js";
import { createCheckRunner } from "../workers/check-runner.js";
import { createWorkerPool } from "../workers/worker-pool.js";
import { createAdapters, startLine } from "./adapters.js";
import { createChores, tellPlanned } from "./chores.js";
import { checkAtStart, endOfChecks } from "./start-checks.js";
import { type StartedNotifications, startNotifications } from "./start-notifications.js";
import { SystemWatch } from "./system-watch.js";
import { TokenWatch } from "./token-watch.js";

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

/** Load balancers and proxies keep unused connections for a minute, and lose what they send into one that ends just then. */
const KEPT_OPEN_MS = 75_000;

/** Replacements that tests pass in. */
export interface Overrides {
  readonly clock?: Clock;
  readonly stores?: Stores;
  /** Exports traces; omitted, there are none. */
  readonly tracer?: Tracer;
  /** Shorter waits for the queue in Redis. */
  readonly queueTiming?: Partial<QueueTiming>;
  /** Worker threads that outlive this service. */
  readonly compute?: Compute;
  /** Starts git outside of this process. */
  readonly startGit?: StartGit;
  /** Reads repositories without git. */
  readonly repositories?: Repositories;
}

export interface Service {
  /** The address it listens on. */
  readonly url: string;
  /** Resolves when no event waits or runs. */
  idle(): Promise<void>;
  /** Makes up for lost webhooks; also done every 5 minutes. */
  reconcile(): Promise<void>;
  /** Looks what happened on the hosts that are polled; also done as often as configured. */
  poll(): Promise<void>;
  /** Looks at the rollouts after merges; also done every 15 seconds. */
  follow(): Promise<void>;
  /** Checks whether Argo CD and the store answer; also done every minute if receivers or alerts want to know. */
  watch(): Promise<void>;
  /** Reads when svc's tokens expire, and warns before; also done daily. */
  watchTokens(): Promise<void>;
  /** Deletes expired temporary Applications; also done every 10 minutes. */
  sweep(): Promise<void>;
  /** Refuses new events, waits up to the grace period for running ones, and stops everything it started. */
  close(): Promise<void>;
}

/** Closes what was opened, in reverse and once. A part that fails to close does not keep the others open. */
class Opened {
  readonly #closers: (() => unknown)[] = [];
  #closing: Promise<void> | undefined;

  add(close: () => unknown): void {
    this.#closers.push(close);
  }

  close(): Promise<void> {
    this.#closing ??= this.#closeAll();
    return this.#closing;
  }

  async #closeAll(): Promise<void> {
    const failures: unknown[] = [];
    for (const close of this.#closers.reverse()) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}

/** Opens part after part and starts listening, even if other systems are unavailable. @throws {CannotStart} */
export async function startService(config: ServerConfig, log: Logger, overrides: Overrides = {}): Promise<Service> {
  const opened = new Opened();
  try {
    return await start({ config, log, overrides, clock: overrides.clock ?? systemClock, opened });
  } catch (error) {
    await opened.close();
    throw error;
  }
}

interface Start {
  readonly config: ServerConfig;
  readonly log: Logger;
  readonly overrides: Overrides;
  readonly clock: Clock;
  readonly opened: Opened;
}

/** Events that an early part raises and a later part handles. */
type Noticed = EventEmitter<{ held: [holder: ChangeRequestRef]; tookOver: [] }>;

async function start(parts: Start): Promise<Service> {
  const { config, log, overrides, clock, opened } = parts;
  const noticed: Noticed = new EventEmitter();
  const tools = await openTools(parts);
  const { telemetry, workers } = tools;
  const system = { ...overrides, stores: overrides.stores, compute: tools.compute };
  const adapters = await createAdapters({ config, telemetry, ...system, clock, log });
  opened.add(() => adapters.close());
  const { stores, deployer } = adapters;
  const { connection } = stores;
  const started = await startNotifications(config, connection, telemetry, clock, log);
  opened.add(() => started.close());
  const server = createServer({ keepAliveTimeout: KEPT_OPEN_MS });
  const closed = new Promise((resolve) => server.once("close", resolve));
  let checked = Promise.resolve();
  opened.add(async () => {
    server.close();
    server.closeAllConnections();
    await Promise.all([closed, endOfChecks(checked)]);
  });
  const auth = createAuth({ config, stores, clock, log });
  const isAdministrator = createAdministrators(config, stores.users, auth.current);
  const given = { ...dependenciesOf(parts, tools, adapters, started.notifications, noticed), isAdministrator };
  const onTakeOver = () => noticed.emit("tookOver");
  const line = { marks: stores.marks, connection, observe: telemetry.run, timing: overrides.queueTiming, onTakeOver };
  const { queue, publisher, dependencies } = startLine(given, line);
  opened.add(() => queue.close(config.server.shutdownGrace));
  opened.add(() => publisher.close());
  const hosts = Object.values(adapters.hosts);
  const deployerToken = config.deployer.token;
  const tokens = new TokenWatch({ ...started, hosts, deployerToken, connection, clock, log });
  const { notifications, server: at } = config;
  const isWatched = at.metricsPort !== undefined || notifications.some(({ events }) => events.includes("unavailable"));
  const chores = createChores({
    ...stores,
    hosts: adapters.hosts,
    queue,
    notifications: started.notifications,
    watch: isWatched ? new SystemWatch({ ...started, deployer, stores, clock, log }) : undefined,
    tokens,
    publisher,
    deployer,
    config,
    clock,
    log,
  });
  noticed.on("held", (holder) => void chores.checkHolder(holder));
  noticed.on("tookOver", () => void chores.reconcileAfterTakeOver());
  const bodies = new BodyBudget();
  server.on("request", openPages(parts, { telemetry, adapters, started, tokens, auth, dependencies, queue, bodies }));
  opened.add(() => {
    // What is in use now is not kept for a next request, which would be refused.
    server.keepAliveTimeout = 1;
    server.close();
  });
  await telemetry.listen({
    locks: async () => (await stores.locks.list()).length,
    queue: () => queue.backlog(),
    webhookBytes: () => bodies.heldBytes,
    workersWaiting: () => workers.waiting,
    limitWaits: adapters.limitWaits,
    hosts: hosts.map(({ id }) => id),
    receivers: () => started.states(),
    tokens: () => tokens.expiries(),
  });
  await listen(server, { ...config.server, key: "server.port" });
  opened.add(chores.doInIntervals());
  publisher.start();
  checked = checkAtStart({ config, hosts, deployer, ping: () => stores.ping(), log }).then(() => chores.doAtStart());
  return {
    url: urlOf(server, config.server),
    async idle() {
      do {
        await publisher.idle();
        await queue.idle();
      } while (!publisher.isIdle);
    },
    async reconcile() {
      await chores.reconcile();
      await publisher.look();
    },
    poll: () => chores.poll(),
    follow: () => chores.follow(),
    watch: () => chores.watch(),
    watchTokens: () => tokens.look(),
    sweep: () => chores.sweep(),
    close: () => opened.close(),
  };
}

async function openTools({ config, log, overrides, clock, opened }: Start) {
  const telemetry = await createTelemetry(config.server, observedHosts(config), overrides.tracer, log);
  opened.add(() => telemetry.close());
  const workers = createWorkerPool({
    onEnd(task, owner, outcome) {
      telemetry.countTask(task, outcome);
      if (outcome === "time" || outcome === "memory") {
        log.warn({ task, owner, limit: outcome }, "a worker thread was ended");
      }
    },
  });
  opened.add(() => workers.close());
  const checkRunner = createCheckRunner({ folder: tmpdir(), clock, log, onEnd: telemetry.countCheck });
  opened.add(() => checkRunner.close());
  return { telemetry, workers, compute: overrides.compute ?? workers, checkRunner };
}

function dependenciesOf(
  { config, clock, log }: Start,
  { compute, checkRunner }: Pick<Dependencies, "compute" | "checkRunner">,
  { stores, ...systems }: Pick<Adapters, "stores" | "hosts" | "repositories" | "deployer">,
  notifications: Notifications,
  noticed: Noticed,
): Omit<Dependencies, "push" | "publisher" | "isAdministrator"> {
  const { temporaryApps, diffMode, previewLimit, serverDryRun } = config.deployer;
  const { hosts, repositories, deployer } = systems;
  const { waiting, holds, rollouts, plans, deployments, statuses, audit, live } = stores;
  return {
    config,
    hosts,
    hostWords: hostWords(config.server.command),
    repositories,
    detection: createDetectionCaches(),
    deployer,
    locks: wrapPort(stores.locks, {
      async acquire(call) {
        const attempt = await call();
        if (attempt.kind === "held") noticed.emit("held", attempt.lock.holder);
        return attempt;
      },
    }),
    waiting,
    holds,
    rollouts,
    plans,
    deployments,
    statuses,
    audit,
    scanner: createManifestScanner(compute),
    renders: createRenderCache(clock),
    rendersAhead: createRendersAhead(config.deployer.renderConcurrency),
    compute,
    checkRunner,
    checks: config.checks,
    live,
    notifications,
    outsiders: new Outsiders(clock),
    clock,
    log,
    timezone: config.server.timezone,
    temporaryApps,
    diffMode,
    previewLimit,
    serverDryRun,
    redact: config.redact,
    complaints: new Complaints(),
    newRunId: runIdOf,
  };
}

interface PageParts {
  readonly telemetry: Telemetry;
  readonly adapters: Adapters;
  readonly started: StartedNotifications;
  readonly tokens: TokenWatch;
  readonly auth: ReturnType<typeof createAuth>;
  readonly dependencies: Dependencies;
  readonly queue: EventQueue;
  readonly bodies: BodyBudget;
}

function openPages({ config, clock, log, opened }: Start, parts: PageParts): RequestListener {
  const { telemetry, adapters, started, tokens, auth, dependencies, queue, bodies } = parts;
  const { stores, deployer, limitWaits } = adapters;
  const { hostWords } = dependencies;
  const hosts = Object.values(adapters.hosts);
  const push = telemetry.push((event) => queue.push(event));
  const site = createSite({
    config,
    stores,
    hosts,
    hostWords,
    hostPageOf: (change) => HOSTS[change.host].configured(config)?.changeRequestUrl(change),
    deployer,
    live: stores.live,
    push,
    backlog: () => queue.backlog(),
    limitWaits,
    publisher: dependencies.publisher,
    notifications: started.notifications,
    receivers: () => started.states(),
    tokens: () => tokens.expiries(),
    lookUp: (change) => readSummary(change, dependencies),
    newRunId: randomUUID,
    clock,
    log,
  });
  opened.add(() => site.close());
  const onBranchPushed = (pushed: BranchPushed) =>
    void tellPlanned(pushed, { ...stores, publisher: dependencies.publisher, log });
  const intake = { push, onBranchPushed, bodies, countRefusal: telemetry.countRefusal };
  return createWebServer({
    tracing: telemetry.tracing,
    webhooks: adapters.webhooks.map((webhook) => webhook(intake)),
    identify: auth.identify,
    auth: auth.routes,
    api: site.api,
    pages: site.pages,
    words: hosts.map(({ id }) => hostWords[id]),
    baseUrl: config.server.baseUrl,
    ping: () => stores.ping(),
    trustProxy: config.server.trustProxy,
    log,
  });
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

/** Outside systems behind their ports, measured and traced. */
type Adapters = Awaited<ReturnType<typeof createAdapters>>;

/** Recognises administrators of the pages by their accounts at the code hosts; `current` is what the pages ask as well. */
export function createAdministrators(
  config: LoginConfig,
  users: Pick<UserStore, "list">,
  current: ReturnType<typeof createAuth>["current"],
): CommandPorts["isAdministrator"] {
  return async (host, { id }) => {
    if (!config.auth.enabled || !logsInWith(host, config)) return false;
    const [known] = await users.list(`${host}:${id}`);
    return known?.role === "admin" && (await current(known))?.role === "admin";
  };
}

/** Derives the run's id from its key, so that an attempt after a crash finds what the earlier one did. */
export function runIdOf(runKey: string): string {
  const digits = createHash("sha256").update(runKey).digest("hex");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, "$1-$2-$3-$4-$5");
}
