import { afterEach, expect, test } from "@jest/globals";
import { Redis } from "ioredis";
import { applicationName, repositoryName } from "../../../src/core/model/brand.js";
import { createRedisStores } from "../../../src/store/redis/redis-stores.js";
import { TcpProxy } from "../../chaos/tcp-proxy.js";
import { settled } from "../../contract/event-queue.contract.js";
import { recordingLog } from "../../recording-log.js";
import { freePort, RedisServer } from "../../redis-server.js";
import { withinASecond } from "../../within-a-second.js";
import { startSentinel } from "./sentinel-server.js";

const web = applicationName("web");
const api = applicationName("api");
const request = {
  application: web,
  holder: { host: "hosta", repository: repositoryName("acme/deploy"), number: 7 },
  user: "ana",
  planRevision: undefined,
  sourceFile: undefined,
} as const;
const now = new Date("2026-03-02T10:00:00.000Z");

const cleanups: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function startServer(extra: readonly string[] = []): Promise<RedisServer> {
  const server = await RedisServer.start(extra);
  cleanups.push(() => server.stop());
  return server;
}

function connect(addresses: readonly string[], password = "sentinel-password") {
  const log = recordingLog();
  const sentinel = { master: "main", addresses, password };
  const stores = createRedisStores({ sentinel, db: 0, tls: false }, { log });
  cleanups.push(() => stores.close());
  return { stores, log };
}

async function roleOf(server: RedisServer): Promise<string> {
  const raw = new Redis(server.port, "127.0.0.1");
  try {
    return String((await raw.role())[0]);
  } finally {
    raw.disconnect();
  }
}

test("the primary that Sentinel names is used, and after a failover the new one, even if the old one is alive", async () => {
  const primary = await startServer();
  const replica = await startServer(["--replicaof", "127.0.0.1", String(primary.port)]);
  const link = new Redis(replica.port, "127.0.0.1");
  cleanups.push(() => link.disconnect());
  while (!(await link.info("replication")).includes("master_link_status:up"));
  const sentinel = await startSentinel(primary.port);
  cleanups.push(() => sentinel.stop());
  const { stores } = connect([`127.0.0.1:${await freePort()}`, sentinel.address]);
  expect((await stores.locks.acquire(request, now)).kind).toBe("acquired");
  // Redis replicates asynchronously.
  while ((await link.exists("svc:lock:web")) === 0);

  const control = new Redis({ port: sentinel.port, host: "127.0.0.1", password: "sentinel-password" });
  cleanups.push(() => control.disconnect());
  while (!(await control.call("SENTINEL", "REPLICAS", "main").then((found) => JSON.stringify(found).includes('"ok"'))));
  await control.call("SENTINEL", "FAILOVER", "main");
  while ((await roleOf(replica)) !== "master");
  // Writes to the old primary never reach the new one from now on.
  while ((await link.get("svc:lock:api")) === null) {
    await stores.locks.acquire({ ...request, application: api }, now).catch(() => undefined);
  }
  expect((await stores.locks.acquire({ ...request, application: api }, now)).kind).toBe("acquired");
  expect((await stores.locks.list()).map(({ application }) => application)).toEqual([api, web]);
});

test("a failover that Sentinel reports while the connections look for the new primary does not end them", async () => {
  const primary = await startServer(["--repl-diskless-sync-delay", "0"]);
  const replica = await startServer(["--replicaof", "127.0.0.1", String(primary.port)]);
  const link = new Redis(replica.port, "127.0.0.1");
  cleanups.push(() => link.disconnect());
  while (!(await link.info("replication")).includes("master_link_status:up"));
  const sentinel = await startSentinel(primary.port);
  cleanups.push(() => sentinel.stop());
  const way = await TcpProxy.start(sentinel.port);
  cleanups.push(() => way.stop());
  const { stores } = connect([`127.0.0.1:${way.port}`]);
  const patient = stores.connection?.patient();
  cleanups.push(() => patient?.disconnect());
  patient?.on("error", () => undefined);
  await Promise.all([stores.ping(), patient?.ping()]);

  const control = new Redis({ port: sentinel.port, host: "127.0.0.1", password: "sentinel-password" });
  cleanups.push(() => control.disconnect());
  while (!JSON.stringify(await control.call("SENTINEL", "REPLICAS", "main")).includes('"ok"'));
  const subscribed = async () => String(await control.call("CLIENT", "LIST")).split(" sub=1 ").length - 1;
  while ((await subscribed()) < 2);
  way.weather = { ...way.weather, closed: true };
  await primary.kill();
  while ((await roleOf(replica)) !== "master");
  while (
    !JSON.stringify(await control.call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main")).includes(`${replica.port}`)
  );
  while ((await subscribed()) > 0);
  way.clear();
  while ((await stores.ping().catch((error: unknown) => error)) !== undefined) await settled();
  while ((await patient?.ping().catch(() => undefined)) !== "PONG") await settled();
}, 20_000);

test("without an answering Sentinel the store is unavailable within a second, and close does not wait", async () => {
  const { stores } = connect([`127.0.0.1:${await freePort()}`]);
  await expect(withinASecond(() => stores.ping())).rejects.toThrow(
    "failed to connect to Redis: no sentinel names a primary that can be reached",
  );
  await withinASecond(() => stores.close());
});

test("a wrong password of the sentinels never shows", async () => {
  const primary = await startServer();
  const sentinel = await startSentinel(primary.port);
  cleanups.push(() => sentinel.stop());
  const { stores, log } = connect([sentinel.address], "wrong-secret-word");
  await expect(stores.ping()).rejects.toThrow("failed to connect to Redis: no sentinel names a primary");
  expect(JSON.stringify(log.lines)).not.toContain("wrong-secret-word");
});
