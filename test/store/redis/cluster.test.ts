import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { applicationName, repositoryName, type ApplicationName } from "../../../src/core/model/brand.js";
import type { ChangeRequestRef } from "../../../src/core/model/change-request.js";
import { StoreUnavailable } from "../../../src/core/model/errors.js";
import { createRedisStores } from "../../../src/store/redis/redis-stores.js";
import type { Stores } from "../../../src/store/stores.js";
import { deploymentStoreContract } from "../../contract/deployment-store.contract.js";
import { lockStoreContract } from "../../contract/lock-store.contract.js";
import { planStoreContract } from "../../contract/plan-store.contract.js";
import { expireKeys, type StoresUnderTest } from "../../contract/stores-under-test.js";
import { recordingLog } from "../../recording-log.js";
import { HOSTS, startBot } from "../../scenarios/bot.js";
import { changeOf } from "../../scenarios/resources.js";
import { withinASecond } from "../../within-a-second.js";
import { startCluster, type RedisClusterServers } from "./cluster-servers.js";

const holder: ChangeRequestRef = { host: "hosta", repository: repositoryName("acme/deploy"), number: 7 };
const now = new Date("2026-03-02T10:00:00.000Z");

let cluster: RedisClusterServers;

beforeAll(async () => {
  cluster = await startCluster();
});

afterAll(() => cluster.stop());

function connect(addresses: readonly string[] = cluster.addresses, password?: string) {
  const log = recordingLog();
  const access = { db: 0, tls: false, ...(password === undefined ? {} : { password }) };
  return { log, stores: createRedisStores({ cluster: { addresses }, ...access }, { log }) };
}

/** A contract's stores on the cluster that this file started. */
async function startUnderTest(): Promise<StoresUnderTest> {
  const [{ stores }, { stores: replica }] = [connect(), connect()];
  return {
    stores,
    replica,
    expire: async (afterMs) => {
      for (const raw of cluster.raw) await expireKeys(raw, afterMs);
    },
    clear: async () => {
      for (const raw of cluster.raw) await raw.flushall();
    },
    stop: async () => {
      await Promise.all([stores.close(), replica.close()]);
    },
  };
}

lockStoreContract("a cluster of three", startUnderTest);
planStoreContract("a cluster of three", startUnderTest);
deploymentStoreContract("a cluster of three", startUnderTest);

describe.each(HOSTS)("a conversation on %s with everything in a cluster", (host) => {
  test("plan, sync and merge work through the queue, the locks and the records", async () => {
    for (const raw of cluster.raw) await raw.flushall();
    const { stores } = connect();
    await untilItAnswers(stores);
    const bot = await startBot({ host, stores: () => stores, config: { defaults: { auto_merge: true } } });
    const one = await bot.open(changeOf(["web", "api"]));
    expect(await bot.locked(one)).toEqual(["api", "web"]);
    bot.expectChanges("sync web", "sync api");
    await bot.comment(one, "svc sync");
    expect(bot.seen(one).state).toBe("merged");
    expect(await bot.locked(one)).toEqual([]);
    expect(await bot.deployed(one)).toEqual([]);
  });
});

