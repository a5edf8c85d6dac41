import { createHash } from "node:crypto";
import { Queue, Worker } from "bullmq";
import type { Log } from "../core/ports/log.js";
import { QUEUE_KEY_PREFIX } from "../names.js";
import type { QueueConnection, QueueRedis } from "./queue-commands.js";

const NAME = "drain";
/** Jobs that are added within so many milliseconds travel together: each call of BullMQ costs more than its work in Redis. */
const GATHERED_MS = 10;
/** How long `close` waits for BullMQ, whose own waiting has no end. */
const LAST_WAIT_MS = 1000;

/** Says that a change request has an event to run. */
export interface DrainJob {
  readonly change: string;
  /** The delivery that made it necessary: whoever took it knows that it was accepted. */
  readonly accepted?: string;
}

export interface DrainJobsParts {
  readonly connection: QueueConnection;
  readonly concurrency: number;
  /** How long BullMQ believes that a silent worker lives, and how often it looks, in milliseconds. */
  readonly lockMs: number;
  readonly lookEveryMs: number;
  /** Runs the next event of a change request; never rejects. */
  readonly work: (job: DrainJob) => Promise<void>;
  readonly log: Log;
}

/**
 * BullMQ's part of the queue: it hands out, over all replicas, which change request is next. A job carries no event and
 * may be lost or run twice without harm.
 */
export class DrainJobs {
  readonly #redis: QueueRedis;
  readonly #queue: Queue<DrainJob, void>;
  readonly #worker: Worker<DrainJob, void>;
  readonly #log: Log;
  readonly #gathered: Parameters<Queue<DrainJob, void>["addBulk"]>[0] = [];
  #adding: Promise<void> | undefined;

  constructor({ connection, concurrency, lockMs, lookEveryMs, work, log }: DrainJobsParts) {
    this.#log = log;
    this.#redis = connection.patient();
    // The connection of the stores tells of outages; this one has the same.
    this.#redis.on("error", (error: unknown) => log.debug({ err: error }, "the queue's connection broke"));
    const common = { connection: this.#redis, prefix: QUEUE_KEY_PREFIX, skipVersionCheck: true };
    this.#queue = new Queue<DrainJob, void>(NAME, { ...common, streams: { events: { maxLen: 100 } } });
    this.#worker = new Worker<DrainJob, void>(NAME, ({ data }) => work(data), {
      ...common,
      concurrency,
      lockDuration: lockMs,
      stalledInterval: lookEveryMs,
      // How often an event is begun is counted with the event.
      maxStalledCount: 1_000_000,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
    });
    this.#queue.on("error", (error) => log.debug({ err: error }, "BullMQ reported an error"));
    this.#worker.on("error", (error) => log.debug({ err: error }, "BullMQ reported an error"));
  }

  /**
   * Adds a job unless it is there, a moment later; one that cannot be added is added by the next look for change requests
   * without one. Resolves either way.
   */
  add(job: DrainJob, generation: string, delayMs = 0): Promise<void> {
    const jobId = `${createHash("sha256").update(job.change).digest("hex").slice(0, 32)}-${generation}`;
    const opts = { jobId, delay: delayMs, removeOnComplete: true, removeOnFail: true, attempts: 1 };
    this.#gathered.push({ name: NAME, data: job, opts });
    this.#adding ??= this.#addGathered();
    return this.#adding;
  }

  async #addGathered(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, GATHERED_MS));
    this.#adding = undefined;
    const jobs = this.#gathered.splice(0);
    try {
      await this.#queue.addBulk(jobs);
    } catch (error) {
      this.#log.debug({ err: error, changes: jobs.map(({ data }) => data.change) }, "jobs could not be added");
    }
  }

  /** Takes no more jobs; those that run go on. */
  async pause(): Promise<void> {
    await this.#worker.pause(true);
  }

  async close(): Promise<void> {
    const closed = Promise.allSettled([this.#worker.close(true), this.#closeQueue()]);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, LAST_WAIT_MS);
    });
    await Promise.race([closed, late]);
    clearTimeout(timer);
    this.#redis.disconnect();
  }

  async #closeQueue(): Promise<void> {
    await this.#adding;
    await this.#queue.close();
  }
}
