import { Cluster, type ClusterOptions, Redis, type RedisOptions } from "ioredis";
import { responsiveTimeout, type RedisClient } from "../../http/redis.js";
import type { RedisConfig } from "./redis-config.js";

const COMMAND_TIMEOUT_MS = 500;
const CONNECT_TIMEOUT_MS = 1000;
/** https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#key-distribution-model */
const SLOTS = 16_384;

/** Fails fast and reconnects by itself. Never resends a command: a lock could be acquired after its caller gave up. */
export function createFastClient(config: RedisConfig): RedisClient {
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

/** A client that waits for an answer as long as it takes. To subscribe with it, call `keepSubscribed`. */
export function createPatientClient(config: RedisConfig): RedisClient {
  return createClient(config, { ...accessOf(config), maxRetriesPerRequest: null, autoResubscribe: false }, {});
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
