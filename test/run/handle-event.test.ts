import { expect, test } from "@jest/globals";
import { applicationName, type Revision } from "../../src/core/model/brand.js";
import { HostFailure, type HostFailureReason, LeaseLost, StoreUnavailable } from "../../src/core/model/errors.js";
import { foundHead, type HostEvent } from "../../src/core/model/event.js";
import type { Notification } from "../../src/core/model/notification.js";
import type { Rollout } from "../../src/core/model/rollout.js";
import { type RunTicket, Stopped } from "../../src/core/ports/event-queue.js";
import { MemoryJournal } from "../../src/queue/in-process.js";
import { Publisher } from "../../src/run/around/publisher.js";
import type { Dependencies } from "../../src/run/line/run.js";
import { supervise } from "../../src/run/line/supervise.js";
import { MemoryMarkStore } from "../../src/store/memory/lock-store.js";
import { ANA, CommandWorld, config } from "../core/commands/command-world.js";
import { runDependencies } from "../in-memory/run-dependencies.js";
import { testConfig } from "../in-memory/test-config.js";

function dependenciesOf(world: CommandWorld): Dependencies {
  const { stores, host, repositories, deployer, clock, log } = world;
  return runDependencies({ ...stores, hosts: { hostb: host }, repositories, deployer, clock, log });
}

function comment(world: CommandWorld, number: number, body: string): HostEvent {
  return { kind: "commented", commentId: "1", body, author: ANA, delivery: "1", change: world.host.ref(number) };
}

const never = (): RunTicket => ({
  signal: new AbortController().signal,
  again: false,
  givenUp: false,
  confirm: () => Promise.resolve(),
  journal: new MemoryJournal(),
  stepAside: () => undefined,
});

test.each(["closed", "merged"] as const)(
  "a change request that is %s on another replica while it is planned keeps no lock",
  async (state) => {
    const world = new CommandWorld();
    const number = world.open(config("web", "2"));
    const elsewhere: Promise<unknown>[] = [];
    world.deployer.faults.render = ({ side }) => {
      if (side === "head" || !world.host.setState(number, state)) return;
      const event = {
        kind: "closed",
        delivery: "2",
        change: world.host.ref(number),
      } as const;
      elsewhere.push(supervise(event, dependenciesOf(world), never()));
    };
    await supervise(comment(world, number, "svc plan"), dependenciesOf(world), never());
    await Promise.all(elsewhere);
    expect(elsewhere).toHaveLength(1);
    expect(await world.holders()).toEqual({});
    expect(world.host.commentsOf(number)).toHaveLength(1);
    expect(world.host.commentsOf(number).join()).toContain(state);
    expect(world.log.lines.filter(({ level }) => level === "error")).toEqual([]);
  },
);

test("a pushed head is fetched while the host is asked about it, and a plan that somebody asks for fetches by itself", async () => {
  const world = new CommandWorld();
  const number = world.open(config("web", "2"));
  const { host, repositories } = world;
  const fetched: (Revision | undefined)[] = [];
  const inAdvance = new Promise<void>((resolve) => {
    repositories.fetchHead = (_, _source, { pushed }) => {
      fetched.push(pushed);
      resolve();
      return Promise.resolve();
    };
  });
  await supervise(comment(world, number, "svc plan"), dependenciesOf(world), never());
  expect(fetched).toEqual([]);
  const ask = host.getChangeRequest.bind(host);
  host.getChangeRequest = async (ref) => {
    await inAdvance;
    return ask(ref);
  };
  world.host.push(number, config("web", "3"));
  const { headRevision } = host.facts(number);
  await supervise(foundHead({ ...host.ref(number), headRevision }), dependenciesOf(world), never());
  expect(fetched).toEqual([headRevision]);
  expect(await world.stores.plans.find(host.ref(number))).toMatchObject({ head: host.facts(number).headRevision });
});

test("the head that moves while it is read is read once more", async () => {
  const world = new CommandWorld();
  const number = world.open(config("web", "2"));
  const { cloneSource } = world.host;
  let moved = false;
  world.host.cloneSource = async (change) => {
    if (!moved) world.host.push(number, config("web", "3"));
    moved = true;
    return cloneSource.call(world.host, change);
  };
  await supervise(comment(world, number, "svc plan"), dependenciesOf(world), never());
  expect(await world.stores.plans.find(world.host.ref(number))).toMatchObject({
    head: world.host.facts(number).headRevision,
  });
});

