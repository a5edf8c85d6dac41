import { once } from "node:events";
import { Cluster, type ClusterOptions, Redis, type RedisOptions } from "ioredis";
import { StoredValueUnreadable, StoreUnavailable } from "../../core/model/errors.js";
import type { Log } from "../../core/ports/log.js";
import {
  failureOf,
  responsiveTimeout,
  type RedisClient,
  type StoreConnection,
  withoutArguments,
} from "../../http/redis.js";
import { KEYS, SERVICE, STORE_TITLE } from "../../names.js";
import type { RedisConfig } from "./redis-config.js";

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
      const cancel = responsiveTimeout(FIRST_CONNECTION_MS, resolve);
      const end = () => {
        cancel();
        resolve();
      };
      redis.once("ready", end).once("error", end).once("end", end);
    });
  }

  /**
   * Runs commands; each failure becomes one of our errors within a second.
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
    const access = accessOf(this.#config);
    return createClient(this.#config, { ...access, maxRetriesPerRequest: null, autoResubscribe: false }, {});
  }

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

const COMMAND_TIMEOUT_MS = 500;

const CONNECT_TIMEOUT_MS = 1000;

/** https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#key-distribution-model */
const SLOTS = 16_384;

/** Fails fast and reconnects by itself. Never resends a command: a lock could be acquired after its caller gave up. */
function createFastClient(config: RedisConfig): RedisClient {
  const options: RedisOptions = {
    ...accessOf(config),
    // Drops a connection whose peer vanished, instead of letting command after command time out.
    socketTimeout: 2000,
    disconnectTimeout: 500,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
  };
  const redis = createClient(config, options, {
    // The first command for a node connects to it; commands wait for that, up to their time limit.
    enableOfflineQueue: true,
    // These two would resend an interrupted command.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
  });
  boundCommands(redis);
  // Some commands are sent to each node.
  if (redis instanceof Cluster) redis.on("+node", boundCommands);
  return redis;
}

/** Used instead of ioredis's `commandTimeout`, which also fails commands that were answered while this process was busy. */
function boundCommands(redis: RedisClient): void {
  const send: Cluster["sendCommand"] = redis.sendCommand.bind(redis);
  const bounded: Cluster["sendCommand"] = (command, ...where) => {
    const cancel = responsiveTimeout(COMMAND_TIMEOUT_MS, () =>
      command.reject(Object.assign(new Error("Command timed out"), { code: "ETIMEDOUT" })),
    );
    command.promise.then(cancel, cancel);
    return send(command, ...where);
  };
  redis.sendCommand = bounded;
}

/** Every server that owns keys. Throws if one is missing: ioredis forgets a lost node, and the other keys would look complete. */
export function primariesOf(redis: RedisClient): readonly Redis[] {
  if (!(redis instanceof Cluster)) return [redis];
  const nodes = new Map(redis.nodes("master").map((node) => [`${node.options.host}:${node.options.port}`, node]));
  const owners = new Set(Array.from({ length: SLOTS }, (_, slot) => redis.slots[slot]?.[0]));
  return [...owners].map((owner) => {
    const node = owner === undefined ? undefined : nodes.get(owner);
    if (node === undefined) throw new Error(`no connection to ${owner ?? "the owner of some slots"}`);
    return node;
  });
}

function createClient(config: RedisConfig, options: RedisOptions, more: ClusterOptions): RedisClient {
  if ("cluster" in config) return new Cluster(config.cluster.addresses.map(hostAndPort), clusterOptions(options, more));
  if ("sentinel" in config) {
    const { master, addresses, password } = config.sentinel;
    const redis = new Redis({
      ...options,
      sentinels: addresses.map(hostAndPort),
      name: master,
      ...(password === undefined ? {} : { sentinelPassword: password }),
      ...(options.tls === undefined ? {} : { sentinelTLS: options.tls, enableTLSForSentinelMode: true }),
      sentinelRetryStrategy: pauseBefore,
      sentinelReconnectStrategy: pauseBefore,
      sentinelCommandTimeout: COMMAND_TIMEOUT_MS,
      // Otherwise a replaced primary that is still alive would receive writes until it learns of its replacement.
      failoverDetector: true,
    });
    startAgainAfterEnd(redis);
    return redis;
  }
  return new Redis({ ...options, ...hostAndPort(config.address) });
}

/**
 * ioredis 6.0.0 ends a client for good if Sentinel reports a failover while the client already looks for the new primary,
 * which is what it does after the death of the old one. Then this starts it again.
 */
