import { randomUUID } from "node:crypto";
import { LRUCache } from "lru-cache";
import * as z from "zod";
import { COMMAND_NAMES } from "../../core/commands/commands.js";
import { changeRequestKey, changeRequestRef, type ChangeRequestRef } from "../../core/model/change-request.js";
import { parseJson } from "../../core/model/json.js";
import type { LiveFeed, LiveRun } from "../../core/ports/live-feed.js";
import type { RedisClient, StoreConnection } from "../../http/redis.js";
import { LIVE_CHANNEL, LIVE_KEY_PREFIX } from "../../names.js";
import { MemoryLiveFeed } from "../memory/live-feed.js";
import { stored } from "./stored-value.js";

/** Longer than a sync may take; after that, a run that never ended is dropped. */
const KEPT_MS = 15 * 60_000;
const MAX_ENDED = 1_000;

const phase = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("waiting") }),
  z.object({ kind: z.literal("running"), done: z.number(), total: z.number(), message: z.string() }),
  z.object({ kind: z.literal("ended"), outcome: z.enum(["succeeded", "failed", "unknown"]) }),
]);

const liveRun = z.object({
  runId: z.string(),
  command: z.enum(COMMAND_NAMES),
  startedAt: z.string(),
  applications: z.array(z.object({ application: stored.application, phase })),
  ended: z.boolean(),
});

const message = z.object({ v: z.literal(1), from: z.string(), change: stored.change, run: liveRun });

/** Shows the runs of all replicas to the pages of each. While Redis is unavailable, pages see only their own replica's. */
export class RedisLiveFeed implements LiveFeed {
  readonly #self = randomUUID();
  readonly #local = new MemoryLiveFeed();
  readonly #ended = new LRUCache<string, true>({ max: MAX_ENDED });
  #subscriber: RedisClient | undefined;
  /** Resolves once subscribed. */
  #subscribed: Promise<unknown> = Promise.resolve();

  constructor(private readonly connection: StoreConnection) {}

  publish(change: ChangeRequestRef, run: LiveRun): void {
    this.#show(change, run);
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
    this.#subscribed = redis.subscribe(LIVE_CHANNEL).catch(() => undefined);
  }

  /** Shows a run that another replica published before this one subscribed. */
  async #lookUp(change: ChangeRequestRef): Promise<void> {
    await this.#subscribed;
    const key = LIVE_KEY_PREFIX + changeRequestKey(change);
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
