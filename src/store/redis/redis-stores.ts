import { randomUUID } from "node:crypto";
import { RedisStore } from "connect-redis";
import type { Store as SessionStore } from "express-session";
import { LRUCache } from "lru-cache";
import * as z from "zod";
import type { ApplicationName } from "../../core/model/brand.js";
import {
  changeRequestKey,
  type ChangeRequestRef,
  changeRequestRef,
  identityKey,
  sameChangeRequest,
} from "../../core/model/change-request.js";
import type { Deployment } from "../../core/model/deployment.js";
import type { OnUnreadable } from "../../core/model/errors.js";
import { isJsonObject, parseJson } from "../../core/model/json.js";
import {
  AUDIT_ACTIONS,
  AUDIT_CAPACITY,
  type AuditEntry,
  type AuditLog,
  type AuditQuery,
  type AuditRecord,
  matchesAudit,
} from "../../core/ports/audit.js";
import type { LiveFeed, LiveRun } from "../../core/ports/live-feed.js";
import type { Log } from "../../core/ports/log.js";
import type { AttemptCounter, ContentBudget, ContentLimit, DeploymentStore, Taken } from "../../core/ports/stores.js";
import { keepSubscribed, type RedisClient, RedisScript, type StoreConnection, vouched } from "../../http/redis.js";
import { KEYS } from "../../names.js";
import { MemoryLiveFeed } from "../memory/memory-stores.js";
import { MemoryContentBudget } from "../memory/outbox.js";
import { byApplication, type Stores } from "../stores.js";
import { RedisConnection } from "./connection.js";
import { KeyIndex } from "./key-index.js";
import { RedisHoldStore, RedisLockStore, RedisRolloutStore, RedisWaitStore } from "./lock-store.js";
import { RedisPlanStore } from "./plan-store.js";
import type { RedisConfig } from "./redis-config.js";
import { RedisMarkStore, RedisStatusStore } from "./status-store.js";
import { readEach, readStored, stored } from "./stored-value.js";
import { RedisUserStore } from "./user-store.js";

/** Stores in Redis. It may be unavailable at the start or later; the stores work again as soon as it answers. */
export function createRedisStores(config: RedisConfig, parts: { readonly log: Log }): Stores {
  const connection = new RedisConnection(config, parts.log);
  const live = new RedisLiveFeed(connection);
  const indexed = {
    locks: new RedisLockStore(connection),
    waiting: new RedisWaitStore(connection),
    holds: new RedisHoldStore(connection),
    deployments: new RedisDeploymentStore(connection),
    marks: new RedisMarkStore(connection),
  };
  return {
    connection,
    ...indexed,
    rollouts: new RedisRolloutStore(connection, parts.log),
    plans: new RedisPlanStore(connection),
    statuses: new RedisStatusStore(connection),
    audit: new RedisAuditLog(connection),
    users: new RedisUserStore(connection),
    sessions: createRedisSessions(connection),
    attempts: new RedisAttemptCounter(connection),
    live,
    content: new RedisContentBudget(connection),
    async reindex() {
      for (const { index } of Object.values(indexed)) await connection.run((redis) => index.reindex(redis));
    },
    ping: () => connection.ping(),
    close: () => {
      live.close();
      return connection.close();
    },
  };
}

/** Web sessions under `svc:session:<id>`. Redis removes them when they expire; requests do not prolong them. */
function createRedisSessions(connection: RedisConnection): SessionStore {
  // connect-redis makes its calls through our connection, so that an outage becomes `StoreUnavailable`.
  const client = {
    get: (key: string) => connection.run((redis) => redis.get(key)),
    set: (key: string, value: string, _unit: "EX", seconds: number) =>
      connection.run((redis) => redis.set(key, value, "EX", seconds)),
    del: (keys: string[]) => connection.run((redis) => redis.del(keys)),
  };
  return new RedisStore({
    client,
    prefix: KEYS.session,
    ttl: ({ lifetimeMs = 0 }) => Math.max(1, Math.ceil(lifetimeMs / 1000)),
    // Otherwise every request would prolong the session.
    disableTouch: true,
  });
}

const attemptReplies = z.tuple([z.unknown(), z.tuple([z.null(), z.int()]), z.tuple([z.null(), z.int()])]);

/** One number per address, `svc:login-attempts:<key>`, which Redis removes at the end of its window. */
class RedisAttemptCounter implements AttemptCounter {
  constructor(private readonly connection: RedisConnection) {}

  async add(key: string, windowMs: number): ReturnType<AttemptCounter["add"]> {
    const name = KEYS.loginAttempt + key;
    return this.connection.run(async (redis) => {
      // In one transaction: a number that never expires would lock the address out for good.
      const answer = await redis.multi().set(name, 0, "PX", windowMs, "NX").incr(name).pttl(name).exec();
      const [, [, count], [, resetsInMs]] = attemptReplies.parse(answer);
      return { count, resetsInMs };
    });
  }
}

