import { Cluster, Redis, type ClusterOptions, type RedisOptions } from "ioredis";
import { afterAwake } from "./awake-timer.js";
import { replyCode } from "./failure.js";
import type { RedisConfig } from "./redis-config.js";

/** A connection of ioredis: to one server, which Sentinel may have named, or to a cluster. */
export type RedisClient = Redis | Cluster;

/** One command may take this long. */
const COMMAND_TIMEOUT_MS = 500;
const CONNECT_TIMEOUT_MS = 1000;
/** https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#key-distribution-model */
const SLOTS = 16_384;

/**
 * A client that fails fast while Redis is away and reconnects by itself. A command that was cut off is never sent again:
 * an acquire that its caller gave up would come back later.
 */
export function createFastClient(config: RedisConfig): RedisClient {
  const options: RedisOptions = {
    ...accessOf(config),
    // A connection that lost its peer without a word is given up, instead of timing out command after command.
    socketTimeout: 2000,
    disconnectTimeout: 500,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
  };
  const redis = createClient(config, options, {
    // A node is connected to at the first command for it, and what comes meanwhile waits, for at most a command's time.
    enableOfflineQueue: true,
    // These two would send a command again that was cut off.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
  });
  boundCommands(redis);
  // Some commands are for each node.
  if (redis instanceof Cluster) redis.on("+node", boundCommands);
  return redis;
}

/** ioredis's own bound, `commandTimeout`, also cuts off what was answered while this process was busy. */
function boundCommands(redis: RedisClient): void {
  const send: Cluster["sendCommand"] = redis.sendCommand.bind(redis);
  const bounded: Cluster["sendCommand"] = (command, ...where) => {
    const callOff = afterAwake(COMMAND_TIMEOUT_MS, () =>
      command.reject(Object.assign(new Error("Command timed out"), { code: "ETIMEDOUT" })),
    );
    command.promise.then(callOff, callOff);
    return send(command, ...where);
  };
  redis.sendCommand = bounded;
}

/** A client that waits for an answer as long as it takes, for blocking reads. */
export function createPatientClient(config: RedisConfig): RedisClient {
  return createClient(config, { ...accessOf(config), maxRetriesPerRequest: null }, {});
}

/**
 * Every server that owns keys.
 * @throws {Error} when there are keys whose server is not connected: ioredis forgets a node that it has lost, and what
 * the others have would look like all there is.
 */
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
    return new Redis({
      ...options,
      sentinels: addresses.map(hostAndPort),
      name: master,
      ...(password === undefined ? {} : { sentinelPassword: password }),
      ...(options.tls === undefined ? {} : { sentinelTLS: options.tls, enableTLSForSentinelMode: true }),
      sentinelRetryStrategy: pauseBefore,
      sentinelReconnectStrategy: pauseBefore,
      sentinelCommandTimeout: COMMAND_TIMEOUT_MS,
      // Without it a primary that was replaced, and lives on, would be written to until it is told.
      failoverDetector: true,
    });
  }
  return new Redis({ ...options, ...hostAndPort(config.address) });
}

function clusterOptions(redisOptions: RedisOptions, more: ClusterOptions): ClusterOptions {
  return {
    ...more,
    redisOptions,
    clusterRetryStrategy: pauseBefore,
    slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
    // A failover is also seen when no command met the node that is gone.
    slotsRefreshInterval: 5000,
    // Certificates carry host names, which the default would look up and replace by addresses.
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
    reconnectOnError: (error) => replyCode(error) === "READONLY",
  };
}

/** Spread, so that replicas which lost Redis together do not come back together. Milliseconds. */
function pauseBefore(attempt: number): number {
  return Math.min(attempt * 100, 800) + Math.random() * 200;
}

function hostAndPort(address: string): { readonly host: string; readonly port: number } {
  const { hostname, port } = new URL(`redis://${address}`);
  return { host: hostname.replace(/^\[|\]$/g, ""), port: port === "" ? 6379 : Number(port) };
}
