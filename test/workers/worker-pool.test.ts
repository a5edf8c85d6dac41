import { setImmediate } from "node:timers/promises";
import { afterEach, describe, expect, test } from "@jest/globals";
import { readResources, readResourcesTask } from "../../src/core/detect/scan/resources.js";
import type { Computed, ComputeLimits } from "../../src/core/ports/compute.js";
import { createWorkerPool, defaultThreads, type WorkerPool } from "../../src/workers/worker-pool.js";
import { forgettingTask, strangeTask, type Strange } from "./strange-tasks.js";

const ENTRY = new URL("strange-entry.ts", import.meta.url);
/** Longer than any test. */
const LONG = 600_000;
const SHORT = 200;
/** More than any thread has. */
const LARGE = 1000;

let open: WorkerPool | undefined;

afterEach(async () => {
  await open?.close();
  open = undefined;
});

function poolOf(threads: number, onEnd: (end: string) => void = () => undefined): WorkerPool {
  open = createWorkerPool({
    entry: ENTRY,
    threads,
    memoryMb: 64,
    onEnd: (task, owner, how) => onEnd(`${task} ${owner} ${how}`),
  });
  return open;
}

function limits(given: Partial<ComputeLimits> = {}): ComputeLimits {
  return { owner: "a", deadlineMs: LONG, signal: new AbortController().signal, ...given };
}

function ask(pool: WorkerPool, input: Strange, given: Partial<ComputeLimits> = {}): Promise<Computed<unknown>> {
  return pool.run(strangeTask, input, limits(given));
}

/** Stops this thread. Whatever it takes, a deadline loses a tenth at most in each turn of the event loop. */
function stopFor(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function goOn(until: Int32Array): void {
  Atomics.store(until, 0, 1);
  Atomics.notify(until, 0);
}

test("the real entry runs the real tasks", async () => {
  open = createWorkerPool({ threads: 1 });
  const text = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\n";
  const answer = await open.run(readResourcesTask, [text, "a: b"], limits());
  expect(answer).toEqual({ kind: "done", output: [readResources(text), readResources("a: b")] });
});

test("a thread lets go of what it was given once a task has read it", async () => {
  const pool = poolOf(1);
  const computed = await pool.run(forgettingTask, { text: "large" }, limits());
  expect(computed).toEqual({ kind: "done", output: false });
});

test("a thread takes over bytes that a task hands over, and the caller keeps none", async () => {
  const bytes = new Uint8Array([1, 2, 3]);
  const task = { ...strangeTask, handedOver: () => [bytes] };
  const computed = await poolOf(1).run(task, { do: "echo", value: bytes }, limits());
  expect(computed).toEqual({ kind: "done", output: new Uint8Array([1, 2, 3]) });
  expect(bytes).toHaveLength(0);
});

describe("limits", () => {
  test("a task that never returns is ended at its deadline, and the loop answers meanwhile", async () => {
    const pool = poolOf(1);
    await ask(pool, { do: "echo", value: "started" });
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 5);
    expect(await ask(pool, { do: "spin" }, { deadlineMs: SHORT })).toEqual({ kind: "exceeded", limit: "time" });
    clearInterval(timer);
    expect(turns).toBeGreaterThan(5);
    expect(await ask(pool, { do: "echo", value: 1 })).toEqual({ kind: "done", output: 1 });
  });

  test("a task that takes all memory is ended, and the process lives", async () => {
    const pool = poolOf(1);
    expect(await ask(pool, { do: "grow" })).toEqual({ kind: "exceeded", limit: "memory" });
    expect(await ask(pool, { do: "echo", value: 1 })).toEqual({ kind: "done", output: 1 });
  });

  test("a task that waits behind one that is ended is not harmed, and its deadline begins when it runs", async () => {
    const pool = poolOf(1);
    const killer = ask(pool, { do: "spin" }, { deadlineMs: 3 * SHORT });
    const waiting = ask(pool, { do: "echo", value: 1 }, { deadlineMs: SHORT });
    expect(pool.waiting).toBe(1);
    expect(await killer).toEqual({ kind: "exceeded", limit: "time" });
    expect(await waiting).toEqual({ kind: "done", output: 1 });
  });
});