const TAKE = new RedisScript(new URL("take-content.lua", import.meta.url));

const answer = z.tuple([z.enum(["taken", "full"]), z.int()]);

/** Counts the writes of all replicas, by Redis's clock; those of this process as well, for while Redis is unavailable. */
class RedisContentBudget implements ContentBudget {
  readonly #own = new MemoryContentBudget(() => Date.now());

  constructor(private readonly connection: RedisConnection) {}

  async take(account: string, rank: number, limits: readonly ContentLimit[]): Promise<Taken> {
    const keys = [KEYS.content + account];
    const args = [rank, randomUUID(), ...limits.flatMap((limit) => [limit.windowMs, limit.max, limit.rank])];
    try {
      const [kind, freeInMs] = answer.parse(await this.connection.run((redis) => TAKE.run(redis, keys, args)));
      if (kind === "full") return { kind, freeInMs };
      this.#own.add(account, rank, limits);
      return { kind };
    } catch {
      // Whatever Redis answers, or an operator put there, must not silence the service. The status page shows its outages.
      return this.#own.take(account, rank, limits);
    }
  }
}

const deployment = vouched<Deployment>(
  z.object({
    application: stored.application,
    change: stored.change,
    revision: stored.revision,
    outcome: z.enum(["started", "succeeded", "failed", "unknown"]),
    specBefore: stored.spec,
    timestamp: stored.time,
    pins: stored.list,
    approvers: stored.list,
  }),
);

const deploymentRecord = z.object({ v: z.literal(1), deployment });

const END_DEPLOYMENT = new RedisScript(new URL("end-deployment.lua", import.meta.url));

/**
 * What is deployed and not merged: one hash per application, `svc:deployment:<application>`, with a field per change request, by
 * the id of its repository. Older versions wrote fields by name.
 */
class RedisDeploymentStore implements DeploymentStore {
  readonly index = new KeyIndex(KEYS.deployment);

  constructor(private readonly connection: RedisConnection) {}

  async save(deployment: Deployment): Promise<void> {
    const { application, change } = deployment;
    const [key, field, byName] = [deploymentKey(application), identityKey(change), changeRequestKey(change)];
    const record = JSON.stringify({ v: 1, deployment });
    await this.connection.run((redis) => this.index.enter(redis, [application]));
    await this.connection.run((redis) => redis.hset(key, field, record));
    if (field !== byName) await this.connection.run((redis) => redis.hdel(key, byName));
  }

  async remove(application: ApplicationName, change: ChangeRequestRef, uid?: string): Promise<void> {
    const key = deploymentKey(application);
    const found = (await this.#read([key], () => undefined)).filter((record) =>
      sameChangeRequest(record.change, change),
    );
    const fields = found.map((record) => identityKey(record.change));
    await this.connection.run((redis) =>
      Promise.all(
        fields.map((field) =>
          uid === undefined ? redis.hdel(key, field) : END_DEPLOYMENT.run(redis, [key], [field, uid]),
        ),
      ),
    );
  }

  async ofApplication(application: ApplicationName): Promise<readonly Deployment[]> {
    return this.#read([deploymentKey(application)]);
  }

  async ofChange(change: ChangeRequestRef, skip?: OnUnreadable): Promise<readonly Deployment[]> {
    return (await this.list(skip)).filter((deployment) => sameChangeRequest(deployment.change, change));
  }

  async list(skip?: OnUnreadable): Promise<readonly Deployment[]> {
    return this.#read(await this.connection.run((redis) => this.index.keys(redis)), skip);
  }

  async #read(keys: readonly string[], skip?: OnUnreadable): Promise<readonly Deployment[]> {
    const records = await this.connection.run((redis) =>
      Promise.all(keys.map(async (key) => ({ key, values: await redis.hvals(key) }))),
    );
    const texts = records.flatMap(({ key, values }) => values.map((text) => ({ key, text })));
    const read = ({ key, text }: (typeof texts)[number]) =>
      readStored(deploymentRecord, text, "the record of a deployment", key).deployment;
    return [...readEach(texts, read, skip)].sort(byApplication);
  }
}

function deploymentKey(application: ApplicationName): string {
  return KEYS.deployment + application;
}

const auditEntry = vouched<AuditEntry>(
  z.object({ at: stored.time, runId: z.string(), action: z.enum(AUDIT_ACTIONS), applications: stored.list }),
);
const auditRecord = z.object({ v: z.literal(1), entry: auditEntry });

