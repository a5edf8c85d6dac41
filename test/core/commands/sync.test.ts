import { beforeEach, describe, expect, test } from "@jest/globals";
import { decideMerge } from "../../../src/core/commands/merge.js";
import { type ApplicationName, applicationName } from "../../../src/core/model/brand.js";
import type { Command } from "../../../src/core/model/command.js";
import { DeployerFailure, StoredValueUnreadable, StoreUnavailable } from "../../../src/core/model/errors.js";
import type { Hold } from "../../../src/core/model/hold.js";
import { plainText } from "../../../src/core/model/host-words.js";
import type { DeploymentStore, HoldStore } from "../../../src/core/ports/stores.js";
import { wrapPort } from "../../../src/observe/wrap-port.js";
import { applicationResource, asYaml } from "../../scenarios/resources.js";
import { sampleSettings } from "../sample-settings.js";
import { API, CommandWorld, config, definition, PLAN, refused, spec, SYNC, synced, WEB } from "./command-world.js";

const FAILED = { kind: "failed", message: "sync failed", resources: [] } as const;

let world: CommandWorld;
beforeEach(() => {
  world = new CommandWorld();
});

async function planFor(changes: Parameters<CommandWorld["open"]>[0]): Promise<number> {
  const number = world.open(changes);
  await world.run(number, PLAN);
  return number;
}

/** The record stores' writes fail from the first sync on; `times` of them, or all. */
function awayAfterSync(times = Infinity): DeploymentStore {
  const { deployments } = world.stores;
  let left = times;
  const away = () => world.deployer.syncs.length > 0 && left-- > 0;
  return {
    save: async (deployment) => {
      if (away()) throw new StoreUnavailable("failed to connect to Redis: connection refused");
      return deployments.save(deployment);
    },
    remove: (application, change) => deployments.remove(application, change),
    ofApplication: (application) => deployments.ofApplication(application),
    ofChange: (change) => deployments.ofChange(change),
    list: () => deployments.list(),
  };
}

test("one application that fails hides no other: its lock stays, the other's is released", async () => {
  const number = await planFor({ ...config(WEB, "2"), ...config(API, "2") });
  world.deployer.faults.sync = ({ application }) => (application.name === API ? FAILED : undefined);
  const result = synced(await world.run(number, SYNC));
  expect(result.map(({ application, kind }) => [application, kind])).toEqual([
    [API, "failed"],
    [WEB, "succeeded"],
  ]);
  expect(await world.holders()).toEqual({ api: number });
});

test.each([
  ["never reached Argo CD", { maybeDone: false }, "rejected", []],
  ["may have reached Argo CD", {}, "unknown", [{ application: WEB, outcome: "unknown" }]],
] as const)("a sync that %s", async (_, facts, kind, records) => {
  const number = await planFor(config(WEB, "2"));
  world.deployer.faults.sync = () => {
    throw new DeployerFailure("unreachable", "failed to connect to Argo CD: connection refused", facts);
  };
  expect(synced(await world.run(number, SYNC))).toMatchObject([{ application: WEB, kind }]);
  expect(await world.stores.deployments.list()).toMatchObject(records);
  expect(await world.holders()).toEqual({ web: number });
});

test("a store that is away right after the sync is asked again until it answers", async () => {
  const number = await planFor(config(WEB, "2"));
  const before = world.clock.now().getTime();
  const [web] = synced(await world.run(number, SYNC, { deployments: awayAfterSync(3) }));
  expect(web).toMatchObject({ kind: "succeeded", warnings: [] });
  expect(world.clock.now().getTime() - before).toBeGreaterThanOrEqual(3500);
  expect(await world.holders()).toEqual({});
  expect(await world.stores.deployments.list()).toMatchObject([{ application: WEB, outcome: "succeeded" }]);
});

test("a store of records that stays away after the sync is warned about, and the sync's own outcome is told", async () => {
  const number = await planFor(config(WEB, "2"));
  const [web] = synced(await world.run(number, SYNC, { deployments: awayAfterSync() }));
  expect(web).toMatchObject({ kind: "succeeded", warnings: [expect.stringContaining("the store did not answer")] });
  expect(await world.holders()).toEqual({});
  expect(await world.stores.deployments.list()).toMatchObject([{ outcome: "started" }]);
});

