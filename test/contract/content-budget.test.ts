import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Redis } from "ioredis";
import { MemoryContentBudget } from "../../src/store/memory/outbox.js";
import { createRedisStores } from "../../src/store/redis/redis-stores.js";
import { ManualClock } from "../manual-clock.js";
import { recordingLog } from "../recording-log.js";
import { RedisServer } from "../redis-server.js";
import { contentBudgetContract } from "./content-budget.contract.js";

const stores = (server: RedisServer) =>
  createRedisStores({ address: server.address, db: 0, tls: false }, { log: recordingLog() });

describe("in memory", () => {
  contentBudgetContract(async () => {
    const clock = new ManualClock();
    let budget = new MemoryContentBudget(() => clock.now().getTime());
    return {
      get replicas() {
        return [budget, budget] as const;
      },
      pass: async (ms) => clock.advance(ms),
      clear: async () => {
        budget = new MemoryContentBudget(() => clock.now().getTime());
      },
      stop: () => Promise.resolve(),
    };
  });
});

describe("in Redis", () => {
  contentBudgetContract(async () => {
    const server = await RedisServer.start();
    const raw = new Redis(server.port, "127.0.0.1");
    const both = [stores(server), stores(server)] as const;
    return {
      replicas: [both[0].content, both[1].content],
      pass: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      clear: async () => {
        await raw.flushall();
      },
      stop: async () => {
        raw.disconnect();
        await Promise.all(both.map((one) => one.close()));
        await server.stop();
      },
    };
  });
});

describe("with Redis away", () => {
  let server: RedisServer;

  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server.stop());

  test("each replica counts its own writes, those from before included, and never fails", async () => {
    const limits = [{ windowMs: 3_600_000, max: 5, rank: 0 }];
    const [one, two] = [stores(server), stores(server)];
    try {
      for (let at = 0; at < 3; at += 1) expect(await one.content.take("a", 0, limits)).toEqual({ kind: "taken" });
      await server.kill();
      const kinds = [];
      for (let at = 0; at < 4; at += 1) kinds.push((await one.content.take("a", 0, limits)).kind);
      expect(kinds).toEqual(["taken", "taken", "full", "full"]);
      expect(await two.content.take("a", 0, limits)).toEqual({ kind: "taken" });
    } finally {
      await Promise.all([one.close(), two.close()]);
    }
  });
});
