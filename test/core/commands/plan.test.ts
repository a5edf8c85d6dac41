import { expect, test } from "@jest/globals";
import { applicationName } from "../../../src/core/model/brand.js";
import { DeployerFailure } from "../../../src/core/model/errors.js";
import { plainText } from "../../../src/core/model/host-words.js";
import { Stopped } from "../../../src/core/ports/event-queue.js";
import type { LockStore } from "../../../src/core/ports/stores.js";
import { wrapPort } from "../../../src/observe/wrap-port.js";
import { API, CommandWorld, config, definition, PLAN, planned, refused, spec, SYNC, WEB } from "./command-world.js";

test("a plan locks what it affects and stores the head commit in the lock", async () => {
  const world = new CommandWorld();
  const number = world.open({ ...config(WEB, "2"), ...config(API, "2") });
  const plan = planned(await world.run(number, PLAN));
  expect(plan.applications.map(({ application, kind }) => [application, kind])).toEqual([
    [API, "evaluated"],
    [WEB, "evaluated"],
  ]);
  const locks = await world.stores.locks.list();
  expect(locks.map(({ planRevision }) => planRevision)).toEqual([plan.head, plan.head]);
});

test("an aborted plan gives back the locks that it took, and only those", async () => {
  const world = new CommandWorld();
  const number = world.open(config(WEB, "2"));
  const first = planned(await world.run(number, PLAN));
  world.host.push(number, { ...config(WEB, "3"), ...config(API, "3") });
  const stop = new AbortController();
  world.deployer.faults.render = () => stop.abort(new Stopped("pushed"));
  await expect(world.run(number, PLAN, { signal: stop.signal })).rejects.toBeInstanceOf(Stopped);
  expect(await world.holders()).toEqual({ web: number });
  expect(await world.stores.plans.find(world.host.ref(number))).toEqual(first);
});

test("an aborted plan gives back a lock that went away under it and that it took again", async () => {
  const world = new CommandWorld();
  const number = world.open(config(WEB, "2"));
  await world.run(number, PLAN);
  const stop = new AbortController();
  // Another replica handles the close between this plan's first acquire and its last.
  world.deployer.faults.render = ({ side }) => {
    if (side === "base") void world.stores.locks.release(WEB, world.host.ref(number));
  };
  const { plans } = world.stores;
  const stopping = {
    find: (change: Parameters<typeof plans.find>[0]) => plans.find(change),
    save: async () => stop.abort(new Stopped("closed")),
  };
  // A plan that a person asked for: an automatic one would know the base already.
  const asked = { signal: stop.signal, plans: stopping, automatic: false };
  await expect(world.run(number, PLAN, asked)).rejects.toBeInstanceOf(Stopped);
  expect(await world.holders()).toEqual({});
});