test("a hold that comes after a sync was judged bars its first call, and so does one that cannot be read", async () => {
  const number = await planFor(config(WEB, "2"));
  const by = { provider: "basic", id: "basic:olga", login: "olga" } as const;
  const times = { since: "2026-03-02T10:00:00.000Z", until: "2026-03-03T10:00:00.000Z" };
  const hold: Hold = { id: "one", applications: ["w*"], reason: "freeze", by, ...times };
  const onSecond = (second: () => Promise<readonly Hold[]>): HoldStore => {
    let asked = 0;
    const list = () => (++asked === 1 ? Promise.resolve([]) : second());
    return { list, save: () => Promise.resolve(), remove: () => Promise.resolve(undefined) };
  };
  const held = refused(await world.run(number, SYNC, { holds: onSecond(() => Promise.resolve([hold])) }));
  expect(held).toMatchObject({
    reason: "not-deployable",
    applications: [{ application: WEB, reason: "olga holds web until 2026-03-03 10:00 UTC: freeze" }],
  });
  const damaged = onSecond(() => Promise.reject(new StoredValueUnreadable("a hold in Redis is damaged")));
  const doubts = ["whether an application is held: a hold in Redis is damaged"];
  expect(refused(await world.run(number, SYNC, { holds: damaged }))).toEqual({ reason: "cannot-tell", doubts });
  expect(world.deployer.syncs).toEqual([]);
});

test("nothing is deployed when the record cannot be written first", async () => {
  const number = await planFor(config(WEB, "2"));
  const { deployments } = world.stores;
  const broken: DeploymentStore = {
    save: () => Promise.reject(new StoreUnavailable("failed to connect to Redis: connection refused")),
    remove: (application, change) => deployments.remove(application, change),
    ofApplication: (application) => deployments.ofApplication(application),
    ofChange: (change) => deployments.ofChange(change),
    list: () => deployments.list(),
  };
  const [web] = synced(await world.run(number, SYNC, { deployments: broken }));
  expect(web).toMatchObject({ kind: "rejected", message: "failed to acquire lock: nothing was deployed" });
  expect(world.deployer.syncs).toEqual([]);
});

test.each([
  ["was lost", 0],
  ["was lost with the connection", 3],
] as const)("a record does not stay that was written although the store's answer %s", async (_, missed) => {
  const number = await planFor({ ...config(WEB, "2"), ...config(API, "2") });
  await world.run(number, { name: "sync", applications: ["api"], dryRun: false, prune: false });
  const [before] = await world.stores.deployments.list();
  await world.run(number, PLAN);
  const answers = { lost: 2, missed };
  const failIfAway = () => {
    if (answers.lost <= 0 && answers.missed-- > 0) throw new StoreUnavailable("failed to connect to Redis: closed");
  };
  const deployments = wrapPort(world.stores.deployments, {
    async save(call) {
      failIfAway();
      await call();
      if (answers.lost-- > 0) throw new StoreUnavailable("failed to connect to Redis: timed out");
    },
    async remove(call) {
      failIfAway();
      return call();
    },
  });
  const results = synced(await world.run(number, SYNC, { deployments, runId: "second" }));
  expect(results.map(({ application, kind }) => [application, kind])).toEqual([
    [API, "rejected"],
    [WEB, "rejected"],
  ]);
  expect(world.deployer.syncs).toHaveLength(1);
  expect(await world.stores.deployments.list()).toEqual([before]);
});

test("a lock that went away while the checks ran stops the sync, and is not taken again", async () => {
  const number = await planFor(config(WEB, "2"));
  world.host.mergeability = async () => {
    await world.stores.locks.release(WEB, world.host.ref(number));
    return "mergeable";
  };
  expect(refused(await world.run(number, SYNC))).toEqual({ reason: "nothing-locked" });
  expect(world.deployer.syncs).toEqual([]);
  expect(await world.holders()).toEqual({});
});

