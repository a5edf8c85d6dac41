import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, expect, jest, test } from "@jest/globals";
import { Redis } from "ioredis";
import type { Delivery, Outbox } from "../../src/core/ports/notifications.js";
import { systemClock } from "../../src/service/service.js";
import { createMemoryOutbox } from "../../src/store/memory/outbox.js";
import { RedisConnection } from "../../src/store/redis/connection.js";
import { createDurableOutbox } from "../../src/store/redis/outbox.js";
import { JumpClock } from "../jump-clock.js";
import { recordingLog } from "../recording-log.js";
import { RedisServer } from "../redis-server.js";
import { message, outboxContract, Receiver, type StartOutbox, TAKEN } from "./outbox.contract.js";

const CHILD = join(fileURLToPath(new URL("../queue", import.meta.url)), "outbox-process.ts");
const RECEIVERS = ["chat", "other"];
const PAUSES = [10, 20];
const log = recordingLog();
let server: RedisServer;
let raw: Redis;
const connections: RedisConnection[] = [];

beforeAll(async () => {
  server = await RedisServer.start();
  raw = new Redis(server.port, "127.0.0.1");
});

afterEach(async () => {
  for (const connection of connections.splice(0)) await connection.close();
  await raw.flushall();
});

afterAll(async () => {
  raw.disconnect();
  await server.stop();
});

const TIMING = { leaseMs: 500, lookEveryMs: 100 };

const startDurable: StartOutbox = (parts) => startReplica(parts);

function startReplica({ deliver, onAttempt }: Parameters<StartOutbox>[0], timing = TIMING): Outbox {
  const connection = new RedisConnection({ address: server.address, db: 0, tls: false }, log);
  connections.push(connection);
  const options = { receivers: RECEIVERS, retryAfterMs: PAUSES, clock: systemClock, log };
  return createDurableOutbox({ ...options, deliver, onAttempt, connection, timing });
}

outboxContract("memory", ({ deliver, onAttempt }) =>
  createMemoryOutbox({ receivers: RECEIVERS, retryAfterMs: PAUSES, clock: new JumpClock(), log, deliver, onAttempt }),
);
outboxContract("redis", startDurable);

