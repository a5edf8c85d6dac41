import { Cluster } from "ioredis";
import type { Log } from "../../core/ports/log.js";
import { STORE_TITLE } from "../../names.js";
import type { RedisClient } from "./client.js";
import { withoutArguments } from "./failure.js";

/** How Redis keeps what it was given; undefined where it does not tell. */
interface Durability {
  /** https://redis.io/docs/latest/develop/reference/eviction/ : what it removes when its memory is full. */
  readonly eviction: string | undefined;
  /** https://redis.io/docs/latest/operate/oss_and_stack/management/persistence/ */
  readonly appendOnly: "yes" | "no" | undefined;
}

/** Warns once when Redis may lose locks and events by the way it is set up, or does not tell how it is. Never rejects. */
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
    `${STORE_TITLE} may lose what it was given: set maxmemory-policy noeviction and appendonly yes`,
  );
}

const LOST_WHEN_FULL =
  "when its memory is full: locks, so that two pull requests deploy the same application, and records of what is deployed";
const LOST_AT_RESTART =
  "when it restarts: locks, records of what is deployed, plans, sessions, and events that were accepted and not run yet";

/** By INFO: managed servers and restricted users seldom allow CONFIG GET. */
async function durabilityOf(server: Parameters<typeof infoOf>[0], log: Log): Promise<Durability> {
  try {
    const [memory, persistence] = await Promise.all([infoOf(server, "memory"), infoOf(server, "persistence")]);
    const enabled = persistence.get("aof_enabled");
    return {
      eviction: memory.get("maxmemory_policy"),
      appendOnly: enabled === undefined ? undefined : enabled === "1" ? "yes" : "no",
    };
  } catch (error) {
    log.debug({ err: withoutArguments(error) }, `${STORE_TITLE} does not tell how it keeps what it is given`);
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