async function expectRefusedForLock(child: ApplicationName): Promise<void> {
  const settings = sampleSettings({ crPaths: ["none"] });
  const root = { ...spec("root"), destination: { server: "https://kubernetes.default.svc", namespace: "argocd" } };
  world.deployer.add("root", { ...root, source: { ...root.source, path: "argocd" } });
  world.deployer.add(WEB, spec(WEB), { parent: applicationName("root") });
  const number = world.open(definition(child, "blue"));
  await world.run(number, PLAN, { settings });
  expect(await world.holders()).toEqual({ root: number, ...(child === WEB && { web: number }) });
  const { locks } = world.stores;
  const other = world.host.ref(world.open(config(API, "2")));
  const theirs = { application: child, holder: other, user: "bo", planRevision: undefined, sourceFile: undefined };
  world.host.mergeability = async () => {
    await locks.release(child, world.host.ref(number));
    await locks.acquire(theirs, world.clock.now());
    return "mergeable";
  };
  const ofRoot: Command = { name: "sync", applications: ["root"], dryRun: false, prune: false };
  const refusal = refused(await world.run(number, ofRoot, { settings }));
  expect(refusal).toMatchObject({ reason: "locked-by-other", locks: [{ application: child, holder: other }] });
  expect(world.deployer.syncs).toEqual([]);
}

test("the lock of a child that another takes while the checks run keeps a parent from writing its definition", async () => {
  await expectRefusedForLock(WEB);
});

test("the name of a new child that another locks while the checks run keeps a parent from creating it", async () => {
  await expectRefusedForLock(applicationName("young"));
});

test("an approval that is withdrawn right before the deployment withholds again what it let svc render", async () => {
  const { source, ...rest } = spec(WEB);
  const helm = { valueFiles: ["https://private.example.com/values.yaml"] };
  const reading = { ...rest, source: { ...source, helm } };
  const resource = applicationResource(WEB, { repoURL: source.repoURL, spec: reading });
  const number = world.open({ [`argocd/${WEB}.yaml`]: asYaml(resource) });
  world.host.approve(number, "bo");
  await world.run(number, PLAN);
  const { host } = world;
  const getChangeRequest = host.getChangeRequest.bind(host);
  host.getChangeRequest = (change) => {
    host.approve(number);
    return getChangeRequest(change);
  };
  const refusal = refused(await world.run(number, SYNC));
  expect(refusal).toMatchObject({ reason: "not-deployable", applications: [{ application: WEB }] });
  expect(JSON.stringify(refusal)).toContain("it is not rendered before somebody who may deploy it has approved");
  expect(world.deployer.syncs).toEqual([]);
});

test("whether to merge is decided with one look at the stores", async () => {
  const number = await planFor(config(WEB, "2"));
  await world.run(number, SYNC);
  const context = await world.context(number, { settings: sampleSettings({ autoMerge: true }) });
  let reads = 0;
  const locks = wrapPort(world.stores.locks, { list: (call) => ((reads += 1), call()) });
  const plan = await world.stores.plans.find(world.host.ref(number));
  const so = { dryRun: false, involved: [WEB], deployed: [], plan };
  expect(await decideMerge(so, { ...context, locks })).toMatchObject({ merge: { method: expect.any(String) } });
  expect(reads).toBe(1);
});

test("what the newest plan could not evaluate is stale, though an earlier plan of the same head locked it", async () => {
  const number = await planFor(config(WEB, "2"));
  world.deployer.faults.render = () => {
    throw new DeployerFailure("refused", "helm failed");
  };
  await world.run(number, PLAN);
  expect(await world.stores.locks.find(WEB)).toMatchObject({ planRevision: world.host.facts(number).headRevision });
  const result = await world.run(number, SYNC);
  const applications = [{ application: WEB, planFailure: expect.stringContaining("helm failed") }];
  expect(refused(result)).toMatchObject({ reason: "stale", applications });
  expect(result).toMatchObject({ next: { kind: "push", because: "unevaluated", applications: [WEB] } });
  expect(world.deployer.syncs).toEqual([]);
});

