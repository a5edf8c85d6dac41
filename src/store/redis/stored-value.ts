import type { Redis } from "ioredis";
import * as z from "zod";
import type { ApplicationSpec } from "../../core/model/application.js";
import type { ApplicationName, RepositoryName, Revision } from "../../core/model/brand.js";
import type { ChangeRequestRef } from "../../core/model/change-request.js";
import { type OnUnreadable, StoredValueUnreadable } from "../../core/model/errors.js";
import { isJsonObject } from "../../core/model/json.js";
import type { RedisClient } from "../../http/redis.js";
import { HOST_IDS, STORE_TITLE } from "../../names.js";
import { primariesOf } from "./connection.js";

const change = z.object({
  host: z.enum(HOST_IDS),
  repository: z.custom<RepositoryName>((value) => typeof value === "string" && /^[^/\s]+(?:\/[^/\s]+)+$/.test(value)),
  repositoryId: z.string().optional(),
  number: z.int().positive(),
});
export const stored = {
  ...change.shape,
  change: change satisfies z.ZodType<ChangeRequestRef>,
  revision: z.custom<Revision>((value) => typeof value === "string" && /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(value)),
  application: z.custom<ApplicationName>((value) => typeof value === "string" && value !== ""),
  time: z.iso.datetime(),
  spec: z.custom<ApplicationSpec>(isJsonObject),
  /** Of whatever the version vouches for. */
  list: z.array(z.any()),
} as const;

/** JSON cannot hold undefined, so a record leaves the member out. */
export function orUndefined<T>(schema: z.ZodType<T>) {
  return schema.nullish().transform((value) => value ?? undefined);
}

/** Never guesses at damaged or newer values. `what` names one for users, `key` its place, `cure` what to do. @throws {StoredValueUnreadable} */
export function readStored<T>(schema: z.ZodType<T>, text: string, what: string, key: string, cure?: string): T {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw unreadable(what, key, cause, cure);
  }
  const result = schema.safeParse(json);
  if (!result.success) throw unreadable(what, key, result.error, cure);
  return result.data;
}

/** @throws {StoredValueUnreadable} for the first that cannot be read, unless somebody is to be told of those. */
export function readEach<T, R>(all: readonly T[], read: (one: T) => R, skip?: OnUnreadable): readonly R[] {
  return all.flatMap((one) => {
    try {
      return [read(one)];
    } catch (error) {
      if (skip === undefined || !(error instanceof StoredValueUnreadable)) throw error;
      skip(error);
      return [];
    }
  });
}

export function unreadable(
  what: string,
  key: string,
  cause?: unknown,
  cure = `delete the key ${key}`,
): StoredValueUnreadable {
  return new StoredValueUnreadable(
    `${what} in ${STORE_TITLE} is damaged or was written by another version of this service. ` +
      `Run one version everywhere, or ${cure}.`,
    { cause },
  );
}

/** Every key with this prefix, once. A key that exists during the whole scan is found, unless it moves within a cluster. */
export async function scanKeys(redis: RedisClient, prefix: string): Promise<readonly string[]> {
  const found = await Promise.all(primariesOf(redis).map((server) => scanServer(server, prefix)));
  return [...new Set(found.flat())];
}

async function scanServer(server: Redis, prefix: string): Promise<readonly string[]> {
  const found: string[] = [];
  let cursor = "0";
  do {
    const [next, keys] = await server.scan(cursor, "MATCH", `${prefix}*`, "COUNT", 1000);
    found.push(...keys);
    cursor = next;
  } while (cursor !== "0");
  return found;
}

/** Reads the keys that still exist, one GET each in batches: a cluster refuses MGET across slots. */
export async function readKeys(
  redis: RedisClient,
  keys: readonly string[],
): Promise<readonly (readonly [string, string])[]> {
  const entries: (readonly [string, string])[] = [];
  for (let start = 0; start < keys.length; start += 500) {
    const part = keys.slice(start, start + 500);
    const values = await Promise.all(part.map((key) => redis.get(key)));
    for (const [index, key] of part.entries()) {
      const value = values[index];
      if (typeof value === "string") entries.push([key, value]);
    }
  }
  return entries;
}