describe("a cluster", () => {
  test("spreads the locks over its servers, and all of them are listed", async () => {
    const { stores } = connect(cluster.addresses.slice(0, 1));
    const names = Array.from({ length: 60 }, (_, index) => applicationName(`app-${index}`));
    await Promise.all(names.map((name) => stores.locks.acquire(requestFor(name), now)));
    const counts = await Promise.all(cluster.raw.map((raw) => raw.dbsize()));
    expect(counts.every((count) => count > 0)).toBe(true);
    expect((await stores.locks.list(holder)).map(({ application }) => application)).toEqual([...names].sort());
    await stores.close();
  });

  test("counts attempts, and knows people wherever their keys are", async () => {
    const { stores } = connect();
    for (const key of ["10.0.0.1", "10.0.0.2", "10.0.0.3"]) {
      expect((await stores.attempts.add(key, 60_000)).count).toBe(1);
      expect((await stores.attempts.add(key, 60_000)).count).toBe(2);
    }
    const account = { id: "oidc:1", provider: "oidc", username: "ana", email: undefined, role: "user" } as const;
    await stores.users.signIn(account, 0);
    expect(await stores.users.find(account.id)).toEqual(account);
    // Scripts over the records of several people.
    const admins = ["oidc:8", "oidc:9"].map((id) => ({ ...account, id, role: "admin" as const }));
    const standing = { sealed: "s", askedAt: 1, provenAt: 1 };
    for (const admin of admins) await stores.users.signIn(admin, 60_000, standing);
    expect(await stores.users.renew("oidc:8", standing, { ...standing, askedAt: 2 })).toBe(true);
    const taken = await Promise.all(admins.map((admin) => stores.users.setRole(admin.id, "user", admin)));
    expect(taken.map(({ kind }) => kind).sort()).toEqual(["last-admin", "set"]);
    expect(await stores.users.list()).toEqual([]);
    await stores.close();
  });

  test("with one server gone, its locks cannot be taken and the store is not ready; the others' answers stay right", async () => {
    const { stores } = connect();
    await stores.ping();
    const [gone] = cluster.servers;
    gone?.freeze();
    try {
      await expect(withinASecond(() => stores.ping())).rejects.toThrow(StoreUnavailable);
      await expect(withinASecond(() => stores.locks.list())).rejects.toThrow(StoreUnavailable);
    } finally {
      gone?.thaw();
    }
    await untilItAnswers(stores);
    expect((await stores.locks.acquire(requestFor(applicationName("after")), now)).kind).toBe("acquired");
    await stores.close();
  });

  test("with one server killed, no list leaves out what that server has", async () => {
    const { stores } = connect();
    for (const raw of cluster.raw) await raw.flushall();
    const names = Array.from({ length: 30 }, (_, index) => applicationName(`app-${index}`));
    await Promise.all(names.map((name) => stores.locks.acquire(requestFor(name), now)));
    const gone = cluster.servers[2];
    await gone?.kill();
    try {
      // While the connection breaks, and after the node has been taken out of the client's pool.
      for (let round = 0; round < 20; round += 1) {
        await expect(stores.locks.list()).rejects.toThrow(StoreUnavailable);
        await expect(stores.ping()).rejects.toThrow(StoreUnavailable);
      }
    } finally {
      await gone?.restart();
    }
    await untilItAnswers(stores);
    await stores.close();
  });

  test("that wants another password says so, and the password never shows", async () => {
    for (const raw of cluster.raw) await raw.config("SET", "requirepass", "right-password");
    try {
      const { stores, log } = connect(cluster.addresses, "wrong-password");
      await expect(stores.ping()).rejects.toThrow("failed to connect to Redis: wrong user name or password");
      await stores.close();
      expect(JSON.stringify(log.lines)).not.toContain("wrong-password");
      const { stores: right } = connect(cluster.addresses, "right-password");
      await right.ping();
      await right.close();
    } finally {
      for (const raw of cluster.raw) await raw.config("SET", "requirepass", "");
    }
  });

  test("that cannot be reached is reported within a second", async () => {
    const { stores, log } = connect(["127.0.0.1:1"]);
    await expect(withinASecond(() => stores.ping())).rejects.toThrow(
      "failed to connect to Redis: no node of the cluster answers",
    );
    await stores.close();
    expect(log.lines.filter(({ level }) => level === "error")).toHaveLength(1);
  });
});

function requestFor(application: ApplicationName) {
  return { application, holder, user: "ana", planRevision: undefined, sourceFile: undefined };
}

/** A refusal comes at once: between two attempts the network gets its turn. */
async function untilItAnswers(stores: Stores): Promise<void> {
  for (;;) {
    try {
      await stores.ping();
      return;
    } catch {
      await setImmediate();
    }
  }
}
