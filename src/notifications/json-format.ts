import * as z from "zod";
import { NOTIFICATION_EVENTS } from "../config/server/server-schema.js";
import { changeRequestName, type ChangeRequestRef } from "../core/model/change-request.js";
import type { Notification } from "../core/model/notification.js";
import { HOST_IDS, HOST_TITLES } from "../names.js";
import { eventsOf, messageOf, type MessageParts, pageOf } from "./message.js";

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
    change: changeRequest.optional().describe("the change request that it is about; absent for `unavailable`"),
    head: z.string().optional().describe("the commit that was deployed or merged, or whose sync failed"),
    command: z.enum(["sync", "rollback"]).optional(),
    by: z.string().optional().describe("login of who gave the command, deployed last or released the locks"),
    applications: z
      .array(
        z.object({
          name: z.string(),
          outcome: z
            .enum(["succeeded", "failed", "running", "unknown", "rejected"])
            .optional()
            .describe("of a sync or rollback; running: not finished at the time-out; rejected: not started"),
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
    closed: z.boolean().optional().describe("of `not_merged`: it was closed without a merge"),
    since: time.optional().describe("since when it is deployed and not merged, or the system unavailable"),
    system: z.string().optional().describe("of `unavailable`: Argo CD or Redis"),
    available: z.boolean().optional().describe("of `unavailable`: true when the system answers again"),
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
    case "not-merged": {
      const { change, head, by, closed, since } = notification;
      return { change: changeOf(change, parts), head, by, closed, since };
    }
    case "system": {
      const { system, available, since } = notification;
      return { system, available, since };
    }
  }
}

function applicationsOf(notification: Notification): Body["data"]["applications"] {
  switch (notification.kind) {
    case "run-ended":
      return notification.applications.map(({ application, outcome, rolledBack }) => {
        return { name: application, outcome, ...(rolledBack && { rolled_back: true as const }) };
      });
    case "locks-released":
    case "merged":
    case "not-merged":
      return notification.applications.map((name) => ({ name }));
    case "system":
      return [];
  }
}

function changeOf(change: ChangeRequestRef, { hostPageOf, pagesUrl }: MessageParts): z.infer<typeof changeRequest> {
  const { host, repository, number } = change;
  const [url, page] = [hostPageOf(change), pageOf(change, pagesUrl)];
  return { host, repository, number, name: changeRequestName(change), url, page };
}
