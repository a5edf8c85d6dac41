import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { Redis } from "ioredis";
import { applicationName, repositoryName } from "../../../src/core/model/brand.js";
import { StoreUnavailable } from "../../../src/core/model/errors.js";
import { createRedisStores } from "../../../src/store/redis/redis-stores.js";
import { settled } from "../../contract/event-queue.contract.js";
import { recordingLog } from "../../recording-log.js";
import { freePort, RedisServer } from "../../redis-server.js";
import { makeCertificates, tlsOnly, type Certificates } from "./certificates.js";
import { startSentinel } from "./sentinel-server.js";

const request = {
  application: applicationName("web"),
  holder: { host: "hosta", repository: repositoryName("acme/deploy"), number: 7 },
  user: "ana",
  planRevision: undefined,
  sourceFile: undefined,
} as const;
const now = new Date("2026-03-02T10:00:00.000Z");

let certificates: Certificates;
const cleanups: (() => Promise<void> | void)[] = [];

beforeAll(async () => {
  certificates = await makeCertificates();
});

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

afterAll(() => certificates.remove());

/** A server that takes TLS only, with a connection to it. */
async function startServer(extra: readonly string[] = []) {
  const port = await freePort();
  const settings = Object.entries(tlsOnly(port, certificates)).flatMap(([name, value]) => [`--${name}`, value]);
  const server = await RedisServer.start([...settings, ...extra]);
  cleanups.push(() => server.stop());
  return { server, port, raw: connectTo(port) };
}

function connectTo(port: number, password?: string): Redis {
  const access = password === undefined ? {} : { password };
  const raw = new Redis({ port, host: "127.0.0.1", tls: { ca: certificates.authority }, ...access });
  raw.on("error", () => undefined);
  cleanups.push(() => raw.disconnect());
  return raw;
}

function connect(addresses: readonly string[], ca?: string) {
  const sentinel = { master: "main", addresses, password: "sentinel-password" };
  const stores = createRedisStores(
    { sentinel, db: 0, tls: true, ...(ca === undefined ? {} : { ca }) },
    { log: recordingLog() },
  );
  cleanups.push(() => stores.close());
  return stores;
}

/** A primary with one replica, watched by one Sentinel. */
async function startAll() {
  const primary = await startServer(["--repl-diskless-sync-delay", "0"]);
  const replica = await startServer(["--replicaof", "127.0.0.1", String(primary.port)]);
  while (!(await replica.raw.info("replication")).includes("master_link_status:up"));
  const sentinel = await startSentinel(primary.port, certificates);
  cleanups.push(() => sentinel.stop());
  return { primary, replica, sentinel };
}

/** The connections may be made anew more than once. One that is not made yet refuses at once. */
async function onceAvailable<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      await settled();
    }
  }
}

test("with TLS between all of them, the store and the queue's connections follow Sentinel to the new primary", async () => {
  const { primary, replica, sentinel } = await startAll();
  const stores = connect([sentinel.address], certificates.authority);
  expect((await stores.locks.acquire(request, now)).kind).toBe("acquired");
  expect(await primary.raw.exists("svc:lock:web")).toBe(1);
  while ((await replica.raw.exists("svc:lock:web")) === 0);
  const patient = stores.connection?.patient();
  cleanups.push(() => patient?.disconnect());
  patient?.on("error", () => undefined);
  expect(await patient?.exists("svc:lock:web")).toBe(1);

  const control = connectTo(sentinel.port, "sentinel-password");
  while (!JSON.stringify(await control.call("SENTINEL", "REPLICAS", "main")).includes('"ok"'));
  await primary.server.kill();
  while ((await replica.raw.role())[0] !== "master");
  await onceAvailable(() => stores.locks.acquire(request, now));
  const held = await onceAvailable(() => stores.locks.list());
  expect(held.map(({ application }) => application)).toEqual(["web"]);
  await onceAvailable(() => stores.locks.release(request.application, request.holder));
  expect(await replica.raw.exists("svc:lock:web")).toBe(0);
  while ((await patient?.exists("svc:lock:web").catch(() => undefined)) !== 0) await settled();
});

test("sentinels whose certificate is not trusted are not asked, and the store says what to check", async () => {
  const { sentinel } = await startAll();
  const stores = connect([sentinel.address]);
  await expect(stores.ping()).rejects.toThrow(
    "no sentinel names a primary that can be reached: the certificates of both must be trusted (redis.ca_file)",
  );
});
