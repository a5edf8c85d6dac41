import { type Job, Queue, UnrecoverableError, Worker } from "bullmq";
import * as z from "zod";
import { parseJson } from "../../core/model/json.js";
import {
  afterAttempt,
  brokenAfter,
  type Delivery,
  type Outbox,
  type OutboxOptions,
  type OutgoingMessage,
  type ReceiverState,
} from "../../core/ports/notifications.js";
import { type RedisClient, type StoreConnection, within } from "../../http/redis.js";
import { OUTBOX_KEY_PREFIX } from "../../names.js";

/** How long `add` waits for Redis, in milliseconds; BullMQ keeps the messages and waits for as long as it takes. */
const ADD_WITHIN_MS = 500;
const KEPT = { age: 7 * 24 * 60 * 60, count: 5_000 };
/** A hash: why the newest attempt failed, by receiver. */
const BROKEN_KEY = `${OUTBOX_KEY_PREFIX}:broken`;

interface DurableOutboxOptions extends OutboxOptions {
  readonly connection: StoreConnection;
  /** How long a replica that stays silent keeps a message, and how often the others look; milliseconds. */
  readonly timing?: { readonly lockMs: number; readonly lookEveryMs: number };
}

interface StoredMessage {
  readonly v: 1;
  readonly body: string;
}

/** An outbox in Redis, shared by all replicas: a message outlives each of them. One queue of BullMQ per receiver. */
export function createDurableOutbox(options: DurableOutboxOptions): Outbox {
  return new DurableOutbox(options);
}

class DurableOutbox implements Outbox {
  readonly #options: DurableOutboxOptions;
  readonly #redis: RedisClient;
  readonly #lines: ReadonlyMap<
    string,
    { readonly queue: Queue<StoredMessage>; readonly worker: Worker<StoredMessage> }
  >;
  readonly #stopping = new AbortController();
  #late = false;

  constructor(options: DurableOutboxOptions) {
    const { connection, receivers, retryAfterMs, timing = { lockMs: 30_000, lookEveryMs: 15_000 }, log } = options;
    this.#options = options;
    this.#redis = connection.patient();
    // The store's own connection reports outages.
    this.#redis.on("error", (error: unknown) => log.debug({ err: error }, "the outbox's connection failed"));
    const common = { connection: this.#redis, prefix: OUTBOX_KEY_PREFIX, skipVersionCheck: true };
    const lines = receivers.map((receiver) => {
      const queue = new Queue<StoredMessage>(receiver, {
        ...common,
        streams: { events: { maxLen: 10 } },
        defaultJobOptions: {
          attempts: retryAfterMs.length + 1,
          backoff: { type: "custom" },
          removeOnComplete: KEPT,
          removeOnFail: KEPT,
          stackTraceLimit: 0,
        },
      });
      const worker = new Worker<StoredMessage>(receiver, (job) => this.#attempt(receiver, job), {
        ...common,
        concurrency: 1,
        lockDuration: timing.lockMs,
        stalledInterval: timing.lookEveryMs,
        // A replica that was killed says nothing about the message.
        maxStalledCount: 1_000_000,
        settings: {
          backoffStrategy: (_attempts, _type, error) => (error instanceof NotDelivered ? error.pauseMs : 0),
        },
      });
      queue.on("error", (error) => log.debug({ err: error, notification: receiver }, "BullMQ reported an error"));
      worker.on("error", (error) => log.debug({ err: error, notification: receiver }, "BullMQ reported an error"));
      return [receiver, { queue, worker }] as const;
    });
    this.#lines = new Map(lines);
  }

  async add(messages: readonly OutgoingMessage[]): Promise<void> {
    const { log } = this.#options;
    const adding = Promise.all(
      messages.map(async ({ receiver, id, body }) => {
        await this.#lines.get(receiver)?.queue.add("message", { v: 1, body }, { jobId: id });
      }),
    ).then(
      () => {
        this.#late = false;
      },
      (error: unknown) => log.warn({ err: error }, "could not queue a notification"),
    );
    if ((await within(ADD_WITHIN_MS, adding)) !== "late" || this.#late) return;
    this.#late = true;
    log.warn({}, "notifications stay in this process until the store answers");
  }

  async states(): Promise<readonly ReceiverState[]> {
    return this.#options.connection.run(async (redis) => {
      const broken = await redis.hgetall(BROKEN_KEY);
      return Promise.all(
        [...this.#lines].map(async ([receiver, { queue }]) => {
          const counts = await Promise.all([
            redis.llen(queue.toKey("wait")),
            redis.llen(queue.toKey("active")),
            redis.zcard(queue.toKey("delayed")),
          ]);
          const waiting = counts.reduce((sum, count) => sum + count, 0);
          return { receiver, waiting, broken: readBroken(broken[receiver]) };
        }),
      );
    });
  }

  async close(graceMs: number): Promise<void> {
    const { clock } = this.#options;
    const lines = [...this.#lines.values()];
    const timer = new AbortController();
    const ended = Promise.allSettled(lines.map(({ worker }) => worker.close()));
    await Promise.race([ended, clock.sleep(graceMs, timer.signal).catch(() => undefined)]);
    timer.abort();
    this.#stopping.abort(new Error("the outbox is closed"));
    await within(
      CLOSE_WITHIN_MS,
      Promise.allSettled(lines.flatMap(({ worker, queue }) => [worker.close(true), queue.close()])),
    );
    this.#redis.disconnect();
  }

  async #attempt(receiver: string, job: Job<StoredMessage>): Promise<void> {
    const { deliver, onAttempt, retryAfterMs } = this.#options;
    const stored = storedMessage.safeParse(job.data).data;
    if (stored === undefined || job.id === undefined) {
      throw new UnrecoverableError("a notification of another version of this service");
    }
    const delivery = await deliver({ receiver, id: job.id, body: stored.body }, this.#stopping.signal);
    if (this.#stopping.signal.aborted && delivery.kind === "failed") {
      throw new NotDelivered("handed back at shutdown", 0);
    }
    await this.#note(receiver, delivery);
    const { pause, outcome } = afterAttempt(job.attemptsMade + 1, delivery, retryAfterMs);
    onAttempt(receiver, outcome, delivery);
    if (delivery.kind === "failed") throw new NotDelivered(delivery.problem, pause ?? 0);
  }

  /** Records the state of a receiver, for the status page only. */
  async #note(receiver: string, delivery: Delivery): Promise<void> {
    const { connection, clock, log } = this.#options;
    try {
      await connection.run(async (redis) => {
        const before = readBroken((await redis.hget(BROKEN_KEY, receiver)) ?? undefined);
        const broken = brokenAfter(delivery, before, clock.now());
        if (broken !== undefined) await redis.hset(BROKEN_KEY, receiver, JSON.stringify({ v: 1, ...broken }));
        else if (before !== undefined) await redis.hdel(BROKEN_KEY, receiver);
      });
    } catch (error) {
      log.debug({ err: error, notification: receiver }, "could not note the state of a receiver");
    }
  }
}

const CLOSE_WITHIN_MS = 1_000;

class NotDelivered extends Error {
  override readonly name = "NotDelivered";
  constructor(
    message: string,
    readonly pauseMs: number,
  ) {
    super(message);
  }
}

const storedMessage = z.object({ v: z.literal(1), body: z.string() });
const storedBroken = z
  .object({ v: z.literal(1), problem: z.string(), since: z.iso.datetime() })
  .transform(({ problem, since }) => ({ problem, since }));

function readBroken(text: string | undefined): ReceiverState["broken"] {
  return text === undefined ? undefined : storedBroken.safeParse(parseJson(text)).data;
}
