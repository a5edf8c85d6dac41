import type { z } from "zod";
import { StoredValueUnreadable } from "../../core/model/errors.js";
import { STORE_TITLE } from "../../names.js";

/**
 * A stored JSON text as a value of ours. Values of a newer version and damaged ones are reported, never guessed.
 * @param what names the value for people, for instance ``the lock of application `web` ``.
 * @param key where it is stored, so that somebody can remove it.
 * @param cure what to do where the whole key is too much to delete.
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
