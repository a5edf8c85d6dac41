import { afterAll, beforeAll, beforeEach } from "@jest/globals";
import { startService, type Service } from "../../src/service/service.js";
import { createRedisStores } from "../../src/store/redis/redis-stores.js";
import type { Stores } from "../../src/store/stores.js";
import { recordingLog, type LogLine } from "../recording-log.js";
import { RedisServer } from "../redis-server.js";
import { sharedPool } from "../workers/shared-pool.js";
import { configFor, loggerFor, readingWith, type BotOptions } from "./bot-options.js";
import type { Bot } from "./bot.js";

export interface OwnRedis {
  readonly server: RedisServer;
  /** Connects to it; `lines` receives what the stores log. */
  readonly stores: (lines?: LogLine[]) => Stores;
}

/** A Redis for the tests of this file, running and empty before each of them. */
export function ownRedis(): OwnRedis {
  let started: RedisServer | undefined;
  const server = (): RedisServer => {
    if (started === undefined) throw new Error("Redis starts with the first test");
    return started;
  };
  beforeAll(async () => {
    started = await RedisServer.start();
  });
  beforeEach(() => server().restart());
  afterAll(() => server().stop());
  return {
    get server() {
      return server();
    },
    stores: (lines) =>
      createRedisStores({ address: server().address, db: 0, tls: false }, { log: recordingLog(lines) }),
  };
}

/** A second process of the same service, with the store that the options name. Always close it. */
export async function startReplica(bot: Bot, options: BotOptions): Promise<Service> {
  const { stores } = options;
  if (stores === undefined) throw new Error("replicas share a store");
  const shared = { compute: sharedPool(), ...readingWith(options, bot.world) };
  const overrides = { clock: bot.clock, stores: stores(bot.clock), ...shared };
  return startService(configFor(bot.world, options), loggerFor(options), overrides);
}
