import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { Redis } from "ioredis";
import { BELL_CHANNEL } from "../../../src/queue/lane-store.js";
import { TokenWatch } from "../../../src/service/token-watch.js";
import { createRedisStores } from "../../../src/store/redis/redis-stores.js";
import { claimsInterval } from "../../../src/store/shared-records.js";
import { JumpClock } from "../../jump-clock.js";
import { tableUnder } from "../../observe/metrics/markdown-table.js";
import { recordingLog } from "../../recording-log.js";
import { freePort, RedisServer } from "../../redis-server.js";
import { REPOSITORY, startBot } from "../../scenarios/bot.js";
import { changeOf } from "../../scenarios/resources.js";

const DAY_MS = 24 * 60 * 60 * 1000;

/** Key pattern and lifetime of each row of the table in the documents. */
const rows = tableUnder(
  readFileSync(new URL("../../../docs/operations.md", import.meta.url), "utf8"),
  "Keys in the store",
).map(([key = "", , kept = ""]) => ({ key: key.replaceAll("`", ""), kept }));

/** `<name>` and `*` stand for anything. */
function matches(pattern: string, key: string): boolean {
  const source = pattern.split(/<[^>]+>|\*/).map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${source.join(pattern.endsWith("*") ? ".*" : ".+")}$`).test(key);
}

function rowsOf(key: string) {
  return rows.filter((row) => matches(row.key, key));
}

let server: RedisServer;
let raw: Redis;
/** Every key that a command named while people worked with the service. */
const named = new Set<string>();
/** Time to live of what is there at the end, in milliseconds; -1 has no end. */
const lifetimes = new Map<string, number>();

beforeAll(async () => {
  server = await RedisServer.start();
  raw = new Redis(server.port, "127.0.0.1");
  const monitor = await raw.monitor();
  monitor.on("monitor", (_time, [command = "", ...args]: string[]) => {
    // A pattern, the name of a connection, and channels.
    if (/^(?:scan|client|publish|subscribe)$/i.test(command)) return;
    for (const arg of args) if (arg.startsWith("svc:") && arg !== BELL_CHANNEL) named.add(arg);
  });
  const redis = createRedisStores({ address: server.address, db: 0, tls: false }, { log: recordingLog() });
  const nowhere = `http://127.0.0.1:${await freePort()}/`;
  const bot = await startBot({
    host: "hosta",
    stores: () => redis,
    config: { notifications: [{ name: "chat", url: nowhere, format: "slack" }] },
  });
  const one = await bot.open(changeOf(["web"]));
  const two = await bot.open(changeOf(["api"]));
  await bot.approve(one);
  bot.expectChanges("sync web");
  await bot.comment(one, "svc sync");
  await bot.forge.mergeByHand(REPOSITORY, two, "bo");
  await bot.idle();
  while ((await raw.exists("svc:{notifications}:broken")) === 0) await new Promise((resolve) => setImmediate(resolve));
  bot.argocd.faults.add({ path: /\/session\/userinfo/, fault: { kind: "status", status: 503 } });
  await bot.service.watch();
  bot.argocd.faults.clear();
  await bot.service.reconcile();
  await bot.idle();
  const account = { id: "oidc:1", provider: "oidc", username: "ana", email: undefined, role: "user" } as const;
  await redis.users.signIn(account, 0);
  const by = { provider: "oidc", id: "oidc:1", login: "ana" } as const;
  const times = { since: new Date().toISOString(), until: new Date(Date.now() + DAY_MS).toISOString() };
  await redis.holds.save({ id: "one", applications: ["shop"], reason: "freeze", by, ...times }, new Date());
  await redis.attempts.add("10.0.0.1", 60_000);
  await claimsInterval(redis.connection, "sweep", 60_000);
  const exp = Math.round((Date.now() + 5 * DAY_MS) / 1000);
  await new TokenWatch({
    hosts: [],
    deployerToken: `.${Buffer.from(JSON.stringify({ exp })).toString("base64url")}.`,
    notifications: { publish: () => Promise.resolve() },
    connection: redis.connection,
    clock: new JumpClock(Date.now()),
    log: recordingLog(),
  }).look();
  const session = { cookie: { originalMaxAge: null }, expiresAt: Date.now() + DAY_MS, lifetimeMs: DAY_MS };
  await new Promise<void>((resolve, reject) => {
    redis.sessions.set("one", session, (error) => (error instanceof Error ? reject(error) : resolve()));
  });
  for (const key of await raw.keys("*")) lifetimes.set(key, await raw.pttl(key));
  await bot.end();
  monitor.disconnect();
});

afterAll(async () => {
  raw.disconnect();
  await server.stop();
});

test("every used key is in the table of the documents, once", () => {
  expect(named.size).toBeGreaterThan(20);
  expect([...named].filter((key) => rowsOf(key).length !== 1)).toEqual([]);
  expect([...lifetimes.keys()].filter((key) => rowsOf(key).length !== 1)).toEqual([]);
});

test("every row of the table is about a used key", () => {
  expect(rows.length).toBeGreaterThan(10);
  expect(rows.filter(({ key }) => ![...named].some((one) => matches(key, one))).map(({ key }) => key)).toEqual([]);
});

test("the days that the table names are the ones that Redis keeps them", () => {
  const counted = [...lifetimes].flatMap(([key, left]) => {
    const days = /^(\d+) days?/.exec(rowsOf(key)[0]?.kept ?? "")?.[1];
    return days === undefined ? [] : [{ key, left, days: Number(days) }];
  });
  expect(counted.length).toBeGreaterThan(5);
  for (const { key, left, days } of counted) {
    expect({ key, days: Math.ceil(left / DAY_MS) }).toEqual({ key, days });
  }
});

test("no key is kept longer than its row says", () => {
  const endless = [...lifetimes].filter(([, left]) => left === -1).map(([key]) => rowsOf(key)[0]?.kept ?? "");
  expect([...new Set(endless)].filter((kept) => !/^(?:until|the newest)/.test(kept))).toEqual([]);
});
