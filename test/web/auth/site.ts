import { afterEach } from "@jest/globals";
import { Router } from "express";
import { stringify } from "yaml";
import { listenOnLoopback } from "../../../sandbox/loopback.js";
import { appKeys } from "../../../sandbox/world.js";
import { loadServerConfig } from "../../../src/config/server/server.js";
import { createMemoryStores } from "../../../src/store/memory/memory-stores.js";
import { createRedisStores } from "../../../src/store/redis/redis-stores.js";
import type { Stores } from "../../../src/store/stores.js";
import { createAuth } from "../../../src/web/auth/create-auth.js";
import { createWebServer } from "../../../src/web/server.js";
import { viewerOf } from "../../../src/web/viewer.js";
import { WORDS } from "../../comments/samples.js";
import { ManualClock } from "../../manual-clock.js";
import { recordingLog, type LogLine } from "../../recording-log.js";
import { RedisServer } from "../../redis-server.js";
import { Visitor } from "../visitor.js";

/** Where people reach the site; no machine answers there. */
export const BASE_URL = "http://svc.example.com";
export const SESSION_SECRET = "a-secret-of-the-tests-that-signs-cookies";

export type StoreKind = "memory" | "redis";
export const STORE_KINDS: readonly StoreKind[] = ["memory", "redis"];

type Section = Readonly<Record<string, unknown>>;

export interface SiteOptions {
  readonly store?: StoreKind;
  /** A Redis to use together with others, stopped with this site; stands in the place of `store`. */
  readonly redis?: RedisServer;
  /** Laid over an `auth` that is enabled, without `cookie_secure`. */
  readonly auth?: Section;
  readonly server?: Section;
  /** Addresses of GitHub; false: the service works on GitLab alone. */
  readonly hosta?: { readonly api_url: string; readonly web_url: string } | false;
}

/** The web server with its login, sessions and one page, `/status`, that shows who looks at it. */
export interface Site {
  /** Where it listens. */
  readonly url: string;
  readonly clock: ManualClock;
  readonly stores: Stores;
  readonly lines: readonly LogLine[];
  /** Undefined for the embedded store. */
  readonly redis: RedisServer | undefined;
  /** Somebody new. */
  visitor(): Visitor;
}

const running: (() => Promise<void>)[] = [];

afterEach(async () => {
  await Promise.all(running.splice(0).map((stop) => stop()));
});

export async function startSite(options: SiteOptions): Promise<Site> {
  const clock = new ManualClock();
  const log = recordingLog();
  const redis = options.redis ?? (options.store === "redis" ? await RedisServer.start() : undefined);
  const stores =
    redis === undefined
      ? createMemoryStores(clock)
      : createRedisStores({ address: redis.address, db: 0, tls: false }, { log });
  const config = configOf(options);
  const auth = createAuth({ config, stores, clock, log });
  const pages = Router().get("/status", (request, response) => {
    response.json(viewerOf(request));
  });
  const change = Router().post("/change", (_request, response) => {
    response.json({ changed: true });
  });
  const server = await listenOnLoopback(
    createWebServer({
      tracing: [],
      webhooks: [],
      identify: auth.identify,
      auth: auth.routes,
      api: change,
      pages,
      words: Object.values(WORDS),
      baseUrl: config.server.baseUrl,
      ping: () => stores.ping(),
      trustProxy: config.server.trustProxy,
      log,
    }),
  );
  running.push(async () => {
    await server.stop();
    await stores.close();
    await redis?.stop();
  });
  const elsewhere = { [BASE_URL]: server.url, [BASE_URL.replace("http:", "https:")]: server.url };
  return {
    url: server.url,
    clock,
    stores,
    lines: log.lines,
    redis,
    visitor: () => new Visitor(config.server.baseUrl ?? server.url, elsewhere),
  };
}

/** Through the real parser. */
function configOf({ auth, server, hosta }: SiteOptions) {
  const sections = {
    server: { base_url: BASE_URL, ...server },
    deployer: { server_url: "https://argocd.example.com", token: "argocd-token" },
    ...(hosta === false
      ? { hostb: { token: "gitlab-token", webhook_secret: "hook-secret-of-tests" } }
      : { hosta: { app_id: 1, private_key: appKeys().privateKey, webhook_secret: "hook-secret-of-tests", ...hosta } }),
    auth: { enabled: true, session_secret: SESSION_SECRET, cookie_secure: false, ...auth },
  };
  const loaded = loadServerConfig([{ name: "svc.yaml", text: stringify(sections) }], {});
  if (loaded.kind === "invalid") throw new Error(JSON.stringify(loaded.problems));
  return loaded.config;
}
