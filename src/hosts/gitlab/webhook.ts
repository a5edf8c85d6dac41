import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Clock } from "../../core/ports/clock.js";
import type { Log } from "../../core/ports/log.js";
import { HOSTB_TOKEN_HEADERS } from "../../names.js";
import { deliveryId } from "../payload-fields.js";
import type { BodyCheck } from "../receive-body.js";
import { queueEvent, webhookRoute, type WebhookIntake, type WebhookRoute } from "../webhook-route.js";
import { translateGitLabEvent } from "./translate-event.js";
import { signatureCheck, signingKey } from "./webhook-signature.js";

export interface GitLabWebhookOptions extends WebhookIntake {
  /** The secret token of the webhook; needed without a signing token. */
  readonly secret: string | undefined;
  /** The webhook's signing token (GitLab 19.1 and later). If it is set, the secret token is not looked at. */
  readonly signingToken: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * The route for GitLab's webhooks.
 * @throws {RangeError} if there is neither, the secret is empty (it would match a request without a token), or the signing
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
