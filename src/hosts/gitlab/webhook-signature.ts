import { createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { BodyCheck } from "../receive-body.js";

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
 * Checks the signature of a delivery. Undefined if the headers alone show that it is not signed with this key: without an
 * id, a time within five minutes of `now`, or a signature of a known form. One valid signature of several is enough (a
 * token may be changing). The signature covers id, time and bytes.
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function signatureCheck(headers: IncomingHttpHeaders, key: Buffer, now: Date): BodyCheck | undefined {
  const id = single(headers["webhook-id"]);
  const timestamp = single(headers["webhook-timestamp"]);
  if (id === "" || !/^\d{1,12}$/.test(timestamp)) return undefined;
  if (Math.abs(now.getTime() - Number(timestamp) * 1000) > MAX_AGE_MS) return undefined;
  const given = signaturesIn(single(headers["webhook-signature"]));
  if (given.length === 0) return undefined;
  const hmac = createHmac("sha256", key).update(`${id}.${timestamp}.`);
  return {
    update: (piece) => hmac.update(piece),
    passes() {
      const expected = hmac.digest();
      return given.some((signature) => timingSafeEqual(signature, expected));
    },
  };
}

/** Those of the version that svc knows. */
function signaturesIn(header: string): readonly Buffer[] {
  return header.split(" ").flatMap((signature) => {
    const encoded = /^v1,([A-Za-z0-9+/]{43}=)$/.exec(signature)?.[1];
    return encoded === undefined ? [] : [Buffer.from(encoded, "base64")];
  });
}

function single(header: IncomingHttpHeaders[string]): string {
  return typeof header === "string" ? header : "";
}
