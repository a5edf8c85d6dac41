import { Redis, type RedisOptions } from "ioredis";
import type { Log } from "../../core/log.js";
import { STORE_TITLE } from "../../names.js";
import type { StoreStatus } from "../stores.js";
import { describeProblem, isSelect, refused, replyCode, unavailable, withoutArguments } from "./failure.js";

export interface RedisConfig {
  /** `host:port`; an IPv6 host stands in brackets. Port 6379 when absent. */
  readonly address: string;
  readonly username?: string;
  readonly password?: string;
  /** Number of the database. */
  readonly db: number;
  readonly tls: boolean;
  /** PEM text of certificates to trust instead of the system's. */
  readonly ca?: string;
}

/** One command may take this long, and the first connection as well: together under a second. */
const COMMAND_TIMEOUT_MS = 500;
const FIRST_CONNECTION_MS = 400;

const TIMED_OUT = "timed out";
const CONNECTION_CLOSED = "connection closed";

/** One connection for commands; it reconnects by itself and fails fast while it is away. */
export class RedisConnection {
  readonly #redis: Redis;
  readonly #log: Log;
  /** Why the store cannot be used now; undefined while it can, or while nobody knows yet. */
  #problem: string | undefined;
  #closing = false;
  readonly #firstAttempt: Promise<void>;

  constructor(config: RedisConfig, log: Log) {
    this.#log = log.child({ address: config.address });
    const redis = new Redis(optionsFor(config));
    this.#redis = redis;
    redis.on("error", (error: unknown) => {
      this.#away(describeProblem(error) ?? this.#problem ?? TIMED_OUT, error);
      // Never work on another database than the configured one.
      if (isSelect(error)) redis.disconnect(true);
    });
    redis.on("close", () => this.#away(this.#problem ?? CONNECTION_CLOSED));
    redis.on("ready", () => this.#back());
    this.#firstAttempt = new Promise((resolve) => {
      const timer = setTimeout(resolve, FIRST_CONNECTION_MS);
      const end = () => {
        clearTimeout(timer);
        resolve();
      };
      redis.once("ready", end).once("error", end).once("end", end);
    });
  }

  /**
   * Runs commands; every failure becomes an error class of ours within a second.
   * @throws {StoreUnavailable} a command that was cut off by a time-out may have been executed all the same.
   */
  async run<T>(commands: (redis: Redis) => Promise<T>): Promise<T> {
    if (!this.#ready()) await this.#firstAttempt;
    if (!this.#ready()) throw unavailable(this.#problem ?? TIMED_OUT);
    const begin = performance.now();
    try {
      const answer = await commands(this.#redis);
      this.#back();
      return answer;
    } catch (error) {
      if (replyCode(error) !== undefined) throw refused(error);
      // ioredis has no code for either; a lost connection fails at once, even before its end is known.
      const waited = performance.now() - begin >= COMMAND_TIMEOUT_MS - 10;
      const problem = this.#ready() && waited ? TIMED_OUT : (this.#problem ?? CONNECTION_CLOSED);
      this.#away(problem, error);
      throw unavailable(problem, error);
    }
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
    const ended = connected ? new Promise((resolve) => this.#redis.once("end", resolve)) : undefined;
    this.#redis.disconnect();
    await ended;
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

function optionsFor(config: RedisConfig): RedisOptions {
  const { hostname, port } = new URL(`redis://${config.address}`);
  return {
    host: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? 6379 : Number(port),
    username: config.username,
    password: config.password,
    db: config.db,
    tls: config.tls ? { ca: config.ca } : undefined,
    commandTimeout: COMMAND_TIMEOUT_MS,
    connectTimeout: 1000,
    // A connection that lost its peer without a word is given up, instead of timing out command after command.
    socketTimeout: 2000,
    disconnectTimeout: 500,
    enableOfflineQueue: false,
    // A command that was cut off is never sent again: an acquire that its caller gave up would come back later.
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    retryStrategy: (attempt) => Math.min(attempt * 100, 800) + Math.random() * 200,
    // After a failover the old primary answers READONLY.
    reconnectOnError: (error) => replyCode(error) === "READONLY",
  };
}
