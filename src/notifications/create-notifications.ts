import { createHash } from "node:crypto";
import * as z from "zod";
import { matchesName } from "../config/pattern.js";
import { allowsRepository } from "../config/repository-names.js";
import { NOTIFICATION_EVENTS } from "../config/server/server-schema.js";
import type { NotificationReceiver } from "../config/server/server.js";
import type { ApplicationName } from "../core/model/brand.js";
import { changeRequestName, type ChangeRequestRef } from "../core/model/change-request.js";
import type { Notification } from "../core/model/notification.js";
import type { Log } from "../core/ports/log.js";
import type { Notifications, Outbox } from "../core/ports/notifications.js";
import { HOST_IDS, HOST_TITLES } from "../names.js";
import { type Message, messageOf, type MessageParts, pageOf } from "./message.js";

/** Writes a message for each receiver that wants a notification, and puts it in the outbox. */
export function createNotifications(
  receivers: readonly NotificationReceiver[],
  outbox: Pick<Outbox, "add">,
  parts: MessageParts & { readonly log: Log },
): Notifications {
  return {
    async publish(notification) {
      try {
        // Standard Webhooks forbids a dot in an id.
        const id = `msg_${createHash("sha256").update(notification.id).digest("hex").slice(0, 32)}`;
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
    case "token-expires":
      return notification;
    case "run-ended": {
      const applications = notification.applications.filter((one) => isOne(one.application, filters));
      const overridden = notification.overridden.filter((one) => isOne(one.application, filters));
      const takenOver = notification.takenOver.filter((one) => isOne(one.application, filters));
      if (!isOfRepository(notification.change, filters) || nothingOf(filters, applications)) return undefined;
      return { ...notification, applications, overridden, takenOver };
    }
    case "rolled-out": {
      const applications = notification.applications.filter((one) => isOne(one.application, filters));
      if (!isOfRepository(notification.change, filters) || nothingOf(filters, applications)) return undefined;
      return { ...notification, applications };
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

function isOfRepository({ host, repository }: ChangeRequestRef, { repositories }: Filters): boolean {
  return allowsRepository(repositories, host, repository);
}

function isOne(application: ApplicationName, { applications }: Filters): boolean {
  return applications.length === 0 || applications.some((pattern) => matchesName(pattern, application));
}

/** A receiver that named applications is not told about others. */
function nothingOf({ applications }: Filters, found: readonly unknown[]): boolean {
  return applications.length > 0 && found.length === 0;
}

const event = z.enum(NOTIFICATION_EVENTS);
const time = z.iso.datetime();
const changeRequest = z.object({
  host: z.enum(HOST_IDS).describe(HOST_IDS.map((id) => `${id} is ${HOST_TITLES[id]}`).join(", ")),
  repository: z.string().describe("with its owner or groups"),
  number: z.int().positive(),
  name: z.string().describe("as people write it: acme/deploy#7 or acme/deploy!7"),
  url: z.string().optional().describe("its page on the host"),
  page: z.string().optional().describe("its page in svc, if server.base_url is set and people can log in"),
});

/** The body of a message in the format `json`, as `schemas/notification.schema.json` documents it. */
export const notificationBody = z.object({
  type: event.describe("what the message is about: the first of data.events"),
  timestamp: time.describe("when it happened; the header webhook-timestamp says when it was sent"),
  data: z.object({
    events: z.array(event).min(1).describe("everything that the message tells of: a rollback may take over a lock"),
    text: z.string().describe("one line for people; its wording may change"),
    change: changeRequest
      .optional()
      .describe("the change request that it is about; absent for `unavailable` and `token_expires`"),
    head: z.string().optional().describe("the commit that was deployed or merged, or whose sync failed"),
    command: z.enum(["sync", "rollback"]).optional(),
    by: z.string().optional().describe("login of who gave the command, deployed last or released the locks"),
    applications: z
      .array(
        z.object({
          name: z.string(),
          outcome: z
            .enum(["succeeded", "failed", "running", "unknown", "rejected", "waiting"])
            .optional()
            .describe(
              "of a sync or rollback; running: not finished at the time-out; rejected: not started. Or after a merge; waiting: nothing syncs it by itself",
            ),
          rolled_back: z
            .literal(true)
            .optional()
            .describe("it did not get healthy, and svc has rolled it back by itself"),
        }),
      )
      .max(500)
      .describe("empty if something broke before any application was looked at"),
    applications_left_out: z.int().positive().optional().describe("how many more there are, beyond 500"),
    taken_over: z
      .array(z.object({ application: z.string(), from: changeRequest }))
      .optional()
      .describe("locks that a rollback took from change requests that had only planned"),
    overridden: z
      .array(z.object({ application: z.string(), check: z.string(), by: z.array(z.string()) }))
      .optional()
      .describe("failed checks that an approval by these people lifted"),
    unapproved: z
      .boolean()
      .optional()
      .describe("of `rolled_out` and `rollout_failed`: it was merged without the approval that its rules require"),
    closed: z.boolean().optional().describe("of `not_merged`: it was closed without a merge"),
    since: time.optional().describe("since when it is deployed and not merged, or the system unavailable"),
    system: z.string().optional().describe("of `unavailable`: Argo CD or Redis; of `token_expires`: whose token it is"),
    available: z.boolean().optional().describe("of `unavailable`: true when the system answers again"),
    expires: time.optional().describe("of `token_expires`"),
  }),
});
type Body = z.infer<typeof notificationBody>;

const MOST_APPLICATIONS = 500;

export function jsonBody(notification: Notification, parts: MessageParts): string {
  const events = eventsOf(notification);
  const applications = applicationsOf(notification);
  const left = applications.length - MOST_APPLICATIONS;
  const body: Body = {
    type: events[0],
    timestamp: notification.at,
    data: {
      events: [...events],
      text: messageOf(notification, parts).headline,
      ...factsOf(notification, parts),
      applications: applications.slice(0, MOST_APPLICATIONS),
      ...(left > 0 && { applications_left_out: left }),
    },
  };
  return JSON.stringify(body);
}

function factsOf(notification: Notification, parts: MessageParts): Partial<Body["data"]> {
  switch (notification.kind) {
    case "run-ended": {
      const { change, head, command, by, overridden, takenOver } = notification;
      const taken = takenOver.map(({ application, from }) => ({ application, from: changeOf(from, parts) }));
      const lifted = overridden.map(({ application, check, by: people }) => ({ application, check, by: [...people] }));
      const more = { ...(taken.length > 0 && { taken_over: taken }), ...(lifted.length > 0 && { overridden: lifted }) };
      return { change: changeOf(change, parts), head, command, by, ...more };
    }
    case "locks-released":
      return { change: changeOf(notification.change, parts), by: notification.by };
    case "merged":
      return { change: changeOf(notification.change, parts), head: notification.head };
    case "rolled-out": {
      const { change, head, unapproved } = notification;
      return { change: changeOf(change, parts), head, unapproved };
    }
    case "not-merged": {
      const { change, head, by, closed, since } = notification;
      return { change: changeOf(change, parts), head, by, closed, since };
    }
    case "system": {
      const { system, available, since } = notification;
      return { system, available, since };
    }
    case "token-expires": {
      const { system, expires } = notification;
      return { system, expires };
    }
  }
}

function applicationsOf(notification: Notification): Body["data"]["applications"] {
  switch (notification.kind) {
    case "run-ended":
      return notification.applications.map(({ application, outcome, rolledBack }) => {
        return { name: application, outcome, ...(rolledBack && { rolled_back: true as const }) };
      });
    case "rolled-out":
      return notification.applications.map(({ application, end }) => ({ name: application, outcome: end }));
    case "locks-released":
    case "merged":
    case "not-merged":
      return notification.applications.map((name) => ({ name }));
    case "system":
    case "token-expires":
      return [];
  }
}

function changeOf(change: ChangeRequestRef, { hostPageOf, pagesUrl }: MessageParts): z.infer<typeof changeRequest> {
  const { host, repository, number } = change;
  const [url, page] = [hostPageOf(change), pageOf(change, pagesUrl)];
  return { host, repository, number, name: changeRequestName(change), url, page };
}

export type NotificationEvent = (typeof NOTIFICATION_EVENTS)[number];

/** The events that a notification reports, the main one first. */
export function eventsOf(notification: Notification): readonly [NotificationEvent, ...NotificationEvent[]] {
  switch (notification.kind) {
    case "run-ended": {
      const { applications, command, overridden, takenOver } = notification;
      const well = applications.length > 0 && applications.every(({ outcome }) => outcome === "succeeded");
      const main = !well ? "failed" : command === "sync" ? "synced" : "rolled_back";
      const more: readonly (readonly [NotificationEvent, boolean])[] = [
        ["rolled_back", applications.some(({ rolledBack }) => rolledBack)],
        ["lock_taken_over", takenOver.length > 0],
        ["check_overridden", overridden.length > 0],
      ];
      return [main, ...more.filter(([, happened]) => happened).map(([event]) => event)];
    }
    case "locks-released":
      return ["lock_taken_over"];
    case "merged":
      return ["merged"];
    case "rolled-out":
      return [notification.applications.some(({ end }) => end === "failed") ? "rollout_failed" : "rolled_out"];
    case "not-merged":
      return ["not_merged"];
    case "system":
      return ["unavailable"];
    case "token-expires":
      return ["token_expires"];
  }
}
