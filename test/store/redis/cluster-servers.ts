import { Redis } from "ioredis";
import { freePort, RedisServer } from "../../redis-server.js";

const SLOTS = 16_384;

/** A Redis Cluster of primaries on loopback, each with an equal part of the slots. Always `stop` it. */
export interface RedisClusterServers {
  readonly addresses: readonly string[];
  readonly servers: readonly RedisServer[];
  /** A plain connection to each. */
  readonly raw: readonly Redis[];
  stop(): Promise<void>;
}

export async function startCluster(size = 3): Promise<RedisClusterServers> {
  const buses: number[] = [];
  const servers: RedisServer[] = [];
  try {
    while (servers.length < size) {
      const bus = await freePort();
      const options = ["--cluster-enabled", "yes", "--cluster-port", String(bus), "--cluster-node-timeout", "2000"];
      servers.push(await RedisServer.start(options));
      buses.push(bus);
    }
  } catch (error) {
    await Promise.all(servers.map((server) => server.stop()));
    throw error;
  }
  const raw = servers.map(({ port }) => new Redis(port, "127.0.0.1"));
  const part = Math.ceil(SLOTS / size);
  for (const [index, redis] of raw.entries()) {
    const last = Math.min(SLOTS, (index + 1) * part) - 1;
    await redis.call("CLUSTER", "ADDSLOTSRANGE", String(index * part), String(last));
    await redis.call("CLUSTER", "SET-CONFIG-EPOCH", String(index + 1));
  }
  for (const [index, { port }] of servers.entries()) {
    await raw[0]?.call("CLUSTER", "MEET", "127.0.0.1", String(port), String(buses[index]));
  }
  await Promise.all(raw.map(untilWhole));
  return {
    addresses: servers.map(({ address }) => address),
    servers,
    raw,
    async stop() {
      for (const redis of raw) redis.disconnect();
      await Promise.all(servers.map((server) => server.stop()));
    },
  };

  async function untilWhole(redis: Redis): Promise<void> {
    for (;;) {
      const info = String(await redis.call("CLUSTER", "INFO"));
      if (info.includes("cluster_state:ok") && info.includes(`cluster_size:${size}`)) return;
    }
  }
}