describe("the definition", () => {
  test("is put back after a failed sync", async () => {
    const number = await planFor(definition(WEB, "other"));
    world.deployer.faults.sync = () => FAILED;
    const [web] = synced(await world.run(number, SYNC));
    expect(web?.warnings).toEqual(["its definition was put back to what it was before this sync"]);
    expect(world.deployer.specOf(WEB)).toEqual(spec(WEB));
  });

  test("is left alone after a failed sync when somebody else changed it meanwhile", async () => {
    const number = await planFor(definition(WEB, "other"));
    world.deployer.faults.sync = () => {
      world.deployer.add(WEB, spec(WEB, "by-hand"));
      return FAILED;
    };
    const [web] = synced(await world.run(number, SYNC));
    expect(web?.warnings).toEqual(["its definition is not the one of this MR and was left as it is"]);
    expect(world.deployer.specOf(WEB)).toEqual(spec(WEB, "by-hand"));
  });

  test("stays after a failed sync during which somebody merged, since the target branch has it", async () => {
    const number = await planFor(definition(WEB, "other"));
    world.deployer.faults.sync = () => {
      world.host.setState(number, "merged");
      return FAILED;
    };
    const [web] = synced(await world.run(number, SYNC));
    expect(web?.warnings).toEqual(["its definition is the one of this MR, which was merged meanwhile, and stays"]);
    expect(world.deployer.specOf(WEB)).toEqual(spec(WEB, "other"));
  });

  test("that cannot be put back is told with the cure", async () => {
    const number = await planFor(definition(WEB, "other"));
    world.deployer.faults.sync = () => {
      world.deployer.faults.updateSpec = () => {
        throw new DeployerFailure("unreachable", "failed to connect to Argo CD");
      };
      return FAILED;
    };
    const [web] = synced(await world.run(number, SYNC));
    expect(web?.warnings.map(plainText).join()).toMatch(
      /could not be put back .* run the sync command again, or the rollback command/,
    );
    expect(await world.stores.deployments.list()).toMatchObject([
      { outcome: "failed", specWritten: spec(WEB, "other") },
    ]);
  });
});

describe("the record", () => {
  const refuse = () => {
    throw new DeployerFailure("refused", "blocked by sync window");
  };

  test("of a sync that Argo CD refused at once does not stay", async () => {
    const number = await planFor(config(WEB, "2"));
    world.deployer.faults.sync = refuse;
    expect(synced(await world.run(number, SYNC))).toMatchObject([{ kind: "rejected" }]);
    expect(await world.stores.deployments.list()).toEqual([]);
    expect(await world.holders()).toEqual({ web: number });
  });

  test("of an earlier sync stays as it was after one that Argo CD refused at once", async () => {
    const number = await planFor(config(WEB, "2"));
    await world.run(number, SYNC);
    const before = await world.stores.deployments.list();
    world.host.push(number, config(WEB, "3"));
    await world.run(number, PLAN);
    world.deployer.faults.sync = refuse;
    await world.run(number, SYNC);
    expect(await world.stores.deployments.list()).toEqual(before);
  });

  test("stays as unknown after a sync whose start nobody knows of", async () => {
    const number = await planFor(config(WEB, "2"));
    world.deployer.faults.sync = () => {
      throw new DeployerFailure("unreachable", "no answer in time");
    };
    expect(synced(await world.run(number, SYNC))).toMatchObject([{ kind: "unknown" }]);
    expect(await world.stores.deployments.list()).toMatchObject([{ outcome: "unknown" }]);
  });

  test("keeps the spec from before the first of several syncs", async () => {
    const number = await planFor(definition(WEB, "second"));
    await world.run(number, SYNC);
    world.host.push(number, definition(WEB, "third"));
    await world.run(number, PLAN);
    await world.run(number, SYNC);
    expect(await world.stores.deployments.list()).toMatchObject([
      { outcome: "succeeded", specBefore: spec(WEB), specWritten: spec(WEB, "third") },
    ]);
  });

  test("of another change request is replaced by a success, and by nothing less", async () => {
    const first = await planFor(config(WEB, "2"));
    await world.run(first, SYNC);
    const second = await planFor(config(WEB, "3"));
    world.deployer.faults.sync = () => FAILED;
    await world.run(second, SYNC);
    const numbers = async () => (await world.stores.deployments.list()).map(({ change }) => change.number).sort();
    expect(await numbers()).toEqual([first, second]);
    world.deployer.faults.sync = undefined;
    await world.run(second, SYNC);
    expect(await numbers()).toEqual([second]);
  });
});
