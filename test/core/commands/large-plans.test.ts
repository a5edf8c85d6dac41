import { expect, test } from "@jest/globals";
import { applicationName } from "../../../src/core/model/brand.js";
import type { Compute } from "../../../src/core/ports/compute.js";
import { configMap } from "../../scenarios/resources.js";
import { CommandWorld, config, definition, PLAN, planned, spec } from "./command-world.js";

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

test("diffs that a plan has no room for are counted and named, and say that they are not shown", async () => {
  const world = new CommandWorld();
  const names = Array.from({ length: 12 }, (_, index) => `app-${index}`);
  const files = (seed: string) => {
    const text = Array.from({ length: 1500 }, (_, line) => `${seed} ${line} ${"x".repeat(50)}`).join("\n");
    const objects = Array.from({ length: 22 }, (_, index) => [`part-${index}`, text] as const);
    return Object.fromEntries(
      names.flatMap((name) =>
        objects.map(([part, value]) => [`apps/${name}/${part}.yaml`, configMap(`${name}-${part}`, { value })]),
      ),
    );
  };
  for (const name of names) world.deployer.add(applicationName(name), spec(name));
  const definitions = Object.assign({}, ...names.map((name) => definition(name))) as Record<string, string>;
  const number = world.open({ ...definitions, ...files("new") });
  const { applications } = planned(await world.run(number, PLAN));
  const evaluated = applications.filter((one) => one.kind === "evaluated");
  expect(evaluated.map(({ diff }) => diff.created)).toEqual(names.map(() => 22));
  const texts = evaluated.flatMap(({ diff }) => diff.resources.map((resource) => resource.diff));
  expect(texts.join("").length).toBeLessThan(17 * 1024 * 1024);
  expect(texts).toContain("# It is not shown: the other diffs of this plan are too long.");
});
