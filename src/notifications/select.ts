import type { NotificationEvent } from "../config/server/server-schema.js";
import type { Notification } from "../core/model/notification.js";

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