test("a store that is lost after a sync does not hide what was deployed, and nothing is merged", async () => {
  const world = new CommandWorld();
  const number = world.open(config("web", "2"));
  const deps = { ...dependenciesOf(world), config: testConfig({ auto_merge: true }) };
  await supervise(comment(world, number, "svc plan"), deps, never());
  const { deployments } = world.stores;
  world.deployer.faults.sync = () => {
    deployments.list = () => Promise.reject(new StoreUnavailable("the store is away"));
    return undefined;
  };
  await supervise(comment(world, number, "svc sync"), deps, never());
  const answer = world.host.commentsOf(number).at(-1) ?? "";
  expect(answer).toContain("✅ succeeded");
  expect(answer).toContain("could not check whether everything is deployed: the store is away");
  expect(world.host.stateOf(number)).toBe("open");
});

test("a long command that breaks leaves no progress behind: its comment says what happened", async () => {
  const world = new CommandWorld();
  const number = world.open(config("web", "2"));
  const deps = dependenciesOf(world);
  await supervise(comment(world, number, "svc plan"), deps, never());
  const { deployments } = world.stores;
  const { ofApplication } = deployments;
  world.deployer.faults.sync = () => {
    world.clock.advance(60_000);
    // No store failure, so that nothing of the core expects it.
    deployments.ofApplication = () => Promise.reject(new Error("secret detail"));
    return undefined;
  };
  await supervise(comment(world, number, "svc sync"), deps, never());
  deployments.ofApplication = ofApplication;
  const said = world.host.commentsOf(number);
  expect(said).toHaveLength(2);
  expect(said[1]).toContain("The command could not be finished:");
  expect(said[1]).not.toContain("running");
  expect(said[1]).not.toContain("secret detail");
  expect(world.host.reactionsOf(number).at(-1)?.reaction).toBe("failed");
});

test("reactions that fail are logged once per cause, without a stack, until one works again", async () => {
  const world = new CommandWorld();
  const number = world.open(config("web", "2"));
  const deps = { ...dependenciesOf(world), newRunId: (delivery: string) => delivery };
  const react = world.host.react.bind(world.host);
  const helpWhile = async (reason: HostFailureReason | undefined) => {
    world.host.react = reason === undefined ? react : () => Promise.reject(new HostFailure(reason, `it is ${reason}`));
    await supervise(comment(world, number, "svc help"), deps, never());
  };
  for (const reason of ["forbidden", "forbidden", "unreachable", undefined, "unreachable"] as const) {
    await helpWhile(reason);
  }
  const told = world.log.lines.filter(({ text }) => text === "could not react to a command");
  expect(told.map(({ fields }) => [fields.problem, fields.err])).toEqual([
    ["it is forbidden", undefined],
    ["it is unreachable", undefined],
    ["it is unreachable", undefined],
  ]);
});

test("a command of an outsider that is stopped is not answered again after a restart", async () => {
  const world = new CommandWorld();
  const number = world.open(config("web", "2"));
  world.host.mayCommand = () => Promise.resolve(false);
  const stopped = { ...never(), again: true, signal: AbortSignal.abort(new Stopped("closed")) };
  for (const id of ["1", "2", "3"]) {
    const event = { ...comment(world, number, "svc plan"), delivery: id, commentId: id };
    // Each is handled by another replica.
    await supervise(event, { ...dependenciesOf(world), newRunId: () => id }, stopped);
  }
  expect(world.host.commentsOf(number)).toHaveLength(1);
});

/** Plans while Kubernetes is asked, and ends with its process before the answer. */
async function endedWhileAsking(world: CommandWorld, number: number): Promise<Dependencies> {
  const deps: Dependencies = { ...dependenciesOf(world), serverDryRun: "auto" };
  const answer = world.deployer.tryObjects.bind(world.deployer);
  const first = new Promise<void>((resolve) => {
    world.deployer.tryObjects = () => new Promise(() => resolve());
  });
  void supervise(comment(world, number, "svc plan"), deps, never());
  await first;
  while (world.host.commentsOf(number).length === 0) await new Promise((resolve) => setImmediate(resolve));
  expect(world.host.commentsOf(number).join()).toContain("asking Kubernetes…");
  world.deployer.tryObjects = answer;
  return deps;
}

