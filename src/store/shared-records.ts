import * as z from "zod";
import { applicationName } from "../core/model/brand.js";
import { parseJson } from "../core/model/json.js";
import type { StoreConnection } from "../http/redis.js";
import { KEYS } from "../names.js";

const DAY_MS = 24 * 60 * 60 * 1000;
/** No search for lost webhooks reaches further back. */
export const SEARCH_BACK_MS = DAY_MS;

const outage = z.object({ v: z.literal(1), since: z.iso.datetime(), told: z.boolean() });
const warning = z.object({ v: z.literal(1), at: z.iso.datetime() });
const search = z.object({ v: z.literal(1), until: z.iso.datetime() });
const oldLocks = z.object({ v: z.literal(1), applications: z.array(z.string().transform(applicationName)) });

/** A system that did not answer the last check: since when, and whether receivers of notifications know. */
export type Outage = Omit<z.infer<typeof outage>, "v">;
/** The time until which a repository was searched for lost webhooks. */
type Search = Omit<z.infer<typeof search>, "v">;
/** Applications whose lock is at least six days old, so that it may expire within a day. */
type OldLocks = Omit<z.infer<typeof oldLocks>, "v">;

/** When receivers of notifications were warned. */
export type Warning = Omit<z.infer<typeof warning>, "v">;

export function sharedWarnings(connection: StoreConnection | undefined): SharedRecords<Warning> {
  return new SharedRecords("warned", warning, 60 * DAY_MS, connection);
}

export function sharedOutages(connection: StoreConnection | undefined): SharedRecords<Outage> {
  return new SharedRecords("outage", outage, 30 * DAY_MS, connection);
}

export function sharedSearches(connection: StoreConnection | undefined): SharedRecords<Search> {
  return new SharedRecords("looked", search, SEARCH_BACK_MS, connection);
}

export function sharedOldLocks(connection: StoreConnection | undefined): SharedRecords<OldLocks> {
  return new SharedRecords("old", oldLocks, 30 * DAY_MS, connection);
}

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
