import type * as z from "zod";
import { parseJson } from "../core/model/json.js";
import type { StoreConnection } from "../http/redis.js";
import { KEYS } from "../names.js";

/** Small records by name that all replicas share; without Redis, those of this process. Methods throw `StoreUnavailable`. */
export class SharedRecords<T extends object> {
  readonly #inMemory = new Map<string, T>();

  constructor(
    private readonly kind: string,
    private readonly schema: z.ZodType<T>,
    private readonly keptMs: number,
    private readonly connection: StoreConnection | undefined,
  ) {}

  async find(name: string): Promise<T | undefined> {
    if (this.connection === undefined) return this.#inMemory.get(name);
    const text = await this.connection.run((redis) => redis.get(this.#key(name)));
    return text === null ? undefined : this.schema.safeParse(parseJson(text)).data;
  }

  async save(name: string, record: T): Promise<void> {
    if (this.connection === undefined) this.#inMemory.set(name, record);
    const text = JSON.stringify({ ...record, v: 1 });
    await this.connection?.run((redis) => redis.set(this.#key(name), text, "PX", this.keptMs));
  }

  async remove(name: string): Promise<void> {
    this.#inMemory.delete(name);
    await this.connection?.run((redis) => redis.del(this.#key(name)));
  }

  #key(name: string): string {
    return `${KEYS.queue}:${this.kind}:${name}`;
  }
}

/** Below 1, so that the replica that did the work last is not too early for the next interval. */
const SHARE_OF_INTERVAL = 0.9;

/** Whether this replica should do the work that one does per interval (ms); always, without Redis. @throws {StoreUnavailable} */
export async function claimsInterval(
  connection: StoreConnection | undefined,
  work: string,
  intervalMs: number,
): Promise<boolean> {
  if (connection === undefined) return true;
  const heldMs = Math.round(intervalMs * SHARE_OF_INTERVAL);
  const key = `${KEYS.queue}:turn:${work}`;
  return (await connection.run((redis) => redis.set(key, "1", "PX", heldMs, "NX"))) === "OK";
}
