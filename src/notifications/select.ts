import { matchesName } from "../config/pattern.js";
import type { NotificationEvent } from "../config/server/server-schema.js";
import type { NotificationReceiver } from "../config/server/server.js";
import type { ApplicationName } from "../core/model/brand.js";
import type { ChangeRequestRef } from "../core/model/change-request.js";
import type { Notification } from "../core/model/notification.js";

/** The part of a notification that a receiver asked for, with that receiver's applications only; undefined if there is none. */
export function selected(notification: Notification, receiver: NotificationReceiver): Notification | undefined {
  const mine = narrowed(notification, receiver);
  return mine !== undefined && eventsOf(mine).some((event) => receiver.events.includes(event)) ? mine : undefined;
}

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
      return [main, ...more.filter(([, told]) => told).map(([event]) => event)];
    }
    case "locks-released":
      return ["lock_taken_over"];
    case "merged":
      return ["merged"];
    case "not-merged":
      return ["not_merged"];
    case "system":
      return ["unavailable"];
  }
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
