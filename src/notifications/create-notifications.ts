import { createHash } from "node:crypto";
import { matchesName } from "../config/pattern.js";
import type { NotificationReceiver } from "../config/server/server.js";
import type { ApplicationName } from "../core/model/brand.js";
import type { ChangeRequestRef } from "../core/model/change-request.js";
import type { Notification } from "../core/model/notification.js";
import type { Log } from "../core/ports/log.js";
import type { Delivery, DeliveryOutcome, Notifications, Outbox } from "../core/ports/notifications.js";
import { jsonBody } from "./json-format.js";
import { eventsOf, type Message, messageOf, type MessageParts } from "./message.js";

/** Writes a message for each receiver that wants a notification, and puts it in the outbox. */
export function createNotifications(
  receivers: readonly NotificationReceiver[],
  outbox: Pick<Outbox, "add">,
  parts: MessageParts & { readonly log: Log },
): Notifications {
  return {
    async publish(notification) {
      try {
        const id = messageId(notification.id);
        const messages = receivers.flatMap((receiver) => {
          const mine = selected(notification, receiver);
          return mine === undefined ? [] : [{ receiver: receiver.name, id, body: bodyOf(mine, receiver, parts) }];
        });
        if (messages.length > 0) await outbox.add(messages);
      } catch (error) {
        parts.log.error({ err: error, kind: notification.kind }, "could not write a notification");
      }
    },
  };
}

function bodyOf(notification: Notification, { format }: NotificationReceiver, parts: MessageParts): string {
  switch (format) {
    case "slack":
      return slackBody(messageOf(notification, parts));
    case "teams":
      return teamsBody(messageOf(notification, parts));
    case "json":
      return jsonBody(notification, parts);
  }
}

/** Standard Webhooks forbids a dot in an id, BullMQ a colon. */
function messageId(id: string): string {
  return `msg_${createHash("sha256").update(id).digest("hex").slice(0, 32)}`;
}

/** Logs that a receiver is broken, once per cause, and that it works again. */
export class ReceiverLog {
  readonly #problems = new Map<string, string>();

  constructor(private readonly log: Log) {}

  note(notification: string, outcome: DeliveryOutcome, delivery: Delivery): void {
    if (delivery.kind === "delivered") {
      if (this.#problems.delete(notification)) this.log.info({ notification }, "notifications are delivered again");
      return;
    }
    const { problem } = delivery;
    if (this.#problems.get(notification) !== problem) {
      this.#problems.set(notification, problem);
      this.log.warn({ notification, problem }, "could not deliver a notification");
    }
    if (outcome === "given-up") this.log.info({ notification, problem }, "gave up delivering a notification");
  }
}

/**
 * The body for an incoming webhook of Slack. Nothing but `text`: chats that take the same, such as Mattermost, read it too.
 * https://docs.slack.dev/messaging/formatting-message-text : `&`, `<` and `>` are escaped, so that no text can be a link or a
 * `<!channel>`; chats that find a plain `@all` do not, because a zero-width space follows the `@`.
 */
export function slackBody({ headline, lines, links }: Message): string {
  const linked = links.map(({ title, url }) => `<${escapeSlack(url.replaceAll("|", "%7C"))}|${slackText(title)}>`);
  const text = [
    slackText(headline),
    ...lines.map((line) => `• ${slackText(line)}`),
    ...(linked.length === 0 ? [] : [linked.join(" · ")]),
  ];
  return JSON.stringify({ text: text.join("\n"), unfurl_links: false, unfurl_media: false });
}

function slackText(text: string): string {
  return escapeSlack(text.replace(/[@#](?=[\w/])/g, (character) => `${character}\u200b`));
}

function escapeSlack(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/**
 * The body for a workflow of Teams that begins with "When a Teams webhook request is received": a message with one Adaptive Card.
 * https://learn.microsoft.com/en-us/microsoftteams/platform/webhooks-and-connectors/how-to/add-incoming-webhook : 28 KB at most.
 * A TextRun has no markup, unlike a TextBlock, which reads Markdown; only an `<at>` that the card declares mentions anybody.
 * https://learn.microsoft.com/en-us/adaptive-cards/authoring-cards/text-features
 */
export function teamsBody({ headline, lines, links }: Message): string {
  const card = {
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    type: "AdaptiveCard",
    version: "1.2",
    body: [paragraph(headline, { weight: "Bolder" }), ...lines.map((line) => paragraph(`• ${line}`))],
    actions: links.map(({ title, url }) => ({ type: "Action.OpenUrl", title, url })),
  };
  const attachment = { contentType: "application/vnd.microsoft.card.adaptive", contentUrl: null, content: card };
  return JSON.stringify({ type: "message", attachments: [attachment] });
}

function paragraph(text: string, style: { readonly weight?: "Bolder" } = {}): object {
  return { type: "RichTextBlock", inlines: [{ type: "TextRun", text, ...style }] };
}

/** The part of a notification that a receiver asked for, with that receiver's applications only; undefined if there is none. */
export function selected(notification: Notification, receiver: NotificationReceiver): Notification | undefined {
  const mine = narrowed(notification, receiver);
  return mine !== undefined && eventsOf(mine).some((event) => receiver.events.includes(event)) ? mine : undefined;
}

type Filters = Pick<NotificationReceiver, "repositories" | "applications">;

function narrowed(notification: Notification, filters: Filters): Notification | undefined {
  switch (notification.kind) {
    // Concerns every repository.
    case "system":
      return notification;
    case "run-ended": {
      const applications = notification.applications.filter((one) => isOne(one.application, filters));
      const overridden = notification.overridden.filter((one) => isOne(one.application, filters));
      const takenOver = notification.takenOver.filter((one) => isOne(one.application, filters));
      if (!isOfRepository(notification.change, filters) || nothingOf(filters, applications)) return undefined;
      return { ...notification, applications, overridden, takenOver };
    }
    case "locks-released":
    case "merged":
    case "not-merged": {
      const applications = notification.applications.filter((one) => isOne(one, filters));
      if (!isOfRepository(notification.change, filters) || nothingOf(filters, applications)) return undefined;
      return { ...notification, applications };
    }
  }
}

function isOfRepository({ repository }: ChangeRequestRef, { repositories }: Filters): boolean {
  const name = repository.toLowerCase();
  return repositories.length === 0 || repositories.some((pattern) => matchesName(pattern.toLowerCase(), name));
}

function isOne(application: ApplicationName, { applications }: Filters): boolean {
  return applications.length === 0 || applications.some((pattern) => matchesName(pattern, application));
}

/** A receiver that named applications is not told about others. */
function nothingOf({ applications }: Filters, found: readonly unknown[]): boolean {
  return applications.length > 0 && found.length === 0;
}
