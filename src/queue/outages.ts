import * as z from "zod";
import { parseJson } from "../core/model/json.js";
import type { StoreConnection } from "../http/redis.js";
import { QUEUE_KEY_PREFIX } from "../names.js";

/** Longer than anybody leaves a system away without a word. */
const KEPT_MS = 30 * 24 * 60 * 60 * 1000;

/** A system that was found unavailable at the last look. */
export interface Outage {
  /** ISO 8601. */
  readonly since: string;
  /** Whether receivers know. */
  readonly told: boolean;
}

const stored = z.object({ v: z.literal(1), since: z.iso.datetime(), told: z.boolean() });

/** Which systems are away, shared by all replicas. Methods throw `StoreUnavailable`. */
export class Outages {
  readonly #inMemory = new Map<string, Outage>();

  constructor(private readonly connection: StoreConnection | undefined) {}

  async find(system: string): Promise<Outage | undefined> {
    if (this.connection === undefined) return this.#inMemory.get(system);
    const text = await this.connection.run((redis) => redis.get(keyOf(system)));
    return text === null ? undefined : stored.safeParse(parseJson(text)).data;
  }

  async save(system: string, { since, told }: Outage): Promise<void> {
    this.#inMemory.set(system, { since, told });
    const text = JSON.stringify({ v: 1, since, told });
    await this.connection?.run((redis) => redis.set(keyOf(system), text, "PX", KEPT_MS));
  }

  async end(system: string): Promise<void> {
    this.#inMemory.delete(system);
    await this.connection?.run((redis) => redis.del(keyOf(system)));
  }
}

function keyOf(system: string): string {
  return `${QUEUE_KEY_PREFIX}:outage:${system}`;
}
