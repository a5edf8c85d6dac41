import { createHash } from "node:crypto";
import { Queue, Worker } from "bullmq";
import type { Log } from "../core/ports/log.js";
import { type RedisClient, type StoreConnection, within } from "../http/redis.js";
import { QUEUE_KEY_PREFIX } from "../names.js";

const NAME = "drain";
/** Jobs added within this time (ms) are sent together: a call of BullMQ costs more than the work it causes in Redis. */
const GATHER_MS = 10;
/** How long `close` waits for BullMQ, which may wait forever, in milliseconds. */
const CLOSE_WITHIN_MS = 1000;

interface DrainJob {
  readonly change: string;
  /** The delivery that the job was added for; its presence proves that the accepting replica knows that it was accepted. */
  readonly accepted?: string;
}

interface DrainJobsParts {
  readonly connection: StoreConnection;
  readonly concurrency: number;
  /** After this time (ms) BullMQ considers a silent worker dead. */
  readonly lockMs: number;
  readonly lookEveryMs: number;
  /** Runs the next event of a change request; never rejects. */
  readonly work: (change: string, accepted?: string) => Promise<void>;
  readonly log: Log;
}

/** BullMQ decides, across all replicas, which change request is next. Jobs carry no event, so they may be lost or repeated. */
export class DrainJobs {
  readonly #redis: RedisClient;
  readonly #queue: Queue<DrainJob, void>;
  readonly #worker: Worker<DrainJob, void>;
  readonly #log: Log;
  readonly #gathered: Parameters<Queue<DrainJob, void>["addBulk"]>[0] = [];
  #adding: Promise<void> | undefined;

  constructor({ connection, concurrency, lockMs, lookEveryMs, work, log }: DrainJobsParts) {
    this.#log = log;
    this.#redis = connection.patient();
    // The store's own connection reports outages.
    this.#redis.on("error", (error: unknown) => log.debug({ err: error }, "the queue's connection failed"));
    const common = { connection: this.#redis, prefix: QUEUE_KEY_PREFIX, skipVersionCheck: true };
    this.#queue = new Queue<DrainJob, void>(NAME, { ...common, streams: { events: { maxLen: 100 } } });
    this.#worker = new Worker<DrainJob, void>(NAME, ({ data }) => work(data.change, data.accepted), {
      ...common,
      concurrency,
      lockDuration: lockMs,
      stalledInterval: lookEveryMs,
      // The lane counts how often an event is started.
      maxStalledCount: 1_000_000,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
    });
    this.#queue.on("error", (error) => log.debug({ err: error }, "BullMQ reported an error"));
    this.#worker.on("error", (error) => log.debug({ err: error }, "BullMQ reported an error"));
  }

  /** Adds a job, unless there is one for this generation. Never rejects: the next look for lost jobs adds it. */
  add(job: DrainJob, generation: string, delayMs = 0): Promise<void> {
    const jobId = `${createHash("sha256").update(job.change).digest("hex").slice(0, 32)}-${generation}`;
    const opts = { jobId, delay: delayMs, removeOnComplete: true, removeOnFail: true, attempts: 1 };
    this.#gathered.push({ name: NAME, data: job, opts });
    this.#adding ??= this.#addGathered();
    return this.#adding;
  }

  async #addGathered(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, GATHER_MS));
    this.#adding = undefined;
    const jobs = this.#gathered.splice(0);
    try {
      await this.#queue.addBulk(jobs);
    } catch (error) {
      this.#log.debug({ err: error, changes: jobs.map(({ data }) => data.change) }, "could not add jobs");
    }
  }

  async pause(): Promise<void> {
    await this.#worker.pause(true);
  }

  async close(): Promise<void> {
    await within(CLOSE_WITHIN_MS, Promise.allSettled([this.#worker.close(true), this.#closeQueue()]));
    this.#redis.disconnect();
  }

  async #closeQueue(): Promise<void> {
    await this.#adding;
    await this.#queue.close();
  }
}
