import { readFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { applicationName, repositoryName } from "../../../src/core/model/brand.js";
import { redisConfigOf, type RedisConfig } from "../../../src/store/redis/redis-config.js";
import { createRedisStores } from "../../../src/store/redis/redis-stores.js";
import { recordingLog } from "../../recording-log.js";
import { freePort, RedisServer } from "../../redis-server.js";
import { startBot } from "../../scenarios/bot.js";
import { changeOf } from "../../scenarios/resources.js";
import { makeCertificates, type Certificates } from "./certificates.js";

const OPERATIONS = new URL("../../../docs/operations.md", import.meta.url);
const LOSSES = "Redis may lose data: set maxmemory-policy noeviction and appendonly yes";
const web = applicationName("web");
const request = {
  application: web,
  holder: { host: "hostb", repository: repositoryName("acme/deploy"), number: 7 },
  user: "ana",
  planRevision: undefined,
  sourceFile: undefined,
} as const;
const now = new Date("2026-03-02T10:00:00.000Z");

const cleanups: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function startServer(extra: readonly string[]): Promise<RedisServer> {
  const server = await RedisServer.start(extra);
  cleanups.push(() => server.stop());
  return server;
}

function connect(config: RedisConfig) {
  const log = recordingLog();
  const stores = createRedisStores(config, { log });
  cleanups.push(() => stores.close());
  return { stores, log };
}

describe("over TLS", () => {
  let certificates: Certificates;
  beforeAll(async () => {
    certificates = await makeCertificates();
  });
  afterAll(() => certificates.remove());

  async function startSecure(): Promise<string> {
    const port = await freePort();
    const { certificateFile, keyFile } = certificates;
    const files = ["--tls-cert-file", certificateFile, "--tls-key-file", keyFile, "--tls-auth-clients", "no"];
    await startServer(["--tls-port", String(port), ...files]);
    return `127.0.0.1:${port}`;
  }

  test("a server with a certificate that `ca_file` trusts is used", async () => {
    const { stores } = connect({ address: await startSecure(), db: 0, tls: true, ca: certificates.authority });
    expect((await stores.locks.acquire(request, now)).kind).toBe("acquired");
  });

  test("a server with an untrusted certificate is not", async () => {
    const { stores } = connect({ address: await startSecure(), db: 0, tls: true });
    await expect(stores.locks.acquire(request, now)).rejects.toThrow(
      "failed to connect to Redis: its certificate is not trusted: set redis.ca_file",
    );
  });

  test("a server with a certificate for another name is not", async () => {
    const address = (await startSecure()).replace("127.0.0.1", "localhost");
    const { stores } = connect({ address, db: 0, tls: true, ca: certificates.authority });
    await expect(stores.ping()).rejects.toThrow("failed to connect to Redis: its certificate is for another host name");
  });
});

describe("with a user of its own", () => {
  const RIGHTS = ["~svc:*", "+@read", "+@write", "+@scripting", "+@connection", "+@transaction", "+time"];

  test("everything works for a user limited to our keys", async () => {
    const server = await startServer(["--user", "svc", "on", ">pass", ...RIGHTS, "+info", "--user", "default", "off"]);
    const { stores } = connect({ address: server.address, username: "svc", password: "pass", db: 0, tls: false });
    expect((await stores.locks.acquire(request, now)).kind).toBe("acquired");
    expect(await stores.locks.release(web, request.holder)).toBe(true);
    expect(await stores.attempts.add("10.0.0.1", 1000)).toMatchObject({ count: 1 });
    expect(await stores.locks.list()).toEqual([]);
  });

  test("a whole conversation works with only the rights that the documents ask for", async () => {
    const [, rights = ""] = /`(~svc:\*[^`]*)`/.exec(readFileSync(OPERATIONS, "utf8")) ?? [];
    const server = await startServer([
      "--user",
      "svc",
      "on",
      ">pass",
      ...rights.split(" "),
      "--user",
      "default",
      "off",
    ]);
    const log = recordingLog();
    const stores = createRedisStores(
      { address: server.address, username: "svc", password: "pass", db: 0, tls: false },
      { log },
    );
    const bot = await startBot({ host: "hosta", stores: () => stores });
    const one = await bot.open(changeOf(["web"]));
    expect(await bot.locked(one)).toEqual(["web"]);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(await bot.locked(one)).toEqual([]);
    await bot.end();
    expect(log.lines.filter(({ level }) => level === "error")).toEqual([]);
  });

  test("durability is unknown to a user who may not ask for it", async () => {
    const server = await startServer(["--user", "svc", "on", ">pass", ...RIGHTS, "--appendonly", "yes"]);
    const { stores, log } = connect({ address: server.address, username: "svc", password: "pass", db: 0, tls: false });
    await stores.ping();
    await stores.ping();
    expect(log.lines.find(({ text }) => text === LOSSES)?.fields).toMatchObject({
      maxmemoryPolicy: "unknown",
      appendonly: "unknown",
    });
  });
});

describe("at the first connection", () => {
  test.each([
    { server: ["--appendonly", "yes"], warned: undefined },
    { server: [], warned: { maxmemoryPolicy: "noeviction", appendonly: "no", losses: [/^when it restarts: locks/] } },
    {
      server: ["--appendonly", "yes", "--maxmemory-policy", "allkeys-lru"],
      warned: { maxmemoryPolicy: "allkeys-lru", appendonly: "yes", losses: [/^when its memory is full: locks/] },
    },
    {
      server: ["--maxmemory-policy", "volatile-ttl"],
      warned: { maxmemoryPolicy: "volatile-ttl", appendonly: "no", losses: [/memory/, /restarts/] },
    },
  ])("Redis with $server is warned of once, with what would be lost", async ({ server: extra, warned }) => {
    const server = await startServer(extra);
    const { stores, log } = connect({ address: server.address, db: 0, tls: false });
    const warnings = () => log.lines.filter(({ text }) => text === LOSSES);
    await stores.ping();
    // One more answer than the check needs.
    for (let round = 0; round < 3; round += 1) await stores.ping();
    expect(warnings().map(({ fields }) => fields)).toEqual(
      warned === undefined
        ? []
        : [
            {
              address: server.address,
              maxmemoryPolicy: warned.maxmemoryPolicy,
              appendonly: warned.appendonly,
              losses: warned.losses.map((text) => expect.stringMatching(text)),
            },
          ],
    );
  });
});

test.each([
  [{}, undefined],
  [{ address: { host: "::1", port: 7 } }, { address: "[::1]:7" }],
  [
    { sentinel: { master: "main", addresses: [{ host: "one", port: 1 }], password: "p" } },
    { sentinel: { master: "main", addresses: ["one:1"], password: "p" } },
  ],
  [{ cluster: { addresses: [{ host: "one", port: 1 }] } }, { cluster: { addresses: ["one:1"] } }],
])("the section kvstore %j becomes the place %j", (section, place) => {
  const access = { db: 3, tls: true, ca: "PEM", username: "svc", password: "secret" };
  const { ca: caFile, ...written } = access;
  const found = redisConfigOf({ ...written, caFile, ...section });
  expect(found).toEqual(place === undefined ? undefined : { ...access, ...place });
});
