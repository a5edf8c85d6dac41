import { once } from "node:events";
import { Cluster } from "ioredis";
import type { Log } from "../../core/ports/log.js";
import { STORE_TITLE } from "../../names.js";
import type { StoreStatus } from "../stores.js";
import { afterAwake } from "./awake-timer.js";
import { createFastClient, createPatientClient, primariesOf, type RedisClient } from "./client.js";
import { warnOfLosses } from "./durability.js";
import { describeProblem, isSelect, refused, replyCode, unavailable, withoutArguments } from "./failure.js";
import { placeOf, type RedisConfig } from "./redis-config.js";

/** Together with one command under a second. */
const FIRST_CONNECTION_MS = 300;
const LAST_WAIT_MS = 1000;

const TIMED_OUT = "timed out";
/** What a failure means that carries no code. */
const SILENCE = {
  single: TIMED_OUT,
  sentinel: "no sentinel names a primary that can be reached",
  cluster: "no node of the cluster answers",
} as const;
const CONNECTION_CLOSED = "connection closed";

/** One connection for commands; it reconnects by itself and fails fast while it is away. */
export class RedisConnection {
  readonly #config: RedisConfig;
  readonly #redis: RedisClient;
  readonly #log: Log;
  /** Why the store cannot be used now; undefined while it can, or while nobody knows yet. */
  #problem: string | undefined;
  #closing = false;
  readonly #firstAttempt: Promise<void>;

  constructor(config: RedisConfig, log: Log) {
    this.#config = config;
    this.#log = log.child({ address: placeOf(config) });
    const redis = createFastClient(config);
    this.#redis = redis;
    redis.on("error", (error: unknown) => {
      this.#away(describeProblem(error) ?? this.#problem ?? SILENCE[kindOf(config)], error);
      // Never work on another database than the configured one.
      if (isSelect(error)) redis.disconnect(true);
    });
    redis.on("close", () => this.#away(this.#problem ?? CONNECTION_CLOSED));
    redis.on("ready", () => this.#back());
    redis.once("ready", () => void warnOfLosses(redis, this.#log));
    this.#firstAttempt = new Promise((resolve) => {
      const callOff = afterAwake(FIRST_CONNECTION_MS, resolve);
      const end = () => {
        callOff();
        resolve();
      };
      redis.once("ready", end).once("error", end).once("end", end);
    });
  }

  /**
   * Runs commands; every failure becomes an error class of ours within a second.
   * @throws {StoreUnavailable} a command that was cut off by a time-out may have been executed all the same.
   */
  async run<T>(commands: (redis: RedisClient) => Promise<T>): Promise<T> {
    if (!this.#ready()) await this.#firstAttempt;
    if (!this.#ready()) throw unavailable(this.#problem ?? TIMED_OUT);
    try {
      gatherWrites(this.#redis);
      const answer = await commands(this.#redis);
      this.#back();
      return answer;
    } catch (error) {
      if (replyCode(error) !== undefined) throw refused(error);
      // What was lost with a connection has no code of its own, even before the end of that is known.
      const own = this.#ready() ? describeProblem(error) : undefined;
      const problem = own ?? this.#problem ?? CONNECTION_CLOSED;
      this.#away(problem, error);
      throw unavailable(problem, error);
    }
  }

  /** @throws {StoreUnavailable} unless every server that owns keys answers. */
  async ping(): Promise<void> {
    await this.run(async (redis) => Promise.all(primariesOf(redis).map((server) => server.ping())));
  }

  /**
   * A connection of its own to the same Redis, for one who waits as long as it takes: commands are kept while Redis is
   * away, and blocking ones have no end. Whoever asked for it listens to its errors and disconnects it.
   */
  patient(): RedisClient {
    return createPatientClient(this.#config);
  }

  status(): StoreStatus {
    if (this.#ready() && this.#problem === undefined) return { kind: "ready" };
    return { kind: "unavailable", problem: unavailable(this.#problem ?? "not connected yet").message };
  }

  /** Ends the connection; commands that are under way fail. */
  async close(): Promise<void> {
    this.#closing = true;
    // Between two attempts to connect there is nothing to wait for, and ioredis tells no end.
    const connected = this.#redis.status !== "end" && this.#redis.status !== "reconnecting";
    const ended = connected ? once(this.#redis, "end", { signal: AbortSignal.timeout(LAST_WAIT_MS) }) : undefined;
    this.#redis.disconnect();
    // What is left of a connection that does not end holds nobody up.
    await ended?.catch(() => undefined);
  }

  #ready(): boolean {
    return this.#redis.status === "ready";
  }

  /** One line per outage, however many commands and connections fail in it. */
  #away(problem: string, error?: unknown): void {
    if (this.#closing) return;
    if (this.#problem === undefined) {
      const err = error === undefined ? undefined : withoutArguments(error);
      this.#log.error({ problem, err }, `${STORE_TITLE} cannot be used`);
    }
    this.#problem = problem;
  }

  #back(): void {
    if (!this.#ready() || this.#problem === undefined) return;
    this.#problem = undefined;
    this.#log.info({}, `${STORE_TITLE} answers again`);
  }
}

/**
 * Sends the commands of one turn of the event loop in one write: each write is a call to the kernel, which costs more
 * than most commands. Unlike with ioredis's own pipelining they stay commands of their own.
 */
function gatherWrites(redis: RedisClient): void {
  if (redis instanceof Cluster || redis.stream.writableCorked > 0) return;
  const { stream } = redis;
  stream.cork();
  setImmediate(() => stream.uncork());
}

function kindOf(config: RedisConfig): keyof typeof SILENCE {
  if ("address" in config) return "single";
  return "sentinel" in config ? "sentinel" : "cluster";
}
