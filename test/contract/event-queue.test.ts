import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { Redis } from "ioredis";
import { type EventQueue, Stopped } from "../../src/core/ports/event-queue.js";
import { createDurableQueue } from "../../src/queue/durable.js";
import { createInProcessQueue, type QueueOptions } from "../../src/queue/in-process.js";
import { RedisConnection } from "../../src/store/redis/connection.js";
import { ManualClock } from "../manual-clock.js";
import { recordingLog } from "../recording-log.js";
import { RedisServer } from "../redis-server.js";
import { commented, eventQueueContract, Runs, settled, type QueueUnderTest } from "./event-queue.contract.js";

function startInProcess(concurrency: number, run: QueueOptions["run"]): QueueUnderTest {
  const clock = new ManualClock();
  const log = recordingLog();
  return { queue: createInProcessQueue({ concurrency, run, log, clock }), clock, lines: log.lines };
}

eventQueueContract("in-process", startInProcess, 150);

describe("in-process", () => {
  test("close accepts no more events and waits for all accepted ones", async () => {
    const runs = new Runs();
    const { queue } = startInProcess(1, runs.run);
    await queue.push(commented(1));
    await queue.push(commented(1));
    const closing = queue.close(10_000);
    await expect(queue.push(commented(2))).rejects.toMatchObject({ name: "QueueClosed" });
    await runs.end(0);
    await runs.end(1);
    await closing;
    expect(runs.started).toHaveLength(2);
  });

  test("after the grace time, close stops running events, drops waiting ones and logs them", async () => {
    const runs = new Runs();
    const { queue, clock, lines } = startInProcess(1, runs.run);
    const waiting = commented(2);
    await queue.push(commented(1));
    await queue.push(waiting);
    const closing = queue.close(10_000);
    clock.advance(10_000);
    await settled();
    expect(runs.signals[0]?.reason).toEqual(new Stopped("shutdown"));
    await runs.end(0);
    await closing;
    expect(runs.started).toHaveLength(1);
    const warnings = lines.filter((line) => line.level === "warn");
    expect(warnings.map((line) => line.fields.delivery)).toEqual([waiting.delivery]);
  });
});

describe("in Redis", () => {
  let server: RedisServer;
  let raw: Redis;
  const started: (readonly [EventQueue, RedisConnection])[] = [];

  beforeAll(async () => {
    server = await RedisServer.start();
    raw = new Redis(server.port, "127.0.0.1");
  });

  afterEach(async () => {
    await Promise.all(
      started.splice(0).map(async ([queue, connection]) => {
        await queue.close(0);
        await connection.close();
      }),
    );
    await raw.flushall();
  });

  afterAll(async () => {
    raw.disconnect();
    await server.stop();
  });

  let spaces = 0;
  function startDurable(concurrency: number, run: QueueOptions["run"]): QueueUnderTest {
    const clock = new ManualClock();
    const log = recordingLog();
    spaces += 1;
    const connection = new RedisConnection({ address: server.address, db: spaces % 16, tls: false }, recordingLog());
    const timing = { retryAfterMs: [], lookEveryMs: 200 };
    const queue = createDurableQueue({ concurrency, run, refuse: run, log, clock, connection, timing });
    started.push([queue, connection]);
    return { queue, clock, lines: log.lines };
  }

  eventQueueContract("Redis", startDurable, 10);
});
