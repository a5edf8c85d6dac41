import type { QueueConnection } from "./queue-commands.js";
import { turnKey } from "./queue-keys.js";

/** A little less than the interval, so that the replica that had the last turn is not late for the next. */
const SHARE_OF_INTERVAL = 0.9;

/**
 * Whether this replica does what all of them need once per interval (ms). Without a connection there is only this one.
 * @throws {StoreUnavailable}
 */
export async function takesTurn(
  connection: QueueConnection | undefined,
  work: string,
  intervalMs: number,
): Promise<boolean> {
  if (connection === undefined) return true;
  const heldMs = Math.round(intervalMs * SHARE_OF_INTERVAL);
  return (await connection.run((redis) => redis.set(turnKey(work), "1", "PX", heldMs, "NX"))) === "OK";
}
