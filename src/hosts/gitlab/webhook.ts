import { createHash, timingSafeEqual, createHmac } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Clock } from "../../core/ports/clock.js";
import type { Log } from "../../core/ports/log.js";
import { HOSTB_TOKEN_HEADERS } from "../../names.js";
import { deliveryId } from "../payload-fields.js";
import type { BodyCheck } from "../receive-body.js";
import { queueEvent, webhookRoute, type WebhookIntake, type WebhookRoute } from "../webhook-route.js";
import { translateGitLabEvent } from "./translate-event.js";

interface GitLabWebhookOptions extends WebhookIntake {
  /** The secret token of the webhook; needed without a signing token. */
  readonly secret: string | undefined;
  /** The webhook's signing token (GitLab 19.1 and later). If it is set, the secret token is not looked at. */
  readonly signingToken: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * The route for GitLab's webhooks.
 * @throws {RangeError} if there is neither a secret nor a token, the secret is empty (it would match a request without a token), or the signing
 * token is unusable.
 */
export function gitlabWebhook({ secret, signingToken, clock, log, ...intake }: GitLabWebhookOptions): WebhookRoute {
  if (secret === "") throw new RangeError("hostb.webhook_secret is empty");
  const key = signingToken === undefined ? undefined : signingKey(signingToken);
  if (key === undefined && secret === undefined) throw new RangeError("hostb has neither a secret nor a signing token");
  return webhookRoute(
    {
      host: "hostb",
      inspect(headers) {
        if (key !== undefined) return signatureCheck(headers, key, clock.now());
        return secret === undefined ? undefined : tokenCheck(headers, secret);
      },
      receive(headers, body, payload) {
        // A redelivery keeps its id; GitLab before 17.4 sends none. For a signed delivery only the signed id counts, or
        // an eavesdropper could replay it under another id.
        const delivery = deliveryId("hostb", headers[key === undefined ? "idempotency-key" : "webhook-id"], body);
        return queueEvent(translateGitLabEvent(delivery, payload), intake);
      },
    },
    intake,
    log.child({ host: "hostb" }),
  );
}

/** The token is in a header, so nothing in the body can change the verdict. */
function tokenCheck(headers: IncomingHttpHeaders, secret: string): BodyCheck | undefined {
  const expected = digest(secret);
  const known = HOSTB_TOKEN_HEADERS.some((name) => {
    const given = headers[name];
    return typeof given === "string" && timingSafeEqual(digest(given), expected);
  });
  return known ? { update: () => undefined, passes: () => true } : undefined;
}

/** All digests have the same length, so comparing them does not reveal the length of the secret. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

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

/** Signatures of version 1, the only one that svc knows. */
function signaturesIn(header: string): readonly Buffer[] {
  return header.split(" ").flatMap((signature) => {
    const encoded = /^v1,([A-Za-z0-9+/]{43}=)$/.exec(signature)?.[1];
    return encoded === undefined ? [] : [Buffer.from(encoded, "base64")];
  });
}

function single(header: IncomingHttpHeaders[string]): string {
  return typeof header === "string" ? header : "";
}
