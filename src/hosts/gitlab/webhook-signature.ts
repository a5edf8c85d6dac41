import { createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

/** The largest difference between a delivery's timestamp and our clock. */
const MAX_AGE_MS = 5 * 60_000;
/** Required by Standard Webhooks; GitLab generates 32. */
const MIN_KEY_BYTES = 24;
const TOKEN = /^whsec_([A-Za-z0-9+/]+={0,2})$/;

/** Reads a signing token: `whsec_` and the key in base64. @throws {RangeError} if it is malformed or too short. */
export function signingKey(token: string): Buffer {
  const key = Buffer.from(TOKEN.exec(token)?.[1] ?? "", "base64");
  if (key.length < MIN_KEY_BYTES) throw new RangeError("hostb.signing_token is not a whsec_ token of 24 bytes or more");
  return key;
}

/**
 * The `webhook-id` of a delivery signed with this key within five minutes of `now`; undefined for any other. One valid
 * signature of several is enough (a token may be changing). The signature covers id, time and bytes.
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function signedDelivery(headers: IncomingHttpHeaders, body: Buffer, key: Buffer, now: Date): string | undefined {
  const id = single(headers["webhook-id"]);
  const timestamp = single(headers["webhook-timestamp"]);
  if (id === "" || !/^\d{1,12}$/.test(timestamp)) return undefined;
  if (Math.abs(now.getTime() - Number(timestamp) * 1000) > MAX_AGE_MS) return undefined;
  const expected = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest();
  const given = single(headers["webhook-signature"]).split(" ");
  return given.some((signature) => isSame(signature, expected)) ? id : undefined;
}

function isSame(signature: string, expected: Buffer): boolean {
  const encoded = /^v1,([A-Za-z0-9+/]{43}=)$/.exec(signature)?.[1];
  return encoded !== undefined && timingSafeEqual(Buffer.from(encoded, "base64"), expected);
}

function single(header: IncomingHttpHeaders[string]): string {
  return typeof header === "string" ? header : "";
}
