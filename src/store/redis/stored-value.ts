import * as z from "zod";
import type { ApplicationSpec } from "../../core/model/application.js";
import type { ApplicationName, RepositoryName, Revision } from "../../core/model/brand.js";
import type { ChangeRequestRef } from "../../core/model/change-request.js";
import { StoredValueUnreadable } from "../../core/model/errors.js";
import { isJsonObject } from "../../core/model/json.js";
import { HOST_IDS, STORE_TITLE } from "../../names.js";

const change = z.object({
  host: z.enum(HOST_IDS),
  repository: z.custom<RepositoryName>((value) => typeof value === "string" && /^[^/\s]+(?:\/[^/\s]+)+$/.test(value)),
  number: z.int().positive(),
});
/** Schemas that several stored records share. */
export const stored = {
  ...change.shape,
  change: change satisfies z.ZodType<ChangeRequestRef>,
  revision: z.custom<Revision>((value) => typeof value === "string" && /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(value)),
  application: z.custom<ApplicationName>((value) => typeof value === "string" && value !== ""),
  time: z.iso.datetime(),
  spec: z.custom<ApplicationSpec>(isJsonObject),
} as const;

/** JSON cannot hold undefined, so a record leaves the member out. */
export function orUndefined<T>(schema: z.ZodType<T>) {
  return schema.nullish().transform((value) => value ?? undefined);
}

/**
 * Reads a stored JSON text. Damaged values and those of a newer version are reported, never guessed at.
 * @param what names the value for users, such as ``the lock of application `web` ``.
 * @param key where the value is stored, so that a user can delete it.
 * @param cure what to do instead if the key holds more than this value.
 * @throws {StoredValueUnreadable}
 */
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