test("what a killed replica was delivering is delivered by another, and what was delivered is not sent again", async () => {
  const child = spawn(process.execPath, ["--import", "tsx", CHILD, server.address, "chat", "a"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [spoken] = (await once(child.stdout, "data")) as unknown[];
  expect(String(spoken)).toBe("a\n");
  child.kill("SIGKILL");
  const [first, second] = [new Receiver(), new Receiver()];
  const one = startDurable(first);
  await first.until(() => first.outcomes.length === 1);
  expect(first.attempts).toEqual([message("a")]);
  await one.close(0);
  const two = startDurable(second);
  await two.add([message("a"), message("b")]);
  await second.until(() => second.outcomes.length === 1);
  expect(second.attempts).toEqual([message("b")]);
  await two.close(0);
});

test("a message that nobody delivers, since its receiver has left the configuration, ends after a week", async () => {
  const receiver = new Receiver();
  receiver.answer(new Promise(() => undefined));
  const outbox = startDurable(receiver);
  await outbox.add([message("a")]);
  await receiver.until(() => receiver.attempts.length === 1);
  await outbox.close(0);
  const left = await raw.keys("svc:{notifications}:chat:*");
  expect(left).toHaveLength(3);
  for (const key of left) expect(Math.ceil((await raw.pttl(key)) / (24 * 60 * 60_000))).toBe(7);
});

test("while Redis is away nobody waits longer than a moment, and the message is delivered as soon as it is back", async () => {
  const receiver = new Receiver();
  const outbox = startDurable(receiver);
  await outbox.add([message("a")]);
  await receiver.until(() => receiver.outcomes.length === 1);
  server.freeze();
  try {
    await outbox.add([message("b")]);
    expect(receiver.attempts.map(({ id }) => id)).toEqual(["a"]);
  } finally {
    server.thaw();
  }
  await receiver.until(() => receiver.outcomes.length === 2);
  expect(receiver.attempts.map(({ id }) => id)).toEqual(["a", "b"]);
  expect(log.lines.map(({ text }) => text)).toContain("notifications stay in this process until the store answers");
  await outbox.close(0);
});

/** An outbox with another password than its Redis accepts, until it is let in. */
async function startRefused() {
  const guarded = await RedisServer.start(["--requirepass", "earlier"]);
  const admin = new Redis(guarded.port, "127.0.0.1", { password: "earlier" });
  const [lines, receiver] = [recordingLog(), new Receiver()];
  const connection = new RedisConnection({ address: guarded.address, db: 0, tls: false, password: "later" }, lines);
  const { deliver, onAttempt } = receiver;
  const options = { receivers: RECEIVERS, retryAfterMs: PAUSES, clock: systemClock, log: lines, timing: TIMING };
  const outbox = createDurableOutbox({ ...options, deliver, onAttempt, connection });
  const refused = () => lines.lines.filter(({ text }) => text === "could not queue a notification").length;
  return {
    outbox,
    receiver,
    refused,
    async add(messages: readonly ReturnType<typeof message>[]) {
      await outbox.add(messages);
      while (refused() < messages.length) await new Promise((resolve) => setImmediate(resolve));
    },
    letIn: () => admin.config("SET", "requirepass", "later"),
    async stop() {
      await outbox.close(0);
      await connection.close();
      admin.disconnect();
      await guarded.stop();
    },
  };
}

test("a message that Redis refuses, because it does not accept the password yet, is delivered once it does", async () => {
  const { receiver, refused, add, letIn, stop } = await startRefused();
  try {
    await add([message("a")]);
    await letIn();
    await receiver.until(() => receiver.outcomes.length === 1);
    expect(receiver.attempts).toEqual([message("a")]);
    expect(refused()).toBe(1);
  } finally {
    await stop();
  }
});

test("of more than a thousand messages that Redis refuses, a thousand are kept", async () => {
  const { outbox, receiver, add, letIn, stop } = await startRefused();
  try {
    await add(Array.from({ length: 1005 }, (_, index) => message(String(index))));
    await letIn();
    await receiver.until(() => receiver.outcomes.length === 1000);
    await outbox.add([message("last")]);
    await receiver.until(() => receiver.attempts.some(({ id }) => id === "last"));
    expect(receiver.attempts).toHaveLength(1001);
  } finally {
    await stop();
  }
});

test("what is delivered while Redis is away is recorded when it is back, and not delivered again", async () => {
  const receiver = new Receiver();
  const outbox = startDurable(receiver);
  let take: () => void = () => undefined;
  receiver.answer(new Promise<Delivery>((resolve) => (take = () => resolve(TAKEN))));
  await outbox.add([message("a")]);
  await receiver.until(() => receiver.attempts.length === 1);
  server.freeze();
  try {
    take();
    // As long as several attempts to record it would take.
    for (let tries = 0; tries < 3; tries += 1) {
      await expect(connections[0]?.run((redis) => redis.ping())).rejects.toMatchObject({ name: "StoreUnavailable" });
    }
  } finally {
    server.thaw();
  }
  await receiver.until(() => receiver.outcomes.length === 1);
  await outbox.add([message("b")]);
  await receiver.until(() => receiver.outcomes.length === 2);
  expect(receiver.attempts.map(({ id }) => id)).toEqual(["a", "b"]);
  await outbox.close(0);
});

test("what a replica delivers is left alone by one whose clock is ahead, which still delivers what is new", async () => {
  const [first, second] = [new Receiver(), new Receiver()];
  const timing = { ...TIMING, leaseMs: 60_000 };
  const one = startReplica(first, timing);
  first.answer(new Promise(() => undefined));
  await one.add([message("a")]);
  await first.until(() => first.attempts.length === 1);
  const now = Date.now.bind(Date);
  const ahead = jest.spyOn(Date, "now").mockImplementation(() => now() + 2 * timing.leaseMs);
  try {
    const two = startReplica(second, timing);
    await two.add([message("b")]);
    await second.until(() => second.outcomes.length === 1);
    await two.close(0);
  } finally {
    ahead.mockRestore();
  }
  expect(second.attempts).toEqual([message("b")]);
  await one.close(0);
});

test("messages that another version wrote hold up none of those behind them", async () => {
  const receiver = new Receiver();
  for (const id of ["x", "y", "z"]) {
    await raw.hset("svc:{notifications}:chat:messages", id, '{"v":2}');
    await raw.zadd("svc:{notifications}:chat:due", 1, id);
  }
  const replica = startReplica(receiver, { leaseMs: 60_000, lookEveryMs: 60_000 });
  await replica.add([message("a")]);
  await receiver.until(() => receiver.outcomes.length === 1);
  expect(receiver.attempts).toEqual([message("a")]);
  await replica.close(0);
});

test("a message that Redis refused is not lost if the replica ends before its next look", async () => {
  const [first, second] = [new Receiver(), new Receiver()];
  const replica = startReplica(first, { ...TIMING, lookEveryMs: 60_000 });
  await raw.config("SET", "min-replicas-to-write", "1");
  await replica.add([message("a")]);
  await raw.config("SET", "min-replicas-to-write", "0");
  await replica.close(0);
  const other = startReplica(second);
  await second.until(() => second.outcomes.length === 1);
  expect([...first.attempts, ...second.attempts]).toEqual([message("a")]);
  await other.close(0);
});