function startAgainAfterEnd(redis: Pick<Redis, "connect" | "disconnect" | "on">): void {
  let left = false;
  const disconnect = redis.disconnect.bind(redis);
  redis.disconnect = (reconnect = false) => {
    left ||= !reconnect;
    disconnect(reconnect);
  };
  const start = () => {
    if (!left) redis.connect().catch(() => undefined); // its failures are events
  };
  redis.on("end", () => {
    if (!left) setTimeout(start, pauseBefore(1));
  });
}

function clusterOptions(redisOptions: RedisOptions, more: ClusterOptions): ClusterOptions {
  return {
    ...more,
    redisOptions,
    clusterRetryStrategy: pauseBefore,
    slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
    // Notices a failover even if no command reached the lost node.
    slotsRefreshInterval: 5000,
    // Certificates hold host names; the default would replace them with addresses.
    ...(redisOptions.tls === undefined ? {} : { dnsLookup: (host, callback) => callback(null, host) }),
  };
}

function accessOf({ username, password, db, tls, ca }: RedisConfig): RedisOptions {
  return {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    db,
    ...(tls ? { tls: ca === undefined ? {} : { ca } } : {}),
    connectTimeout: CONNECT_TIMEOUT_MS,
    retryStrategy: pauseBefore,
    // After a failover the old primary answers READONLY.
    reconnectOnError: ({ message }) => message.startsWith("READONLY"),
  };
}

/** Milliseconds, randomised so that replicas that lost Redis together do not all reconnect at once. */
function pauseBefore(attempt: number): number {
  return Math.min(attempt * 100, 800) + Math.random() * 200;
}

function hostAndPort(address: string): { readonly host: string; readonly port: number } {
  const { hostname, port } = new URL(`redis://${address}`);
  return { host: hostname.replace(/^\[|\]$/g, ""), port: port === "" ? 6379 : Number(port) };
}

/** Sends the commands of one turn of the event loop in one write, each still by itself: a system call costs more than most of them. */
function gatherWrites(redis: RedisClient): void {
  if (redis instanceof Cluster || redis.stream.writableCorked > 0) return;
  const { stream } = redis;
  stream.cork();
  setImmediate(() => stream.uncork());
}

function silenceOf(config: RedisConfig): string {
  if ("address" in config) return TIMED_OUT;
  if ("cluster" in config) return "no node of the cluster answers";
  const text = "no sentinel names a primary that can be reached";
  // ioredis does not say that it refused the certificate of a sentinel.
  return config.tls ? `${text}: the certificates of both must be trusted (redis.ca_file)` : text;
}

/** Warns if Redis is configured so that it may lose locks and events, or does not say how it is configured. Never rejects. */
async function warnOfLosses(redis: RedisClient, log: Log): Promise<void> {
  const servers = redis instanceof Cluster ? redis.nodes("master") : [redis];
  const found = await Promise.all(servers.map((server) => durabilityOf(server, log)));
  const policies = new Set(found.map(({ eviction }) => eviction ?? "unknown"));
  const files = new Set(found.map(({ appendOnly }) => appendOnly ?? "unknown"));
  policies.delete("noeviction");
  files.delete("yes");
  if (policies.size + files.size === 0) return;
  const losses = [...(policies.size === 0 ? [] : [LOST_WHEN_FULL]), ...(files.size === 0 ? [] : [LOST_AT_RESTART])];
  const shown = (values: ReadonlySet<string>, good: string) =>
    values.size === 0 ? good : [...values].sort().join(", ");
  log.warn(
    { maxmemoryPolicy: shown(policies, "noeviction"), appendonly: shown(files, "yes"), losses },
    `${STORE_TITLE} may lose data: set maxmemory-policy noeviction and appendonly yes`,
  );
}

const LOST_WHEN_FULL =
  "when its memory is full: locks, so that two pull requests may deploy the same application, and records of deployments";
const LOST_AT_RESTART =
  "when it restarts: locks, records of deployments, plans, sessions, and accepted events that have not run";

/**
 * What it removes when its memory is full (https://redis.io/docs/latest/develop/reference/eviction/), and whether it writes to disk
 * (https://redis.io/docs/latest/operate/oss_and_stack/management/persistence/). Uses INFO, because managed servers and restricted
 * users rarely allow CONFIG GET.
 */
