import { spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import { Redis } from "ioredis";
import { changeRequestKey } from "../../src/core/model/change-request.js";
import { StoreUnavailable } from "../../src/core/model/errors.js";
import type { HostEvent } from "../../src/core/model/event.js";
import { type EventQueue, type RunEnd, type RunTicket, Stopped } from "../../src/core/ports/event-queue.js";
import type { RedisClient } from "../../src/http/redis.js";
import { createDurableQueue, type DurableQueueOptions } from "../../src/queue/durable.js";
import { BELL_CHANNEL, journalKey, LaneStore, type Taken } from "../../src/queue/lane-store.js";
import { RedisConnection } from "../../src/store/redis/connection.js";
import { claimsInterval } from "../../src/store/shared-records.js";
import { ManualClock } from "../manual-clock.js";
import { recordingLog } from "../recording-log.js";
import { freePort, RedisServer } from "../redis-server.js";
import { withinASecond } from "../within-a-second.js";
import { aborted, closed, commented, Runs, settled, updated } from "./event-queue.contract.js";

const CHILD = join(fileURLToPath(new URL("../queue", import.meta.url)), "queue-process.ts");
const TIMING = { leaseMs: 1_000, heartbeatMs: 50, lookEveryMs: 100, retryAfterMs: [], undoubtedMs: 300 };

let server: RedisServer;
let raw: Redis;
const connections: RedisConnection[] = [];
const started: (readonly [EventQueue, RedisConnection, ManualClock])[] = [];

beforeAll(async () => {
  server = await RedisServer.start(["--appendonly", "yes", "--appendfsync", "always"]);
  raw = new Redis(server.port, "127.0.0.1");
  raw.on("error", () => undefined);
});

afterEach(async () => {
  server.thaw();
  for (const replica of started.splice(0)) await endReplica(...replica);
  for (const connection of connections.splice(0)) await connection.close();
  await raw.flushall();
});

afterAll(async () => {
  raw.disconnect();
  await server.stop();
});

async function endReplica(queue: EventQueue, connection: RedisConnection, clock: ManualClock): Promise<void> {
  const state = { over: false };
  const closing = queue.close(0).then(() => (state.over = true));
  while (!state.over) {
    clock.advance(10_000);
    await settled();
  }
  await closing;
  await connection.close();
}

interface ReplicaOptions extends Partial<
  Pick<DurableQueueOptions, "refuse" | "concurrency" | "timing" | "onTakeOver">
> {
  readonly address?: string;
  /** Wraps the queue's connection. */
  readonly around?: (connection: RedisConnection) => DurableQueueOptions["connection"];
}

/** A replica of the service, as far as the queue goes. */
function startReplica(run: DurableQueueOptions["run"], options: ReplicaOptions = {}) {
  const { address = server.address, timing = {}, around, ...more } = options;
  const [clock, log] = [new ManualClock(), recordingLog()];
  const connection = new RedisConnection({ address, db: 0, tls: false }, recordingLog());
  const refuse = () => Promise.resolve("refused" as const);
  const queue = createDurableQueue({
    concurrency: 4,
    run,
    refuse,
    log,
    clock,
    connection: around === undefined ? connection : around(connection),
    timing: { ...TIMING, ...timing },
    ...more,
  });
  started.push([queue, connection, clock]);
  return { queue, connection, clock, lines: log.lines };
}

test("another replica restarts the event of a killed one, and marks it as started before", async () => {
  const child = spawn(process.execPath, ["--import", "tsx", CHILD, server.address], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const spoken: Promise<unknown[]> = once(child.stdout, "data");
  const event = commented(1);
  // This queue's worker is busy with another change request, so the child starts the event.
  const busy = new Runs();
  const first = startReplica(busy.run, { concurrency: 1 });
  await first.queue.push(commented(2));
  await busy.haveStarted(1);
  await first.queue.push(event);
  expect(String((await spoken)[0])).toBe(`${event.delivery}\n`);
  child.kill("SIGKILL");
  await once(child, "exit");
  const runs = new Runs();
  const { queue } = startReplica(runs.run);
  await runs.haveStarted(1);
  expect(runs.started).toEqual([event]);
  expect(runs.tickets[0]?.again).toBe(true);
  await busy.end(0);
  await runs.end(0);
  await queue.idle();
  expect(await queue.push(event)).toBe(false);
});

test("accepted events survive a restart of Redis, and are still known afterwards", async () => {
  const runs = new Runs();
  const { queue } = startReplica(runs.run, { concurrency: 1 });
  const [running, waiting] = [commented(1), commented(2)];
  await queue.push(running);
  await runs.haveStarted(1);
  await queue.push(waiting);
  await server.restart();
  await runs.end(0);
  await runs.haveStarted(2);
  expect(runs.started).toEqual([running, waiting]);
  expect(await queue.push(running)).toBe(false);
  await runs.end(1);
  await queue.idle();
});

test("an event is not refused, and then run, because the process is too busy to read that Redis accepted it", async () => {
  const runs = new Runs();
  const refused: HostEvent[] = [];
  const busy = { now: false };
  const { queue } = startReplica(runs.run, {
    refuse: async (event) => {
      refused.push(event);
      return "refused";
    },
    around: (connection) => ({
      patient: () => connection.patient(),
      run(commands) {
        const answer = connection.run(commands);
        // Right after the commands are sent, for longer than an answer is waited for.
        if (busy.now) setImmediate(() => work(600));
        busy.now = false;
        return answer;
      },
    }),
  });
  await queue.push(commented(1));
  await runs.haveStarted(1);
  busy.now = true;
  await queue.push(commented(2));
  await runs.endAll(queue);
  const told = new Set(refused.map(({ delivery }) => delivery));
  expect(runs.started.filter(({ delivery }) => told.has(delivery))).toEqual([]);
  expect(runs.started.length + refused.length).toBe(2);
});

/** Keeps the process busy for so many milliseconds. */
function work(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until;);
}

test.each([
  ["killed", () => server.kill(), () => server.restart()],
  ["frozen", async () => server.freeze(), async () => server.thaw()],
] as const)(
  "an event that comes while Redis is away (%s) is answered within a second and never run",
  async (_name, takeAway, bringBack) => {
    const runs = new Runs();
    const refused: HostEvent[] = [];
    const { queue, connection, lines } = startReplica(runs.run, {
      refuse: async (event) => {
        refused.push(event);
        return "refused";
      },
    });
    await connection.run((redis) => redis.ping());
    const event = commented(1);
    await takeAway();
    expect(await withinASecond(() => queue.push(event))).toBe(true);
    expect(refused).toEqual([event]);
    expect(lines.filter(({ level }) => level === "error")).toHaveLength(1);
    await bringBack();
    const next = commented(2);
    while (!refused.includes(next) && runs.started.length === 0) await queue.push(next);
    await runs.endAll(queue);
    expect(runs.started.map(({ delivery }) => delivery)).not.toContain(event.delivery);
  },
);

test("a queue that is closed while it subscribes again after an outage leaves no rejection unhandled", async () => {
  const bells: RedisClient[] = [];
  const { lines } = startReplica(() => Promise.resolve("done"), {
    around: (connection) => ({
      run: (commands) => connection.run(commands),
      patient() {
        const bell = connection.patient();
        bells.push(bell);
        return bell;
      },
    }),
  });
  const [bell] = bells;
  if (!(bell instanceof Redis)) throw new Error("the queue opened no connection of its own");
  while ((await raw.pubsub("NUMSUB", BELL_CHANNEL))[1] !== 1) await settled();
  await server.restart();
  await once(bell, "ready");
  // Before the answer can be read. Node then looks for unhandled rejections, which fail the test.
  bell.disconnect();
  bell.stream.destroy();
  await once(bell, "end");
  await new Promise((resolve) => setImmediate(resolve));
  expect(lines.map(({ text }) => text)).toContain("the queue cannot hear of new events");
});

test("an event is answered within a second if Redis was never reachable", async () => {
  const refused: HostEvent[] = [];
  const { queue } = startReplica(() => Promise.resolve("done"), {
    address: `127.0.0.1:${await freePort()}`,
    refuse: async (event) => {
      refused.push(event);
      return "refused";
    },
  });
  const event = commented(1);
  expect(await withinASecond(() => queue.push(event))).toBe(true);
  expect(refused).toEqual([event]);
});

test.each([
  ["a push", updated(1), "pushed"],
  ["a close", closed(1), "closed"],
] as const)("%s that another replica takes stops the run", async (_name, event, reason) => {
  const runs = new Runs();
  startReplica(runs.run);
  const other = startReplica(runs.run);
  await other.queue.push(commented(1));
  await runs.haveStarted(1);
  await other.queue.push(event);
  await aborted(runs.signals[0]);
  expect(runs.signals[0]?.reason).toEqual(new Stopped(reason));
  await runs.endAll(other.queue);
  expect(runs.started).toHaveLength(2);
});

test("a run that lost its lease is stopped and may no longer act", async () => {
  const runs = new Runs();
  const { queue } = startReplica(runs.run);
  await queue.push(commented(1));
  await runs.haveStarted(1);
  const [state] = await raw.keys("svc:{queue}:state:*");
  await raw.hincrby(state ?? "", "fence", 1);
  await aborted(runs.signals[0]);
  expect(runs.signals[0]?.reason).toEqual(new Stopped("handed-back"));
  await expect(runs.tickets[0]?.confirm()).rejects.toMatchObject({ name: "LeaseLost" });
  await runs.end(0);
});

test("another replica restarts at once what a closing one cannot finish", async () => {
  const slow = new Runs();
  const { queue, clock } = startReplica(slow.run, { timing: { leaseMs: 60_000, lookEveryMs: 60_000 } });
  const event = commented(1);
  await queue.push(event);
  await slow.haveStarted(1);
  const runs = new Runs();
  const other = startReplica(runs.run, { timing: { leaseMs: 60_000, lookEveryMs: 60_000 } });
  const closing = queue.close(1_000);
  while (runs.started.length === 0) {
    clock.advance(1_000);
    await settled();
  }
  await closing;
  expect(slow.signals[0]?.reason).toEqual(new Stopped("handed-back"));
  await expect(slow.tickets[0]?.confirm()).rejects.toMatchObject({ name: "LeaseLost" });
  expect(runs.tickets[0]?.again).toBe(true);
  await runs.endAll(other.queue);
});

test("another replica starts at once what waits behind the last run of a closing one", async () => {
  const runs = new Runs();
  const timing = { leaseMs: 60_000, lookEveryMs: 60_000 };
  const { queue } = startReplica(runs.run, { timing });
  const waiting = commented(1);
  await queue.push(commented(1));
  await runs.haveStarted(1);
  await queue.push(waiting);
  const other = startReplica(runs.run, { timing });
  const closing = queue.close(60_000);
  await runs.end(0);
  await closing;
  await runs.haveStarted(2);
  expect(runs.started[1]).toEqual(waiting);
  expect(runs.tickets[1]?.again).toBe(false);
  await runs.endAll(other.queue);
});

test("an event that a replica takes as it closes is run by another one, as if nobody had taken it", async () => {
  const [runs, late] = [new Runs(), new Runs()];
  const gate = new EventEmitter<{ taken: []; open: [] }>();
  const wasTaken = once(gate, "taken");
  const timing = { leaseMs: 60_000, lookEveryMs: 60_000 };
  const { queue } = startReplica(late.run, {
    timing,
    around: (connection) => ({
      patient: () => connection.patient(),
      async run(commands) {
        const found = await connection.run(commands);
        if (!Array.isArray(found) || found[0] !== "taken") return found;
        const opened = once(gate, "open");
        gate.emit("taken");
        await opened;
        return found;
      },
    }),
  });
  const event = updated(1);
  await queue.push(event);
  await wasTaken;
  const closing = queue.close(60_000);
  await settled();
  gate.emit("open");
  await closing;
  await settled();
  expect(late.started).toEqual([]);
  const other = startReplica(runs.run, { timing });
  await runs.haveStarted(1);
  expect(runs.started).toEqual([event]);
  expect(runs.tickets[0]?.again).toBe(false);
  await runs.endAll(other.queue);
});

test("an event that a closing replica accepts is run by another one", async () => {
  const runs = new Runs();
  const { queue } = startReplica(runs.run);
  await queue.push(commented(1));
  await runs.haveStarted(1);
  const closing = queue.close(1_000);
  const event = commented(2);
  expect(await queue.push(event)).toBe(true);
  await runs.end(0);
  await closing;
  const other = startReplica(runs.run);
  await runs.haveStarted(2);
  expect(runs.started[1]).toEqual(event);
  await runs.endAll(other.queue);
});

test("a run continues if Redis comes back empty, since no other replica can have started it", async () => {
  const runs = new Runs();
  const { queue } = startReplica(runs.run);
  await queue.push(commented(1));
  await runs.haveStarted(1);
  await raw.flushall();
  while ((await raw.keys("svc:{queue}:lease:*")).length === 0) await settled();
  await queue.push(commented(1));
  expect(runs.signals[0]?.aborted).toBe(false);
  await expect(runs.tickets[0]?.confirm()).resolves.toBeUndefined();
  await runs.end(0);
  await runs.haveStarted(2);
  await runs.endAll(queue);
});

test("a run whose start Redis has lost in a failover ends once another replica has started the event", async () => {
  const [before, after] = [new Runs(), new Runs()];
  const away = { now: false };
  const first = startReplica(before.run, {
    around: (connection) => ({
      patient: () => connection.patient(),
      run: (commands) =>
        away.now ? Promise.reject(new StoreUnavailable("the new primary is not reached")) : connection.run(commands),
    }),
  });
  const event = commented(1);
  await first.queue.push(event);
  await before.haveStarted(1);
  away.now = true;
  const state = `svc:{queue}:state:${changeRequestKey(event.change)}`;
  await raw.hdel(state, "running", "starts", "fence");
  await raw.del(state.replace(":state:", ":lease:"));
  const second = startReplica(after.run);
  await after.haveStarted(1);
  away.now = false;
  await aborted(before.signals[0]);
  expect(after.signals[0]?.aborted).toBe(false);
  await expect(before.tickets[0]?.confirm()).rejects.toMatchObject({ name: "LeaseLost" });
  await expect(after.tickets[0]?.confirm()).resolves.toBeUndefined();
  await before.end(0);
  await after.endAll(second.queue);
});

test.each([
  ["of another version", { v: 2, event: { kind: "updated" } }],
  ["without its event", { v: 1, is: { kind: "updated" } }],
])("a record %s is reported once with its key, and left to a replica that can read it", async (_name, record) => {
  const runs = new Runs();
  const { queue, lines } = startReplica(runs.run);
  const text = JSON.stringify(record);
  const change = "hosta/acme/deploy/9";
  await raw.rpush(`svc:{queue}:events:${change}`, text);
  await raw.hset(`svc:{queue}:state:${change}`, "scheduled", "1", "generation", "1");
  await raw.zadd("svc:{queue}:lanes", 1, change);
  const fences = new Set<string | null>();
  while (fences.size < 13) fences.add(await raw.hget(`svc:{queue}:state:${change}`, "fence"));
  expect(await raw.hget(`svc:{queue}:state:${change}`, "starts")).toMatch(/^[01]$/);
  await queue.push(commented(1));
  await runs.end(0);
  expect(await raw.lrange(`svc:{queue}:events:${change}`, 0, -1)).toEqual([text]);
  expect(lines.filter(({ level }) => level === "error").map(({ fields }) => fields)).toEqual([
    { change, key: `svc:{queue}:events:${change}` },
  ]);
});

test("a failed run is retried, and stays failed after the last pause", async () => {
  const again: boolean[] = [];
  const { queue } = startReplica(
    async (_event, ticket): Promise<RunEnd> => {
      again.push(ticket.again);
      return "failed";
    },
    { timing: { retryAfterMs: [10, 10] } },
  );
  const event = commented(1);
  await queue.push(event);
  await queue.idle();
  expect(again).toEqual([false, true, true]);
  expect(await queue.push(event)).toBe(true);
  await queue.idle();
  expect(again.slice(3)).toEqual([true, true, true]);
});

test("a push that supersedes a failed one starts at once, as a new event with all its retries", async () => {
  const [first, second] = [updated(1), updated(1)];
  const seen: string[] = [];
  const state = { failedTwice: false };
  const run = async ({ delivery }: HostEvent, { again }: RunTicket): Promise<RunEnd> => {
    seen.push(`${delivery === first.delivery ? "first" : "second"} ${again ? "again" : "new"}`);
    state.failedTwice = seen.length === 2;
    return seen.length === 4 ? "done" : "failed";
  };
  const { queue } = startReplica(run, { timing: { retryAfterMs: [1, 60_000], lookEveryMs: 60_000 } });
  await queue.push(first);
  while (!state.failedTwice || (await raw.keys("svc:{queue}:lease:*")).length > 0) await settled();
  await queue.push(second);
  await queue.idle();
  expect(seen).toEqual(["first new", "first again", "second new", "second again"]);
});

/** Accepts an event and starts it this often, each time in a process that ends without a word. */
async function kill(event: HostEvent, times: number): Promise<void> {
  const lanes = lanesOf();
  await lanes.push(event, 10_000);
  for (let kills = 0; kills < times; kills += 1) {
    await take(lanes, event, 1);
    while ((await raw.keys("svc:{queue}:lease:*")).length > 0) await settled();
  }
}

function lanesOf(): LaneStore {
  const connection = new RedisConnection({ address: server.address, db: 0, tls: false }, recordingLog());
  connections.push(connection);
  return new LaneStore(connection);
}

async function take(lanes: LaneStore, event: HostEvent, leaseMs: number): Promise<Taken> {
  const taken = await lanes.take(changeRequestKey(event.change), leaseMs);
  if (taken.kind !== "taken") throw new Error(taken.kind);
  return taken;
}

test("a replica says when it takes over from a killed one, and not when an event is retried or handed back", async () => {
  const takeOvers: string[] = [];
  await kill(commented(1), 1);
  const run = (event: HostEvent): Promise<RunEnd> => {
    takeOvers.push(`run ${event.change.number}`);
    return Promise.resolve(event.change.number === 2 && takeOvers.length < 4 ? "failed" : "done");
  };
  const { queue } = startReplica(run, { timing: { retryAfterMs: [1] }, onTakeOver: () => takeOvers.push("take over") });
  await queue.idle();
  await queue.push(commented(2));
  await queue.idle();
  expect(takeOvers).toEqual(["take over", "run 1", "run 2", "run 2"]);
});

test("a run whose processes were killed still has all its retries", async () => {
  const event = commented(1);
  await kill(event, 5);
  const ends: boolean[] = [];
  const run = async (_event: HostEvent, ticket: RunTicket): Promise<RunEnd> => {
    ends.push(ticket.again);
    return "failed";
  };
  const { queue } = startReplica(run, { timing: { retryAfterMs: [1, 1] } });
  await queue.idle();
  expect(ends).toEqual([true, true, true]);
});

test("neither retries nor hand-backs count as kills", async () => {
  const event = commented(1);
  await kill(event, 9);
  const lanes = lanesOf();
  for (let handed = 0; handed < 12; handed += 1) await lanes.end(await take(lanes, event, 60_000), "again");
  const tickets: RunTicket[] = [];
  const run = async (_event: HostEvent, ticket: RunTicket): Promise<RunEnd> => {
    tickets.push(ticket);
    return "failed";
  };
  const { queue, lines } = startReplica(run, { timing: { retryAfterMs: Array.from({ length: 12 }, () => 1) } });
  await queue.idle();
  expect(tickets).toHaveLength(13);
  expect(tickets.filter(({ givenUp }) => givenUp)).toEqual([]);
  expect(lines).toEqual([]);
});

test("an event that was killed ten times is only answered, and the next one starts with a clean slate", async () => {
  const event = commented(1);
  await kill(event, 10);
  const runs = new Runs();
  const { queue, lines } = startReplica(runs.run);
  await queue.push(commented(1));
  await runs.end(0);
  await runs.end(1);
  await queue.idle();
  expect(runs.tickets.map(({ givenUp, again }) => ({ givenUp, again }))).toEqual([
    { givenUp: true, again: true },
    { givenUp: false, again: false },
  ]);
  expect(lines.map(({ text, fields }) => ({ text, kills: fields.kills }))).toEqual([
    { text: "gave up on an event: the processes that ran it ended", kills: 10 },
  ]);
});

test("an event that was killed ten times and could not be answered is not pushed again, whatever it has done", async () => {
  const event = commented(1);
  await raw.set(journalKey(event.delivery), '{"v":1,"result":{"kind":"unlocked"}}', "EX", 4 * 24 * 60 * 60);
  await kill(event, 10);
  const runs = new Runs();
  const { queue } = startReplica(runs.run);
  await runs.end(0, "failed");
  await queue.idle();
  await queue.pushUntold();
  expect(runs.tickets.map(({ givenUp }) => givenUp)).toEqual([true]);
  expect(await queue.isBusy(event.change)).toBe(false);
  expect(await queue.knows({ ...event, delivery: "found" })).toBe(true);
});

test("an event whose answer is killed as well is dropped, and accepted if it is delivered again", async () => {
  const event = commented(1);
  await raw.set(journalKey(event.delivery), '{"v":1,"result":{"kind":"unlocked"}}', "EX", 4 * 24 * 60 * 60);
  await kill(event, 12);
  const runs = new Runs();
  const { queue } = startReplica(runs.run, { timing: { retryAfterMs: [1, 1] } });
  await queue.idle();
  await queue.pushUntold();
  await queue.idle();
  expect(runs.started).toEqual([]);
  expect(await queue.push(event)).toBe(true);
  await runs.end(0);
  await queue.idle();
  expect(runs.tickets.map(({ givenUp }) => givenUp)).toEqual([false]);
});

test.each([
  [12, "answer is killed as well is not found again: it would end as many processes each time", true],
  [0, "attempts failed is found again", false],
] as const)("an update that was killed %d times and whose %s", async (kills, _, known) => {
  const event = updated(1);
  if (kills > 0) await kill(event, kills);
  const runs = new Runs();
  const { queue } = startReplica(runs.run, { timing: { retryAfterMs: [] } });
  if (kills === 0) {
    await queue.push(event);
    await runs.end(0, "failed");
  }
  await queue.idle();
  expect(await queue.knows(event)).toBe(known);
  expect(await queue.push(event)).toBe(true);
  await runs.end(runs.started.length);
  await queue.idle();
  expect(await queue.knows(event)).toBe(true);
});

test("a command that failed, whose notes nobody can read, is not found again: it may have deployed", async () => {
  const event = commented(1);
  const runs = new Runs();
  const { queue } = startReplica(runs.run, { timing: { retryAfterMs: [] } });
  await queue.push(event);
  await runs.haveStarted(1);
  await raw.set(journalKey(event.delivery), '{"v":2}', "EX", 4 * 24 * 60 * 60);
  await runs.end(0, "failed");
  await queue.idle();
  expect(await queue.knows({ ...event, delivery: "found" })).toBe(true);
  await queue.pushUntold();
  await queue.idle();
  expect(runs.started).toHaveLength(1);
});

test("every key of the queue begins with the service's name and lies in one slot", async () => {
  const runs = new Runs();
  const { queue } = startReplica(runs.run);
  await queue.push(commented(1));
  await runs.haveStarted(1);
  await runs.tickets[0]?.journal.write({ started: [] });
  await queue.push(commented(1));
  const keys = await raw.keys("*");
  expect(keys.length).toBeGreaterThan(6);
  expect(keys.filter((key) => !key.startsWith("svc:{queue}:"))).toEqual([]);
  await runs.endAll(queue);
});

test("one of several replicas gets the turn, once per interval", async () => {
  const { connection } = startReplica(() => Promise.resolve("done"));
  const other = startReplica(() => Promise.resolve("done"));
  const turns = await Promise.all(
    [connection, other.connection, connection].map((one) => claimsInterval(one, "sweep", 60_000)),
  );
  expect(turns.filter(Boolean)).toHaveLength(1);
  expect(await claimsInterval(connection, "reconcile", 60_000)).toBe(true);
  expect(await raw.pttl("svc:{queue}:turn:sweep")).toBeGreaterThan(50_000);
  expect(await claimsInterval(undefined, "sweep", 60_000)).toBe(true);
});

test("two replicas never run one change request at once, and lose nothing", async () => {
  const kind = fc.constantFrom("updated", "closed", "commented");
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ kind, number: fc.integer({ min: 1, max: 3 }), to: fc.nat(1) }), { maxLength: 25 }),
      async (steps) => {
        await raw.flushall();
        const running = new Set<string>();
        const [broken, finished]: [string[], string[]] = [[], []];
        const run = async (event: HostEvent): Promise<RunEnd> => {
          const key = changeRequestKey(event.change);
          if (running.has(key)) broken.push(key);
          running.add(key);
          await raw.ping();
          running.delete(key);
          finished.push(event.delivery);
          return "done";
        };
        const replicas = [startReplica(run), startReplica(run)];
        const make = { updated, closed, commented };
        const pushed = steps.map((step) => ({ ...step, event: make[step.kind](step.number) }));
        for (const { event, to } of pushed) expect(await replicas[to]?.queue.push(event)).toBe(true);
        await replicas[0]?.queue.idle();
        expect(broken).toEqual([]);
        for (const number of [1, 2, 3]) {
          const mine = pushed.filter((one) => one.number === number).map(({ event }) => event);
          const ran = mine.filter(({ delivery }) => finished.includes(delivery));
          expect(finished.filter((delivery) => mine.some((event) => event.delivery === delivery))).toEqual(
            ran.map(({ delivery }) => delivery),
          );
          const lost = mine.filter((event) => !ran.includes(event));
          expect(lost.every((event) => event.kind === "updated")).toBe(true);
          expect(mine.length === 0 || ran.includes(mine.at(-1) ?? closed(0))).toBe(true);
        }
        for (const replica of started.splice(0)) await endReplica(...replica);
      },
    ),
    { numRuns: 12 },
  );
});

