import type { StoreConnection } from "../http/redis.js";
import { QUEUE_KEY_PREFIX } from "../names.js";

/** Slightly less than the interval, so that the replica that had the last turn is not too early for the next. */
const SHARE_OF_INTERVAL = 0.9;

/**
 * Whether it is this replica's turn to do work that only one replica has to do, once per interval (ms). Always true
 * without a connection, since there is only one replica then.
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
