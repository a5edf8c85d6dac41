import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate } from "node:timers/promises";
import { expect } from "@jest/globals";
import { type RequestHandler, Router } from "express";
import { stringify } from "yaml";
import { loadServerConfig } from "../../src/config/server/server.js";
import { describeProblem } from "../../src/config/yaml-tree.js";
import type { HostEvent } from "../../src/core/model/event.js";
import type { Deployer } from "../../src/core/ports/deployer.js";
import { HOSTS } from "../../src/hosts/registry.js";
import { WEBHOOK_PATHS } from "../../src/names.js";
import { Publisher } from "../../src/run/around/publisher.js";
import { createMemoryStores, MemoryLiveFeed } from "../../src/store/memory/memory-stores.js";
import { createRedisStores } from "../../src/store/redis/redis-stores.js";
import type { Stores } from "../../src/store/stores.js";
import { createAuth } from "../../src/web/auth/create-auth.js";
import { createWebServer } from "../../src/web/server.js";
import { createSite, type SiteParts } from "../../src/web/site.js";
import { WORDS } from "../comments/samples.js";
import { rsaKey } from "../config/rsa-key.js";
import { JumpClock } from "../jump-clock.js";
import { recordingLog } from "../recording-log.js";
import { RedisServer } from "../redis-server.js";
import { Visitor } from "./visitor.js";

const KEY = rsaKey();

export const SESSION_TTL_MS = 60 * 60_000;
export const PASSWORD = "correct horse";

/** The people of these tests: an administrator and two who may read. */
export const PEOPLE = { olga: "admin", ana: "user", bo: "user" } as const;
export type Person = keyof typeof PEOPLE;

export interface SiteOptions {
  /** False: authentication is off. An object is laid over `auth`. */
  readonly auth?: boolean | Readonly<Record<string, unknown>>;
  /** Where people reach the site, if not where it listens. */
  readonly baseUrl?: string;
  /** Whether a proxy says where requests come from. */
  readonly trustProxy?: boolean;
  /** Addresses of GitHub. */
  readonly github?: { readonly api_url: string; readonly web_url: string };
  readonly store?: "memory" | "redis";
  /** The section that the site reads; the stores stay those of `store`. */
  readonly kvstore?: Readonly<Record<string, unknown>>;
  /** Lays the stores of a test over the real ones. */
  readonly over?: (stores: Stores) => Partial<Stores>;
  readonly deployer?: Partial<Deployer>;
  readonly hosts?: SiteParts["hosts"];
  readonly backlog?: SiteParts["backlog"];
  readonly limitWaits?: ReturnType<SiteParts["limitWaits"]>;
  /** What a host says of a change request. */
  readonly lookUp?: SiteParts["lookUp"];
}

export interface SiteUnderTest {
  readonly url: string;
  readonly stores: Stores;
  readonly clock: JumpClock;
  readonly live: MemoryLiveFeed;
  readonly log: ReturnType<typeof recordingLog>;
  /** What it answers, as `method /path/{parameter}`. */
  readonly routes: readonly string[];
  /** Events that were handed to the queue. */
  readonly pushed: readonly HostEvent[];
  /** A browser of somebody who has just logged in. */
  visitor(person: Person): Promise<Visitor>;
  stranger(): Visitor;
  stop(): Promise<void>;
}

