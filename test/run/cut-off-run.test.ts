import { describe, expect, test } from "@jest/globals";
import { applicationName } from "../../src/core/model/brand.js";
import {
  DeployerFailure,
  HostFailure,
  LeaseLost,
  RepositoryFailure,
  StoredValueUnreadable,
  StoreUnavailable,
} from "../../src/core/model/errors.js";
import type { HostEvent } from "../../src/core/model/event.js";
import { type RunEnd, type RunTicket, Stopped } from "../../src/core/ports/event-queue.js";
import { MemoryJournal } from "../../src/queue/in-process.js";
import type { Dependencies } from "../../src/run/line/run.js";
import { supervise } from "../../src/run/line/supervise.js";
import { ANA, API, CommandWorld, config, definition, spec, WEB } from "../core/commands/command-world.js";
import { withChanges } from "../in-memory/memory-repositories.js";
import { runDependencies } from "../in-memory/run-dependencies.js";
import { testConfig } from "../in-memory/test-config.js";

const BOTH = { ...config("web", "2"), ...config("api", "2") };

let deliveries = 0;

/** A world in which an event is run, cut off somewhere, and run once more as another replica does it. */
class CutWorld extends CommandWorld {
  defaults: Readonly<Record<string, unknown>> = {};

  dependencies(more: Partial<Dependencies> = {}): Dependencies {
    return runDependencies({
      ...this.stores,
      config: testConfig(this.defaults),
      hosts: { hostb: this.host },
      repositories: this.repositories,
      deployer: this.deployer,
      clock: this.clock,
      log: this.log,
      ...more,
    });
  }

  comment(number: number, body: string): HostEvent {
    deliveries += 1;
    const change = this.host.ref(number);
    return {
      kind: "commented",
      commentId: String(1000 + deliveries),
      body,
      author: ANA,
      delivery: `d${deliveries}`,
      change,
    };
  }

  async says(number: number, body: string): Promise<void> {
    await this.handle(this.comment(number, body));
  }

  async handle(event: HostEvent, ticket = ticketOf()): Promise<void> {
    expect(await supervise(event, this.dependencies(), ticket)).toBe("done");
  }

  /** Runs an event until its process is gone, right before or after this call. */
  async #endAt(cut: Cut, event: HostEvent, ticket: RunTicket): Promise<void> {
    let isDead = false;
    const confirm = () => (isDead ? Promise.reject(new LeaseLost()) : Promise.resolve());
    const gone = cutAt(cut);
    void supervise(event, this.dependencies(), { ...ticket, confirm });
    await gone;
    isDead = true;
  }

  /** Runs an event until its process is gone, and gives it up. */
  async giveUp(event: HostEvent, cut: Cut): Promise<void> {
    const ticket = ticketOf();
    await this.#endAt(cut, event, ticket);
    await this.handle(event, { ...ticket, again: true, givenUp: true });
  }

  /** Runs an event until its process is gone, and then once more. */
  async cutOff(
    event: HostEvent,
    cut: Cut,
    { second, meanwhile, signal, end = "done" }: Resumption = {},
  ): Promise<void> {
    const journal = new MemoryJournal();
    for (const [index, one] of [cut, second].entries()) {
      if (one !== undefined) await this.#endAt(one, event, { ...ticketOf(journal), again: index > 0 });
    }
    await meanwhile?.();
    const ticket = ticketOf(journal);
    const again = { ...ticket, signal: signal ?? ticket.signal, again: true };
    expect(await supervise(event, this.dependencies(), again)).toBe(end);
  }
}

/** How a run goes on that was cut off. */
interface Resumption {
  /** Where its second attempt is cut off. */
  readonly second?: Cut;
  /** What happens before. */
  readonly meanwhile?: () => unknown;
  readonly signal?: AbortSignal;
  readonly end?: RunEnd;
}

function ticketOf(journal = new MemoryJournal()): RunTicket {
  return {
    signal: new AbortController().signal,
    again: false,
    givenUp: false,
    confirm: () => Promise.resolve(),
    journal,
    stepAside: () => undefined,
  };
}

interface Cut {
  readonly at: object;
  readonly method: string;
  readonly when: "before" | "after";
  /** Only a call with this in its arguments. */
  readonly saying?: string;
}

/** From the next such call on the process is gone: the call may be carried out, and its answer never comes. */
function cutAt({ at, method, when, saying = "" }: Cut): Promise<void> {
  const original: unknown = Reflect.get(at, method);
  if (typeof original !== "function") throw new Error(`there is no ${method}`);
  return new Promise((resolve) => {
    Reflect.set(at, method, async (...args: unknown[]): Promise<unknown> => {
      if (!JSON.stringify(args).includes(saying)) return Reflect.apply(original, at, args) as unknown;
      Reflect.set(at, method, original);
      if (when === "after") await Reflect.apply(original, at, args);
      resolve();
      return new Promise(() => undefined);
    });
  });
}

/** Reading the change request heeds the signal, as the real hosts do. */
function stopsWhereItCan({ host }: CutWorld): void {
  const { getChangeRequest } = host;
  host.getChangeRequest = async (change, signal) => {
    signal?.throwIfAborted();
    return getChangeRequest.call(host, change);
  };
}

/** The numbers of the change requests that are to be brought up to date within a minute. */
async function markedIn({ clock, stores }: CutWorld): Promise<readonly number[]> {
  const now = clock.now().getTime();
  const marks = await stores.marks.take(new Date(now + 61_000), new Date(now + 120_000), 10);
  return marks.map(({ change }) => change.number);
}

