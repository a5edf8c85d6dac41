import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Clock } from "../../core/ports/clock.js";
import type { Log } from "../../core/ports/log.js";
import { HOSTB_TOKEN_HEADERS, WEBHOOK_PATHS } from "../../names.js";
import { deliveryId } from "../payload-fields.js";
import { queueEvent, webhookRoute, type Push, type WebhookRoute } from "../webhook-route.js";
import { translateGitLabEvent } from "./translate-event.js";
import { signedDelivery, signingKey } from "./webhook-signature.js";

export interface GitLabWebhookOptions {
  /** The secret token of the webhook. */
  readonly secret: string;
  /** The webhook's signing token (GitLab 19.1 and later). If it is set, the secret token alone is no longer accepted. */
  readonly signingToken: string | undefined;
  readonly clock: Clock;
  readonly push: Push;
  readonly log: Log;
}

/**
 * The route for GitLab's webhooks.
 * @throws {RangeError} if the secret is empty (it would match a request without a token) or the signing token is unusable.
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
      receive(headers, body, payload) {
        // A redelivery keeps its id; GitLab before 17.4 sends none. For a signed delivery only the signed id counts, or
        // an eavesdropper could replay it under another id.
        const delivery = deliveryId("hostb", headers[key === undefined ? "idempotency-key" : "webhook-id"], body);
        return queueEvent(translateGitLabEvent(delivery, payload), push);
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

/** All digests have the same length, so comparing them does not reveal the length of the secret. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
