import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { Redis } from "ioredis";
import { applicationName, repositoryName, revision } from "../../../src/core/model/brand.js";
import { type ChangeRequestRef, identityKey } from "../../../src/core/model/change-request.js";
import { StoredValueUnreadable, StoreUnavailable } from "../../../src/core/model/errors.js";
import { LOCK_LIFETIME_MS, type LockRequest } from "../../../src/core/model/lock.js";
import { PLAN_LIFETIME_MS } from "../../../src/core/model/plan/plan.js";
import type { Rollout } from "../../../src/core/model/rollout.js";
import { createAdministrators } from "../../../src/service/service.js";
import { createRedisStores } from "../../../src/store/redis/redis-stores.js";
import type { Stores } from "../../../src/store/stores.js";
import { sampleDeployment, samplePlan } from "../../comments/samples.js";
import { configOf, SMALLEST } from "../../config/server-file.js";
import { recordingLog } from "../../recording-log.js";
import { freePort, RedisServer } from "../../redis-server.js";
import { withinASecond } from "../../within-a-second.js";

const web = applicationName("web");
const holder: ChangeRequestRef = { host: "hosta", repository: repositoryName("acme/deploy"), number: 7 };
const now = new Date("2026-03-02T10:00:00.000Z");
const request: LockRequest = {
  application: web,
  holder,
  user: "ana",
  planRevision: revision("1".repeat(40)),
  sourceFile: undefined,
};

const record = {
  v: 1,
  application: "web",
  pr_number: 7,
  repository: "acme/deploy",
  host: "hosta",
  user: "ana",
  timestamp: "2026-03-02T10:00:00.000Z",
  plan_revision: "1".repeat(40),
};

const followed = (number: number): Rollout => ({
  change: { ...holder, number },
  merged: revision("1".repeat(40)),
  since: now.toISOString(),
  until: now.toISOString(),
  ended: undefined,
  approval: "given",
  applications: [],
  deployed: [],
});

