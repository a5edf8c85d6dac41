import { expect, test } from "@jest/globals";
import { applicationName, repositoryName } from "../../../src/core/model/brand.js";
import { LOCK_LIFETIME_MS } from "../../../src/core/model/lock.js";
import { PLAN_LIFETIME_MS } from "../../../src/core/model/plan/plan.js";
import { createMemoryStores } from "../../../src/store/memory/memory-stores.js";
import { samplePlan } from "../../comments/samples.js";
import { ManualClock } from "../../manual-clock.js";

const holder = { host: "hosta", repository: repositoryName("acme/deploy"), number: 7 } as const;
const application = applicationName("web");

test("the seven days of a lock start again at each refresh", async () => {
  const clock = new ManualClock();
  const { locks } = createMemoryStores(clock);
  const acquire = () =>
    locks.acquire({ application, holder, user: "ana", planRevision: undefined, sourceFile: undefined }, clock.now());
  await acquire();
  clock.advance(LOCK_LIFETIME_MS - 1);
  expect(await acquire()).toMatchObject({ kind: "acquired", fresh: false });
  clock.advance(LOCK_LIFETIME_MS - 1);
  expect(await locks.list()).toHaveLength(1);
  clock.advance(1);
  expect(await locks.list()).toEqual([]);
});

test("a plan lives for 30 days", async () => {
  const clock = new ManualClock();
  const { plans } = createMemoryStores(clock);
  await plans.save(samplePlan([], { change: holder, plannedAt: clock.now().toISOString() }));
  clock.advance(PLAN_LIFETIME_MS - 1);
  expect(await plans.find(holder)).toBeDefined();
  clock.advance(1);
  expect(await plans.find(holder)).toBeUndefined();
});

test("it is always ready", async () => {
  const stores = createMemoryStores(new ManualClock());
  await expect(stores.ping()).resolves.toBeUndefined();
  await stores.close();
});