test("a plan whose process ended while Kubernetes was asked is made again, in the same comment", async () => {
  const world = new CommandWorld();
  const number = world.open(config("web", "2"));
  const deps = await endedWhileAsking(world, number);
  await supervise(comment(world, number, "svc plan"), deps, { ...never(), again: true });
  expect(world.host.commentsOf(number)).toHaveLength(1);
  expect(world.host.commentsOf(number).join()).not.toMatch(/asking/);
  expect(await world.stores.plans.find(world.host.ref(number))).toMatchObject({
    applications: [{ cluster: { accepted: 1, untried: [] } }],
  });
});

test("where it cannot be made again, whoever brings the plan up to date takes the question out", async () => {
  const world = new CommandWorld();
  const number = world.open(config("web", "2"));
  const deps = await endedWhileAsking(world, number);
  const change = world.host.ref(number);
  const marks: unknown[] = [];
  const { publisher } = deps;
  publisher.mark = async (marked) => void marks.push(marked);
  await supervise(comment(world, number, "svc plan"), deps, { ...never(), again: true, givenUp: true });
  expect(marks).toEqual([change]);
  await supervise({ kind: "marked", delivery: "marked-1", change, turn: 1 }, deps, never());
  const [plan] = world.host.commentsOf(number);
  expect(plan).toContain("**Kubernetes:** was not asked: svc was interrupted while it asked: plan again");
  expect(plan).not.toMatch(/asking Kubernetes|asking=/);
});

test.each([
  ["a moment", false],
  ["for longer", true],
])("a turn that waited %s for a run that left the queue is not taken, and the next one is called", async (_, again) => {
  const world = new CommandWorld();
  const [one, two, three] = [
    world.open(config("web", "2")),
    world.open(config("web", "3")),
    world.open(config("web", "4")),
  ];
  const pushed: HostEvent[] = [];
  const deps = { ...dependenciesOf(world), push: (event: HostEvent) => Promise.resolve(pushed.push(event) > 0) };
  for (const number of [one, two, three]) await supervise(comment(world, number, "svc plan"), deps, never());
  await supervise(comment(world, one, "svc unlock"), deps, never());
  expect(pushed).toMatchObject([{ kind: "turn", change: world.host.ref(two) }]);
  await supervise(comment(world, two, "svc unlock"), deps, never());
  const before = world.host.commentsOf(two);
  for (const turn of pushed.splice(0)) await supervise(turn, deps, { ...never(), again });
  expect(world.host.commentsOf(two)).toEqual(before);
  expect(await world.holders()).toEqual({});
  expect(pushed).toMatchObject([{ kind: "turn", change: world.host.ref(three) }]);
});

/** Two change requests change `web`; the first one has released it, and the second one's turn was pushed. */
async function calledTurn() {
  const world = new CommandWorld();
  const [one, two] = [world.open(config("web", "2")), world.open(config("web", "3"))];
  const pushed: HostEvent[] = [];
  const deps = { ...dependenciesOf(world), push: (event: HostEvent) => Promise.resolve(pushed.push(event) > 0) };
  for (const number of [one, two]) await supervise(comment(world, number, "svc plan"), deps, never());
  await supervise(comment(world, one, "svc unlock"), deps, never());
  const [turn] = pushed.splice(0);
  if (turn === undefined) throw new Error("nobody was called");
  return { world, deps, turn, two };
}

test("a turn whose process ended after it had left the queue is taken by the next attempt", async () => {
  const { world, deps, turn, two } = await calledTurn();
  const journal = new MemoryJournal();
  const { repositories } = world;
  const open = repositories.open.bind(repositories);
  repositories.open = () => Promise.reject(new LeaseLost());
  await supervise(turn, deps, { ...never(), journal });
  repositories.open = open;
  await world.stores.waiting.leave(applicationName("web"), world.host.ref(two));
  await supervise(turn, deps, { ...never(), journal, again: true });
  expect(await world.holders()).toEqual({ web: two });
});

