import { expect, test } from "@jest/globals";
import { applicationName } from "../../../src/core/model/brand.js";
import { configMap } from "../../scenarios/resources.js";
import { CommandWorld, definition, PLAN, planned, spec } from "./command-world.js";

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
