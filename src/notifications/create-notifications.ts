import { createHash } from "node:crypto";
import type { NotificationReceiver } from "../config/server/server.js";
import type { Notification } from "../core/model/notification.js";
import type { Log } from "../core/ports/log.js";
import type { Delivery, DeliveryOutcome, Notifications, Outbox } from "../core/ports/notifications.js";
import { slackBody, teamsBody } from "./chat-formats.js";
import { jsonBody } from "./json-format.js";
import { messageOf, type MessageParts } from "./message.js";
import { selected } from "./select.js";

/** Writes the messages and puts them into an outbox. */
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

/** Without a dot, as Standard Webhooks asks, and without a colon, as BullMQ does. */
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
    if (outcome === "given-up") this.log.info({ notification, problem }, "a notification was given up");
  }
}
