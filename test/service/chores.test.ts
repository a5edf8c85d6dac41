import { expect, test } from "@jest/globals";
import { applicationName, repositoryName, revision } from "../../src/core/model/brand.js";
import type { ChangeRequest } from "../../src/core/model/change-request.js";
import { StoredValueUnreadable } from "../../src/core/model/errors.js";
import type { CodeHost } from "../../src/core/ports/code-host.js";
import type { Deployer } from "../../src/core/ports/deployer.js";
import type { EventQueue } from "../../src/core/ports/event-queue.js";
import { wrapPort } from "../../src/observe/wrap-port.js";
import type { Publisher } from "../../src/run/around/publisher.js";
import { createChores, tellPlanned } from "../../src/service/chores.js";
import { TokenWatch } from "../../src/service/token-watch.js";
import { createMemoryStores } from "../../src/store/memory/memory-stores.js";
import { samplePlan } from "../comments/samples.js";
import { configOf, SMALLEST } from "../config/server-file.js";
import { ManualClock } from "../manual-clock.js";
import { recordingLog } from "../recording-log.js";

/** Chores over stores in memory, with one lock for each of the numbers. */
async function choresUnderTest(state: CodeHost["state"], { held = [1], scarce = false } = {}) {
  const [clock, log] = [new ManualClock(), recordingLog()];
  const stores = createMemoryStores(clock);
  const [budget, marked]: [{ scarce: boolean }, number[]] = [{ scarce }, []];
  const host: Partial<CodeHost> = {
    id: "hosta",
    state,
    scarceUntil: () => (budget.scarce ? new Date(clock.now().getTime() + 60_000) : undefined),
    recentActivity: () => Promise.resolve({ at: clock.now(), readTo: undefined, heads: [], closed: [], comments: [] }),
    self: () => Promise.resolve({ id: "1", login: "svc", bot: true }),
  };
  const nobody = { publish: () => Promise.resolve() };
  const chores = createChores({
    ...stores,
    hosts: { hosta: host as CodeHost },
    queue: { pushUntold: nobody.publish, isBusy: () => Promise.resolve(false) } as Partial<EventQueue> as EventQueue,
    notifications: nobody,
    watch: undefined,
    tokens: new TokenWatch({ hosts: [], deployerToken: "", notifications: nobody, connection: undefined, clock, log }),
    publisher: {
      mark: ({ number }) => Promise.resolve(void marked.push(number)),
      touched: nobody.publish,
      written: () => Promise.resolve(undefined),
    },
    deployer: {} as Deployer,
    config: configOf([SMALLEST]),
    clock,
    log,
  });
  for (const number of held) {
    const [application, planRevision] = [applicationName(`web-${number}`), revision("a".repeat(40))];
    const holder = holderOf(number);
    await stores.locks.acquire({ application, holder, user: "ana", planRevision, sourceFile: undefined }, clock.now());
  }
  return { chores, budget, marked, stores, clock };
}

function holderOf(number: number) {
  return { host: "hosta", repository: repositoryName("acme/deploy"), number } as const;
}

test("a host that takes its time is asked once for the state of a holder, however often it is time to reconcile", async () => {
  const asked: ((state: ChangeRequest["state"]) => void)[] = [];
  const { chores } = await choresUnderTest(() => new Promise((answer) => void asked.push(answer)));
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const all = [1, 2, 3].map(() => chores.reconcileAfterTakeOver());
  for (let turns = 0; turns < 20 || asked.length === 0; turns += 1) await turn();
  expect(asked.splice(0).map((answer) => answer("open"))).toHaveLength(1);
  await Promise.all(all);
  const later = chores.reconcileAfterTakeOver();
  while (asked.length === 0) await turn();
  asked[0]?.("open");
  await later;
});

test("holders are not asked about while the host's calls are scarce, unless somebody waits for one, and none is left out for ever", async () => {
  let asked: number[] = [];
  const { chores, budget } = await choresUnderTest(
    ({ number }) => {
      asked.push(number);
      budget.scarce = asked.length === 2;
      return Promise.resolve("open");
    },
    { held: [1, 2, 3] },
  );
  await chores.reconcile();
  expect(asked).toHaveLength(2);
  await chores.checkHolder(holderOf(3));
  expect(asked).toHaveLength(3);
  const ever = new Set<number>();
  for (let round = 1; ever.size < 3; round += 1) {
    expect(round).toBeLessThan(1000);
    [asked, budget.scarce] = [[], false];
    await chores.reconcile();
    for (const number of asked) ever.add(number);
  }
});

test("nobody is reminded of what the host was not asked about: it may be closed, and would be asked for at each look", async () => {
  const { chores, budget, marked, stores, clock } = await choresUnderTest(() => Promise.resolve("open"), { held: [] });
  const noDefinition = { specBefore: {}, specWritten: undefined, approvers: [] };
  const record = { application: applicationName("web"), revision: revision("a".repeat(40)), pins: [], user: "ana" };
  const timestamp = clock.now().toISOString();
  const deployed = { ...noDefinition, ...record, change: holderOf(1), outcome: "succeeded", timestamp } as const;
  await stores.deployments.save(deployed);
  clock.advance(25 * 60 * 60 * 1000);
  budget.scarce = true;
  await chores.reconcile();
  expect(marked).toEqual([]);
  budget.scarce = false;
  await chores.reconcile();
  expect(marked).toEqual([1]);
});

test("a push is told to those planned against its branch, and one to the default branch, whose rules hold for all, to all", async () => {
  const { stores } = await choresUnderTest(() => Promise.resolve("open"));
  for (const [number, baseBranch] of [
    [1, "main"],
    [2, "main"],
    [3, "main"],
    [4, "release"],
    [5, undefined],
  ] as const) {
    await stores.marks.concern(holderOf(number), [applicationName("web")]);
    if (baseBranch !== undefined) await stores.plans.save(samplePlan([], { change: holderOf(number), baseBranch }));
  }
  const plans = wrapPort(stores.plans, {
    find: (call, { number }) =>
      number === 2 ? Promise.reject(new StoredValueUnreadable("of another version")) : call(),
  });
  const told: number[] = [];
  const publisher: Pick<Publisher, "mark"> = {
    // The host allows 5,000 calls an hour, and each of them takes some.
    mark: async ({ number }, options) => void (options?.patient === true && told.push(number)),
  };
  const origin = { kind: "branch-pushed", host: "hosta", repository: holderOf(1).repository } as const;
  const tell = async (branch: string, isDefault: boolean) => {
    told.length = 0;
    await tellPlanned({ ...origin, branch, isDefault }, { ...stores, plans, publisher, log: recordingLog() });
    return told;
  };
  expect(await tell("main", true)).toEqual([1, 2, 3, 4, 5]);
  expect(await tell("main", false)).toEqual([1, 3]);
  expect(await tell("release", false)).toEqual([4]);
});
