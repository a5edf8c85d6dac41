import { beforeEach, expect, test } from "@jest/globals";
import { sampleSettings } from "../sample-settings.js";
import {
  API,
  CommandWorld,
  config,
  definition,
  PLAN,
  refused,
  ROLLBACK,
  spec,
  SYNC,
  synced,
  WEB,
} from "./command-world.js";

let world: CommandWorld;
beforeEach(() => {
  world = new CommandWorld();
});

async function deploy(changes: Parameters<CommandWorld["open"]>[0]): Promise<number> {
  const number = world.open(changes);
  await world.run(number, PLAN);
  await world.run(number, SYNC);
  return number;
}

test("gives back the locks that it took when another holds one of them", async () => {
  const number = await deploy({ ...config(WEB, "2"), ...config(API, "2") });
  const other = world.open(config(API, "3"));
  await world.run(other, PLAN);
  const refusal = refused(await world.run(number, ROLLBACK));
  expect(refusal).toMatchObject({ reason: "locked-by-other", locks: [{ application: API }] });
  expect(await world.holders()).toEqual({ api: other });
  expect(world.deployer.syncs).toHaveLength(2);
});

test("keeps the locks that it had when another holds one of them", async () => {
  const number = await deploy({ ...config(WEB, "2"), ...config(API, "2") });
  world.host.push(number, { ...config(WEB, "4"), ...config(API, "4") });
  await world.run(number, { name: "plan", applications: ["web"] });
  const other = world.open(config(API, "3"));
  await world.run(other, PLAN);
  await world.run(number, ROLLBACK);
  expect(await world.holders()).toEqual({ api: other, web: number });
});

test.each([
  [
    "the approval is missing",
    { requirementsFor: () => ({ requireApproval: true, requireUpToDate: false }) },
    "not-approved",
  ],
  ["auto-sync is enabled", {}, "auto-sync"],
] as const)("gives back the lock that it took when %s", async (_, settings, reason) => {
  const number = await deploy(config(WEB, "2"));
  if (reason === "auto-sync") world.deployer.add(WEB, { ...spec(WEB), syncPolicy: { automated: {} } });
  const result = await world.run(number, ROLLBACK, { settings: sampleSettings(settings) });
  expect(refused(result)).toMatchObject({ reason, applications: [WEB] });
  expect(await world.holders()).toEqual({});
});

test("puts back the definition from before the first sync, syncs the target revision and ends the record", async () => {
  const number = await deploy(definition(WEB, "other"));
  expect(synced(await world.run(number, ROLLBACK))).toMatchObject([
    { application: WEB, kind: "succeeded", warnings: [] },
  ]);
  expect(world.deployer.syncs.at(-1)).toMatchObject({ at: "target", application: { spec: spec(WEB) } });
  expect(world.deployer.specOf(WEB)).toEqual(spec(WEB));
  expect(await world.stores.deployments.list()).toEqual([]);
  expect(await world.holders()).toEqual({});
});

test("leaves a definition alone that is no longer the one that was written", async () => {
  const number = await deploy(definition(WEB, "other"));
  world.deployer.add(WEB, spec(WEB, "by-hand"));
  const [web] = synced(await world.run(number, ROLLBACK));
  expect(web?.warnings.join()).toMatch(/not the one that this PR wrote/);
  expect(world.deployer.specOf(WEB)).toEqual(spec(WEB, "by-hand"));
});

test("that failed keeps lock and record", async () => {
  const number = await deploy(config(WEB, "2"));
  world.deployer.faults.sync = () => ({ kind: "failed", message: "it failed", resources: [] });
  expect(synced(await world.run(number, ROLLBACK))).toMatchObject([{ kind: "failed" }]);
  expect(await world.holders()).toEqual({ web: number });
  expect(await world.stores.deployments.list()).toHaveLength(1);
});
