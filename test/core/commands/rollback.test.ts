import { beforeEach, expect, test } from "@jest/globals";
import type { ApplicationName } from "../../../src/core/model/brand.js";
import { changeRequestRef } from "../../../src/core/model/change-request.js";
import { DeployerFailure, StoredValueUnreadable, StoreUnavailable } from "../../../src/core/model/errors.js";
import { plainText } from "../../../src/core/model/host-words.js";
import type { CommandContext } from "../../../src/core/ports/context.js";
import type { DeploymentStore, LockStore } from "../../../src/core/ports/stores.js";
import { wrapPort } from "../../../src/observe/wrap-port.js";
import { withChanges } from "../../in-memory/memory-repositories.js";
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

/** Another change request that has locked the application, and deployed to it. */
async function planAndDeploy(application: ApplicationName): Promise<number> {
  const other = world.open(config(application, "3"));
  await world.run(other, PLAN);
  const [record] = await world.stores.deployments.ofApplication(application);
  if (record === undefined) throw new Error("the application was deployed");
  await world.stores.deployments.save({ ...record, change: changeRequestRef(world.host.facts(other)) });
  return other;
}

/** Commits to the target branch. */
function moveMain(changes: Parameters<CommandWorld["open"]>[0]): void {
  const { repositories } = world;
  repositories.commit("main", withChanges(repositories.filesAt(repositories.tip("main")), changes));
}

/** Ports whose lock store lets `meanwhile` happen right after the first takeover. */
function whileTakingOver(meanwhile: () => Promise<void>): LockStore {
  const { locks } = world.stores;
  return {
    acquire: async (request, now, from) => {
      const attempt = await locks.acquire(request, now, from);
      if (from !== undefined && request.holder.number !== from.number) await meanwhile();
      return attempt;
    },
    release: (application, by) => locks.release(application, by),
    find: (application) => locks.find(application),
    list: (holder) => locks.list(holder),
    ping: () => locks.ping(),
  };
}

test("returns a lock that it took over when the holder began to deploy at that moment", async () => {
  const number = await deploy({ ...config(WEB, "2"), ...config(API, "2") });
  const other = world.open(config(API, "3"));
  await world.run(other, PLAN);
  const before = await world.stores.locks.find(API);
  world.clock.advance(60_000);
  const [record] = await world.stores.deployments.ofApplication(API);
  if (record === undefined) throw new Error("the application was deployed");
  let times = 0;
  const locks = whileTakingOver(async () => {
    times += 1;
    if (times > 1) return;
    await world.stores.deployments.save({ ...record, change: changeRequestRef(world.host.facts(other)) });
  });
  const refusal = refused(await world.run(number, ROLLBACK, { locks }));
  expect(refusal).toMatchObject({ reason: "locked-by-other", locks: [{ application: API }] });
  expect(await world.holders()).toEqual({ api: other });
  expect(await world.stores.locks.find(API)).toEqual(before);
  expect(world.deployer.syncs).toHaveLength(2);
});

test("a sync whose lock was taken over at that moment deploys nothing and leaves no record", async () => {
  const number = world.open(config(WEB, "2"));
  await world.run(number, PLAN);
  const { deployments, locks } = world.stores;
  const other = { ...changeRequestRef(world.host.facts(number)), number: 99 };
  const context: Partial<CommandContext> = {
    deployments: {
      ...portOf(deployments),
      save: async (record) => {
        await deployments.save(record);
        const request = { application: WEB, holder: other, user: "bo", planRevision: undefined, sourceFile: undefined };
        await locks.acquire(request, world.clock.now(), record.change);
      },
    },
  };
  const [result] = synced(await world.run(number, SYNC, context));
  expect(result).toMatchObject({ kind: "rejected", message: expect.stringContaining("MR !99 (bo) has it now") });
  expect(world.deployer.syncs).toEqual([]);
  expect(await deployments.ofApplication(WEB)).toEqual([]);
  expect(await world.holders()).toEqual({ web: 99 });
});

function portOf(deployments: DeploymentStore): DeploymentStore {
  return {
    save: (record) => deployments.save(record),
    remove: (application, change) => deployments.remove(application, change),
    ofApplication: (application) => deployments.ofApplication(application),
    ofChange: (change) => deployments.ofChange(change),
    list: () => deployments.list(),
  };
}