/** The real web server with login, API and pages over real stores, without code hosts and Argo CD. */
export async function startSite(options: SiteOptions = {}): Promise<SiteUnderTest> {
  const config = configOf(options);
  const clock = new JumpClock();
  const log = recordingLog();
  const redis = options.store === "redis" ? await RedisServer.start() : undefined;
  const base =
    redis === undefined
      ? createMemoryStores(clock)
      : createRedisStores({ address: redis.address, db: 0, tls: false }, { log });
  await answers(base);
  const stores: Stores = { ...base, ...options.over?.(base) };
  const live = new MemoryLiveFeed();
  const pushed: HostEvent[] = [];
  let runs = 0;
  const push = async (event: HostEvent) => pushed.push(event) > 0;
  const queue = { push, isBusy: async () => false };
  const publisher = new Publisher({ marks: stores.marks, queue, clock, log });
  const site = createSite({
    config,
    stores,
    hosts: options.hosts ?? [],
    hostWords: WORDS,
    hostPageOf: (change) => HOSTS[change.host].configured(config)?.changeRequestUrl(change),
    deployer: {
      check: async () => ({ version: "v2.13.1", account: "svc" }),
      listApplications: async () => [],
      ...options.deployer,
    } as Partial<Deployer> as Deployer,
    live,
    push,
    publisher,
    backlog: options.backlog ?? (async () => ({ waiting: 2, running: 1, oldestMs: 90_000 })),
    limitWaits: () => options.limitWaits ?? [],
    lookUp: options.lookUp ?? (async () => undefined),
    notifications: { publish: () => Promise.resolve() },
    receivers: () => Promise.resolve([]),
    tokens: () => [],
    newRunId: () => `run-${(runs += 1)}`,
    clock,
    log,
  });
  const auth = createAuth({ config, stores, clock, log });
  const broken = Router().get("/broken", () => {
    throw new Error("secret details");
  });
  const app = createWebServer({
    tracing: [broken],
    webhooks: Object.values(WEBHOOK_PATHS).map((path) => ({ path, post: noWebhook })),
    identify: auth.identify,
    auth: auth.routes,
    api: site.api,
    pages: site.pages,
    words: Object.values(WORDS),
    baseUrl: config.server.baseUrl,
    ping: () => stores.ping(),
    trustProxy: options.trustProxy ?? false,
    log,
  });
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    stores,
    clock,
    live,
    log,
    routes: routesOf(app.router as unknown as Listed).filter((route) => route !== "get /broken"),
    pushed,
    stranger: () => new Visitor(url),
    async visitor(person) {
      const visitor = new Visitor(url);
      const answer = await visitor.ask("/auth/basic/login", { json: { username: person, password: PASSWORD } });
      expect([answer.status, answer.text]).toEqual([200, expect.stringContaining(person)]);
      return visitor;
    },
    async stop() {
      site.close();
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      await base.close();
      await redis?.stop();
    },
  };
}

/** No code host is connected. */
const noWebhook: RequestHandler = (_request, response) => {
  response.status(404).json({ error: "there is nothing at this address" });
};

/** A router as Express lists it; its types lack that. */
interface Listed {
  listRoutes(): readonly { readonly path: string; readonly methods?: readonly string[]; readonly router?: Listed }[];
}

function routesOf(router: Listed, before = ""): readonly string[] {
  return router.listRoutes().flatMap(({ path, methods = [], router: mounted }) => {
    const here = path === "/" && before !== "" ? before : before + path;
    if (mounted !== undefined) return routesOf(mounted, path === "/" ? before : here);
    const written = methods.map((method) => method.toLowerCase()).filter((method) => method !== "head");
    return written.map((method) => `${method} ${here.replace(/:(\w+)/g, "{$1}")}`);
  });
}

/** On a busy machine the first connection takes longer than the service waits for it. */
async function answers(stores: Stores): Promise<void> {
  const until = performance.now() + 60_000;
  for (;;) {
    try {
      await stores.ping();
      return;
    } catch (error) {
      if (performance.now() > until) throw error;
      await setImmediate();
    }
  }
}

function configOf({ auth = true, baseUrl, github, kvstore }: SiteOptions) {
  const users = Object.entries(PEOPLE).map(([username, role]) => ({ username, password: PASSWORD, role }));
  const text = stringify({
    ...(baseUrl === undefined ? {} : { server: { base_url: baseUrl } }),
    ...(kvstore === undefined ? {} : { kvstore }),
    deployer: { server_url: "https://argocd.example.com", token: "t" },
    hosta: { app_id: 1, private_key: KEY, webhook_secret: "hook-secret-of-tests", ...github },
    hostb: { url: "https://git.example.com", token: "t", webhook_secret: "hook-secret-of-tests" },
    ...(auth !== false
      ? {
          auth: {
            enabled: true,
            session_secret: "session-secret-of-the-tests-5b1f0e",
            session_ttl: "1h",
            cookie_secure: false,
            diffs: "all",
            basic: { users },
            ...(auth === true ? {} : auth),
          },
        }
      : {}),
  });
  const loaded = loadServerConfig([{ name: "svc.yaml", text }], {});
  if (loaded.kind === "invalid") throw new Error(loaded.problems.map(describeProblem).join("\n"));
  return loaded.config;
}
