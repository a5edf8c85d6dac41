import { afterAll, beforeAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import { Redis } from "ioredis";
import type { LockStore } from "../../src/core/ports/stores.js";
import { createRedisStores } from "../../src/store/redis/redis-stores.js";
import type { Stores } from "../../src/store/stores.js";
import type { Delay } from "../in-memory/delay.js";
import { recordingLog } from "../recording-log.js";
import { RedisServer } from "../redis-server.js";
import { shareOf } from "../share-of.js";
import { interleaving, type Interleaving } from "./interleaving.js";
import type { Happened } from "./lock-history.js";
import { readThenWriteLocks } from "./read-then-write-locks.js";
import { runInterleaving } from "./run-interleaving.js";

const RUNS = shareOf(200);
/** So many run side by side, each in a database of its own. */
const LANES = 5;
const TRIES = 20;
/** All runs take about half a minute on two idle cores; this is for a machine that has much else to do. */
const LIMIT_MS = 400_000;
const TIMEOUT_MS = LIMIT_MS + 60_000;

/** `SVC_SEED=<seed> npm test -- test/interleavings` repeats a run, with `SVC_PATH=<path>` one counterexample of it. */
const seed = Number(process.env.SVC_SEED ?? Math.floor(Math.random() * 2 ** 31));
const path = process.env.SVC_PATH;

interface Lane {
  readonly redis: Redis;
  readonly stores: readonly [Stores, Stores];
}

let server: RedisServer;
const lanes: Lane[] = [];

beforeAll(async () => {
  server = await RedisServer.start();
  for (let db = 0; db < LANES; db += 1) {
    const stores = () => createRedisStores({ address: server.address, db, tls: false }, { log: recordingLog() });
    lanes.push({ redis: new Redis(server.port, "127.0.0.1", { db }), stores: [stores(), stores()] });
  }
  process.stdout.write(`interleavings of lock events: SVC_SEED=${seed}\n`);
});

afterAll(async () => {
  for (const { redis, stores } of lanes) {
    redis.disconnect();
    await Promise.all(stores.map((each) => each.close()));
  }
  await server.stop();
});

type ReplaceLocks = (lane: Lane) => ((store: LockStore, delay: Delay) => LockStore) | undefined;

/**
 * Checks the property in all lanes at once; their seeds follow each other. Timers and Redis make each run a little
 * different, so what failed once, and what is made of it by shrinking, is tried several times.
 */
async function checkEverywhere(
  seen: (history: readonly Happened[]) => void,
  replaceLocks: ReplaceLocks,
  { shrink }: { readonly shrink: boolean },
) {
  const used = path === undefined ? lanes : lanes.slice(0, 1);
  return Promise.all(
    used.map((lane, index) => {
      let tries = path === undefined ? 1 : TRIES;
      const property = fc.asyncProperty(interleaving, async (given: Interleaving) => {
        for (let left = tries; left > 0; left -= 1) {
          await lane.redis.flushdb();
          const { violations, history } = await runInterleaving(given, lane.stores, replaceLocks(lane));
          seen(history);
          if (violations.length === 0) continue;
          tries = TRIES;
          throw new Error(violations.join("\n"));
        }
      });
      const numRuns = path === undefined ? RUNS / LANES : 1;
      return fc.check(property, {
        seed: seed + index,
        path,
        numRuns,
        endOnFailure: !shrink || path !== undefined,
        plugins: [fc.interruptAfterTimeLimit(LIMIT_MS)],
      });
    }),
  );
}

test(
  "no application is held by two change requests, nobody releases another's lock, and a closed one keeps none",
  async () => {
    const histories: (readonly Happened[])[] = [];
    const results = await checkEverywhere(
      (history) => histories.push(history),
      () => undefined,
      { shrink: true },
    );
    for (const result of results) {
      if (result.failed) throw new Error(`${String(result.errorInstance)}\n${fc.defaultReportMessage(result)}`);
    }
    if (path !== undefined) return;
    expect(histories.length).toBe(RUNS);
    // The runs are worth something only if what they are about happens in them.
    const count = (wanted: (one: Happened) => boolean) => histories.flat().filter(wanted).length;
    const counts = {
      taken: count((one) => one.kind === "acquire" && one.outcome === "fresh"),
      refused: count((one) => one.kind === "acquire" && one.outcome === "held"),
      released: count((one) => one.kind === "release" && one.outcome === true),
      synced: count((one) => one.kind === "sync"),
    };
    process.stdout.write(`interleavings of lock events: ${JSON.stringify(counts)}\n`);
    for (const number of Object.values(counts)) expect(number).toBeGreaterThan(RUNS / 10);
  },
  TIMEOUT_MS,
);

test(
  "the same interleavings find an acquire that reads and then writes",
  async () => {
    const planted: ReplaceLocks =
      ({ redis }) =>
      (store, delay) =>
        readThenWriteLocks(store, redis, delay);
    const results = await checkEverywhere(() => undefined, planted, { shrink: false });
    const failed = results.filter((result) => result.failed);
    expect(failed.length).toBeGreaterThan(0);
    expect(failed.map((result) => String(result.errorInstance)).join("\n")).toMatch(/held by .+ at once/);
  },
  TIMEOUT_MS,
);
