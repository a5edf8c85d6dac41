import * as z from "zod";
import { parseJson } from "../core/model/json.js";
import type { StoreConnection } from "../http/redis.js";
import { QUEUE_KEY_PREFIX, type HostId } from "../names.js";

/** No look reaches further back. */
export const LOOK_BACK_MS = 24 * 60 * 60 * 1000;

const look = z.object({ v: z.literal(1), until: z.iso.datetime() });

/** Up to when each repository was searched for lost webhooks, shared by all replicas. Methods throw `StoreUnavailable`. */
export class LastLooks {
  readonly #inMemory = new Map<string, Date>();

  constructor(private readonly connection: StoreConnection | undefined) {}

  /** Undefined if there was no look within a day. */
  async find(host: HostId, repository: string): Promise<Date | undefined> {
    const key = keyOf(host, repository);
    if (this.connection === undefined) return this.#inMemory.get(key);
    const text = await this.connection.run((redis) => redis.get(key));
    const found = text === null ? undefined : look.safeParse(parseJson(text)).data;
    return found === undefined ? undefined : new Date(found.until);
  }

  async save(host: HostId, repository: string, until: Date): Promise<void> {
    const key = keyOf(host, repository);
    this.#inMemory.set(key, until);
    const text = JSON.stringify({ v: 1, until: until.toISOString() });
    await this.connection?.run((redis) => redis.set(key, text, "PX", LOOK_BACK_MS));
  }
}

function keyOf(host: HostId, repository: string): string {
  return `${QUEUE_KEY_PREFIX}:looked:${host}/${repository}`;
}
