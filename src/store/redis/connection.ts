import { once } from "node:events";
import { Cluster } from "ioredis";
import type { Log } from "../../core/ports/log.js";
import { afterAwake } from "../../http/after-awake.js";
import type { RedisClient, StoreConnection } from "../../http/redis.js";
import { STORE_TITLE } from "../../names.js";
import type { StoreStatus } from "../stores.js";
import { createFastClient, createPatientClient, primariesOf } from "./client.js";
import { warnOfLosses } from "./durability.js";
import { describeProblem, isSelect, refused, replyCode, unavailable, withoutArguments } from "./failure.js";
import { placeOf, type RedisConfig } from "./redis-config.js";

/** How long the first commands wait for the first connection: under a second, including the command itself. */
const FIRST_CONNECTION_MS = 300;
const CLOSE_WITHIN_MS = 1000;

const TIMED_OUT = "timed out";
const CONNECTION_CLOSED = "connection closed";

/** A connection for commands. It reconnects by itself; while Redis is unavailable, commands fail fast. */
export class RedisConnection implements StoreConnection {
  readonly #config: RedisConfig;
  readonly #redis: RedisClient;
  readonly #log: Log;
  /** Why the store is unavailable; undefined while it is available or not known to be unavailable. */
  #problem: string | undefined;
  #closing = false;
  readonly #firstAttempt: Promise<void>;

  constructor(config: RedisConfig, log: Log) {
    this.#config = config;
    this.#log = log.child({ address: placeOf(config) });
    const redis = createFastClient(config);
    this.#redis = redis;
    redis.on("error", (error: unknown) => {
      this.#markUnavailable(describeProblem(error) ?? this.#problem ?? silenceOf(config), error);
      // Never use another database than the configured one.
      if (isSelect(error)) redis.disconnect(true);
    });
    redis.on("close", () => this.#markUnavailable(this.#problem ?? CONNECTION_CLOSED));
    redis.on("ready", () => this.#markAvailable());
    redis.once("ready", () => void warnOfLosses(redis, this.#log));
    this.#firstAttempt = new Promise((resolve) => {
      const cancel = afterAwake(FIRST_CONNECTION_MS, resolve);
      const end = () => {
        cancel();
        resolve();
      };
      redis.once("ready", end).once("error", end).once("end", end);
    });
  }

  /**
   * Runs commands; every failure becomes one of our error classes within a second.
   * @throws {StoreUnavailable} after a time-out a command may still have been executed.
   * @throws {StoredValueUnreadable} if another program has overwritten a value with one of another type.
   */
  async run<T>(commands: (redis: RedisClient) => Promise<T>): Promise<T> {
    if (!this.#ready()) await this.#firstAttempt;
    if (!this.#ready()) throw unavailable(this.#problem ?? TIMED_OUT);
    try {
      gatherWrites(this.#redis);
      const answer = await commands(this.#redis);
      this.#markAvailable();
      return answer;
    } catch (error) {
      if (replyCode(error) !== undefined) throw refused(error);
      // Commands lost with a connection carry no code, even before ioredis reports that it has closed.
      const own = this.#ready() ? describeProblem(error) : undefined;
      const problem = own ?? this.#problem ?? CONNECTION_CLOSED;
      this.#markUnavailable(problem, error);
      throw unavailable(problem, error);
    }
  }

  /** @throws {StoreUnavailable} if a server that owns keys does not answer. */
  async ping(): Promise<void> {
    await this.run(async (redis) => Promise.all(primariesOf(redis).map((server) => server.ping())));
  }

  patient(): RedisClient {
    return createPatientClient(this.#config);
  }

  status(): StoreStatus {
    if (this.#ready() && this.#problem === undefined) return { kind: "ready" };
    return { kind: "unavailable", problem: unavailable(this.#problem ?? "not connected yet").message };
  }

  /** Closes the connection; pending commands fail. */
  async close(): Promise<void> {
    this.#closing = true;
    // Between two attempts to connect, ioredis emits no "end".
    const connected = this.#redis.status !== "end" && this.#redis.status !== "reconnecting";
    const ended = connected ? once(this.#redis, "end", { signal: AbortSignal.timeout(CLOSE_WITHIN_MS) }) : undefined;
    this.#redis.disconnect();
    // A connection that does not close must not hold up the shutdown.
    await ended?.catch(() => undefined);
  }

  #ready(): boolean {
    return this.#redis.status === "ready";
  }

  /** Logs one line per outage, however many commands and connections fail. */
  #markUnavailable(problem: string, error?: unknown): void {
    if (this.#closing) return;
    if (this.#problem === undefined) {
      const err = error === undefined ? undefined : withoutArguments(error);
      this.#log.error({ problem, err }, `${STORE_TITLE} cannot be used`);
    }
    this.#problem = problem;
  }

  #markAvailable(): void {
    if (!this.#ready() || this.#problem === undefined) return;
    this.#problem = undefined;
    this.#log.info({}, `${STORE_TITLE} answers again`);
  }
}

/**
 * Sends the commands of one turn of the event loop in one write: a write is a system call, which costs more than most
 * commands. Unlike with ioredis's pipelining, each stays a command of its own.
 */
function gatherWrites(redis: RedisClient): void {
  if (redis instanceof Cluster || redis.stream.writableCorked > 0) return;
  const { stream } = redis;
  stream.cork();
  setImmediate(() => stream.uncork());
}

/** What a failure without a code means. */
function silenceOf(config: RedisConfig): string {
  if ("address" in config) return TIMED_OUT;
  if ("cluster" in config) return "no node of the cluster answers";
  const text = "no sentinel names a primary that can be reached";
  // ioredis does not say that it refused the certificate of a sentinel.
  return config.tls ? `${text}: the certificates of both must be trusted (kvstore.ca_file)` : text;
}