const titles = (comments: readonly string[]) => comments.map((body) => /^## svc (\w+)/m.exec(body)?.[1] ?? body);

test.each(["before", "after"] as const)(
  "a plan that is cut off %s it was posted is there once, and stands",
  async (when) => {
    const world = new CutWorld();
    const number = world.open(BOTH);
    const change = world.host.ref(number);
    const event = { kind: "updated", reason: "opened", delivery: "opened", change } as const;
    await world.cutOff(event, { at: world.host, method: "postComment", when });
    expect(titles(world.host.commentsOf(number))).toEqual(["Plan"]);
    expect(world.host.commentsOf(number)[0]).not.toContain("stale=true");
    expect(world.host.isMinimised(number, "1")).toBe(false);
    expect(await world.holders()).toEqual({ web: number, api: number });
  },
);

test("a plan of another head than the one that was posted is another comment", async () => {
  const world = new CutWorld();
  const number = world.open(BOTH);
  const event = world.comment(number, "svc plan");
  await world.cutOff(
    event,
    { at: world.host, method: "postComment", when: "after" },
    { meanwhile: () => world.host.push(number, config("web", "3")) },
  );
  const [first = "", second = "", ...more] = world.host.commentsOf(number);
  expect(more).toEqual([]);
  expect(first).toContain("stale=true");
  expect(second).toContain(`head=${world.host.facts(number).headRevision}`);
});

test("a sync that Argo CD carried out is followed, not repeated, and answered once", async () => {
  const world = new CutWorld();
  const number = world.open(BOTH);
  await world.says(number, "svc plan");
  await world.cutOff(world.comment(number, "svc sync -a web"), { at: world.deployer, method: "sync", when: "after" });
  expect(world.deployer.syncs).toHaveLength(1);
  expect(titles(world.host.commentsOf(number))).toEqual(["Plan", "Sync"]);
  expect(world.host.commentsOf(number)[1]).toContain("✅ succeeded");
  expect(await world.holders()).toEqual({ api: number });
  expect(await world.stores.deployments.ofChange(world.host.ref(number))).toMatchObject([
    { application: WEB, outcome: "succeeded" },
  ]);
});

const damaged = () => Promise.reject(new StoredValueUnreadable("a value is damaged"));

test.each([
  [
    "a record of another application",
    ({ deployments }) => Object.assign(deployments, { list: damaged, ofChange: damaged }),
  ],
  ["the plan", ({ plans }) => Object.assign(plans, { find: damaged })],
] satisfies [string, (stores: CutWorld["stores"]) => unknown][])(
  "%s that cannot be read keeps no sync from being followed",
  async (_what, damage) => {
    const world = new CutWorld();
    const number = world.open(BOTH);
    await world.says(number, "svc plan");
    await world.cutOff(
      world.comment(number, "svc sync -a web"),
      { at: world.deployer, method: "sync", when: "after" },
      { meanwhile: () => damage(world.stores) },
    );
    expect(titles(world.host.commentsOf(number))).toEqual(["Plan", "Sync"]);
    expect(world.host.commentsOf(number)[1]).toContain("✅ succeeded");
    expect(await world.holders()).toEqual({ api: number });
  },
);

test("what a sync did is shown with the mistakes of a file that broke before it went on", async () => {
  const world = new CutWorld();
  const number = world.open(BOTH);
  await world.says(number, "svc plan");
  const files = world.repositories.filesAt(world.repositories.tip("main"));
  await world.cutOff(
    world.comment(number, "svc sync -a web"),
    { at: world.deployer, method: "sync", when: "after" },
    { meanwhile: () => world.repositories.commit("main", withChanges(files, { ".svc.yaml": "stages: [" })) },
  );
  const [shown, answer] = world.host.commentsOf(number);
  expect(answer).toContain("✅ succeeded");
  expect(shown).toContain("Fix `.svc.yaml` and push.");
});

test("what a sync did is shown later if the rules cannot be read when it is answered", async () => {
  const world = new CutWorld();
  const number = world.open(BOTH);
  await world.says(number, "svc plan");
  const away = () => Promise.reject(new RepositoryFailure("the repository is away"));
  const sync = world.comment(number, "svc sync -a web");
  await world.cutOff(
    sync,
    { at: world.host, method: "postComment", when: "before", saying: "svc Sync" },
    { meanwhile: () => (world.repositories.open = away) },
  );
  expect(titles(world.host.commentsOf(number))).toEqual(["Plan", "Sync"]);
  expect(await markedIn(world)).toContain(number);
});

test("what another one deployed after a part of the sync had succeeded stays recorded", async () => {
  const world = new CutWorld();
  const [number, other] = [world.open(BOTH), world.open(config("web", "3"))];
  await world.says(number, "svc plan");
  const meanwhile = async () => {
    await world.says(other, "svc plan");
    world.deployer.faults.sync = () => ({ kind: "failed", message: "no room", resources: [] });
    await world.says(other, "svc sync");
    delete world.deployer.faults.sync;
  };
  const cut = { at: world.stores.locks, method: "release", when: "after", saying: WEB } as const;
  await world.cutOff(world.comment(number, "svc sync"), cut, { meanwhile });
  expect(world.host.commentsOf(number).at(-1)).toContain("✅ succeeded");
  const ofOther = await world.stores.deployments.ofChange(world.host.ref(other));
  expect(ofOther).toMatchObject([{ application: WEB, outcome: "failed" }]);
  expect(await world.holders()).toMatchObject({ web: other });
});

test("so does what another one deployed and unlocked since, where the part was recorded as well", async () => {
  const world = new CutWorld();
  const [number, other] = [world.open(BOTH), world.open(config("web", "3"))];
  await world.says(number, "svc plan");
  const { sync } = world.deployer;
  let isCut = false;
  world.deployer.sync = async (request) =>
    isCut || request.application.name === WEB ? sync.call(world.deployer, request) : new Promise(() => undefined);
  const meanwhile = async () => {
    isCut = true;
    await world.says(other, "svc plan");
    world.deployer.faults.sync = () => ({ kind: "failed", message: "no room", resources: [] });
    await world.says(other, "svc sync");
    delete world.deployer.faults.sync;
    await world.says(other, "svc unlock");
  };
  const cut = { at: world.stores.deployments, method: "save", when: "after", saying: '"outcome":"succeeded"' } as const;
  await world.cutOff(world.comment(number, "svc sync"), cut, { meanwhile });
  expect(
    world.host
      .commentsOf(number)
      .at(-1)
      ?.match(/✅ succeeded/g),
  ).toHaveLength(2);
  const ofOther = await world.stores.deployments.ofChange(world.host.ref(other));
  expect(ofOther).toMatchObject([{ application: WEB, outcome: "failed" }]);
});

test("what another one deployed before ends with a sync whose lock an administrator gave it meanwhile", async () => {
  const world = new CutWorld();
  const [number, other] = [world.open(config("web", "2")), world.open(config("web", "3"))];
  await world.says(other, "svc plan");
  await world.says(other, "svc sync");
  await world.says(number, "svc plan");
  const { sync } = world.deployer;
  world.deployer.sync = async (request) => {
    await world.stores.locks.release(WEB, world.host.ref(number));
    await world.says(other, "svc plan");
    return sync.call(world.deployer, request);
  };
  await world.clock.sleep(1000);
  await world.says(number, "svc sync");
  expect(await world.holders()).toEqual({ web: other });
  const records = await world.stores.deployments.ofApplication(WEB);
  expect(records.map(({ change, outcome }) => [change.number, outcome])).toEqual([[number, "succeeded"]]);
});

test("so it does with a rollback", async () => {
  const world = new CutWorld();
  const [number, other] = [world.open(config("web", "2")), world.open(config("web", "3"))];
  for (const said of ["svc plan", "svc sync"]) await world.says(other, said);
  await world.clock.sleep(1000);
  world.deployer.faults.sync = () => ({ kind: "failed", message: "no room", resources: [] });
  for (const said of ["svc plan", "svc sync"]) await world.says(number, said);
  world.deployer.faults.sync = undefined;
  const { sync } = world.deployer;
  world.deployer.sync = async (request) => {
    await world.stores.locks.release(WEB, world.host.ref(number));
    await world.says(other, "svc plan");
    return sync.call(world.deployer, request);
  };
  await world.says(number, "svc rollback");
  expect(world.host.commentsOf(number).at(-1)).toContain("✅");
  expect(await world.holders()).toEqual({ web: other });
  expect(await world.stores.deployments.list()).toEqual([]);
});

/** Lets the cut of `web` come when `api` is through. */
function startWebAfterApi({ deployer }: CutWorld): void {
  const apiDone = new Promise<void>((resolve) => {
    deployer.faults.sync = ({ application }) => {
      if (application.name === API) resolve();
      return undefined;
    };
  });
  const { sync } = deployer;
  deployer.sync = async (request) => {
    if (request.application.name === WEB) await apiDone;
    return sync.call(deployer, request);
  };
}

test("a sync that never reached Argo CD is started again, beside the one that did", async () => {
  const world = new CutWorld();
  const number = world.open(BOTH);
  await world.says(number, "svc plan");
  startWebAfterApi(world);
  await world.cutOff(world.comment(number, "svc sync"), {
    at: world.deployer,
    method: "sync",
    when: "before",
    saying: '"name":"web"',
  });
  expect(world.deployer.syncs.map(({ application }) => application.name).sort()).toEqual([API, WEB]);
  const said = world.host.commentsOf(number);
  expect(titles(said)).toEqual(["Plan", "Sync"]);
  expect(said[1]?.match(/✅ succeeded/g)).toHaveLength(2);
  expect(await world.holders()).toEqual({});
});

const syncedIn = (world: CutWorld) => world.deployer.syncs.map(({ application }) => application.name);

/** `api` is deployed ten minutes before `web`. */
function withStages(): CutWorld {
  const world = new CutWorld();
  for (const name of [WEB, API]) world.deployer.add(name, spec(name), { labels: { team: "shop" } });
  const stages = "stages: [{name: dev, applications: api}, {name: prod, applications: web, soak: 10m}]\n";
  const before = { ...config("web", "1"), ...config("api", "1"), ...definition("web"), ...definition("api") };
  world.repositories.commit("main", withChanges({}, { ...before, ".svc.yaml": stages }));
  return world;
}

test("a sync that is cut off before it starts, twice, is started by the third attempt", async () => {
  const world = new CutWorld();
  const number = world.open(BOTH);
  await world.says(number, "svc plan");
  await world.cutOff(
    world.comment(number, "svc sync"),
    { at: world.deployer, method: "sync", when: "before", saying: '"name":"web"' },
    { second: { at: world.stores.locks, method: "acquire", when: "before" } },
  );
  expect(syncedIn(world)).toEqual([API, WEB]);
  expect(world.host.commentsOf(number)[1]?.match(/✅ succeeded/g)).toHaveLength(2);
  expect(await world.holders()).toEqual({});
});

test("a stage whose event waits behind a plan is not deployed, since the plan has ended the run", async () => {
  const world = withStages();
  const number = world.open(BOTH);
  const change = world.host.ref(number);
  await world.says(number, "svc plan");
  await world.says(number, "svc sync");
  const next = (await world.stores.plans.find(change))?.next;
  if (next === undefined) throw new Error("no stage follows");
  await world.clock.sleep(11 * 60_000);
  await world.says(number, "svc plan");
  const before = world.host.commentsOf(number).length;
  await world.handle({ kind: "stage-due", delivery: "due", change, next });
  expect(syncedIn(world)).toEqual([API]);
  expect(world.host.commentsOf(number)).toHaveLength(before);
});

test.each(["ping", "acquire"] as const)(
  "a stage that is due while the store is away for a moment begins later (%s)",
  async (method) => {
    const world = withStages();
    const number = world.open(BOTH);
    const change = world.host.ref(number);
    await world.says(number, "svc plan");
    await world.says(number, "svc sync");
    const next = (await world.stores.plans.find(change))?.next;
    if (next === undefined) throw new Error("no stage follows");
    await world.clock.sleep(11 * 60_000);
    const { locks } = world.stores;
    const original = locks[method];
    Reflect.set(locks, method, () => {
      Reflect.set(locks, method, original);
      return Promise.reject(new StoreUnavailable("the store is away"));
    });
    const due = { kind: "stage-due", delivery: "due", change, next } as const;
    const before = world.host.commentsOf(number).length;
    expect(await supervise(due, world.dependencies(), ticketOf())).toBe("failed");
    expect(world.host.commentsOf(number)).toHaveLength(before);
    expect(await supervise(due, world.dependencies(), { ...ticketOf(), again: true })).toBe("done");
    expect(syncedIn(world)).toEqual([API, WEB]);
  },
);

test.each([
  ["everything", ""],
  ["names", " -a api -a web"],
  ["patterns", " -a ap* -a we*"],
  ["a label", " -a label:team=shop"],
])("a sync of %s that is cut off in a stage goes on with the next one", async (_what, selection) => {
  const world = withStages();
  const number = world.open(BOTH);
  await world.says(number, "svc plan");
  const event = world.comment(number, `svc sync${selection}`);
  await world.cutOff(event, { at: world.deployer, method: "sync", when: "after" });
  expect(syncedIn(world)).toEqual([API]);
  const plan = await world.stores.plans.find(world.host.ref(number));
  expect(plan?.next).toMatchObject({ stage: "prod", by: ANA, applications: selection === "" ? [] : [WEB] });
});

test("so does one of a change request that adds an application as well, which no stage deploys", async () => {
  const world = withStages();
  const number = world.open({ ...BOTH, ...config("new", "1"), ...definition("new") });
  await world.says(number, "svc plan");
  expect(await world.holders()).toEqual({ api: number, new: number, web: number });
  await world.cutOff(world.comment(number, "svc sync"), { at: world.deployer, method: "sync", when: "after" });
  expect((await world.stores.plans.find(world.host.ref(number)))?.next).toMatchObject({ stage: "prod" });
});

/** A planned change whose approval starts its sync, with the events that are pushed for it. */
async function approvedWorld() {
  const world = new CutWorld();
  const rules = "sync_on: approval\nrequire_approval: true\n";
  world.repositories.commit(
    "main",
    withChanges(world.repositories.filesAt(world.repositories.tip("main")), { ".svc.yaml": rules }),
  );
  const number = world.open(config("web", "2"));
  const change = world.host.ref(number);
  await world.says(number, "svc plan");
  world.host.approve(number, "bo");
  const pushed: HostEvent[] = [];
  const dependencies = world.dependencies({ push: async (event) => pushed.push(event) > 0 });
  return { world, number, change, pushed, dependencies };
}

test("an approval whose sync the host kept from beginning starts it once the host is back", async () => {
  const { world, number, change, pushed, dependencies } = await approvedWorld();
  const look = async (turn: number) => {
    await supervise({ kind: "marked", delivery: `marked-${turn}`, change, turn }, dependencies, ticketOf());
    const last = pushed.at(-1);
    if (last === undefined) throw new Error("no approval starts a sync");
    return last;
  };
  const approved = await look(1);
  const { postComment, getChangeRequest } = world.host;
  const away = () => Promise.reject(new HostFailure("unreachable", "the host does not answer"));
  Object.assign(world.host, { postComment: away, getChangeRequest: away });
  expect(await supervise(approved, dependencies, ticketOf())).toBe("failed");
  Object.assign(world.host, { postComment, getChangeRequest });
  const now = world.clock.now().getTime();
  const marks = await world.stores.marks.take(new Date(now + 61_000), new Date(now + 120_000), 10);
  expect(marks.map((mark) => mark.change.number)).toEqual([number]);
  expect(await look(2)).toEqual(approved);
  expect(pushed).toHaveLength(2);
  expect(await supervise(approved, dependencies, ticketOf())).toBe("done");
  expect(syncedIn(world)).toEqual([WEB]);
  await look(3);
  expect(pushed).toHaveLength(2);
});

test("an approval whose event waits for hours, since no replica runs, starts nothing any more", async () => {
  const { world, change, pushed, dependencies } = await approvedWorld();
  await supervise({ kind: "marked", delivery: "marked", change, turn: 1 }, dependencies, ticketOf());
  const [approved] = pushed;
  if (approved === undefined) throw new Error("no approval starts a sync");
  const { reach } = world.host;
  world.host.reach = async () => new Date((await reach.call(world.host)).getTime() + 5 * 60 * 60_000);
  expect(await supervise(approved, dependencies, ticketOf())).toBe("done");
  expect(world.deployer.syncs).toEqual([]);
});

test("what a sync had not begun when its host went away for hours is asked for again", async () => {
  const world = new CutWorld();
  const number = world.open(BOTH);
  await world.says(number, "svc plan");
  startWebAfterApi(world);
  const event = world.comment(number, "svc sync");
  const writtenAt = world.clock.now().toISOString();
  const meanwhile = async () => {
    await world.clock.sleep(5 * 60 * 60_000);
    Object.assign(event, { found: { writtenAt, overtaken: false } });
  };
  const cut = { at: world.deployer, method: "sync", when: "before", saying: '"name":"web"' } as const;
  await world.cutOff(event, cut, { meanwhile });
  expect(syncedIn(world)).toEqual([API]);
  const told = "svc had not started it ten minutes after the command: if you still want it, give the command again";
  expect(world.host.commentsOf(number).at(-1)).toContain(told);
  expect(await world.holders()).toEqual({ web: number });
  expect(await world.stores.deployments.ofApplication(WEB)).toMatchObject([{ outcome: "failed" }]);
});

test("a review that the host kept from being looked at is looked at a minute later", async () => {
  const world = new CutWorld();
  const number = world.open(config("web", "2"));
  const change = world.host.ref(number);
  const noDefinition = { specBefore: {}, specWritten: undefined, approvers: [] };
  const record = {
    ...noDefinition,
    application: WEB,
    pins: [],
    user: "ana",
    timestamp: world.clock.now().toISOString(),
  };
  const { headRevision: revision } = await world.host.getChangeRequest(change);
  await world.stores.deployments.save({ ...record, change, revision, outcome: "started", runId: "earlier" });
  const { getChangeRequest } = world.host;
  Object.assign(world.host, { getChangeRequest: () => Promise.reject(new HostFailure("unreachable", "away")) });
  const review = { kind: "reviewed", delivery: "review", change } as const;
  expect(await supervise(review, world.dependencies(), ticketOf())).toBe("failed");
  Object.assign(world.host, { getChangeRequest });
  const now = world.clock.now().getTime();
  const marks = await world.stores.marks.take(new Date(now + 61_000), new Date(now + 120_000), 10);
  expect(marks.map((mark) => mark.change.number)).toEqual([number]);
});

/** A world in which `api` applies the definition of `web`. */
function withParent(): CutWorld {
  const world = new CutWorld();
  world.deployer.add(WEB, spec(WEB), { parent: API });
  return world;
}

test.each([
  ["after its parent was deployed", { saying: '"name":"api"', when: "after" }],
  ["right before it would have been deployed", { saying: '"name":"web"', when: "before" }],
] as const)("a child whose run is cut off %s is deployed once, after its parent", async (_when, cut) => {
  const world = withParent();
  const number = world.open(BOTH);
  await world.says(number, "svc plan");
  await world.cutOff(world.comment(number, "svc sync"), { at: world.deployer, method: "sync", ...cut });
  expect(syncedIn(world)).toEqual([API, WEB]);
  expect(world.host.commentsOf(number)[1]?.match(/✅ succeeded/g)).toHaveLength(2);
  expect(await world.holders()).toEqual({});
});

test("a child whose parent failed before the run was cut off is not deployed by the run that goes on", async () => {
  const world = withParent();
  const number = world.open(BOTH);
  await world.says(number, "svc plan");
  world.deployer.faults.sync = ({ application }) =>
    application.name === API ? { kind: "failed", message: "no room", resources: [] } : undefined;
  await world.cutOff(world.comment(number, "svc sync"), { at: world.deployer, method: "sync", when: "after" });
  expect(syncedIn(world)).toEqual([API]);
  expect(world.host.commentsOf(number)[1]).toContain("its parent api, which applies its definition, was not deployed");
  expect(await world.holders()).toEqual({ web: number, api: number });
  expect(await world.stores.deployments.ofChange(world.host.ref(number))).toMatchObject([
    { application: API, outcome: "failed" },
    { application: WEB, outcome: "failed" },
  ]);
  delete world.deployer.faults.sync;
  await world.says(number, "svc sync");
  expect(syncedIn(world)).toEqual([API, API, WEB]);
});

test("a child that the rollback of its parent deletes while the run is cut off keeps neither lock nor record", async () => {
  const world = withParent();
  const number = world.open(BOTH);
  for (const said of ["svc plan", "svc sync"]) await world.says(number, said);
  await world.cutOff(
    world.comment(number, "svc rollback --prune"),
    { at: world.deployer, method: "sync", when: "after" },
    { meanwhile: () => world.deployer.remove(WEB) },
  );
  expect(world.host.commentsOf(number).at(-1)).toContain("✅ the rollback of its parent deleted it");
  expect(await world.holders()).toEqual({});
  expect(await world.stores.deployments.list()).toEqual([]);
});

test("a child that was not started before the run was cut off is told so, and not that its operation failed", async () => {
  const world = withParent();
  const number = world.open({ ...BOTH, ...definition("web", "other") });
  await world.says(number, "svc plan");
  // Its parent writes another definition of it than the planned one.
  const cut = { at: world.stores.deployments, method: "save", when: "after", saying: '"outcome":"failed"' } as const;
  await world.cutOff(world.comment(number, "svc sync"), cut);
  expect(syncedIn(world)).toEqual([API]);
  const answer = world.host.commentsOf(number).at(-1);
  expect(answer).toContain("❌ not started");
  expect(answer).toContain("the definition that its parent api wrote is the planned one without info");
});

/** Runs a command that is cut off before its sync; then somebody else syncs in Argo CD. */
async function replacedByOther(world: CutWorld, number: number, command: string): Promise<void> {
  const { findApplication } = world.deployer;
  let lastOperation = "2026-03-02T10:00:00Z";
  world.deployer.findApplication = async (...args) => {
    const found = await findApplication.apply(world.deployer, args);
    return found && { ...found, lastOperation };
  };
  await world.cutOff(
    world.comment(number, command),
    { at: world.deployer, method: "sync", when: "before" },
    {
      meanwhile: () => {
        lastOperation = "2026-03-02T11:00:00Z";
      },
    },
  );
}

test("a head does not count as deployed after a rollback that another operation followed", async () => {
  const world = new CutWorld();
  const number = world.open(config("web", "2"));
  await world.says(number, "svc plan");
  await world.says(number, "svc sync");
  await replacedByOther(world, number, "svc rollback");
  const records = await world.stores.deployments.ofChange(world.host.ref(number));
  expect(records).toMatchObject([{ application: WEB, outcome: "failed" }]);
});

test("a sync after which another operation ran is told as unknown and not repeated", async () => {
  const world = new CutWorld();
  const number = world.open(config("web", "2"));
  await world.says(number, "svc plan");
  await replacedByOther(world, number, "svc sync");
  expect(world.deployer.syncs).toHaveLength(0);
  expect(world.host.commentsOf(number)[1]).toContain("another operation took the place of this one");
  expect(world.host.commentsOf(number)[0]).not.toContain("is syncing");
  expect(world.host.commentsOf(number)[0]).toContain("how its sync by `ana` ended is not known");
  expect(await world.holders()).toEqual({ web: number });
});

test("a lock that a sync could not release is released once somebody looks at the sync again", async () => {
  const world = new CutWorld();
  const number = world.open(config("web", "2"));
  await world.says(number, "svc plan");
  const { release } = world.stores.locks;
  world.stores.locks.release = () => Promise.reject(new StoreUnavailable("a part of the cluster is down"));
  await world.says(number, "svc sync");
  world.stores.locks.release = release;
  expect(world.host.commentsOf(number).at(-1)).toContain("releases its lock if it succeeded");
  await world.handle({ kind: "reviewed", delivery: "reconciled", change: world.host.ref(number) });
  expect(await world.holders()).toEqual({});
  expect(await world.stores.deployments.list()).toMatchObject([{ outcome: "succeeded" }]);
});

test("an unlock to which the store answers too late says what was released, and calls whoever waits", async () => {
  const world = new CutWorld();
  const [number, other] = [world.open(BOTH), world.open(config("web", "3"))];
  for (const one of [number, other]) await world.says(one, "svc plan");
  const { locks } = world.stores;
  const { release } = locks;
  let late = 2;
  locks.release = async (...given) => {
    const released = await release.apply(locks, given);
    if (late-- > 0) throw new StoreUnavailable("the store is away");
    return released;
  };
  const called: HostEvent[] = [];
  const push = (event: HostEvent) => Promise.resolve(called.push(event) > 0);
  await supervise(world.comment(number, "svc unlock"), world.dependencies({ push }), ticketOf());
  expect(world.host.commentsOf(number).at(-1)).toContain("Released: `api`, `web`.");
  expect(called).toMatchObject([{ kind: "turn", change: { number: other }, applications: [WEB] }]);
});

test("a plan of an application that svc does not deploy makes nobody else look again", async () => {
  const world = new CutWorld();
  world.deployer.add("web", spec("web"), { parent: applicationName("apps") });
  const [number, other] = [world.open(definition("web", "2")), world.open(definition("web", "3"))];
  for (const one of [number, other]) await world.says(one, "svc plan");
  const marked = async () => {
    const now = world.clock.now().getTime();
    const marks = await world.stores.marks.take(new Date(now + 600_000), new Date(now + 600_000), 10);
    await Promise.all(marks.map((mark) => world.stores.marks.remove(mark)));
    return marks.map(({ change }) => change.number);
  };
  await marked();
  await world.says(number, "svc plan");
  expect(world.host.commentsOf(number).at(-1)).toContain("may revert a change");
  expect(await marked()).not.toContain(other);
});

/** Lets the store answer one such call too late: another change request has synced `web` before it is repeated. */
function otherSyncsBefore(world: CutWorld, other: number, { at, method, when, saying = "" }: Cut): void {
  const original: unknown = Reflect.get(at, method);
  if (typeof original !== "function") throw new Error(`there is no ${method}`);
  Reflect.set(at, method, async (...args: unknown[]): Promise<unknown> => {
    if (!JSON.stringify(args).includes(saying)) return Reflect.apply(original, at, args) as unknown;
    Reflect.set(at, method, original);
    if (when === "after") await Reflect.apply(original, at, args);
    for (const said of ["svc plan", "svc sync"]) await world.says(other, said);
    throw new StoreUnavailable("the store is away");
  });
}

test.each<[string, (world: CutWorld) => Cut]>([
  ["its record", ({ stores }) => ({ at: stores.deployments, method: "save", when: "before", saying: '"succeeded"' })],
  ["its lock", ({ stores }) => ({ at: stores.locks, method: "release", when: "after" })],
])("what another one deployed since a sync ended counts, also if the write of %s is repeated", async (_what, late) => {
  const world = new CutWorld();
  const [number, other] = [world.open(config("web", "2")), world.open(config("web", "3"))];
  await world.says(number, "svc plan");
  otherSyncsBefore(world, other, late(world));
  await world.says(number, "svc sync");
  expect(syncedIn(world)).toEqual([WEB, WEB]);
  expect(await world.stores.deployments.list()).toMatchObject([
    { application: WEB, change: { number: other }, outcome: "succeeded" },
  ]);
});

test("what another one deployed counts, if the lock of a child was released while its parent was synced once more", async () => {
  const world = withParent();
  const [number, other] = [world.open(BOTH), world.open(config("web", "3"))];
  for (const said of ["svc plan", "svc sync", "svc plan"]) await world.says(number, said);
  const { sync } = world.deployer;
  world.deployer.sync = async (request) => {
    world.deployer.sync = sync;
    await world.stores.locks.release(WEB, world.host.ref(number));
    for (const said of ["svc plan", "svc sync"]) await world.says(other, said);
    return sync.call(world.deployer, request);
  };
  await world.says(number, "svc sync");
  expect(world.host.commentsOf(number).at(-1)).toContain("its lock is no longer this MR's");
  expect(await world.stores.deployments.ofApplication(WEB)).toMatchObject([{ change: { number: other } }]);
});

test.each([
  ["", "its lock is no longer this MR's"],
  [", and the store did not take its record", "nothing was deployed"],
])(
  "what another one deployed counts, if the lock was released right before the head was synced once more%s",
  async (away, told) => {
    const world = new CutWorld();
    const [number, other] = [world.open(config("web", "2")), world.open(config("web", "3"))];
    for (const said of ["svc plan", "svc sync", "svc plan"]) await world.says(number, said);
    const { deployments, locks } = world.stores;
    const { save } = deployments;
    deployments.save = async (record) => {
      deployments.save = save;
      await locks.release(WEB, world.host.ref(number));
      for (const said of ["svc plan", "svc sync"]) await world.says(other, said);
      if (away !== "") throw new StoreUnavailable("the store is away");
      return save.call(deployments, record);
    };
    await world.says(number, "svc sync");
    expect(world.host.commentsOf(number).at(-1)).toContain(told);
    expect(await deployments.list()).toMatchObject([{ change: { number: other }, outcome: "succeeded" }]);
  },
);

test("what another one deployed since a rollback ended counts, also if the release of its lock is repeated", async () => {
  const world = new CutWorld();
  const [number, other] = [world.open(config("web", "2")), world.open(config("web", "3"))];
  for (const said of ["svc plan", "svc sync"]) await world.says(number, said);
  otherSyncsBefore(world, other, { at: world.stores.locks, method: "release", when: "after" });
  await world.says(number, "svc rollback");
  expect(syncedIn(world)).toEqual([WEB, WEB, WEB]);
  expect(await world.stores.deployments.list()).toMatchObject([
    { application: WEB, change: { number: other }, outcome: "succeeded" },
  ]);
});

test("a rollback that fails brings no record back that another one has ended meanwhile", async () => {
  const world = new CutWorld();
  const [number, other] = [world.open(config("web", "2")), world.open(config("web", "3"))];
  for (const said of ["svc plan", "svc sync"]) await world.says(number, said);
  const { sync } = world.deployer;
  world.deployer.sync = async () => {
    world.deployer.sync = sync;
    await world.stores.locks.release(WEB, world.host.ref(number));
    for (const said of ["svc plan", "svc sync"]) await world.says(other, said);
    return { kind: "failed", message: "another operation ran", resources: [] };
  };
  await world.says(number, "svc rollback");
  expect(world.host.commentsOf(number).at(-1)).toContain("another operation ran");
  expect(await world.stores.deployments.list()).toMatchObject([{ change: { number: other }, outcome: "succeeded" }]);
});

test("a rollback that prunes deletes no child whose lock went to another one while it looked at the parent", async () => {
  const world = withParent();
  const [number, other] = [world.open(BOTH), world.open(config("web", "3"))];
  await world.says(number, "svc plan");
  const { findApplication } = world.deployer;
  world.deployer.findApplication = async (name) => {
    const live = await findApplication.call(world.deployer, name);
    if (name !== API || live === undefined) return live;
    if (await world.stores.locks.release(WEB, world.host.ref(number))) await world.says(other, "svc plan");
    return { ...live, leftOver: ["argoproj.io/Application argocd/web"] };
  };
  await world.says(number, "svc rollback -a api --prune");
  expect(world.host.commentsOf(number).at(-1)).toContain("A rollback of `api` would delete `web`");
  expect(syncedIn(world)).toEqual([]);
});

test("a head no longer counts as deployed after a rollback whose outcome Argo CD does not tell", async () => {
  const world = new CutWorld();
  const number = world.open(config("web", "2"));
  for (const said of ["svc plan", "svc sync"]) await world.says(number, said);
  const away = () => {
    throw new DeployerFailure("unreachable", "Argo CD does not answer");
  };
  const cut = { at: world.deployer, method: "sync", when: "after" } as const;
  await world.cutOff(world.comment(number, "svc rollback"), cut, {
    meanwhile: () => (world.deployer.faults.find = away),
  });
  expect(world.host.commentsOf(number).at(-1)).toContain("Argo CD does not answer");
  expect(await world.stores.deployments.list()).toMatchObject([{ outcome: "failed" }]);
});

test("a changed definition is written once, and its first spec is remembered", async () => {
  const world = new CutWorld();
  const number = world.open({ ...config("web", "2"), ...definition("web", "other") });
  const before = world.deployer.specOf("web");
  await world.says(number, "svc plan");
  await world.cutOff(world.comment(number, "svc sync"), { at: world.deployer, method: "updateSpec", when: "after" });
  expect(world.deployer.syncs).toHaveLength(1);
  expect(await world.stores.deployments.ofChange(world.host.ref(number))).toMatchObject([
    { outcome: "succeeded", specBefore: before },
  ]);
  await world.says(number, "svc rollback");
  expect(world.deployer.specOf("web")).toEqual(before);
});

/** A world in which a sync was planned that writes another definition of `web`. */
async function withDefinition(): Promise<readonly [CutWorld, number]> {
  const world = new CutWorld();
  const number = world.open({ ...config("web", "2"), ...definition("web", "other") });
  await world.says(number, "svc plan");
  return [world, number];
}

test("a definition that was written before the cut is put back if Argo CD refuses the sync afterwards", async () => {
  const [world, number] = await withDefinition();
  const before = world.deployer.specOf("web");
  const busy = () => {
    throw new DeployerFailure("busy", "another operation is already in progress");
  };
  await world.cutOff(
    world.comment(number, "svc sync"),
    { at: world.deployer, method: "updateSpec", when: "after" },
    { meanwhile: () => (world.deployer.faults.sync = busy) },
  );
  expect(world.host.commentsOf(number)[1]).toContain("another operation is already in progress");
  expect(world.host.commentsOf(number)[1]).toContain("Its definition was put back to what it was before this sync.");
  expect(world.deployer.specOf("web")).toEqual(before);
  expect(await world.stores.deployments.list()).toMatchObject([{ outcome: "failed", specBefore: before }]);
});

test.each([
  ["nobody", () => Promise.resolve()],
  [
    "a review",
    (world: CutWorld, number: number) =>
      world.handle({ kind: "reviewed", delivery: "review", change: world.host.ref(number) }),
  ],
] as const)(
  "a definition that was written before the cut is put back if the checks bar the sync afterwards, and %s looked at it between",
  async (_who, look) => {
    const [world, number] = await withDefinition();
    const before = world.deployer.specOf("web");
    const meanwhile = async () => {
      world.host.push(number, config("web", "3"));
      await look(world, number);
    };
    await world.cutOff(
      world.comment(number, "svc sync"),
      { at: world.deployer, method: "updateSpec", when: "after" },
      { meanwhile },
    );
    expect(world.deployer.syncs).toEqual([]);
    expect(world.host.commentsOf(number)[1]).toContain("Plan for web is stale.");
    expect(world.deployer.specOf("web")).toEqual(before);
    expect(await world.stores.deployments.list()).toMatchObject([{ outcome: "failed" }]);
  },
);

test("a definition that an earlier sync has deployed stays if a sync that changes nothing of it is cut off", async () => {
  const [world, number] = await withDefinition();
  await world.says(number, "svc sync");
  const deployed = world.deployer.specOf("web");
  world.host.push(number, { ...config("web", "3"), ...definition("web", "other") });
  await world.says(number, "svc plan");
  await world.cutOff(
    world.comment(number, "svc sync"),
    { at: world.deployer, method: "sync", when: "before" },
    { meanwhile: () => world.host.push(number, config("web", "4")) },
  );
  expect(world.deployer.syncs).toHaveLength(1);
  expect(world.deployer.specOf("web")).toEqual(deployed);
});

test("a definition that another one wrote since the cut is left as it is", async () => {
  const [world, number] = await withDefinition();
  await world.cutOff(
    world.comment(number, "svc sync"),
    { at: world.deployer, method: "updateSpec", when: "after" },
    {
      meanwhile: () => {
        world.deployer.add("web", spec("web", "third"));
        world.host.push(number, config("web", "3"));
      },
    },
  );
  expect(world.deployer.specOf("web")).toEqual(spec("web", "third"));
});

/** Another change request gets the lock of `web`, and deploys it. */
async function lockedByAnother({ host, stores, clock }: CutWorld, number: number): Promise<void> {
  const [record] = await stores.deployments.list();
  const holder = { ...host.ref(number), number: 99 };
  await stores.locks.release(WEB, host.ref(number));
  await stores.locks.acquire(
    { application: WEB, holder, user: "olga", planRevision: undefined, sourceFile: undefined },
    clock.now(),
  );
  if (record !== undefined) await stores.deployments.save({ ...record, change: holder, outcome: "failed" });
}

test("a head whose definition a rollback took back before the cut no longer counts as deployed", async () => {
  const [world, number] = await withDefinition();
  await world.says(number, "svc sync");
  await world.cutOff(
    world.comment(number, "svc rollback"),
    { at: world.deployer, method: "updateSpec", when: "after" },
    { meanwhile: () => void lockedByAnother(world, number) },
  );
  expect(world.deployer.syncs).toHaveLength(1);
  expect(await world.stores.deployments.ofChange(world.host.ref(number))).toMatchObject([{ outcome: "failed" }]);
});

test("a head that has the definition from before counts as deployed after a rollback that deployed nothing", async () => {
  const [world, number] = await withDefinition();
  await world.says(number, "svc sync");
  world.host.push(number, config("web", "3"));
  await world.says(number, "svc plan");
  await world.says(number, "svc sync");
  await world.cutOff(
    world.comment(number, "svc rollback"),
    { at: world.deployer, method: "sync", when: "before" },
    { meanwhile: () => void lockedByAnother(world, number) },
  );
  expect(world.deployer.syncs).toHaveLength(2);
  expect(await world.stores.deployments.ofChange(world.host.ref(number))).toMatchObject([{ outcome: "succeeded" }]);
});

test.each(["before", "after"] as const)("a rollback that is cut off %s its call is carried out once", async (when) => {
  const world = new CutWorld();
  const number = world.open(config("web", "2"));
  await world.says(number, "svc plan");
  await world.says(number, "svc sync");
  await world.cutOff(world.comment(number, "svc rollback"), { at: world.deployer, method: "sync", when });
  expect(world.deployer.syncs).toHaveLength(2);
  expect(titles(world.host.commentsOf(number))).toEqual(["Plan", "Sync", "Rollback"]);
  expect(world.host.commentsOf(number)[2]).toContain("✅");
  expect(await world.stores.deployments.list()).toEqual([]);
  expect(await world.holders()).toEqual({});
});

test.each(["before", "after"] as const)(
  "whoever lost a lock to a rollback that is cut off %s its call is told so, once",
  async (when) => {
    const world = new CutWorld();
    const number = world.open(config("web", "2"));
    await world.says(number, "svc plan");
    await world.says(number, "svc sync");
    const other = world.open(config("web", "3"));
    await world.says(other, "svc plan");
    expect(await world.holders()).toEqual({ web: other });
    await world.cutOff(world.comment(number, "svc rollback"), { at: world.deployer, method: "sync", when });
    expect(await world.holders()).toEqual({});
    const told = world.host.commentsOf(other).filter((body) => body.includes("## svc Lock taken over"));
    expect(told).toHaveLength(1);
  },
);

/** A rollback that is cut off once it has taken over the lock of `other`. */
async function takenOver(meanwhile: (world: CutWorld, number: number) => unknown) {
  const world = new CutWorld();
  const [number, other] = [world.open(config("web", "2")), world.open(config("web", "3"))];
  for (const said of ["svc plan", "svc sync"]) await world.says(number, said);
  await world.says(other, "svc plan");
  const { deployer } = world;
  const rollback = world.comment(number, "svc rollback");
  await world.cutOff(
    rollback,
    { at: deployer, method: "sync", when: "before" },
    { meanwhile: () => meanwhile(world, number) },
  );
  return { world, number, other };
}

test("what a rollback took over is given back if it is cut off and then refused", async () => {
  const { world, number, other } = await takenOver(({ deployer }) =>
    deployer.add(WEB, { ...spec(WEB), syncPolicy: { automated: {} } }),
  );
  expect(world.host.commentsOf(number).at(-1)).toContain("auto-sync");
  expect(await world.holders()).toEqual({ web: other });
  expect(await world.stores.waiting.of(WEB)).toEqual([]);
});

test("what a rollback took over and did not begin is given back if it is cut off and the rest refused", async () => {
  const world = new CutWorld();
  const [number, other] = [world.open(BOTH), world.open(config("api", "3"))];
  for (const said of ["svc plan", "svc sync"]) await world.says(number, said);
  await world.says(other, "svc plan");
  await world.cutOff(
    world.comment(number, "svc rollback"),
    { at: world.deployer, method: "sync", when: "before", saying: '"name":"api"' },
    { meanwhile: () => world.deployer.add(API, { ...spec(API), syncPolicy: { automated: {} } }) },
  );
  const answer = world.host.commentsOf(number).at(-1);
  expect(answer).toContain("svc was restarted before it started");
  expect(answer).not.toContain("lock was taken over");
  expect(await world.holders()).toEqual({ api: other });
  expect(world.host.commentsOf(other).join("\n")).not.toContain("## svc Lock taken over");
});

test("what a rollback took over and somebody else has by now leaves its former holder first in the queue", async () => {
  const { world, other } = await takenOver(lockedByAnother);
  expect(await world.holders()).toEqual({ web: 99 });
  expect(await world.stores.waiting.of(WEB)).toEqual([world.host.ref(other)]);
});

test.each(["before", "after"] as const)(
  "an answer that is cut off %s it was posted stands there once",
  async (when) => {
    const world = new CutWorld();
    const number = world.open(config("web", "2"));
    await world.says(number, "svc plan");
    await world.cutOff(world.comment(number, "svc sync"), { at: world.host, method: "postComment", when });
    expect(world.deployer.syncs).toHaveLength(1);
    expect(titles(world.host.commentsOf(number))).toEqual(["Plan", "Sync"]);
    const trail = await world.stores.audit.list({ limit: 10 });
    expect(trail.filter(({ action }) => action === "synced")).toHaveLength(1);
  },
);

test("a merge that was carried out is not asked for again", async () => {
  const world = new CutWorld();
  world.defaults = { auto_merge: true };
  const number = world.open(config("web", "2"));
  await world.says(number, "svc plan");
  let merges = 0;
  const { merge } = world.host;
  world.host.merge = async (change, confirm) => {
    merges += 1;
    return merge.call(world.host, change, confirm);
  };
  await world.cutOff(world.comment(number, "svc sync"), { at: world.host, method: "merge", when: "after" });
  expect([merges, world.host.stateOf(number)]).toEqual([1, "merged"]);
  expect(titles(world.host.commentsOf(number))).toEqual(["Plan", "Sync"]);
});

test("a merge that was not carried out is made up for", async () => {
  const world = new CutWorld();
  world.defaults = { auto_merge: true };
  const number = world.open(config("web", "2"));
  await world.says(number, "svc plan");
  await world.cutOff(world.comment(number, "svc sync"), { at: world.host, method: "merge", when: "before" });
  expect(world.host.stateOf(number)).toBe("merged");
  expect(world.deployer.syncs).toHaveLength(1);
});

test.each([
  [
    "a push",
    (world: CutWorld, number: number) => world.host.push(number, config("web", "3")),
    "no stored plan of the head",
  ],
  ["a withdrawn approval", (world: CutWorld, number: number) => world.host.approve(number), "must be approved"],
  ["the loss of its plan", (world: CutWorld) => Object.assign(world.stores.plans, { find: damaged }), "no stored plan"],
] as const)(
  "a merge that was cut off is decided anew: %s before the run goes on hinders it",
  async (_name, act, says) => {
    const world = new CutWorld();
    world.defaults = { auto_merge: true, require_approval: true };
    const number = world.open(config("web", "2"));
    await world.says(number, "svc plan");
    world.host.approve(number, "bo");
    const event = world.comment(number, "svc sync");
    await world.cutOff(
      event,
      { at: world.host, method: "merge", when: "before" },
      { meanwhile: () => act(world, number) },
    );
    expect(world.host.stateOf(number)).toBe("open");
    expect(world.deployer.syncs).toHaveLength(1);
    expect(world.host.commentsOf(number).at(-1)).toContain(says);
  },
);

test("a merge that was cut off is not asked for once the change request is closed", async () => {
  const world = new CutWorld();
  world.defaults = { auto_merge: true };
  const number = world.open(config("web", "2"));
  await world.says(number, "svc plan");
  const event = world.comment(number, "svc sync");
  let merges = 0;
  await world.cutOff(
    event,
    { at: world.host, method: "merge", when: "before" },
    {
      meanwhile: () => {
        world.host.setState(number, "closed");
        world.host.merge = () => {
          merges += 1;
          return Promise.resolve({ kind: "refused", reason: "it is closed" });
        };
      },
    },
  );
  expect(merges).toBe(0);
});

test("an unlock that is cut off before its answer tells what it released", async () => {
  const world = new CutWorld();
  const number = world.open(config("web", "2"));
  await world.says(number, "svc plan");
  await world.cutOff(world.comment(number, "svc unlock"), { at: world.host, method: "postComment", when: "before" });
  expect(titles(world.host.commentsOf(number))).toEqual(["Plan", "Unlock"]);
  expect(world.host.commentsOf(number)[1]).toContain("`web`");
});

test("an outsider's command that is cut off before its answer is the only one of theirs that is answered", async () => {
  const world = new CutWorld();
  const number = world.open(config("web", "2"));
  world.host.mayCommand = () => Promise.resolve(false);
  await world.cutOff(world.comment(number, "svc help"), { at: world.host, method: "postComment", when: "before" });
  await world.says(number, "svc plan");
  expect(titles(world.host.commentsOf(number))).toEqual(["Help"]);
});

test("while it cannot be told what was done before, nothing is said, and the run fails: it is tried again", async () => {
  const world = new CutWorld();
  const number = world.open(config("web", "2"));
  await world.says(number, "svc plan");
  const journal = new MemoryJournal();
  journal.read = () => Promise.reject(new StoredValueUnreadable("written by another version"));
  const ticket = { ...ticketOf(journal), again: true };
  expect(await supervise(world.comment(number, "svc sync"), world.dependencies(), ticket)).toBe("failed");
  expect(world.host.commentsOf(number)).toHaveLength(1);
  expect(world.deployer.syncs).toEqual([]);
});

test("what was deployed is not told as failed by an attempt that at first cannot read its change request", async () => {
  const world = new CutWorld();
  const number = world.open(config("web", "2"));
  await world.says(number, "svc plan");
  const [event, journal] = [world.comment(number, "svc sync"), new MemoryJournal()];
  const attempt = (again: boolean) => supervise(event, world.dependencies(), { ...ticketOf(journal), again });
  failNext(world.host, "postComment", 2);
  expect(await attempt(false)).toBe("failed");
  failNext(world.host, "getChangeRequest", 1);
  expect(await attempt(true)).toBe("failed");
  expect(titles(world.host.commentsOf(number))).toEqual(["Plan"]);
  expect(await attempt(true)).toBe("done");
  expect(titles(world.host.commentsOf(number))).toEqual(["Plan", "Sync"]);
  expect(world.host.commentsOf(number)[1]).toContain("✅");
  expect(world.deployer.syncs).toHaveLength(1);
});

test("an unlock whose answer the host did not take is not told as failed", async () => {
  const world = new CutWorld();
  const number = world.open(config("web", "2"));
  await world.says(number, "svc plan");
  const [event, journal] = [world.comment(number, "svc unlock"), new MemoryJournal()];
  failNext(world.host, "postComment", 2);
  expect(await supervise(event, world.dependencies(), ticketOf(journal))).toBe("failed");
  expect(await supervise(event, world.dependencies(), { ...ticketOf(journal), again: true })).toBe("done");
  expect(titles(world.host.commentsOf(number))).toEqual(["Plan", "Unlock"]);
});

/** The next calls of a method fail as those of a host do that is not well. */
function failNext(host: object, method: string, times: number): void {
  const original: unknown = Reflect.get(host, method);
  if (typeof original !== "function") throw new Error(`there is no ${method}`);
  let left = times;
  Reflect.set(host, method, (...args: unknown[]): unknown => {
    left -= 1;
    if (left === 0) Reflect.set(host, method, original);
    return Promise.reject(new HostFailure("failed", `GitLab answered 502 to ${method} with ${args.length} arguments`));
  });
}

test("a refusal that was told stays the answer: nothing is run, even if the store is back", async () => {
  const world = new CutWorld();
  const number = world.open(config("web", "2"));
  await world.says(number, "svc plan");
  const { ping } = world.stores.locks;
  world.stores.locks.ping = () => Promise.reject(new StoreUnavailable("the store is away"));
  const event = world.comment(number, "svc sync");
  await world.handle(event);
  world.stores.locks.ping = ping;
  await world.handle(event, { ...ticketOf(), again: true });
  expect(world.host.commentsOf(number)).toHaveLength(2);
  expect(world.host.commentsOf(number)[1]).toContain("failed to acquire lock");
  expect(world.deployer.syncs).toEqual([]);
});

const UNHEALTHY = { require_healthy: true, on_failure: "rollback" };

test.each([
  ["while it waits for its health", "deployer", { method: "healthAfter", when: "before" }],
  [
    "before it is written down that it is rolled back",
    "deployments",
    { method: "save", when: "before", saying: '"undoing":{' },
  ],
  ["before it is rolled back", "deployer", { method: "sync", when: "before", saying: "-rollback" }],
  ["after it was rolled back", "deployer", { method: "sync", when: "after", saying: "-rollback" }],
  ["after the record of it was removed", "deployments", { method: "remove", when: "after" }],
  ["after its lock was released", "locks", { method: "release", when: "after" }],
] as const)(
  "an unhealthy application whose run is cut off %s is rolled back once, and that is told",
  async (_when, at, cut) => {
    const world = new CutWorld();
    world.defaults = UNHEALTHY;
    world.deployer.faults.health = () => "Degraded";
    const number = world.open(config("web", "2"));
    await world.says(number, "svc plan");
    const target = { deployer: world.deployer, deployments: world.stores.deployments, locks: world.stores.locks }[at];
    await world.cutOff(world.comment(number, "svc sync"), { at: target, ...cut });
    expect(world.deployer.syncs.map(({ at: pins }) => (pins === "target" ? "main" : "head"))).toEqual(["head", "main"]);
    expect(world.host.commentsOf(number)).toHaveLength(2);
    expect(world.host.commentsOf(number)[1]).toContain("❌ deployed, but not healthy");
    expect(world.host.commentsOf(number)[1]).toContain("↩️ svc rolled it back: `main` is deployed again");
    expect(await world.holders()).toEqual({});
    expect(await world.stores.deployments.ofChange(world.host.ref(number))).toEqual([]);
  },
);

test("an unhealthy application is rolled back although the store is away for a moment", async () => {
  const world = new CutWorld();
  world.defaults = UNHEALTHY;
  world.deployer.faults.health = () => "Degraded";
  const number = world.open(config("web", "2"));
  await world.says(number, "svc plan");
  const { deployments } = world.stores;
  const save = deployments.save.bind(deployments);
  let isAway = true;
  deployments.save = async (record) => {
    if (record.undoing === undefined || !isAway) return save(record);
    isAway = false;
    throw new StoreUnavailable("the store is away");
  };
  await world.says(number, "svc sync");
  expect(isAway).toBe(false);
  expect(world.host.commentsOf(number)[1]).toContain("↩️ svc rolled it back: `main` is deployed again");
  expect(await world.holders()).toEqual({});
});

test("an automatic rollback that was cut off has succeeded, whatever somebody wrote into the definition since", async () => {
  const world = new CutWorld();
  world.defaults = UNHEALTHY;
  world.deployer.faults.health = () => "Degraded";
  const number = world.open(config("web", "2"));
  await world.says(number, "svc plan");
  const cut = { at: world.deployer, method: "sync", when: "after", saying: "-rollback" } as const;
  const meanwhile = () => {
    const before = spec("web");
    world.deployer.add("web", { ...before, source: { ...before.source, kustomize: { images: ["web:3"] } } });
  };
  await world.cutOff(world.comment(number, "svc sync"), cut, { meanwhile });
  expect(world.host.commentsOf(number)[1]).toContain("↩️ svc rolled it back: `main` is deployed again");
  expect(await world.holders()).toEqual({});
});

test("a run that is cut off while it waits for a health goes on waiting, and succeeds only once that came", async () => {
  const world = new CutWorld();
  world.defaults = { require_healthy: true };
  const healths = ["Progressing", "Progressing", "Progressing"];
  world.deployer.faults.health = () => healths.shift() ?? "Healthy";
  const number = world.open(config("web", "2"));
  await world.says(number, "svc plan");
  await world.cutOff(world.comment(number, "svc sync"), { at: world.deployer, method: "healthAfter", when: "after" });
  expect(world.deployer.syncs).toHaveLength(1);
  expect(healths).toEqual([]);
  expect(world.host.commentsOf(number)[1]).toContain("✅ succeeded");
  expect(await world.holders()).toEqual({});
});

test("a run that is gone for good while it waits for a health is no success for the next command", async () => {
  const world = new CutWorld();
  world.defaults = { require_healthy: true, health_timeout: "1m" };
  world.deployer.faults.health = () => "Progressing";
  const number = world.open(config("web", "2"));
  await world.says(number, "svc plan");
  void world.handle(world.comment(number, "svc sync"), { ...ticketOf(), confirm: () => Promise.resolve() });
  await cutAt({ at: world.deployer, method: "healthAfter", when: "before" });
  await world.says(number, "svc plan");
  expect(world.host.commentsOf(number)[1]).not.toContain("Argo CD reports how an earlier sync ended");
  expect(await world.holders()).toEqual({ web: number });
  world.clock.advance(60 * 60_000);
  await world.says(number, "svc plan");
  expect(world.host.commentsOf(number)[2]).toContain("❌ it was deployed and did not get healthy");
  expect(await world.holders()).toEqual({ web: number });
});

test("the progress that a run showed before it was cut off becomes its answer", async () => {
  const world = new CutWorld();
  const number = world.open(config("web", "2"));
  await world.says(number, "svc plan");
  world.deployer.faults.sync = ({ onProgress }) => {
    world.clock.advance(60_000);
    onProgress?.({ done: 0, total: 1, message: "" });
    return undefined;
  };
  await world.cutOff(world.comment(number, "svc sync"), { at: world.stores.locks, method: "release", when: "before" });
  const said = world.host.commentsOf(number);
  expect(titles(said)).toEqual(["Plan", "Sync"]);
  expect(said[1]).toContain("✅ succeeded");
});

test("a run that has lost its lease says nothing, notes nothing, deploys nothing and takes no lock", async () => {
  const world = new CutWorld();
  const number = world.open(config("web", "2"));
  const ticket = { ...ticketOf(), confirm: () => Promise.reject(new LeaseLost()) };
  for (const body of ["svc plan", "svc rollback", "svc help"]) {
    expect(await supervise(world.comment(number, body), world.dependencies(), ticket)).not.toBe("done");
  }
  expect(world.host.commentsOf(number)).toEqual([]);
  expect(world.host.reactionsOf(number)).toEqual([]);
  expect(await ticket.journal.read()).toEqual({});
  expect(await world.holders()).toEqual({});
});

test("while it cannot be told who has the lease a run speaks, and deploys nothing", async () => {
  const world = new CutWorld();
  const number = world.open(config("web", "2"));
  await world.says(number, "svc plan");
  const away = new StoreUnavailable("the store is away");
  const ticket = { ...ticketOf(), confirm: () => Promise.reject(away) };
  await world.handle(world.comment(number, "svc sync"), ticket);
  expect(world.deployer.syncs).toEqual([]);
  expect(world.host.commentsOf(number)[1]).toContain("failed to acquire lock");
});

test("a plan that is handed back says nothing", async () => {
  const world = new CutWorld();
  const number = world.open(config("web", "2"));
  const abort = new AbortController();
  world.deployer.faults.render = () => abort.abort(new Stopped("handed-back"));
  const event = world.comment(number, "svc plan");
  const ticket = { ...ticketOf(), signal: abort.signal };
  expect(await supervise(event, world.dependencies(), ticket)).toBe("stopped");
  expect(world.host.commentsOf(number)).toEqual([]);
});

test.each(["svc plan", "svc sync"])(
  "`%s` that was answered, and is delivered again while the store is away, is not answered once more",
  async (body) => {
    const world = new CutWorld();
    const number = world.open(config("web", "2"));
    await world.says(number, "svc plan");
    const event = world.comment(number, body);
    await world.handle(event);
    const said = world.host.commentsOf(number);
    world.stores.locks.ping = () => Promise.reject(new StoreUnavailable("the store is away"));
    await supervise(event, world.dependencies(), ticketOf());
    expect(world.host.commentsOf(number)).toEqual(said);
  },
);

test.each(["closed", "merged"] as const)(
  "a plan that was posted is the answer, also when its change request is %s before the run goes on",
  async (state) => {
    const world = new CutWorld();
    const number = world.open(config("web", "2"));
    const event = world.comment(number, "svc plan");
    await world.cutOff(
      event,
      { at: world.host, method: "postComment", when: "after" },
      { meanwhile: () => world.host.setState(number, state) },
    );
    expect(titles(world.host.commentsOf(number))).toEqual(["Plan"]);
    expect(world.host.reactionsOf(number).map(({ reaction }) => reaction)).not.toContain("failed");
  },
);

test("a plan that was posted is the answer, also when a push stops the run before it has read its change request", async () => {
  const world = new CutWorld();
  world.defaults = { autoplan: false };
  const number = world.open(config("web", "2"));
  const event = world.comment(number, "svc plan");
  await world.handle(event);
  stopsWhereItCan(world);
  const abort = new AbortController();
  abort.abort(new Stopped("pushed"));
  await supervise(event, world.dependencies(), { ...ticketOf(), signal: abort.signal, again: true });
  expect(titles(world.host.commentsOf(number))).toEqual(["Plan"]);
});

test.each(["pushed", "closed"] as const)(
  "a sync that Argo CD carried out is followed and told, even if its change request is %s as the run goes on",
  async (reason) => {
    const world = new CutWorld();
    const number = world.open(config("web", "2"));
    await world.says(number, "svc plan");
    const event = world.comment(number, "svc sync");
    stopsWhereItCan(world);
    const abort = new AbortController();
    abort.abort(new Stopped(reason));
    await world.cutOff(event, { at: world.deployer, method: "sync", when: "after" }, { signal: abort.signal });
    expect(world.deployer.syncs).toHaveLength(1);
    expect(titles(world.host.commentsOf(number))).toEqual(["Plan", "Sync"]);
    expect(world.host.commentsOf(number)[1]).toContain("✅ succeeded");
  },
);

test.each(["svc sync --dry-run", "svc rollback --dry-run"])(
  "`%s` that Argo CD carried out is followed, not repeated, and stays a dry run",
  async (body) => {
    const world = new CutWorld();
    const number = world.open(config("web", "2"));
    await world.says(number, "svc plan");
    await world.cutOff(world.comment(number, body), { at: world.deployer, method: "sync", when: "after" });
    expect(world.deployer.syncs).toMatchObject([{ dryRun: true }]);
    expect(world.host.commentsOf(number)).toHaveLength(2);
    expect(world.host.commentsOf(number)[1]).toMatch(/dry run/i);
    expect(await world.holders()).toEqual({ web: number });
    expect(await world.stores.deployments.list()).toEqual([]);
  },
);

test("a plan that was posted is the answer: that the run could not be repeated is not told", async () => {
  const world = new CutWorld();
  const number = world.open(config("web", "2"));
  const event = world.comment(number, "svc plan");
  await world.cutOff(
    event,
    { at: world.host, method: "postComment", when: "after" },
    {
      meanwhile: () => {
        world.deployer.listApplications = () => Promise.reject(new Error("Argo CD is away"));
      },
      end: "stopped",
    },
  );
  expect(titles(world.host.commentsOf(number))).toEqual(["Plan"]);
});

const given = (journal = new MemoryJournal()) => ({ ...ticketOf(journal), again: true, givenUp: true });

test.each(["svc plan", "svc sync"])(
  "`%s` that ended its processes too often is answered once, and nothing of it is run",
  async (body) => {
    const world = new CutWorld();
    const number = world.open(config("web", "2"));
    await world.says(number, "svc plan");
    world.repositories.open = () => Promise.reject(new Error("this would end the process again"));
    const event = world.comment(number, body);
    for (const ticket of [given(), given()]) await world.handle(event, ticket);
    const said = world.host.commentsOf(number).slice(1);
    expect(said).toHaveLength(1);
    expect(said[0]).toContain("svc ended unexpectedly each time it ran this. It is not started again.");
    expect(said[0]).not.toContain("deployed");
    expect(world.host.reactionsOf(number).at(-1)?.reaction).toBe("failed");
    expect(world.deployer.syncs).toEqual([]);
  },
);

test("an automatic plan that ended its processes too often fails its commit status", async () => {
  const world = new CutWorld();
  const number = world.open(config("web", "2"));
  const { hostb, ...others } = testConfig();
  const withStatus = { ...others, ...(hostb && { hostb: { ...hostb, commitStatus: true } }) };
  const event = { kind: "updated", reason: "pushed", delivery: "pushed", change: world.host.ref(number) } as const;
  expect(await supervise(event, world.dependencies({ config: withStatus }), given())).toBe("done");
  expect(world.host.commentsOf(number)[0]).toContain("It is not started again.");
  expect(world.host.statusesOf(number).at(-1)).toMatchObject({ state: "failure" });
});

test("a merge group whose judgement ended its processes too often fails, since a queue waits for its status", async () => {
  const world = new CutWorld();
  const number = world.open(config("web", "2"));
  const { hostb, ...others } = testConfig();
  const withStatus = { ...others, ...(hostb && { hostb: { ...hostb, commitStatus: true } }) };
  const { headRevision, baseRevision } = world.host.facts(number);
  const group = { headRevision, baseRevision, baseBranch: "main" };
  const event = { kind: "merge-group", delivery: "group", change: world.host.ref(number), ...group } as const;
  expect(await supervise(event, world.dependencies({ config: withStatus }), given())).toBe("done");
  expect(world.host.statusesOf(number)).toMatchObject([{ state: "failure", revision: headRevision }]);
});

test("a sync that ended its processes after it had started to deploy names what it may have deployed", async () => {
  const world = new CutWorld();
  const number = world.open(config("web", "2"));
  await world.says(number, "svc plan");
  const journal = new MemoryJournal();
  const revision = world.host.facts(number).headRevision;
  const destination = { cluster: "", namespace: "" };
  await journal.write({
    started: [{ application: WEB, lastOperation: undefined, pins: [], revision, destination, after: [] }],
  });
  await world.handle(world.comment(number, "svc sync"), given(journal));
  expect(world.host.commentsOf(number)[1]).toContain(
    "It may have deployed web: look at the last operation in Argo CD.",
  );
  expect(world.deployer.syncs).toEqual([]);
});

test("nobody is said to sync any more once a run is given up", async () => {
  const world = new CutWorld();
  const number = world.open(config("web", "2"));
  await world.says(number, "svc plan");
  await world.giveUp(world.comment(number, "svc sync"), { at: world.deployer, method: "sync", when: "before" });
  await world.says(number, "svc plan");
  expect(world.host.commentsOf(number).at(-1)).toContain("how its sync by `ana` ended is not known");
  expect(world.host.commentsOf(number).at(-1)).not.toContain("is syncing");
});

test("how an earlier sync ended is shown although the refusal after which it was looked up was cut off", async () => {
  const world = new CutWorld();
  const number = world.open(config("web", "2"));
  await world.says(number, "svc plan");
  await world.giveUp(world.comment(number, "svc sync"), { at: world.deployer, method: "sync", when: "after" });
  const cut = { at: world.host, method: "postComment", when: "before", saying: "svc:refused" } as const;
  await world.cutOff(world.comment(number, "svc sync -a nope"), cut);
  expect(world.host.commentsOf(number).at(-1)).toContain("No applications are locked");
  expect(await markedIn(world)).toContain(number);
});

test("a result that was recorded before its answer ended the processes is the answer", async () => {
  const world = new CutWorld();
  const number = world.open(config("web", "2"));
  const journal = new MemoryJournal();
  await journal.write({ result: { kind: "unlocked", released: [WEB], notHeld: [], left: [], next: [] } });
  await world.handle(world.comment(number, "svc unlock"), given(journal));
  expect(titles(world.host.commentsOf(number))).toEqual(["Unlock"]);
  // What it shows is brought up to date by an event of its own.
  expect(await markedIn(world)).toEqual([number]);
});

test.each(["closed", "merged"] as const)(
  "a change request that is %s, and whose close ended its processes too often, keeps neither lock nor place in a queue",
  async (state) => {
    const world = new CutWorld();
    const number = world.open(config("web", "2"));
    await world.says(number, "svc plan");
    await world.stores.waiting.join(API, world.host.ref(number));
    world.host.setState(number, state);
    world.repositories.open = () => Promise.reject(new Error("this would end the process again"));
    world.deployer.rolloutLines = () => Promise.reject(new Error("so would this"));
    const event = { kind: "closed", delivery: "closed", change: world.host.ref(number) } as const;
    expect(await supervise(event, world.dependencies(), given())).toBe("done");
    expect(await world.holders()).toEqual({});
    expect(await world.stores.waiting.list()).toEqual([]);
    expect(world.host.commentsOf(number)).toHaveLength(1);
  },
);

test.each([
  ["svc sync -a web -a api", "before", ["web"]],
  ["svc sync", "before", ["web"]],
  ["svc sync -a api", "before", []],
  ["svc sync -a api", "after", []],
] as const)(
  "`%s` that is cut off %s it releases the lock of an unchanged application leaves no lock",
  async (body, when, deployed) => {
    const world = new CutWorld();
    world.defaults = { skip_no_changes: true };
    const unchanged = Object.entries(config("api", "1")).map(([path, text]) => [path, `# a remark\n${text}`] as const);
    const number = world.open({ ...config("web", "2"), ...Object.fromEntries(unchanged) });
    await world.says(number, "svc plan");
    expect(Object.keys(await world.holders()).sort()).toEqual(["api", "web"]);
    const event = world.comment(number, body);
    await world.cutOff(event, { at: world.stores.locks, method: "release", when, saying: '"api"' });
    expect(await world.holders()).toEqual(deployed.length > 0 ? {} : { web: number });
    const answer = world.host.commentsOf(number).at(-1);
    expect(answer).toContain("Skipped, because the plan proved that nothing changes; lock released: `api`.");
    expect(world.deployer.syncs).toHaveLength(deployed.length);
  },
);

const ENDED = '"succeeded"';

describe("what the environments of the host show of a command that is cut off", () => {
  test.each<[string, (world: CutWorld) => Cut]>([
    ["before it is shown", ({ host }) => ({ at: host, method: "showDeployment", when: "before" })],
    ["after it was shown", ({ host }) => ({ at: host, method: "showDeployment", when: "after" })],
    ["before it is deployed", ({ deployer }) => ({ at: deployer, method: "sync", when: "before" })],
    ["after it was deployed", ({ deployer }) => ({ at: deployer, method: "sync", when: "after" })],
    ["before its end is shown", ({ host }) => ({ at: host, method: "showDeployment", when: "before", saying: ENDED })],
    ["after its end was shown", ({ host }) => ({ at: host, method: "showDeployment", when: "after", saying: ENDED })],
    ["before it is answered", ({ host }) => ({ at: host, method: "postComment", when: "before" })],
    ["after it was answered", ({ host }) => ({ at: host, method: "postComment", when: "after" })],
  ])("%s is shown once, and as it ended", async (_when, cut) => {
    const world = new CutWorld();
    world.host.showsDeployments = true;
    const number = world.open(config("web", "2"));
    await world.says(number, "svc plan");
    await world.cutOff(world.comment(number, "svc sync"), cut(world));
    expect(world.deployer.syncs).toHaveLength(1);
    const { headRevision } = world.host.facts(number);
    expect(world.host.shown).toMatchObject([{ command: "sync", application: WEB, revision: headRevision }]);
    expect([["succeeded"], ["running", "succeeded"]]).toContainEqual(world.host.shown[0]?.states);
  });

  test("of a run that is given up fails, until somebody finds out how its sync ended", async () => {
    const world = new CutWorld();
    world.host.showsDeployments = true;
    const number = world.open(config("web", "2"));
    await world.says(number, "svc plan");
    await world.giveUp(world.comment(number, "svc sync"), { at: world.deployer, method: "sync", when: "after" });
    expect(world.host.shown.map(({ states }) => states)).toEqual([["running", "failed"]]);
    await world.says(number, "svc plan");
    expect(world.host.shown.map(({ states }) => states)).toEqual([["running", "failed", "succeeded"]]);
  });
});