test.each([
  "while it locks",
  "instead of saying that it locked",
  "instead of saying that the holder waits",
  "right after it took one over",
  "instead of saying that it took one over",
  "when it notes what it is about to deploy",
] as const)("gives back the locks that it took when the store fails %s", async (when) => {
  const number = await deploy({ ...config(WEB, "2"), ...config(API, "2") });
  const other = world.open(config(API, "3"));
  await world.run(other, PLAN);
  const before = await world.stores.locks.find(API);
  world.clock.advance(60_000);
  const state = { tookOver: false, fails: 1 };
  const failIf = (reached: boolean, at: typeof when) =>
    reached && when === at && state.fails-- > 0 ? Promise.reject(new StoreUnavailable("away")) : undefined;
  const locks = wrapPort(world.stores.locks, {
    async acquire(call, { application }, _now, from) {
      await failIf(application === API, "while it locks");
      const attempt = await call();
      await failIf(application === WEB, "instead of saying that it locked");
      state.tookOver ||= from !== undefined;
      await failIf(state.tookOver, "instead of saying that it took one over");
      return attempt;
    },
  });
  const deployments = wrapPort(world.stores.deployments, {
    ofApplication: (call) => failIf(state.tookOver, "right after it took one over") ?? call(),
  });
  const waiting = wrapPort(world.stores.waiting, {
    async join(call) {
      const place = await call();
      await failIf(true, "instead of saying that the holder waits");
      return place;
    },
  });
  const noteStarted = async () => failIf(true, "when it notes what it is about to deploy");
  const failing = { locks, deployments, waiting, noteStarted };
  await expect(world.run(number, ROLLBACK, failing)).rejects.toThrow("away");
  expect(await world.holders()).toEqual({ api: other });
  expect(await world.stores.locks.find(API)).toEqual(before);
  expect(await world.stores.waiting.of(API)).toEqual([]);
  expect(world.deployer.syncs).toHaveLength(2);
});

test("gives back the locks that it took when another holds one of them", async () => {
  const number = await deploy({ ...config(WEB, "2"), ...config(API, "2") });
  const other = await planAndDeploy(API);
  const refusal = refused(await world.run(number, ROLLBACK));
  expect(refusal).toMatchObject({ reason: "locked-by-other", locks: [{ application: API }] });
  expect(await world.holders()).toEqual({ api: other });
  expect(world.deployer.syncs).toHaveLength(2);
});

test("gives back the locks that it took also where the store is away for a moment then", async () => {
  const number = await deploy({ ...config(WEB, "2"), ...config(API, "2") });
  const other = await planAndDeploy(API);
  const { release } = world.stores.locks;
  world.stores.locks.release = () => {
    world.stores.locks.release = release;
    return Promise.reject(new StoreUnavailable("the store is away"));
  };
  expect(refused(await world.run(number, ROLLBACK))).toMatchObject({ reason: "locked-by-other" });
  expect(await world.holders()).toEqual({ api: other });
});

test("keeps the locks that it had when another holds one of them", async () => {
  const number = await deploy({ ...config(WEB, "2"), ...config(API, "2") });
  world.host.push(number, { ...config(WEB, "4"), ...config(API, "4") });
  await world.run(number, { name: "plan", applications: ["web"] });
  const other = await planAndDeploy(API);
  await world.run(number, ROLLBACK);
  expect(await world.holders()).toEqual({ api: other, web: number });
});

const GATED = sampleSettings({ requirementsFor: () => ({ requireApproval: true, requireUpToDate: false }) });

test.each([
  ["the approval is missing", GATED, "not-approved"],
  ["auto-sync is enabled", sampleSettings(), "auto-sync"],
] as const)("gives back the lock that it took when %s", async (_, settings, reason) => {
  const number = await deploy(config(WEB, "2"));
  if (reason === "auto-sync") world.deployer.add(WEB, { ...spec(WEB), syncPolicy: { automated: {} } });
  moveMain(config(WEB, "5"));
  const result = await world.run(number, ROLLBACK, { settings });
  expect(refused(result)).toMatchObject({ reason, applications: [WEB] });
  expect(await world.holders()).toEqual({});
});

test.each([
  ["has not moved", {}],
  ["has moved elsewhere", config(API, "5")],
])("needs no approval for what ran before if the target branch %s", async (_, changes) => {
  const number = await deploy(config(WEB, "2"));
  moveMain(changes);
  expect(synced(await world.run(number, ROLLBACK, { settings: GATED }))).toMatchObject([{ kind: "succeeded" }]);
});

