import { expect, test } from "@jest/globals";
import { applicationName, repositoryName, revision } from "../../src/core/model/brand.js";
import type { ChangeRequestRef } from "../../src/core/model/change-request.js";
import { StoreUnavailable } from "../../src/core/model/errors.js";
import type { HostEvent } from "../../src/core/model/event.js";
import type { RunEnd } from "../../src/core/ports/event-queue.js";
import { wrapPort } from "../../src/observe/wrap-port.js";
import { createInProcessQueue } from "../../src/queue/in-process.js";
import { Publisher } from "../../src/run/around/publisher.js";
import { MemoryMarkStore } from "../../src/store/memory/lock-store.js";
import { ManualClock } from "../manual-clock.js";
import { recordingLog } from "../recording-log.js";

const SECOND_MS = 1000;
const MANY = 20;
const [API, WEB] = [applicationName("api"), applicationName("web")];

const change = (number: number): ChangeRequestRef => ({
  host: "hosta",
  repository: repositoryName("acme/deploy"),
  number,
});

/** A publisher whose events run until they are told to end. */
function startLine(concurrency: number) {
  const [clock, log] = [new ManualClock(), recordingLog()];
  const store = { away: false };
  const marks = wrapPort(new MemoryMarkStore(clock), {
    set: (call) => (store.away ? Promise.reject(new StoreUnavailable("away")) : call()),
  });
  const running = new Map<number, { readonly event: HostEvent; readonly end: (how: RunEnd) => void }>();
  const run = (event: HostEvent) =>
    new Promise<RunEnd>((resolve) => {
      running.set(event.change.number, { event, end: resolve });
    });
  const queue = createInProcessQueue({ concurrency, run, clock, log });
  const publisher = new Publisher({ marks, queue, clock, log });
  return {
    clock,
    log,
    queue,
    publisher,
    store,
    async markAll() {
      for (let number = 1; number <= MANY; number += 1) await publisher.mark(change(number));
    },
    async wait(ms: number) {
      clock.advance(ms);
      await publisher.look();
    },
    comment: (number: number) =>
      queue.push({
        kind: "commented",
        commentId: "1",
        body: "svc sync",
        author: { id: "1", login: "ana", bot: false },
        delivery: `comment ${number}`,
        change: change(number),
      }),
    /** Numbers of those whose marks run. */
    passes: () => [...running].filter(([, { event }]) => event.kind === "marked").map(([number]) => number),
    runs: (number: number) => running.get(number)?.event.kind,
    /** Somebody else's act concerns it. */
    async touch(number: number) {
      await publisher.concern(change(number), [WEB]);
      await publisher.touched(WEB);
    },
    async end(number: number, { marked = true, postponedBy = 0, fails = false } = {}) {
      const found = running.get(number);
      if (found === undefined) throw new Error(`nothing runs for #${number}`);
      running.delete(number);
      const { event } = found;
      if (event.kind === "marked") {
        const mark = { change: event.change, turn: event.turn, patient: event.patient === true };
        if (postponedBy > 0) await publisher.postpone(mark, new Date(clock.now().getTime() + postponedBy));
        else if (marked) {
          await publisher.begin(mark);
          if (fails) await publisher.retry(event.change, mark.patient);
          publisher.done(mark);
        }
      }
      found.end("done");
      await new Promise(setImmediate);
    },
  };
}

test("however long passes take, five run at once, and what a person asks for starts beside them", async () => {
  const line = startLine(10);
  await line.markAll();
  for (let second = 1; second <= 10; second += 1) await line.wait(SECOND_MS);
  expect(line.passes()).toHaveLength(5);
  await line.comment(100);
  expect(line.runs(100)).toBe("commented");
});

test("a pass that ends makes room for the next one", async () => {
  const line = startLine(10);
  await line.markAll();
  for (let second = 1; second <= 10; second += 1) await line.wait(SECOND_MS);
  const worked = line.passes();
  for (let at = 0; at < MANY; at += 1) {
    await line.end(worked[at] ?? Number.NaN);
    await line.wait(SECOND_MS);
    worked.push(...line.passes().filter((number) => !worked.includes(number)));
  }
  expect(worked.sort((left, right) => left - right)).toEqual(Array.from({ length: MANY }, (_, at) => at + 1));
  expect(line.passes()).toEqual([]);
});

test("a pass that ended on another replica, or whose end was not told, makes room as well", async () => {
  const line = startLine(10);
  await line.markAll();
  await line.wait(SECOND_MS);
  const first = line.passes();
  for (const number of first) await line.end(number, { marked: false });
  await line.wait(SECOND_MS);
  expect(line.passes()).toHaveLength(5);
  expect(line.passes()).not.toEqual(expect.arrayContaining(first));
});