/** @param id of the entry in the stream. @throws {StoredValueUnreadable} */
function readAuditEntry(text: string, id: string): AuditEntry {
  const cure = `remove this entry: XDEL ${KEYS.audit} ${id}`;
  return readStored(auditRecord, text, `the entry ${id} of the audit trail`, KEYS.audit, cure).entry;
}

/** The only field of a stream entry; its value is the record as JSON. */
const FIELD = "entry";
/** An entry may name thousands of applications: a hundred of these are read in a fifth of a second. */
const CHUNK = 100;

/** The audit trail as a stream. Redis trims it in whole blocks, so it may exceed its capacity by some hundred entries. */
class RedisAuditLog implements AuditLog {
  constructor(private readonly connection: RedisConnection) {}

  async record(entry: AuditEntry): Promise<void> {
    const record = JSON.stringify({ v: 1, entry });
    await this.connection.run((redis) => redis.xadd(KEYS.audit, "MAXLEN", "~", AUDIT_CAPACITY, "*", FIELD, record));
  }

  async list({ limit, before, filter }: AuditQuery): Promise<readonly AuditRecord[]> {
    const found: AuditRecord[] = [];
    let end = before;
    for (;;) {
      const from = end === undefined ? "+" : `(${end}`;
      const chunk = await this.connection.run((redis) => redis.xrevrange(KEYS.audit, from, "-", "COUNT", CHUNK));
      for (const [id, [, record = ""]] of chunk) {
        if (found.length === limit) return found;
        const entry = readAuditEntry(record, id);
        if (matchesAudit(entry, filter)) found.push({ ...entry, id });
      }
      end = chunk.at(-1)?.[0];
      if (end === undefined || chunk.length < CHUNK) return found;
    }
  }
}

/** Longer than a sync may take; after that, a run that never ended is dropped. */
const KEPT_MS = 15 * 60_000;
const MAX_ENDED = 1_000;

/** Whether a page can show the progress of an application: what throws in a listener would end the process. */
const progress = z.custom<LiveRun["applications"][number]>((one) => isJsonObject(one) && isJsonObject(one.phase));
const liveRun = vouched<LiveRun>(
  z.object({ runId: z.string(), startedAt: z.string(), applications: z.array(progress), ended: z.boolean() }),
);

const message = z.object({ v: z.literal(1), from: z.string(), change: stored.change, run: liveRun });

/** Shows the runs of all replicas to the pages of each. While Redis is unavailable, pages see only their own replica's. */
class RedisLiveFeed implements LiveFeed {
  readonly #self = randomUUID();
  readonly #local = new MemoryLiveFeed();
  readonly #ended = new LRUCache<string, true>({ max: MAX_ENDED });
  #subscriber: RedisClient | undefined;
  #subscribed: Promise<unknown> = Promise.resolve();

  constructor(private readonly connection: StoreConnection) {}

  publish(change: ChangeRequestRef, run: LiveRun): void {
    this.#show(change, run);
    const text = JSON.stringify({ v: 1, from: this.#self, change: changeRequestRef(change), run });
    const key = KEYS.live + changeRequestKey(change);
    this.connection
      .run(async (redis) => {
        const kept = run.ended ? redis.del(key) : redis.set(key, text, "PX", KEPT_MS);
        await Promise.all([kept, redis.publish(KEYS.liveChannel, text)]);
      })
      .catch(() => undefined);
  }

  subscribe(change: ChangeRequestRef, listener: (run: LiveRun) => void): () => void {
    this.#open();
    void this.#lookUp(change);
    return this.#local.subscribe(change, listener);
  }

  close(): void {
    this.#subscriber?.disconnect();
    this.#subscriber = undefined;
  }

  #open(): void {
    if (this.#subscriber !== undefined) return;
    const redis = this.connection.patient();
    this.#subscriber = redis;
    redis.on("error", () => undefined); // reported by the connection for commands
    redis.on("message", (_channel: string, text: string) => this.#receive(text));
    this.#subscribed = new Promise((resolve) => {
      keepSubscribed(redis, KEYS.liveChannel, { done: () => resolve(undefined), failed: () => resolve(undefined) });
    });
  }

  /** Shows a run that another replica published before this one subscribed. */
  async #lookUp(change: ChangeRequestRef): Promise<void> {
    await this.#subscribed;
    const key = KEYS.live + changeRequestKey(change);
    const text = await this.connection.run((redis) => redis.get(key)).catch(() => null);
    if (text !== null) this.#receive(text);
  }

  #receive(text: string): void {
    // Undefined for a message of another version of this service.
    const received = message.safeParse(parseJson(text)).data;
    if (received === undefined || received.from === this.#self || this.#ended.get(received.run.runId) === true) return;
    this.#show(received.change, received.run);
  }

  #show(change: ChangeRequestRef, run: LiveRun): void {
    if (run.ended) this.#ended.set(run.runId, true);
    this.#local.publish(change, run);
  }
}