test("a lease renewed just as its run ends reports no other replica", async () => {
  const { queue, lines } = startReplica(() => Promise.resolve("done"), { timing: { heartbeatMs: 1 } });
  for (let number = 1; number <= 40; number += 1) await queue.push(commented(number));
  await queue.idle();
  expect(lines.map(({ text }) => text)).not.toContain("another replica took over an event");
});

test("a command that its replica refused for lack of an answer runs later, marked as answered before", async () => {
  const runs = new Runs();
  const first = startReplica(runs.run);
  await first.queue.push(commented(1));
  await runs.haveStarted(1);
  const refused: HostEvent[] = [];
  const cut = { off: false };
  const other = startReplica(runs.run, {
    concurrency: 1,
    refuse: async (event) => {
      refused.push(event);
      return "refused";
    },
    around: (connection) => ({
      patient: () => connection.patient(),
      async run(commands) {
        const answer = await connection.run(commands);
        if (cut.off) throw new StoreUnavailable("the answer was lost");
        return answer;
      },
    }),
  });
  await other.queue.backlog();
  const doubtful = commented(1);
  cut.off = true;
  await other.queue.push(doubtful);
  cut.off = false;
  expect(refused).toEqual([doubtful]);
  await runs.end(0);
  await runs.haveStarted(2);
  expect(runs.started[1]).toEqual(doubtful);
  expect(runs.tickets[1]?.again).toBe(true);
  await runs.end(1);
  await first.queue.idle();
});

test("a command that waited behind another one runs at once, not marked as started before", async () => {
  const runs = new Runs();
  const [first, other] = [startReplica(runs.run), startReplica(runs.run)];
  await first.queue.push(commented(1));
  await runs.haveStarted(1);
  await other.queue.push(commented(1));
  await runs.end(0);
  await runs.haveStarted(2);
  expect(runs.tickets[1]?.again).toBe(false);
  await runs.end(1);
  await first.queue.idle();
});