test("marks that wait behind a sync take no room from others", async () => {
  const line = startLine(10);
  for (let number = 1; number <= 5; number += 1) await line.comment(number);
  await line.markAll();
  for (let second = 1; second <= 2; second += 1) await line.wait(SECOND_MS);
  expect(line.passes()).toHaveLength(5);
});

test("while every change request has other events, five patient marks wait behind these, and the rest in the store", async () => {
  const line = startLine(100);
  for (let number = 1; number <= MANY; number += 1) await line.comment(number);
  for (let number = 1; number <= MANY; number += 1) await line.touch(number);
  for (let second = 1; second <= 20; second += 1) await line.wait(SECOND_MS);
  expect(await line.queue.backlog()).toMatchObject({ running: MANY, waiting: 5 });
  for (let number = 1; number <= MANY; number += 1) await line.end(number);
  expect(line.passes()).toHaveLength(5);
  const worked = new Set<number>();
  for (let second = 1; second <= 40; second += 1) {
    for (const number of line.passes()) {
      worked.add(number);
      await line.end(number);
    }
    await line.wait(SECOND_MS);
  }
  expect(worked.size).toBe(MANY);
});

test("a pass that is postponed makes room, and runs again when its time has come", async () => {
  const line = startLine(10);
  await line.touch(1);
  await line.wait(SECOND_MS);
  expect(line.passes()).toEqual([1]);
  await line.end(1, { postponedBy: 60 * SECOND_MS });
  await line.wait(59 * SECOND_MS);
  expect(line.passes()).toEqual([]);
  await line.wait(2 * SECOND_MS);
  expect(line.passes()).toEqual([1]);
  expect(line.log.lines.filter(({ level }) => level === "warn")).toEqual([]);
});

test("a pass that fails again and again is tried after longer and longer pauses, not when its lease ends", async () => {
  const line = startLine(10);
  await line.publisher.mark(change(1));
  await line.wait(SECOND_MS);
  const waited: number[] = [];
  for (let failure = 1; failure <= 5; failure += 1) {
    await line.end(1, { fails: true });
    let seconds = 0;
    while (line.runs(1) === undefined && seconds < 1000) {
      await line.wait(10 * SECOND_MS);
      seconds += 10;
    }
    waited.push(seconds);
  }
  expect(waited).toEqual([60, 120, 240, 480, 600]);
});

test("what somebody waits for goes before what others' acts made out of date", async () => {
  const line = startLine(10);
  for (let number = 1; number <= MANY; number += 1) await line.touch(number);
  await line.wait(SECOND_MS);
  const [first = 0] = line.passes();
  await line.publisher.mark(change(100));
  await line.end(first);
  await line.wait(SECOND_MS);
  expect(line.runs(100)).toBe("marked");
});

test("passes that hang are not waited for longer than a minute", async () => {
  const line = startLine(100);
  await line.markAll();
  await line.wait(SECOND_MS);
  const first = line.passes();
  await line.wait(61 * SECOND_MS);
  expect(line.passes().length).toBe(10);
  expect(line.passes()).toEqual(expect.arrayContaining(first));
});

test("an approved sync is pushed once the store is back, and its run asks how old the approval is", async () => {
  const line = startLine(1);
  const approval = { headRevision: revision("a".repeat(40)), plannedAt: "", by: { id: "2", login: "bo", bot: false } };
  line.publisher.later({ kind: "approved", delivery: "approved 1", change: change(1), ...approval });
  await line.wait(61 * SECOND_MS);
  expect(line.runs(1)).toBe("approved");
});

test("what is marked while the store is away is marked once it is back, also if it is marked for later, or another one is, meanwhile", async () => {
  const line = startLine(10);
  line.store.away = true;
  await line.publisher.mark(change(1));
  await line.publisher.mark(change(1), { at: new Date(line.clock.now().getTime() + 3600 * SECOND_MS) });
  await line.publisher.touched(WEB, undefined, change(2));
  await line.publisher.touched(WEB);
  await line.publisher.concern(change(3), [API]);
  for (const name of [API, WEB]) await line.publisher.touchedAll((application) => application === name);
  line.store.away = false;
  for (let second = 1; second <= 5; second += 1) await line.wait(SECOND_MS);
  expect(line.passes()).toEqual([1, 2, 3]);
});

test("two that change an application while the store is away mark each other", async () => {
  const line = startLine(10);
  for (const number of [1, 2]) await line.publisher.concern(change(number), [WEB]);
  line.store.away = true;
  for (const number of [1, 2]) await line.publisher.touched(WEB, change(number));
  line.store.away = false;
  for (let second = 1; second <= 2; second += 1) await line.wait(SECOND_MS);
  expect(line.passes().sort()).toEqual([1, 2]);
});
