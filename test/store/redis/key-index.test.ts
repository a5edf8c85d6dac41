import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import fc from "fast-check";
import { Redis } from "ioredis";
import { applicationName, repositoryName } from "../../../src/core/model/brand.js";
import { KeyIndex } from "../../../src/store/redis/key-index.js";
import { createRedisStores } from "../../../src/store/redis/redis-stores.js";
import { recordingLog } from "../../recording-log.js";
import { RedisServer } from "../../redis-server.js";

const PREFIX = "svc:lock:";
const INDEX = "svc:index:lock";
const HOUR_MS = 60 * 60_000;

let server: RedisServer;
let raw: Redis;
beforeAll(async () => {
  server = await RedisServer.start();
  raw = new Redis(server.port, "127.0.0.1");
});
afterAll(async () => {
  raw.disconnect();
  await server.stop();
});
beforeEach(async () => {
  await raw.flushall();
});

/** As if every name had been entered so long before. */
async function age(milliseconds: number): Promise<void> {
  for (const name of await raw.zrange(INDEX, "0", "-1")) await raw.zincrby(INDEX, -milliseconds, name);
}

async function present(index: KeyIndex): Promise<ReadonlySet<string>> {
  const keys = await index.keys(raw);
  expect(new Set(keys).size).toBe(keys.length);
  const exist = await Promise.all(keys.map((key) => raw.exists(key)));
  return new Set(keys.filter((_, at) => exist[at] === 1));
}

const name = fc.constantFrom("web", "api", "a:b", "ä", "+inf", "web*");
const act = fc.oneof(
  fc.record({ kind: fc.constant("write" as const), name }),
  fc.record({ kind: fc.constant("remove" as const), name }),
  fc.record({ kind: fc.constant("reindex" as const), hours: fc.nat(2) }),
);

test("every key that was entered before it was written is listed, whatever happens in between", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 25 }), async (acts) => {
      await raw.flushall();
      const index = new KeyIndex(PREFIX);
      for (const one of acts) {
        if (one.kind === "write") {
          await index.enter(raw, [one.name]);
          await raw.set(PREFIX + one.name, "x");
        } else if (one.kind === "remove") {
          await raw.del(PREFIX + one.name);
        } else {
          await age(one.hours * HOUR_MS);
          await index.reindex(raw);
        }
        expect(await present(index)).toEqual(new Set(await raw.keys(`${PREFIX}*`)));
      }
    }),
    { numRuns: 60 },
  );
});

test("what another program wrote is listed from the start, and after that by the next reindex", async () => {
  await raw.set("svc:lock:web", "x");
  await raw.set("svc:lock", "not ours");
  const index = new KeyIndex(PREFIX);
  expect(await index.keys(raw)).toEqual(["svc:lock:web"]);
  await raw.set("svc:lock:api", "x");
  await index.reindex(raw);
  expect(new Set(await index.keys(raw))).toEqual(new Set(["svc:lock:web", "svc:lock:api"]));
});

test("a name whose key is gone is forgotten after an hour, and one whose key is about to be written never", async () => {
  const index = new KeyIndex(PREFIX);
  await index.enter(raw, ["old", "waiting"]);
  await age(HOUR_MS + 1000);
  await index.enter(raw, ["waiting"]);
  await index.reindex(raw);
  expect(await index.keys(raw)).toEqual(["svc:lock:waiting"]);
});

test("a key that the search misses keeps its name", async () => {
  const index = new KeyIndex(PREFIX);
  await index.enter(raw, ["web"]);
  await raw.set("svc:lock:web", "x");
  await age(2 * HOUR_MS);
  const blind = raw.duplicate();
  Object.assign(blind, { scan: () => Promise.resolve(["0", []]) });
  await index.reindex(blind);
  expect(await index.keys(raw)).toEqual(["svc:lock:web"]);
  blind.disconnect();
});

test("a name that is entered again while its key is looked for stays", async () => {
  const index = new KeyIndex(PREFIX);
  await index.enter(raw, ["web"]);
  await age(2 * HOUR_MS);
  const meanwhile = raw.duplicate();
  const { scan } = meanwhile;
  Object.assign(meanwhile, {
    scan: async (...args: Parameters<typeof scan>) => {
      const answer = await scan.apply(meanwhile, args);
      await index.enter(raw, ["web"]);
      return answer;
    },
  });
  await index.reindex(meanwhile);
  await raw.set("svc:lock:web", "x");
  expect(await index.keys(raw)).toEqual(["svc:lock:web"]);
  meanwhile.disconnect();
});

test("a list goes through its own keys, however many others there are", async () => {
  const stores = createRedisStores({ address: server.address, db: 0, tls: false }, { log: recordingLog() });
  const change = { host: "hosta", repository: repositoryName("acme/deploy"), repositoryId: "1", number: 7 } as const;
  const web = applicationName("web");
  const lists = () =>
    Promise.all([
      stores.locks.list(),
      stores.waiting.list(),
      stores.holds.list(),
      stores.deployments.list(),
      stores.marks.applications(),
    ]);
  await lists();
  await raw.mset(...Array.from({ length: 3000 }, (_, at) => [`svc:other:${at}`, "x"]).flat());
  const request = { application: web, holder: change, user: "ana", planRevision: undefined, sourceFile: undefined };
  await stores.locks.acquire(request, new Date());
  await raw.config("RESETSTAT");
  const [locks] = await lists();
  expect(locks.map(({ application }) => application)).toEqual(["web"]);
  expect(await raw.info("commandstats")).not.toContain("cmdstat_scan");
  await stores.reindex();
  expect(await raw.info("commandstats")).toContain("cmdstat_scan");
  await stores.close();
});
