import { randomUUID } from "node:crypto";
import type { Cluster, Redis } from "ioredis";
import { z } from "zod";
import { COMMAND_NAMES } from "../../core/commands/commands.js";
import { changeRequestKey, changeRequestRef, type ChangeRequestRef } from "../../core/model/change-request.js";
import type { LiveRun } from "../../core/model/live-run.js";
import { LruCache } from "../../core/model/lru-cache.js";
import type { LiveFeed } from "../../core/ports/live-feed.js";
import { LIVE_CHANNEL, LIVE_KEY_PREFIX } from "../../names.js";
import { MemoryLiveFeed } from "../memory/live-feed.js";
import type { StoreConnection } from "../stores.js";
import { storedApplication, storedHost, storedNumber, storedRepository } from "./scalars.js";

/** Longer than a sync may take; a run that nobody ended is forgotten then. */
const KEPT_MS = 15 * 60_000;
const MOST_ENDED = 1_000;

const phase = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("waiting") }),
  z.object({ kind: z.literal("running"), done: z.number(), total: z.number(), message: z.string() }),
  z.object({ kind: z.literal("ended"), outcome: z.enum(["succeeded", "failed", "unknown"]) }),
]);

const liveRun = z.object({
  run: z.string(),
  command: z.enum(COMMAND_NAMES),
  began: z.string(),
  applications: z.array(z.object({ application: storedApplication, phase })),
  ended: z.boolean(),
});

const message = z.object({
  v: z.literal(1),
  from: z.string(),
  change: z.object({ host: storedHost, repository: storedRepository, number: storedNumber }),
  run: liveRun,
});

/** Runs of all replicas, for the pages of each. Pages are a convenience: what Redis does not take is told here alone. */
export class RedisLiveFeed implements LiveFeed {
  readonly #self = randomUUID();
  readonly #here = new MemoryLiveFeed();
  readonly #ended = new LruCache<true>(MOST_ENDED);
  #ear: Redis | Cluster | undefined;
  /** Resolves when everything that is told from then on is heard. */
  #listening: Promise<unknown> = Promise.resolve();

  constructor(private readonly connection: StoreConnection) {}

  publish(change: ChangeRequestRef, run: LiveRun): void {
    this.#tell(change, run);
    const text = JSON.stringify({ v: 1, from: this.#self, change: changeRequestRef(change), run });
    const key = LIVE_KEY_PREFIX + changeRequestKey(change);
    this.connection
      .run(async (redis) => {
        const kept = run.ended ? redis.del(key) : redis.set(key, text, "PX", KEPT_MS);
        await Promise.all([kept, redis.publish(LIVE_CHANNEL, text)]);
      })
      .catch(() => undefined);
  }

  subscribe(change: ChangeRequestRef, listener: (run: LiveRun) => void): () => void {
    this.#listen();
    void this.#lookUp(change);
    return this.#here.subscribe(change, listener);
  }

  close(): void {
    this.#ear?.disconnect();
    this.#ear = undefined;
  }

  #listen(): void {
    if (this.#ear !== undefined) return;
    const redis = this.connection.patient();
    this.#ear = redis;
    redis.on("error", () => undefined); // the connection for commands reports it
    redis.on("message", (_channel: string, text: string) => this.#heard(text));
    this.#listening = redis.subscribe(LIVE_CHANNEL).catch(() => undefined);
  }

  /** What another replica runs and told before this one listened. */
  async #lookUp(change: ChangeRequestRef): Promise<void> {
    await this.#listening;
    const key = LIVE_KEY_PREFIX + changeRequestKey(change);
    const text = await this.connection.run((redis) => redis.get(key)).catch(() => null);
    if (text !== null) this.#heard(text);
  }

  #heard(text: string): void {
    const heard = readMessage(text);
    if (heard === undefined || heard.from === this.#self || this.#ended.get(heard.run.run) === true) return;
    this.#tell(heard.change, heard.run);
  }

  #tell(change: ChangeRequestRef, run: LiveRun): void {
    if (run.ended) this.#ended.set(run.run, true, 1);
    this.#here.publish(change, run);
  }
}

/** Undefined for what another version of this service wrote. */
function readMessage(text: string): z.infer<typeof message> | undefined {
  try {
    return message.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