test.each([
  ["the file that decides its line ends", { ".gitattributes": "* text eol=crlf" }, {}],
  ["a file that the repository maps to it", { "shared/web.yaml": "a: 2" }, { paths: ["shared/**"] }],
])("needs an approval if the target branch changed %s", async (_, changes, { paths = [] }: { paths?: string[] }) => {
  const number = await deploy(config(WEB, "2"));
  moveMain(changes);
  const settings = { ...GATED, applications: paths.length === 0 ? [] : [{ name: WEB, paths }] };
  expect(refused(await world.run(number, ROLLBACK, { settings }))).toMatchObject({ reason: "not-approved" });
});

test.each(["locks", "deployments"] as const)(
  "what the store has in %s and nobody can read refuses it",
  async (port) => {
    const number = await deploy(config(WEB, "2"));
    const list = () => Promise.reject(new StoredValueUnreadable("a newer version of svc wrote it"));
    const unreadable = { [port]: wrapPort<object>(world.stores[port], { list, ofChange: list }) };
    expect(refused(await world.run(number, ROLLBACK, unreadable))).toMatchObject({ reason: "cannot-tell" });
    expect(refused(await world.run(number, SYNC, unreadable))).toMatchObject({ reason: "cannot-tell" });
    expect(await world.holders()).toEqual({});
  },
);

test("without -a acts on what it deployed alone, and keeps the lock of what is only planned", async () => {
  const number = await deploy(config(WEB, "2"));
  world.host.push(number, { ...config(WEB, "2"), ...config(API, "2") });
  await world.run(number, { name: "plan", applications: ["api"] });
  const result = await world.run(number, ROLLBACK);
  expect(synced(result).map(({ application }) => application)).toEqual([WEB]);
  expect(result).toMatchObject({ kept: [API] });
  expect(await world.holders()).toEqual({ api: number });
});

test("acts on what is only planned if -a names it, or nothing was deployed", async () => {
  const number = world.open({ ...config(WEB, "2"), ...config(API, "2") });
  await world.run(number, PLAN);
  const one = await world.run(number, { name: "rollback", applications: ["api"], dryRun: false, prune: false });
  expect(one).toMatchObject({ applications: [{ application: API }], kept: [] });
  const rest = await world.run(number, ROLLBACK);
  expect(rest).toMatchObject({ applications: [{ application: WEB }], kept: [] });
});

