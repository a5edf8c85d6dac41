import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Probot } from "probot";
import type { Log } from "../../core/ports/log.js";
import { deliveryId } from "../payload-fields.js";
import type { BodyCheck, Receipt } from "../receive-body.js";
import { queueEvent, type WebhookIntake, webhookRoute, type WebhookRoute } from "../webhook-route.js";
import { isSubscribed, SUBSCRIBED_EVENTS, translateGitHubEvent } from "./translate-event.js";

interface GitHubWebhookOptions extends WebhookIntake {
  /** The secret of the App's webhook. */
  readonly secret: string;
  readonly probot: Probot;
  readonly log: Log;
}

type ProbotEvent = Parameters<Probot["receive"]>[0];

/**
 * The route for GitHub's webhooks, in front of a Probot app that translates events and queues them. Probot's own
 * middleware is not used: it has no size limit, answers 400 to a wrong signature, and 500 if a handler fails.
 * @throws {RangeError} if the secret is empty: anybody could sign then.
 */
export function githubWebhook({ secret, probot, log, ...intake }: GitHubWebhookOptions): WebhookRoute {
  if (secret === "") throw new RangeError("hosta.webhook_secret is empty");
  const key = createSecretKey(secret, "utf8");
  const receive = receiveThrough(probot, intake, log);
  return webhookRoute(
    {
      host: "hosta",
      inspect: (headers) => signatureCheck(key, headers["x-hub-signature-256"]),
      async receive(headers, body, payload) {
        const id = deliveryId("hosta", headers["x-github-delivery"], body);
        const event = { id, name: eventName(headers), payload };
        return isProbotEvent(event) ? receive(event) : { kind: "ignored", reason: "events of this kind are not used" };
      },
    },
    intake,
    log.child({ host: "hosta" }),
  );
}

/** Where a payload has the function that the handler reports to. */
const REPORT = Symbol("report");

/**
 * Registers the handler of all events. Probot returns nothing for an event, and attaches the whole event to an error
 * that a handler throws and logs it; so the handler reports to the delivery it runs for and never throws.
 */
function receiveThrough(probot: Probot, intake: WebhookIntake, log: Log): (event: ProbotEvent) => Promise<Receipt> {
  probot.on([...SUBSCRIBED_EVENTS], ({ id, name, payload }) => {
    const { [REPORT]: report } = payload as { readonly [REPORT]?: (receipt: Promise<Receipt>) => void };
    report?.(queueEvent(translateGitHubEvent(name, id, payload), intake));
  });
  return (event) =>
    new Promise((resolve) => {
      Object.assign(event.payload, { [REPORT]: resolve });
      probot
        .receive(event)
        // Handlers never throw, so Probot itself failed. Delivering the event again would not help.
        .catch((error: unknown) => log.warn({ err: error, delivery: event.id }, "Probot could not read an event"))
        // Has no effect if the handler reported: a promise settles once.
        .finally(() => resolve({ kind: "ignored", reason: "the event is unreadable" }));
    });
}

function eventName(headers: IncomingHttpHeaders): string {
  const name = headers["x-github-event"];
  return typeof name === "string" ? name : "";
}

/** Checks the name only: the handler reads payloads through schemas of our own. */
function isProbotEvent(event: { id: string; name: string; payload: unknown }): event is ProbotEvent {
  return isSubscribed(event.name);
}

/** https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries */
function signatureCheck(key: KeyObject, header: IncomingHttpHeaders[string]): BodyCheck | undefined {
  const given = typeof header === "string" ? /^sha256=([0-9a-f]{64})$/.exec(header)?.[1] : undefined;
  if (given === undefined) return undefined;
  const hmac = createHmac("sha256", key);
  return {
    update: (piece) => hmac.update(piece),
    passes: () => timingSafeEqual(hmac.digest(), Buffer.from(given, "hex")),
  };
}
