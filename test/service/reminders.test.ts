import { expect, test } from "@jest/globals";
import { applicationName } from "../../src/core/model/brand.js";
import type { HostEvent } from "../../src/core/model/event.js";
import type { EventQueue } from "../../src/core/ports/event-queue.js";
import { Reminders } from "../../src/service/chores.js";
import { remindWaiting } from "../../src/service/chores.js";
import { createMemoryStores } from "../../src/store/memory/memory-stores.js";
import { sampleDeployment } from "../comments/samples.js";
import { JumpClock } from "../jump-clock.js";

const HOUR = 60 * 60 * 1000;

function world(remindAfter: number | "off") {
  const clock = new JumpClock(Date.parse("2026-03-02T00:00:00Z"));
  const { deployments } = createMemoryStores(clock);
  const pushed: HostEvent[] = [];
  const push = (event: HostEvent) => Promise.resolve(pushed.push(event) > 0);
  const parts = {
    deployments,
    reminders: new Reminders(undefined, clock),
    queue: { push } as EventQueue,
    remindAfter,
    clock,
  };
  return {
    pushed,
    deployed: (name: string, more = {}) =>
      deployments.save({ ...sampleDeployment(applicationName(name)), timestamp: clock.now().toISOString(), ...more }),
    after: async (hours: number) => {
      clock.advance(hours * HOUR);
      await remindWaiting(parts);
      return pushed.length;
    },
  };
}

test("nothing is pushed while nothing is deployed, or before its time; then once a day for all its applications", async () => {
  const { pushed, deployed, after } = world(24 * HOUR);
  expect(await after(48)).toBe(0);
  await deployed("web");
  expect(await after(23)).toBe(0);
  await deployed("api");
  expect(await after(2)).toBe(1);
  expect(pushed[0]).toMatchObject({ kind: "still-deployed", change: { number: 7 } });
  expect(await after(23)).toBe(1);
  expect(await after(2)).toBe(2);
  expect(new Set(pushed.map(({ delivery }) => delivery)).size).toBe(2);
});

test("a new sync starts the time anew, and still reminds once a day at most", async () => {
  const { deployed, after } = world(2 * HOUR);
  await deployed("web");
  expect(await after(3)).toBe(1);
  await deployed("web");
  expect(await after(3)).toBe(1);
  expect(await after(22)).toBe(2);
});

test("with `off` nothing is ever pushed", async () => {
  const { deployed, after } = world("off");
  await deployed("web");
  expect(await after(1000)).toBe(0);
});
