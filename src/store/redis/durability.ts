import { Cluster } from "ioredis";
import type { Log } from "../../core/ports/log.js";
import type { RedisClient } from "../../http/redis.js";
import { STORE_TITLE } from "../../names.js";
import { withoutArguments } from "./failure.js";

/** How a server keeps its data; undefined where it does not say. */
interface Durability {
  /** https://redis.io/docs/latest/develop/reference/eviction/: what it removes when its memory is full. */
  readonly eviction: string | undefined;
  /** https://redis.io/docs/latest/operate/oss_and_stack/management/persistence/ */
  readonly appendOnly: "yes" | "no" | undefined;
}

/** Warns if Redis is configured so that it may lose locks and events, or does not say how it is configured. Never rejects. */
export async function warnOfLosses(redis: RedisClient, log: Log): Promise<void> {
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

/** Uses INFO, because managed servers and restricted users rarely allow CONFIG GET. */
async function durabilityOf(server: Parameters<typeof infoOf>[0], log: Log): Promise<Durability> {
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