async function durabilityOf(server: Parameters<typeof infoOf>[0], log: Log) {
  try {
    const [memory, persistence] = await Promise.all([infoOf(server, "memory"), infoOf(server, "persistence")]);
    const enabled = persistence.get("aof_enabled");
    return {
      eviction: memory.get("maxmemory_policy"),
      appendOnly: enabled === undefined ? undefined : enabled === "1" ? "yes" : "no",
    };
  } catch (error) {
    log.debug({ err: withoutArguments(error) }, `${STORE_TITLE} does not say how it keeps its data`);
    return { eviction: undefined, appendOnly: undefined };
  }
}

async function infoOf(
  server: { info(section: string): Promise<string> },
  section: string,
): Promise<ReadonlyMap<string, string>> {
  const lines = (await server.info(section)).split(/\r?\n/);
  return new Map(lines.map((line) => [line.split(":", 1)[0] ?? "", line.slice(line.indexOf(":") + 1)]));
}

function unavailable(problem: string, error?: unknown): StoreUnavailable {
  const options = error === undefined ? undefined : { cause: withoutArguments(error) };
  return new StoreUnavailable(`failed to connect to ${STORE_TITLE}: ${problem}`, options);
}

function refused(error: unknown): StoreUnavailable | StoredValueUnreadable {
  if (replyCode(error) === "WRONGTYPE") {
    const key = keyOf(error);
    const cure = key === undefined ? "" : `: delete the key ${key}`;
    const text = `a value of this service in ${STORE_TITLE} was overwritten by another program${cure}`;
    return new StoredValueUnreadable(text, { cause: withoutArguments(error) });
  }
  return new StoreUnavailable(`${STORE_TITLE} refused a command: ${describeProblem(error) ?? "unknown problem"}`, {
    cause: withoutArguments(error),
  });
}

/** The only one of our keys in a command that failed; those of sessions are secrets. */
function keyOf(error: unknown): string | undefined {
  const [key, other] = failureOf(error).args.filter((one) => one.startsWith(`${SERVICE}:`));
  return other === undefined && key?.startsWith(KEYS.session) === false ? key : undefined;
}

function placeOf(config: RedisConfig): string {
  if ("address" in config) return config.address;
  if ("sentinel" in config) return `${config.sentinel.master} by Sentinel ${config.sentinel.addresses.join(", ")}`;
  return `cluster ${config.cluster.addresses.join(", ")}`;
}

/** What Node's error codes mean, in words for users (https://nodejs.org/api/errors.html#common-system-errors). */
const networkProblems: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection closed",
  EPIPE: "connection closed",
  ETIMEDOUT: "timed out",
  EHOSTUNREACH: "host unreachable",
  ENETUNREACH: "network unreachable",
  ENOTFOUND: "host name not found",
  EAI_AGAIN: "host name not found",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate is not trusted: set redis.ca_file",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "its certificate is not trusted: set redis.ca_file",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate is not trusted: set redis.ca_file",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is not trusted: set redis.ca_file",
  CERT_HAS_EXPIRED: "its certificate has expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another host name",
};

/** The first word of an error reply is its code (https://redis.io/docs/latest/develop/reference/protocol-spec/#simple-errors). */
const replyProblems: Readonly<Record<string, string>> = {
  WRONGPASS: "wrong user name or password",
  NOAUTH: "a password is required",
  NOPERM: "the user lacks a permission",
  LOADING: "it is still loading its data",
  READONLY: "it is a read-only replica",
  OOM: "it is out of memory",
  MISCONF: "it cannot save its data",
  MASTERDOWN: "its primary is down",
  CLUSTERDOWN: "a part of the cluster is down",
};

/** The code of an error reply from Redis; undefined for any other error. */
function replyCode(error: unknown): string | undefined {
  const { name, message } = failureOf(error);
  return name === "ReplyError" ? /^[A-Z]+/.exec(message)?.[0] : undefined;
}

/** ioredis 6.0.0 continues with database 0 if the configured one does not exist. */
function isSelect(error: unknown): boolean {
  return failureOf(error).command === "select";
}

function describeProblem(error: unknown): string | undefined {
  const reply = replyCode(error);
  if (reply === "ERR" && isSelect(error)) return "the database number does not exist";
  if (reply !== undefined) return replyProblems[reply] ?? `it answered ${reply}`;
  const { code } = failureOf(error);
  return code === undefined ? undefined : (networkProblems[code] ?? code);
}