describe("fairness", () => {
  test("a result that arrives as the deadline passes counts, and the next task is not ended in its place", async () => {
    open = createWorkerPool({ entry: ENTRY, threads: 1, keptMb: LARGE });
    const pool = open;
    await ask(pool, { do: "echo", value: "started" });
    for (let round = 0; round < 15; round += 1) {
      const [one, two] = [new Int32Array(new SharedArrayBuffer(8)), new Int32Array(new SharedArrayBuffer(8))];
      const first = ask(pool, { do: "wait", until: one }, { deadlineMs: 10 });
      const next = ask(pool, { do: "wait", until: two });
      while (Atomics.load(one, 1) === 0) await setImmediate();
      for (let turn = 0; turn < round; turn += 1) {
        stopFor(2);
        await setImmediate();
      }
      goOn(one);
      stopFor(30);
      await first;
      await setImmediate();
      goOn(two);
      expect(await next).toMatchObject({ kind: "done" });
    }
  });

  test("one owner never holds all threads: another's task runs while the first one's tasks spin", async () => {
    const pool = poolOf(2);
    const stop = new AbortController();
    const spins = [1, 2, 3].map(() => ask(pool, { do: "spin" }, { signal: stop.signal }));
    const settled = Promise.allSettled(spins);
    expect(await ask(pool, { do: "echo", value: 1 }, { owner: "b" })).toEqual({ kind: "done", output: 1 });
    stop.abort(new Error("enough"));
    expect((await settled).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  });

  test("owners take turns, however many tasks one of them has", async () => {
    const pool = poolOf(1);
    const order: string[] = [];
    const note = (owner: string) => ask(pool, { do: "who" }, { owner }).then(() => order.push(owner));
    await Promise.all([...["a", "a", "a", "a"].map(note), ...["b", "c"].map(note)]);
    expect(order).toEqual(["a", "a", "b", "c", "a", "a"]);
  });
});

describe("aborting and closing", () => {
  test("an aborted task rejects with the signal's reason, whether it runs or waits", async () => {
    const pool = poolOf(1);
    const stop = new AbortController();
    const running = ask(pool, { do: "spin" }, { signal: stop.signal });
    const waiting = ask(pool, { do: "spin" }, { signal: stop.signal });
    const both = Promise.allSettled([running, waiting]);
    await Promise.resolve();
    stop.abort(new Error("a push"));
    expect(await both).toEqual([
      { status: "rejected", reason: new Error("a push") },
      { status: "rejected", reason: new Error("a push") },
    ]);
    await expect(ask(pool, { do: "spin" }, { signal: stop.signal })).rejects.toThrow("a push");
    expect(pool.waiting).toBe(0);
    expect(await ask(pool, { do: "echo", value: 1 })).toEqual({ kind: "done", output: 1 });
  });

  test("closing ends what runs and what waits, and nothing starts afterwards", async () => {
    const pool = poolOf(1);
    const both = Promise.allSettled([ask(pool, { do: "spin" }), ask(pool, { do: "spin" })]);
    await pool.close();
    expect((await both).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await expect(ask(pool, { do: "echo", value: 1 })).rejects.toThrow("the worker threads were ended");
  });
});

describe("threads", () => {
  test("a bug in a task rejects, and the thread goes on", async () => {
    const pool = poolOf(1);
    const before = await ask(pool, { do: "who" });
    await expect(ask(pool, { do: "throw" })).rejects.toThrow("a bug in a task");
    expect(await ask(pool, { do: "who" })).toEqual(before);
  });

  test("a thread that ends by itself rejects its task and is replaced", async () => {
    const pool = poolOf(1);
    await expect(ask(pool, { do: "exit" })).rejects.toThrow("a worker thread ended with exit code 3");
    expect(await ask(pool, { do: "echo", value: 1 })).toEqual({ kind: "done", output: 1 });
  });

  test("a thread that cannot be started rejects the task, and the next one is tried", async () => {
    open = createWorkerPool({ entry: new URL("https://example.com/entry.js"), threads: 1 });
    for (const value of [1, 2]) {
      await expect(ask(open, { do: "echo", value })).rejects.toThrow(/file|data/);
    }
  });

  test("an entry that cannot be loaded rejects the task instead of hanging", async () => {
    open = createWorkerPool({ entry: new URL("missing-entry.ts", import.meta.url), threads: 1 });
    await expect(ask(open, { do: "echo", value: 1 })).rejects.toThrow("missing-entry");
  });

  test("an idle thread ends, and the next task gets another", async () => {
    open = createWorkerPool({ entry: ENTRY, threads: 1, idleMs: 1 });
    const first = await ask(open, { do: "who" });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await ask(open, { do: "who" })).not.toEqual(first);
  });

  test("a thread that a task left large ends, and its memory goes back to the machine", async () => {
    open = createWorkerPool({ entry: ENTRY, threads: 1, memoryMb: 512 });
    const first = await ask(open, { do: "who" });
    await ask(open, { do: "hold", millions: 0.1 });
    expect(await ask(open, { do: "who" })).toEqual(first);
    await ask(open, { do: "hold", millions: 16 });
    expect(await ask(open, { do: "who" })).not.toEqual(first);
  });

  test("there are at least two, so that no owner gets all of them", () => {
    expect(defaultThreads()).toBeGreaterThanOrEqual(2);
  });

  test("each end is reported", async () => {
    const ends: string[] = [];
    const pool = poolOf(1, (end) => ends.push(end));
    await ask(pool, { do: "echo", value: 1 });
    await ask(pool, { do: "spin" }, { deadlineMs: SHORT });
    await ask(pool, { do: "throw" }).catch(() => undefined);
    const stop = new AbortController();
    const stopped = ask(pool, { do: "spin" }, { signal: stop.signal }).catch(() => undefined);
    stop.abort();
    await stopped;
    expect(ends).toEqual([
      "read-resources a done",
      "read-resources a time",
      "read-resources a failed",
      "read-resources a aborted",
    ]);
  });
});
