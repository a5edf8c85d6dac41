import type { StoreConnection } from "../http/redis.js";
import { QUEUE_KEY_PREFIX } from "../names.js";

/** Slightly less than the interval, so that the replica that had the last turn is not too early for the next. */
const SHARE_OF_INTERVAL = 0.9;

/**
 * Whether this replica should do the work that one replica does per interval (ms); always, without Redis.
 * @throws {StoreUnavailable}
 */
export async function takesTurn(
  connection: StoreConnection | undefined,
  work: string,
  intervalMs: number,
): Promise<boolean> {
  if (connection === undefined) return true;
  const heldMs = Math.round(intervalMs * SHARE_OF_INTERVAL);
  const key = `${QUEUE_KEY_PREFIX}:turn:${work}`;
  return (await connection.run((redis) => redis.set(key, "1", "PX", heldMs, "NX"))) === "OK";
}
