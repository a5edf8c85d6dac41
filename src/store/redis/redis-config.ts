import type { KvstoreSection } from "../../config/server/server.js";

/** Where Redis is and how to log in. Addresses are `host:port`, with an IPv6 host in brackets; port 6379 when absent. */
export type RedisConfig = RedisAccess &
  (
    | { readonly address: string }
    /** `master` is the name under which the sentinels know the primary, `password` their own. */
    | {
        readonly sentinel: {
          readonly master: string;
          readonly addresses: readonly string[];
          readonly password?: string;
        };
      }
    /** Some of the nodes, which name the others. */
    | { readonly cluster: { readonly addresses: readonly string[] } }
  );

interface RedisAccess {
  readonly username?: string;
  readonly password?: string;
  /** The database number; a cluster has only 0. */
  readonly db: number;
  /** Applies to Redis and to its sentinels. */
  readonly tls: boolean;
  /** Certificates (PEM) to trust instead of the system's. */
  readonly ca?: string;
}

/** Reads the section `kvstore`; returns undefined if no Redis is configured. */
export function redisConfigOf(kvstore: KvstoreSection): RedisConfig | undefined {
  const { address, sentinel, cluster, username, password, db, tls, caFile } = kvstore;
  const access: RedisAccess = {
    db,
    tls,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(caFile === undefined ? {} : { ca: caFile }),
  };
  if (address !== undefined) return { ...access, address: textOf(address) };
  if (sentinel !== undefined) {
    return { ...access, sentinel: { ...sentinel, addresses: sentinel.addresses.map(textOf) } };
  }
  return cluster === undefined ? undefined : { ...access, cluster: { addresses: cluster.addresses.map(textOf) } };
}

function textOf({ host, port }: { readonly host: string; readonly port: number }): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}