describe("what stands in Redis", () => {
  let server: RedisServer;
  let raw: Redis;
  let stores: Stores;
  beforeAll(async () => {
    server = await RedisServer.start();
    raw = new Redis(server.port, "127.0.0.1");
    stores = createRedisStores({ address: server.address, db: 0, tls: false }, { log: recordingLog() });
  });
  afterAll(async () => {
    raw.disconnect();
    await stores.close();
    await server.stop();
  });
  beforeEach(async () => {
    await raw.flushall();
  });

  test("a lock is the specified record under its key, for seven days", async () => {
    await stores.locks.acquire(request, now);
    expect(JSON.parse((await raw.get("svc:lock:web")) ?? "")).toEqual(record);
    expect(await raw.pttl("svc:lock:web")).toBeGreaterThan(LOCK_LIFETIME_MS - 5000);
    expect(await raw.pttl("svc:lock:web")).toBeLessThanOrEqual(LOCK_LIFETIME_MS);
  });

  test("a refresh starts the seven days again and keeps the form of the record", async () => {
    await raw.set(
      "svc:lock:web",
      JSON.stringify({ ...record, plan_revision: "", source_file: "a/b.yaml" }),
      "PX",
      1000,
    );
    await stores.locks.acquire({ ...request, sourceFile: "a/b.yaml" }, new Date("2026-03-05T10:00:00.000Z"));
    expect(JSON.parse((await raw.get("svc:lock:web")) ?? "")).toEqual({ ...record, source_file: "a/b.yaml" });
    expect(await raw.pttl("svc:lock:web")).toBeGreaterThan(LOCK_LIFETIME_MS - 5000);
  });

  test("an administrator is recognised although the record of somebody else cannot be read", async () => {
    const login = { provider: "hosta", username: "olga", email: undefined, role: "admin" } as const;
    for (const id of ["hosta:7", "hosta:8"]) {
      await stores.users.signIn({ ...login, id }, 60_000);
      await raw.set(`svc:session:${id}`, JSON.stringify({ accountId: id }));
    }
    await raw.hset("svc:{user}:hosta:8", "profile", JSON.stringify({ v: 2 }));
    const secret = "0123456789abcdef0123456789abcdef";
    const config = configOf([
      SMALLEST,
      `auth: {enabled: true, session_secret: ${secret}, hosta: {client_id: i, client_secret: s}}`,
    ]);
    const isAdministrator = createAdministrators(config, stores.users, (account) => Promise.resolve(account));
    expect(await isAdministrator("hosta", { id: "7", login: "olga", bot: false })).toBe(true);
  });

  test("another's attempt does not lengthen the life of a lock", async () => {
    await raw.set("svc:lock:web", JSON.stringify(record), "PX", 60_000);
    await stores.locks.acquire({ ...request, holder: { ...holder, number: 8 } }, now);
    expect(await raw.pttl("svc:lock:web")).toBeLessThanOrEqual(60_000);
  });

  test("the scripts are sent again after a SCRIPT FLUSH", async () => {
    await stores.locks.acquire(request, now);
    await raw.script("FLUSH");
    expect(await stores.locks.acquire(request, now)).toMatchObject({ kind: "acquired", fresh: false });
    await raw.script("FLUSH");
    expect(await stores.locks.release(web, holder)).toBe(true);
  });

  test("a place in a queue is kept and given up whatever version wrote it", async () => {
    const change = { host: "hosta", repository: "acme/deploy", number: 7 };
    await raw.zadd("svc:waiting:web", 3, JSON.stringify({ change, since: "2026-03-01", v: 1 }));
    expect(await stores.waiting.join(web, { ...holder, number: 8 })).toBe(2);
    expect(await stores.waiting.join(web, holder)).toBe(1);
    expect(await raw.zcard("svc:waiting:web")).toBe(2);
    expect(await stores.waiting.leave(web, holder)).toBe(true);
    expect(await stores.waiting.of(web)).toEqual([{ ...holder, number: 8 }]);
  });

  test("marks that another version wrote hold up none of those behind them", async () => {
    for (const number of [1, 2, 3, 4]) await stores.marks.set([{ ...holder, number }], new Date(number));
    const [key = ""] = await raw.keys("svc:*records");
    for (const number of [1, 2, 3]) await raw.hset(key, identityKey({ ...holder, number }), JSON.stringify({ v: 2 }));
    const taken = await stores.marks.take(new Date(10), new Date(1000), 1);
    expect(taken.map(({ change }) => change.number)).toEqual([4]);
  });

  test("a plan lives for 30 days", async () => {
    await stores.plans.save(samplePlan([], { change: holder, plannedAt: now.toISOString() }));
    expect(await raw.pttl("svc:plan:hosta/acme/deploy/7")).toBeGreaterThan(PLAN_LIFETIME_MS - 5000);
  });

  test.each([
    ["a later version", JSON.stringify({ v: 2, entry: {} })],
    ["no JSON", "{"],
    ["an action that nobody knows", JSON.stringify({ v: 1, entry: { action: "danced" } })],
  ])("an entry of the audit trail with %s is reported, with what to remove", async (_name, value) => {
    const id = await raw.xadd("svc:audit", "*", "entry", value);
    await expect(stores.audit.list({ limit: 1 })).rejects.toThrow(StoredValueUnreadable);
    await expect(stores.audit.list({ limit: 1 })).rejects.toThrow(`remove this entry: XDEL svc:audit ${id}`);
    expect(await raw.xlen("svc:audit")).toBe(1);
  });

  test("thousands of locks are listed completely", async () => {
    const entries = Array.from({ length: 3000 }, (_, index) => {
      const application = `app-${index}`;
      return [`svc:lock:${application}`, JSON.stringify({ ...record, application })];
    });
    await raw.mset(...entries.flat());
    await raw.set("svc:lock", "not ours");
    expect(new Set((await stores.locks.list()).map((lock) => lock.application)).size).toBe(3000);
  });

  test("a record of what is followed that cannot be read leaves the others followed, and is logged with its key", async () => {
    const log = recordingLog();
    const logged = createRedisStores({ address: server.address, db: 0, tls: false }, { log });
    try {
      for (const number of [7, 8]) await logged.rollouts.save(followed(number), now);
      const damaged = "svc:follow:hosta/acme/deploy/7";
      await raw.set(damaged, JSON.stringify({ v: 2 }));
      expect((await logged.rollouts.list()).map(({ change }) => change.number)).toEqual([8]);
      await expect(logged.rollouts.find(holder)).rejects.toThrow(StoredValueUnreadable);
      const lines = log.lines.filter(({ text }) => text === "could not read a record in the store; it is left out");
      expect(lines.map(({ fields }) => String(fields.err))).toEqual([expect.stringContaining(damaged)]);
    } finally {
      await logged.close();
    }
  });

  test("a look while nothing is followed costs Redis one call, whatever else is stored", async () => {
    await stores.rollouts.save(followed(7), now);
    await stores.rollouts.save({ ...followed(7), ended: now.toISOString() }, now);
    await raw.config("RESETSTAT");
    expect(await stores.rollouts.list()).toEqual([]);
    const calls = [...(await raw.info("commandstats")).matchAll(/^cmdstat_(\w+):calls=(\d+)/gm)];
    const ours = calls
      .map(([, command, count]) => `${command} ${count}`)
      .filter((one) => !/^(?:config|info)/.test(one));
    expect(ours).toEqual(["zrange 1"]);
  });

  test.each([
    ["no JSON", "{"],
    ["no object", "[]"],
    ["JSON's null", "null"],
    ["a later version", JSON.stringify({ ...record, v: 2 })],
    ["no version", JSON.stringify({ ...record, v: undefined })],
    ["the number as a text", JSON.stringify({ ...record, pr_number: "7" })],
    ["an owner that is missing", JSON.stringify({ ...record, repository: undefined })],
    ["a plan revision that is null", JSON.stringify({ ...record, plan_revision: null })],
  ])("a stored lock with %s is reported, never taken or overwritten", async (_name, value) => {
    await raw.set("svc:lock:web", value);
    const locks = stores.locks;
    await expect(locks.acquire(request, now)).rejects.toThrow(StoredValueUnreadable);
    await expect(locks.find(web)).rejects.toThrow(/application web .* delete the key svc:lock:web/);
    await expect(locks.list(holder)).rejects.toThrow(StoredValueUnreadable);
    expect(await raw.get("svc:lock:web")).toBe(value);
  });

  test("a release reports an unreadable lock as well", async () => {
    await raw.set("svc:lock:web", JSON.stringify({ ...record, v: 2 }));
    await expect(stores.locks.release(web, holder)).rejects.toThrow(StoredValueUnreadable);
    expect(await raw.exists("svc:lock:web")).toBe(1);
  });

  test("a value of another type under one of our keys is reported", async () => {
    await raw.rpush("svc:lock:web", "x");
    await expect(stores.locks.acquire(request, now)).rejects.toThrow(StoredValueUnreadable);
    await expect(stores.locks.find(web)).rejects.toThrow(/ delete the key svc:lock:web$/);
    await expect(stores.waiting.join(web, holder)).resolves.toBe(1);
    await raw.set("svc:waiting:api", "x");
    await expect(stores.waiting.join(applicationName("api"), holder)).rejects.toThrow(
      / delete the key svc:waiting:api$/,
    );
    await raw.rpush("svc:session:secret", "x");
    const read = new Promise((_, reject) => stores.sessions.get("secret", reject));
    await expect(read).rejects.toThrow(/^(?!.*secret)/);
  });

  test.each(["{", JSON.stringify({ v: 2 }), JSON.stringify({ v: 1, plan: {} })])(
    "a stored plan or deployment that reads %s is reported",
    async (value) => {
      await raw.set("svc:plan:hosta/acme/deploy/7", value);
      await raw.hset("svc:deployment:web", "hosta/acme/deploy/7", value);
      await expect(stores.plans.find(holder)).rejects.toThrow(StoredValueUnreadable);
      await expect(stores.deployments.list()).rejects.toThrow(StoredValueUnreadable);
      await expect(stores.deployments.ofApplication(web)).rejects.toThrow(StoredValueUnreadable);
    },
  );

  test("a deployment that cannot be read keeps no other record of its application from its end", async () => {
    await stores.deployments.save(sampleDeployment("web", { change: holder }));
    await raw.hset("svc:deployment:web", "hosta/acme/deploy/8", JSON.stringify({ v: 2 }));
    await stores.deployments.remove(web, holder);
    expect(await raw.hkeys("svc:deployment:web")).toEqual(["hosta/acme/deploy/8"]);
  });
});

