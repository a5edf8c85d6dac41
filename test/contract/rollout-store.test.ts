import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { applicationName, repositoryName, revision } from "../../src/core/model/brand.js";
import { PLAN_LIFETIME_MS } from "../../src/core/model/plan/plan.js";
import type { Rollout } from "../../src/core/model/rollout.js";
import type { RolloutStore } from "../../src/core/ports/stores.js";
import { implementations, type StoresUnderTest } from "./stores-under-test.js";

const MINUTE_MS = 60_000;

// What every `RolloutStore` must do.
describe.each(implementations)("rollout store: %s", (_, start) => {
  const begin = new Date("2026-03-02T10:00:00.000Z");
  const after = (ms: number) => new Date(begin.getTime() + ms).toISOString();
  const rollout = (number: number, { since = 0, lastsMs = 30 * MINUTE_MS } = {}): Rollout => ({
    change: { host: "hosta", repository: repositoryName("acme/deploy"), repositoryId: "7", number },
    merged: revision("a".repeat(40)),
    since: after(since),
    until: after(lastsMs),
    ended: undefined,
    approval: "given",
    applications: [
      {
        application: applicationName("web"),
        goal: "run",
        origin: "auto-synced",
        healthy: true,
        existed: true,
        seen: "Synced Healthy",
        destination: { cluster: "in-cluster", namespace: "shop" },
        state: { kind: "failing", why: "could not be synced", message: "no room", since: after(0) },
      },
    ],
    deployed: [
      { application: applicationName("api"), outcome: "succeeded", user: "ana", timestamp: after(0), seconds: 4 },
    ],
  });
  let under: StoresUnderTest;
  let rollouts: RolloutStore;
  beforeAll(async () => {
    under = await start();
  });
  afterAll(() => under.stop());
  beforeEach(async () => {
    await under.clear();
    rollouts = under.stores.rollouts;
  });

  test("every replica finds what is followed, the oldest first, under every name of its repository", async () => {
    const [first, second] = [rollout(2), rollout(1, { since: 1000 })];
    await rollouts.save(second, begin);
    await rollouts.save(first, begin);
    const { replica } = under;
    expect(await replica.rollouts.list()).toEqual([first, second]);
    const renamed = { ...first.change, repository: repositoryName("acme/renamed") };
    expect(await replica.rollouts.find(renamed)).toEqual(first);
    expect(await replica.rollouts.find({ ...first.change, number: 3 })).toBeUndefined();
  });

  test("what is saved again is replaced; what has ended is found, and no longer listed", async () => {
    await rollouts.save(rollout(1), begin);
    const unknown = { ...rollout(1), approval: "unknown" } as const;
    await rollouts.save(unknown, begin);
    expect(await rollouts.list()).toEqual([unknown]);
    const ended = { ...rollout(1), ended: after(MINUTE_MS) };
    await rollouts.save(ended, begin);
    expect(await rollouts.find(ended.change)).toEqual(ended);
    expect(await rollouts.list()).toEqual([]);
  });

  test("it is kept after its time for as long as a plan", async () => {
    const [short, long] = [rollout(1, { lastsMs: MINUTE_MS }), rollout(2, { lastsMs: 2 * PLAN_LIFETIME_MS })];
    await rollouts.save(short, begin);
    await rollouts.save(long, begin);
    await under.expire(MINUTE_MS);
    expect(await rollouts.list()).toHaveLength(2);
    await under.expire(PLAN_LIFETIME_MS);
    expect(await rollouts.find(short.change)).toBeUndefined();
    expect(await rollouts.list()).toEqual([long]);
  });
});
