import { expect, test } from "@jest/globals";
import type { Notification } from "../../src/core/model/notification.js";
import { SystemWatch, WATCH_EVERY_MS } from "../../src/service/system-watch.js";
import { ManualClock } from "../manual-clock.js";
import { recordingLog } from "../recording-log.js";

test("a failure from before svc was stopped does not count as the first in a row, nor as the begin of the outage", async () => {
  const [clock, told] = [new ManualClock(), [] as Notification[]];
  const notifications = {
    publish(notification: Notification) {
      told.push(notification);
      return Promise.resolve();
    },
  };
  const watch = new SystemWatch({
    notifications,
    withoutStore: notifications,
    deployer: { check: () => Promise.reject(new Error("connection refused")) },
    stores: { ping: () => Promise.resolve(), connection: undefined },
    clock,
    log: recordingLog(),
  });
  await watch.look();
  clock.advance(24 * 60 * WATCH_EVERY_MS);
  await watch.look();
  expect(told).toEqual([]);
  const since = clock.now().toISOString();
  clock.advance(WATCH_EVERY_MS);
  await watch.look();
  expect(told).toEqual([expect.objectContaining({ kind: "system", available: false, since })]);
});