test("a turn whose plan ends the process is told, and does not come again and again", async () => {
  const { world, deps, turn, two } = await calledTurn();
  world.repositories.open = () => Promise.reject(new Error("reading it ended the process"));
  for (let attempt = 1; attempt <= 2; attempt += 1) {
    await supervise(turn, deps, { ...never(), again: true, givenUp: true });
  }
  const told = world.host.commentsOf(two).filter((text) => text.includes("**Your turn:**"));
  expect(told).toEqual([expect.stringContaining("svc plan")]);
  expect(await world.stores.waiting.list()).toEqual([]);
  expect(await world.holders()).toEqual({});
});

test("receivers, the audit trail and the plan are told that a rollout has failed whose looks end the process", async () => {
  const world = new CommandWorld();
  const number = world.open(config("web", "2"));
  await supervise(comment(world, number, "svc plan"), dependenciesOf(world), never());
  const change = world.host.ref(number);
  const [since, web] = [world.clock.now().toISOString(), applicationName("web")];
  const state = { kind: "waiting", why: "was not looked at yet", since } as const;
  const followed = { goal: "run", origin: "new", healthy: true, existed: true, state } as const;
  const rollout: Rollout = {
    change,
    merged: world.host.facts(number).headRevision,
    since,
    until: new Date(world.clock.now().getTime() + 60_000).toISOString(),
    ended: undefined,
    approval: "given",
    applications: [{ ...followed, application: web }],
    deployed: [],
  };
  const [told, marked]: [Notification[], unknown[]] = [[], []];
  const notifications = { publish: (one: Notification) => Promise.resolve(void told.push(one)) };
  const deps = { ...dependenciesOf(world), notifications };
  deps.publisher.mark = async (one) => void marked.push(one);
  await deps.rollouts.save(rollout, world.clock.now());
  world.host.setState(number, "merged");
  world.repositories.open = () => Promise.reject(new Error("reading it ended the process"));
  const event = { kind: "rollout", delivery: "rollout-1", change, moved: [{ application: web, line: "" }] } as const;
  await supervise(event, deps, { ...never(), again: true, givenUp: true });
  expect(await deps.rollouts.list()).toEqual([]);
  expect(told).toMatchObject([{ kind: "rolled-out", change, applications: [{ application: "web", end: "failed" }] }]);
  expect(await world.stores.audit.list({ limit: 10, filter: { action: "rolled-out" } })).toMatchObject([
    { applications: [{ application: "web", outcome: "failed" }] },
  ]);
  expect(marked).toEqual([change]);
});

test.each([true, false])(
  "who waits for a mark (patient: %s) reads the repository before those that nobody waits for",
  async (isPatient) => {
    const world = new CommandWorld();
    const number = world.open(config("web", "2"));
    const { host, repositories } = world;
    const patient: boolean[] = [];
    const open = repositories.open.bind(repositories);
    repositories.open = (change, source, options) => {
      patient.push(options?.patient === true);
      return open(change, source, options);
    };
    await supervise(comment(world, number, "svc plan"), dependenciesOf(world), never());
    expect(patient).toContain(false);
    expect(patient.splice(0)).not.toContain(true);
    const marked = { kind: "marked", delivery: "2", change: host.ref(number), turn: 1, patient: isPatient } as const;
    await supervise(marked, dependenciesOf(world), never());
    expect(patient).toContain(isPatient);
    expect(patient).not.toContain(!isPatient);
  },
);

test.each([true, false])(
  "a mark that fails is tried again in a minute, and is as patient as before (%s)",
  async (patient) => {
    const world = new CommandWorld();
    const number = world.open(config("web", "2"));
    const { clock, log } = world;
    const marks = new MemoryMarkStore(clock);
    const queue = { push: () => Promise.resolve(true), isBusy: () => Promise.resolve(false) };
    world.host.getChangeRequest = () => Promise.reject(new HostFailure("unreachable", "GitLab is away"));
    const marked = { kind: "marked", delivery: "2", change: world.host.ref(number), turn: 0, patient } as const;
    const publisher = new Publisher({ marks, queue, clock, log });
    await supervise(marked, { ...dependenciesOf(world), publisher }, never());
    const later = (ms: number) => new Date(clock.now().getTime() + ms);
    expect(await marks.take(later(59_000), later(90_000), 10)).toEqual([]);
    expect(await marks.take(later(60_000), later(90_000), 10)).toMatchObject([{ patient }]);
  },
);
