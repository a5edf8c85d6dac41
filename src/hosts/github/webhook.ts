import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Probot } from "probot";
import type { HostEvent } from "../../core/model/event.js";
import type { Log } from "../../core/ports/log.js";
import { WEBHOOK_PATHS } from "../../names.js";
import { deliveryId } from "../payload-fields.js";
import { webhookRoute, type Receipt, type WebhookRoute } from "../webhook-route.js";
import { SUBSCRIBED_EVENTS, isSubscribed, translateGitHubEvent } from "./translate-event.js";

export interface GitHubWebhookOptions {
  /** The secret of the App's webhook. */
  readonly secret: string;
  readonly probot: Probot;
  /** False when this delivery was accepted before. */
  readonly push: (event: HostEvent) => Promise<boolean>;
  readonly log: Log;
}

type ProbotEvent = Parameters<Probot["receive"]>[0];
type Outcome = { readonly receipt: Receipt } | { readonly failure: unknown };

/**
 * The route for GitHub's webhooks, in front of a Probot app whose handlers only translate and push. Probot's own
 * middleware is not used: it has no size limit, answers 400 to a wrong signature and 500 when a handler fails.
 * @throws {RangeError} when the secret is empty: everybody could sign then.
 */
export function githubWebhook({ secret, probot, push, log }: GitHubWebhookOptions): WebhookRoute {
  if (secret === "") throw new RangeError("hosta.webhook_secret is empty");
  const key = createSecretKey(secret, "utf8");
  const outcomes = new WeakMap<object, Outcome>();

  probot.on([...SUBSCRIBED_EVENTS], async ({ id, name, payload }) => {
    outcomes.set(payload, await translateAndPush(id, name, payload));
  });

  async function translateAndPush(id: string, name: string, payload: unknown): Promise<Outcome> {
    const event = translateGitHubEvent(name, id, payload);
    if ("ignored" in event) return { receipt: { kind: "ignored", reason: event.ignored } };
    try {
      const fresh = await push(event);
      return {
        receipt: fresh ? { kind: "accepted" } : { kind: "ignored", reason: "this delivery was accepted before" },
      };
    } catch (error) {
      return { failure: error };
    }
  }

  return webhookRoute(
    {
      path: WEBHOOK_PATHS.hosta,
      isAuthentic: (headers, body) => isSignedWith(key, headers["x-hub-signature-256"], body),
      async receive(headers, body, payload) {
        const event = {
          id: deliveryId("hosta", headers["x-github-delivery"], body),
          name: eventName(headers),
          payload,
        };
        if (!isProbotEvent(event)) return { kind: "ignored", reason: "events of this kind are not used" };
        await probot
          .receive(event)
          .catch((error: unknown) => log.warn({ err: error, delivery: event.id }, "Probot could not take an event"));
        const outcome = outcomes.get(payload) ?? { receipt: { kind: "ignored", reason: "the event is unreadable" } };
        if ("failure" in outcome) throw outcome.failure;
        return outcome.receipt;
      },
    },
    log.child({ host: "hosta" }),
  );
}

function eventName(headers: IncomingHttpHeaders): string {
  const name = headers["x-github-event"];
  return typeof name === "string" ? name : "";
}

/** Vouches for the name alone: the handlers read payloads through their own schemas. */
function isProbotEvent(event: { id: string; name: string; payload: unknown }): event is ProbotEvent {
  return isSubscribed(event.name);
}

/** https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries */
function isSignedWith(key: KeyObject, header: IncomingHttpHeaders[string], body: Buffer): boolean {
  const given = typeof header === "string" ? /^sha256=([0-9a-f]{64})$/.exec(header)?.[1] : undefined;
  if (given === undefined) return false;
  return timingSafeEqual(createHmac("sha256", key).update(body).digest(), Buffer.from(given, "hex"));
}
