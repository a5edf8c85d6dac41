import { expect, test } from "@jest/globals";
import type { Compute } from "../../../src/core/ports/compute.js";
import { CommandWorld, config, definition, PLAN, planned } from "./command-world.js";

test("an application whose comparison is stopped could not be evaluated, and the others are planned", async () => {
  const world = new CommandWorld();
  const number = world.open({ ...config("web", "x".repeat(40_000)), ...config("api", "2") });
  const stopping: Compute = {
    run: () => Promise.resolve({ kind: "exceeded", limit: "memory" }),
  };
  const result = await world.run(number, PLAN, { compute: stopping });
  const plans = planned(result).applications;
  expect(plans.map(({ application, kind }) => [application, kind])).toEqual([
    ["api", "evaluated"],
    ["web", "unevaluated"],
  ]);
  expect(plans[1]).toMatchObject({ reason: expect.stringContaining("took too much memory and was stopped") });
  expect(await world.holders()).toEqual({ api: number, web: number });
});

test("the event loop gets turns while a thousand new applications are surveyed and locked", async () => {
  const world = new CommandWorld();
  const names = Array.from({ length: 1000 }, (_, index) => `new-${index}`);
  const number = world.open(Object.assign({}, ...names.map((name) => definition(name))) as Record<string, string>);
  let inThisTurn = 0;
  let most = 0;
  const { locks } = world.stores;
  const acquire = locks.acquire.bind(locks);
  locks.acquire = (request, now) => {
    if (inThisTurn === 0) setImmediate(() => (inThisTurn = 0));
    inThisTurn += 1;
    most = Math.max(most, inThisTurn);
    return acquire(request, now);
  };
  const result = await world.run(number, PLAN);
  expect(planned(result).applications).toHaveLength(names.length);
  expect(most).toBeLessThanOrEqual(100);
});