describe("when Redis is away", () => {
  const cleanups: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });

  async function startServer(extraArguments?: readonly string[]): Promise<RedisServer> {
    const server = await RedisServer.start(extraArguments);
    cleanups.push(() => server.stop());
    return server;
  }

  function connect(config: { address: string; db?: number; username?: string; password?: string }) {
    const log = recordingLog();
    const stores = createRedisStores({ db: 0, tls: false, ...config }, { log });
    cleanups.push(() => stores.close());
    return { stores, log, errors: () => log.lines.filter((line) => line.level === "error") };
  }

  /** Retries until the store answers. */
  async function recovered(stores: Stores): Promise<void> {
    for (const end = Date.now() + 60_000; Date.now() < end;) {
      try {
        await stores.ping();
        return;
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    }
    throw new Error("the store did not recover");
  }

  /** Blocks this process for so many milliseconds. */
  function beBusy(ms: number): void {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  }

  async function failure(work: () => Promise<unknown>): Promise<StoreUnavailable> {
    const error: unknown = await withinASecond(() => work().catch((cause: unknown) => cause));
    expect(error).toBeInstanceOf(StoreUnavailable);
    return error as StoreUnavailable;
  }

  test("a refused connection is reported within a second, logged once, and used as soon as it works", async () => {
    const server = await startServer();
    await server.kill();
    const { stores, log, errors } = connect({ address: server.address });
    const first = await failure(() => stores.locks.acquire(request, now));
    expect(first.message).toBe("failed to connect to Redis: connection refused");
    expect((await failure(() => stores.plans.find(holder))).message).toBe(first.message);
    expect((await failure(() => stores.deployments.list())).message).toBe(first.message);
    expect((await failure(() => stores.ping())).message).toBe(first.message);
    expect(errors()).toHaveLength(1);
    await server.restart();
    await recovered(stores);
    expect(await stores.locks.acquire(request, now)).toMatchObject({ kind: "acquired", fresh: true });
    expect(log.lines.filter((line) => line.level === "info").map((line) => line.text)).toEqual(["Redis answers again"]);
  });

  test("a frozen Redis fails every call within a second, and works again once it resumes", async () => {
    const server = await startServer();
    const { stores, errors } = connect({ address: server.address });
    await stores.ping();
    server.freeze();
    const error = await failure(() => stores.locks.acquire(request, now));
    expect(error.message).toBe("failed to connect to Redis: timed out");
    await failure(() => stores.ping());
    await failure(() => stores.locks.release(web, holder));
    expect(errors()).toHaveLength(1);
    server.thaw();
    await recovered(stores);
  });

  test("a process that is busy longer than an answer may take misses no answer", async () => {
    const server = await startServer();
    const { stores, errors } = connect({ address: server.address });
    beBusy(700);
    await stores.ping();
    const asked = [stores.locks.acquire(request, now), stores.locks.list()];
    beBusy(700);
    await Promise.all(asked);
    expect(errors()).toEqual([]);
  });

  test("a Redis that is frozen at the start fails within a second as well", async () => {
    const server = await startServer();
    server.freeze();
    const { stores } = connect({ address: server.address });
    expect((await failure(() => stores.ping())).message).toBe("failed to connect to Redis: timed out");
    server.thaw();
    await recovered(stores);
  });

  test("an acquire that timed out may have happened; repeating it gives the same holder the lock", async () => {
    const server = await startServer();
    const { stores } = connect({ address: server.address });
    await stores.ping();
    server.freeze();
    await failure(() => stores.locks.acquire(request, now));
    server.thaw();
    await recovered(stores);
    expect(await stores.locks.acquire(request, now)).toMatchObject({ kind: "acquired", lock: { holder } });
    expect(await stores.locks.release(web, holder)).toBe(true);
    expect(await stores.locks.find(web)).toBeUndefined();
  });

  test("a restarted Redis is used again, and the outage is logged once", async () => {
    const server = await startServer();
    const { stores, errors } = connect({ address: server.address });
    await stores.locks.acquire(request, now);
    await server.kill();
    expect((await failure(() => stores.locks.find(web))).message).toMatch(
      /^failed to connect to Redis: connection (closed|refused)$/,
    );
    await server.restart();
    await recovered(stores);
    expect(await stores.locks.find(web)).toBeUndefined();
    expect(errors()).toHaveLength(1);
  });

  test("a wrong password is named, without the password", async () => {
    const server = await startServer(["--requirepass", "right-password"]);
    const { stores, log } = connect({ address: server.address, password: "wrong-password" });
    const error = await failure(() => stores.ping());
    expect(error.message).toBe("failed to connect to Redis: wrong user name or password");
    expect(JSON.stringify(log.lines)).not.toContain("wrong-password");
    expect((await failure(() => connect({ address: server.address }).stores.ping())).message).toBe(
      "failed to connect to Redis: a password is required",
    );
    await connect({ address: server.address, password: "right-password" }).stores.ping();
  });

  test("a database that does not exist is never replaced by another", async () => {
    const server = await startServer(["--databases", "2"]);
    const { stores } = connect({ address: server.address, db: 2 });
    const error = await failure(() => stores.locks.acquire(request, now));
    expect(error.message).toBe("failed to connect to Redis: the database number does not exist");
    await failure(() => stores.locks.acquire(request, now));
    const raw = new Redis(server.port, "127.0.0.1");
    expect(await raw.dbsize()).toBe(0);
    raw.disconnect();
    const { stores: second } = connect({ address: server.address, db: 1 });
    await second.locks.acquire(request, now);
  });

  test("a user who may not run scripts sees the reason", async () => {
    const server = await startServer(["--user", "svc", "on", ">pass", "~svc:*", "+ping", "+info", "+hello", "+get"]);
    const { stores } = connect({ address: server.address, username: "svc", password: "pass" });
    await stores.ping();
    const error = await failure(() => stores.locks.acquire(request, now));
    expect(error.message).toBe("Redis refused a command: the user lacks a permission");
  });

  test("a host name that does not exist is named", async () => {
    const { stores } = connect({ address: "no-such-host.invalid:6379" });
    const error = await failure(() => stores.ping());
    expect(error.message).toMatch(/^failed to connect to Redis: (host name not found|timed out)$/);
  });

  test("after close every call fails and nothing is logged", async () => {
    const server = await startServer();
    const { stores, errors } = connect({ address: server.address });
    await stores.ping();
    await stores.close();
    await failure(() => stores.ping());
    expect(errors()).toEqual([]);
  });

  test("close ends the attempts to connect", async () => {
    const { stores } = connect({ address: `127.0.0.1:${await freePort()}` });
    await failure(() => stores.ping());
    await stores.close();
  });
});