test("a refusal says what has to happen next", async () => {
  const number = await deploy(config(WEB, "2"));
  moveMain(config(WEB, "5"));
  const unapproved = await world.run(number, ROLLBACK, { settings: GATED });
  expect(unapproved).toMatchObject({ kind: "refused", next: { kind: "approve", then: { command: "rollback" } } });
  const other = await planAndDeploy(WEB);
  const locked = await world.run(number, ROLLBACK);
  expect(locked).toMatchObject({ next: { kind: "wait", locks: [{ application: WEB, holder: { number: other } }] } });
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

test("puts back the target branch's definition, although the record of whoever brought it there had not ended", async () => {
  const first = await deploy(definition(WEB, "second"));
  world.host.setState(first, "merged");
  const second = await deploy(definition(WEB, "third"));
  expect(world.deployer.specOf("web")).toEqual(spec(WEB, "third"));
  synced(await world.run(second, ROLLBACK));
  expect(world.deployer.specOf("web")).toEqual(spec(WEB, "second"));
});

test("leaves a definition alone that is no longer the one that was written", async () => {
  const number = await deploy(definition(WEB, "other"));
  world.deployer.add(WEB, spec(WEB, "by-hand"));
  const [web] = synced(await world.run(number, ROLLBACK));
  expect(web?.warnings.map(plainText).join()).toMatch(/not the one that this MR wrote/);
  expect(world.deployer.specOf(WEB)).toEqual(spec(WEB, "by-hand"));
});

/** Deploys `api` with a definition that a set of `web` gave it. */
async function deployGenerated(): Promise<number> {
  const number = await deploy({ ...config("web", "2"), ...config("api", "2") });
  const [record] = await world.stores.deployments.ofApplication(API);
  if (record === undefined) throw new Error("the application was deployed");
  await world.stores.deployments.save({ ...record, given: { parent: WEB, set: "shop" } });
  return number;
}

test("tells what it did to a parent although Argo CD is away when it looks for the definition of a child", async () => {
  const number = await deployGenerated();
  const before = world.deployer.syncs.length;
  world.deployer.faults.find = (name) => {
    if (name !== API || world.deployer.syncs.length === before) return;
    throw new DeployerFailure("unreachable", "Argo CD is away");
  };
  const result = synced(await world.run(number, ROLLBACK));
  expect(result.map(({ application, kind, message }) => [application, kind, message])).toEqual([
    [API, "rejected", "Argo CD is away"],
    [WEB, "succeeded", ""],
  ]);
});

test("does not take a child for deleted that Argo CD does not show for a moment after the rollback of its parent", async () => {
  const number = await deployGenerated();
  const before = world.deployer.syncs.length;
  let looks = 0;
  world.deployer.faults.find = (name) => {
    if (name !== API || world.deployer.syncs.length === before) return;
    looks += 1;
    if (looks > 1) throw new DeployerFailure("unreachable", "Argo CD is away");
  };
  const result = synced(await world.run(number, ROLLBACK));
  expect(result.map(({ application, kind }) => [application, kind])).toEqual([
    [API, "rejected"],
    [WEB, "succeeded"],
  ]);
  expect(await world.stores.deployments.ofApplication(API)).toHaveLength(1);
  expect(await world.stores.locks.find(API)).toBeDefined();
});

test("says that a set has not yet written what the rollback of its parent gave it", async () => {
  const number = await deploy({ ...config("web", "2"), ...definition(API, "other") });
  const [record] = await world.stores.deployments.ofApplication(API);
  if (record === undefined) throw new Error("the application was deployed");
  await world.stores.deployments.save({ ...record, given: { parent: WEB, set: "shop" } });
  world.deployer.add(API, spec(API, "other"), { owningSet: "shop" });
  const result = synced(await world.run(number, ROLLBACK));
  expect(result.map(({ application, kind, message }) => [application, kind, message])).toEqual([
    [
      API,
      "rejected",
      "nothing was deployed: the ApplicationSet shop has not written its earlier definition yet. Run the rollback command again once it has, or look at that set in Argo CD",
    ],
    [WEB, "succeeded", ""],
  ]);
});

test("leaves an earlier stage as it is once somebody merges while a later one is rolled back", async () => {
  const number = await deploy({ ...config(API, "2"), ...definition(WEB, "other") });
  world.deployer.faults.sync = () => {
    world.host.setState(number, "merged");
    return undefined;
  };
  const stages = [WEB, API].map((one) => ({ name: one, applications: one, wait: "healthy" as const, soak: 0 }));
  const settings = sampleSettings({ stages: [stages] });
  const [api, web] = synced(await world.run(number, ROLLBACK, { settings }));
  expect(api).toMatchObject({ application: API, kind: "succeeded" });
  expect(web).toMatchObject({ application: WEB, kind: "rejected" });
  expect(web?.message).toBe("nothing was deployed: this MR was merged meanwhile. To undo it, revert it");
  expect(world.deployer.specOf(WEB)).toEqual(spec(WEB, "other"));
});

test("deploys nothing that it could not look at before it was judged, since its leftovers may be locked by others", async () => {
  const number = await deploy({ ...config(API, "2"), ...config(WEB, "2") });
  const before = world.deployer.syncs.length;
  world.deployer.faults.find = (name) => {
    if (name === API && world.deployer.syncs.length === before) throw new DeployerFailure("unreachable", "away");
  };
  const stages = [API, WEB].map((one) => ({ name: one, applications: one, wait: "healthy" as const, soak: 0 }));
  const settings = sampleSettings({ stages: [stages] });
  expect(synced(await world.run(number, ROLLBACK, { settings }))).toMatchObject([
    { application: API, kind: "rejected", message: "away" },
    { application: WEB, kind: "succeeded" },
  ]);
  expect(await world.stores.deployments.list()).toMatchObject([{ application: API, outcome: "succeeded" }]);
});

test("that failed keeps lock and record", async () => {
  const number = await deploy(config(WEB, "2"));
  world.deployer.faults.sync = () => ({ kind: "failed", message: "it failed", resources: [] });
  expect(synced(await world.run(number, ROLLBACK))).toMatchObject([{ kind: "failed" }]);
  expect(await world.holders()).toEqual({ web: number });
  expect(await world.stores.deployments.list()).toHaveLength(1);
});
