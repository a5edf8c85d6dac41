import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { HostEvent } from "../../core/model/event.js";
import type { Clock } from "../../core/ports/clock.js";
import type { Log } from "../../core/ports/log.js";
import { HOSTB_TOKEN_HEADERS, WEBHOOK_PATHS } from "../../names.js";
import { deliveryId } from "../payload-fields.js";
import { webhookRoute, type WebhookRoute } from "../webhook-route.js";
import { translateGitLabEvent } from "./translate-event.js";
import { signedDelivery, signingKey } from "./webhook-signature.js";

export interface GitLabWebhookOptions {
  /** The secret token of the webhook. */
  readonly secret: string;
  /** The webhook's signing token (GitLab 19.1 and later). With it the secret token alone is no longer enough. */
  readonly signingToken: string | undefined;
  readonly clock: Clock;
  /** False when this delivery was accepted before. */
  readonly push: (event: HostEvent) => Promise<boolean>;
  readonly log: Log;
}

/**
 * The route for GitLab's webhooks.
 * @throws {RangeError} when the secret is empty (a request without a token would match), or the signing token is none.
 */
export function gitlabWebhook({ secret, signingToken, clock, push, log }: GitLabWebhookOptions): WebhookRoute {
  if (secret === "") throw new RangeError("hostb.webhook_secret is empty");
  const key = signingToken === undefined ? undefined : signingKey(signingToken);
  return webhookRoute(
    {
      path: WEBHOOK_PATHS.hostb,
      isAuthentic: (headers, body) =>
        key === undefined
          ? carriesToken(headers, secret)
          : signedDelivery(headers, body, key, clock.now()) !== undefined,
      async receive(headers, body, payload) {
        // The same for a delivery that is sent again; older versions than 17.4 send none. Of a signed delivery only
        // the id under the signature counts: with another one it could be sent in again by whoever saw it.
        const delivery = deliveryId("hostb", headers[key === undefined ? "idempotency-key" : "webhook-id"], body);
        const event = translateGitLabEvent(delivery, payload);
        if ("ignored" in event) return { kind: "ignored", reason: event.ignored };
        if (await push(event)) return { kind: "accepted" };
        return { kind: "ignored", reason: "this delivery was accepted before" };
      },
    },
    log.child({ host: "hostb" }),
  );
}

function carriesToken(headers: IncomingHttpHeaders, secret: string): boolean {
  const expected = digest(secret);
  return HOSTB_TOKEN_HEADERS.some((name) => {
    const given = headers[name];
    return typeof given === "string" && timingSafeEqual(digest(given), expected);
  });
}

/** Digests are equally long, so comparing them tells nothing about the length of the secret. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