test("an aborted plan locks nothing afterwards, although an application is still being looked at", async () => {
  const world = new CommandWorld();
  const number = world.open({ ...config(WEB, "2"), ...config(API, "2") });
  const stop = new AbortController();
  const find = world.deployer.findApplication.bind(world.deployer);
  let goOn = (): void => undefined;
  const later = new Promise<void>((resolve) => (goOn = resolve));
  world.deployer.findApplication = async (name) => {
    if (name === API) stop.abort(new Stopped("pushed"));
    else await later;
    if (name === API) stop.signal.throwIfAborted();
    return find(name);
  };
  await expect(world.run(number, PLAN, { signal: stop.signal })).rejects.toBeInstanceOf(Stopped);
  goOn();
  for (let turns = 0; turns < 20; turns += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(await world.holders()).toEqual({});
});

test("Argo CD failing for one application does not hide another", async () => {
  const world = new CommandWorld();
  const number = world.open({ ...config(WEB, "2"), ...config(API, "2") });
  world.deployer.faults.render = ({ application }) => {
    if (application.name === API) throw new DeployerFailure("failed", "kustomize build failed");
  };
  const [api, web] = planned(await world.run(number, PLAN)).applications;
  expect(api).toMatchObject({ kind: "unevaluated", reason: expect.stringContaining("kustomize build failed") });
  expect(web).toMatchObject({ kind: "evaluated", verdict: "changed", diff: { updated: 1 } });
  const [lockOfApi, lockOfWeb] = await world.stores.locks.list();
  expect(lockOfApi).toMatchObject({ application: API, planRevision: undefined });
  expect(lockOfWeb).toMatchObject({ application: WEB, planRevision: world.host.facts(number).headRevision });
});

test("an application that Argo CD cannot find does not hide another", async () => {
  const world = new CommandWorld();
  const number = world.open({ ...config(WEB, "2"), ...config(API, "2") });
  world.deployer.faults.find = (name) => {
    if (name === API) throw new DeployerFailure("unreachable", "failed to connect to Argo CD");
  };
  const plan = planned(await world.run(number, PLAN));
  expect(plan.applications.map(({ kind }) => kind)).toEqual(["unevaluated", "evaluated"]);
});

test.each([
  ["reads nothing that changes", {}, false],
  ["is rendered by a plugin that Argo CD found by itself", { sourceTypes: ["Plugin"] }, true],
  ["runs with another definition than Argo CD listed", { spec: spec("root", "newer") }, true],
])("a file of an application whose parent %s", async (_, more, isDeployed) => {
  const world = new CommandWorld();
  const root = applicationName("root");
  world.deployer.add(root, spec(root));
  world.deployer.add(WEB, spec(WEB), { parent: root });
  const find = world.deployer.findApplication.bind(world.deployer);
  world.deployer.findApplication = async (name) => {
    const found = await find(name);
    return found && name === root ? { ...found, ...more } : found;
  };
  const number = world.open(definition(WEB, "blue"));
  const { applications } = planned(await world.run(number, PLAN));
  expect(applications).toMatchObject([{ application: WEB, kind: "evaluated", writesDefinition: isDeployed }]);
});

test("a plan with -a keeps what an earlier plan of the same head said of the others", async () => {
  const world = new CommandWorld();
  const number = world.open({ ...config(WEB, "2"), ...config(API, "2") });
  const [api] = planned(await world.run(number, PLAN)).applications;
  const again = planned(await world.run(number, { name: "plan", applications: ["web"] }));
  expect(again.applications[0]).toEqual(api);
  world.host.push(number, { ...config(WEB, "3"), ...config(API, "3") });
  const later = planned(await world.run(number, { name: "plan", applications: ["web"] }));
  expect(later.applications.map(({ kind }) => kind)).toEqual(["unplanned", "evaluated"]);
  expect(await world.holders()).toEqual({ api: number, web: number });
});

test("a plan with -a of an application that is not affected is refused", async () => {
  const world = new CommandWorld();
  const number = world.open(config(WEB, "2"));
  const result = await world.run(number, { name: "plan", applications: ["api"] });
  expect(refused(result)).toEqual({ reason: "unknown-applications", applications: ["api"] });
  expect(await world.holders()).toEqual({});
});

test("a whole plan releases the locks of applications that are no longer affected", async () => {
  const world = new CommandWorld();
  const number = world.open({ ...config(WEB, "2"), ...config(API, "2") });
  await world.run(number, PLAN);
  world.host.push(number, config(API, "3"));
  expect(planned(await world.run(number, PLAN)).released).toEqual([WEB]);
  expect(await world.holders()).toEqual({ api: number });
});

test("a lock that another took while the application was rendered is shown as held", async () => {
  const world = new CommandWorld();
  const [one, other] = [world.open(config(WEB, "2")), world.open(config(WEB, "3"))];
  await world.run(other, PLAN);
  const { locks } = world.stores;
  const racing: LockStore = {
    ...bound(locks),
    acquire: async (request, now) => {
      if (request.planRevision === undefined) return { kind: "acquired", fresh: true, lock: lockFor(request, now) };
      return locks.acquire(request, now);
    },
  };
  const [web] = planned(await world.run(one, PLAN, { locks: racing })).applications;
  expect(web?.lock).toMatchObject({ kind: "held", by: { holder: world.host.ref(other) } });
  expect(await world.holders()).toEqual({ web: other });
});

test("the base side is rendered from the base branch's resource while another change request wrote the live spec", async () => {
  const world = new CommandWorld();
  const [writer, reader] = [world.open(definition(WEB, "other")), world.open(config(WEB, "2"))];
  await world.run(writer, PLAN);
  await world.run(writer, SYNC);
  expect(world.deployer.specOf(WEB)).toEqual(spec(WEB, "other"));
  world.deployer.renders.length = 0;
  const [web] = planned(await world.run(reader, PLAN)).applications;
  expect(web?.warnings.map(plainText).join()).toMatch(new RegExp(`MR !${writer}, which is deployed and not`));
  const namespaces = world.deployer.renders.map(({ side, mode, application }) => [side, mode, application.spec]);
  expect(namespaces).toEqual([
    ["head", "temporary", spec(WEB)],
    ["base", "temporary", spec(WEB)],
  ]);
});

function bound(locks: LockStore): LockStore {
  return {
    acquire: (request, now) => locks.acquire(request, now),
    release: (application, by) => locks.release(application, by),
    find: (application) => locks.find(application),
    list: (holder) => locks.list(holder),
    ping: () => locks.ping(),
  };
}

function lockFor(request: Parameters<LockStore["acquire"]>[0], now: Date) {
  return { ...request, timestamp: now.toISOString() };
}

test("what another change request deployed is read from its plan once for all applications", async () => {
  const world = new CommandWorld();
  const other = world.open({ ...config(WEB, "3"), ...config(API, "3") });
  await world.run(other, PLAN);
  await world.run(other, SYNC);
  const number = world.open({ ...config(WEB, "2"), ...config(API, "2") });
  const asked: number[] = [];
  const plans = wrapPort(world.stores.plans, {
    find: (call, change) => {
      asked.push(change.number);
      return call();
    },
  });
  const { applications } = planned(await world.run(number, PLAN, { plans }));
  expect(applications.map(({ replaces }) => replaces?.[0]?.objects)).toEqual([
    ["ConfigMap guestbook/api"],
    ["ConfigMap guestbook/web"],
  ]);
  expect(asked.filter((one) => one === other)).toHaveLength(1);
});

test("a child that is planned with its parent leaves the queue for its lock once it has it", async () => {
  const world = new CommandWorld();
  const root = { ...spec("root"), destination: { server: "https://kubernetes.default.svc", namespace: "argocd" } };
  world.deployer.add("root", { ...root, source: { ...root.source, path: "argocd" } });
  world.deployer.add(WEB, spec(WEB), { parent: applicationName("root") });
  const other = world.open(config(WEB, "2"));
  await world.run(other, PLAN);
  const number = world.open(definition(WEB, "blue"));
  const ofRoot = { name: "plan", applications: ["root"] } as const;
  await world.run(number, ofRoot);
  const { locks, waiting } = world.stores;
  expect(await waiting.of(WEB)).toHaveLength(1);
  await locks.release(WEB, world.host.ref(other));
  await world.run(number, ofRoot);
  expect(await world.holders()).toEqual({ root: number, web: number });
  expect(await waiting.of(WEB)).toEqual([]);
});
