import { availableParallelism, setPriority } from "node:os";
import { getHeapStatistics } from "node:v8";
import { parentPort, Worker, type WorkerOptions } from "node:worker_threads";
import { errorCode } from "../config/files.js";
import type { Compute, Computed, ComputeLimits, Task, TaskName } from "../core/ports/compute.js";
import { FairQueue } from "./fair-queue.js";

/** How a task ended; `time` and `memory` ended its thread as well. */
type TaskOutcome = "done" | "time" | "memory" | "failed" | "aborted";

interface WorkerPoolOptions {
  /** The module that the threads run; it calls `serveTasks`. */
  readonly entry: URL;
  readonly threads: number;
  readonly memoryMb: number;
  /** A thread with a larger heap ends after its task: V8 gives back little of it to the next one, or to the machine. */
  readonly keptMb: number;
  /** How long a thread waits for more work before it ends. */
  readonly idleMs: number;
  readonly onEnd: (task: TaskName, owner: string, how: TaskOutcome) => void;
}

/** Threads for tasks over foreign content. They start when there is work, and are replaced when a task ended one. */
export interface WorkerPool extends Compute {
  /** How many tasks wait for a thread. */
  readonly waiting: number;
  /** Ends all threads; tasks that run or wait are rejected. */
  close(): Promise<void>;
}

/** At least two, so that one owner never holds them all; half of the machine is left to everything else. */
export function defaultThreads(): number {
  return Math.max(2, Math.min(4, availableParallelism() - 1));
}

const DEFAULTS: WorkerPoolOptions = {
  entry: new URL(import.meta.url.endsWith(".ts") ? "entry.ts" : "entry.js", import.meta.url),
  threads: defaultThreads(),
  memoryMb: 256,
  keptMb: 32,
  idleMs: 10_000,
  onEnd: () => undefined,
};

interface Job {
  readonly owner: string;
  readonly asked: Asked;
  readonly handedOver: readonly ArrayBuffer[];
  readonly deadlineMs: number;
  readonly settle: (end: TaskEnd) => void;
}

export function createWorkerPool(given: Partial<WorkerPoolOptions> = {}): WorkerPool {
  const options = { ...DEFAULTS, ...given };
  const queue = new FairQueue<Job>(Math.max(1, options.threads - 1));
  const idle = new Map<WorkerThread, NodeJS.Timeout>();
  const busy = new Map<Job, WorkerThread>();
  /** Threads that are being ended. */
  const ending = new Set<Promise<void>>();
  let closed = false;

  return {
    run,
    get waiting() {
      return queue.size;
    },
    async close() {
      closed = true;
      for (const job of queue.drain()) job.settle(CLOSED);
      for (const [thread, timer] of idle) {
        clearTimeout(timer);
        end(thread);
      }
      idle.clear();
      for (const thread of busy.values()) end(thread);
      await Promise.all(ending);
    },
  };

  async function run<I, O>(task: Task<I, O>, input: I, limits: ComputeLimits): Promise<Computed<O>> {
    const { owner, deadlineMs, signal } = limits;
    signal.throwIfAborted();
    if (closed) throw CLOSED.error;
    const onEnd = (how: TaskOutcome) => options.onEnd(task.name, owner, how);
    const ended = await new Promise<TaskEnd>((resolve, reject) => {
      const handedOver = (task.handedOver?.(input) ?? []).map(({ buffer }) => buffer);
      const job: Job = { owner, asked: { name: task.name, input }, handedOver, deadlineMs, settle };
      signal.addEventListener("abort", abort, { once: true });
      queue.push(owner, job);
      assign();

      function settle(end: TaskEnd): void {
        signal.removeEventListener("abort", abort);
        resolve(end);
      }

      function abort(): void {
        onEnd("aborted");
        reject(signal.reason as Error);
        queue.remove(owner, job);
        const thread = busy.get(job);
        if (thread !== undefined) end(thread);
      }
    });
    onEnd(ended.kind === "exceeded" ? ended.limit : ended.kind);
    if (ended.kind === "failed") throw ended.error;
    // TASKS has the same task under this name.
    return ended as Computed<O>;
  }

  function assign(): void {
    while (!closed && busy.size < options.threads) {
      const next = queue.take();
      if (next === undefined) return;
      void work(next.item);
    }
  }

  async function work(job: Job): Promise<void> {
    let thread: WorkerThread;
    try {
      thread = takeIdle() ?? new WorkerThread(options.entry, options.memoryMb);
    } catch (error) {
      queue.done(job.owner);
      job.settle({ kind: "failed", error });
      return;
    }
    busy.set(job, thread);
    const ended = await thread.run(job);
    busy.delete(job);
    queue.done(job.owner);
    if (thread.ended || thread.heapMb > options.keptMb) end(thread);
    else keep(thread);
    job.settle(ended);
    assign();
  }

  function takeIdle(): WorkerThread | undefined {
    for (const [thread, timer] of idle) {
      clearTimeout(timer);
      idle.delete(thread);
      if (!thread.ended) return thread;
    }
    return undefined;
  }

  function keep(thread: WorkerThread): void {
    if (closed) {
      end(thread);
      return;
    }
    const timer = setTimeout(() => {
      idle.delete(thread);
      end(thread);
    }, options.idleMs);
    idle.set(thread, timer.unref());
  }

  function end(thread: WorkerThread): void {
    const ended = thread.terminate().finally(() => ending.delete(ended));
    ending.add(ended);
  }
}

const CLOSED = { kind: "failed", error: new Error("the worker threads were ended") } as const;

/** How a task ended in a worker; `failed` is a bug in it. */
type TaskEnd = Computed<unknown> | { readonly kind: "failed"; readonly error: unknown };

/** Deadlines are counted in slices: a process that was suspended, or did not get the CPU, loses one slice at most. */
const SLICES = 10;

/** One thread. It does one task at a time. Once it has `ended` it does no more. */
class WorkerThread {
  readonly #worker: Worker;
  #markStarted: () => void = () => undefined;
  #current: ((end: TaskEnd) => void) | undefined;
  #ended: Promise<unknown> | undefined;
  /** What its last task left. */
  heapMb = 0;

  constructor(entry: URL, memoryMb: number) {
    this.#worker = startWorker(entry, {
      execArgv: [],
      env: {},
      // V8 allows 16 MB more once the limit is reached, and aborts the process if one collection needs more than that.
      resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: 8 },
    });
    this.#worker.on("message", (message: WorkerMessage) => {
      switch (message.kind) {
        case "started":
          this.#markStarted();
          break;
        case "done":
          this.heapMb = message.heapBytes / (1024 * 1024);
          this.#finish({ kind: "done", output: message.output });
          break;
        case "failed":
          this.#finish(message);
      }
    });
    this.#worker.on("error", (error: unknown) => {
      const isFull = errorCode(error) === "ERR_WORKER_OUT_OF_MEMORY";
      this.#end(isFull ? { kind: "exceeded", limit: "memory" } : { kind: "failed", error });
    });
    this.#worker.on("exit", (code) => {
      this.#end({ kind: "failed", error: new Error(`a worker thread ended with exit code ${code}`) });
    });
    this.#worker.unref();
  }

  /** Whether the thread is no longer usable. */
  get ended(): boolean {
    return this.#ended !== undefined;
  }

  /** Never rejects. The deadline begins once the thread has loaded the modules of the task. */
  async run({ asked, handedOver, deadlineMs }: Omit<Job, "owner" | "settle">): Promise<TaskEnd> {
    const ended = new Promise<TaskEnd>((resolve) => {
      this.#current = resolve;
    });
    const started = new Promise<void>((resolve) => {
      this.#markStarted = resolve;
    });
    // The process lives until the task has ended.
    this.#worker.ref();
    this.#worker.postMessage(asked, handedOver);
    await Promise.race([started, ended]);
    const stopTimer = inSlices(deadlineMs, () => this.#end({ kind: "exceeded", limit: "time" }));
    try {
      return await ended;
    } finally {
      stopTimer();
      this.#worker.unref();
    }
  }

  async terminate(): Promise<void> {
    this.#end({ kind: "failed", error: new Error("the worker thread was ended") });
    await this.#ended;
  }

  #end(end: TaskEnd): void {
    this.#ended ??= this.#worker.terminate();
    this.#finish(end);
  }

  #finish(end: TaskEnd): void {
    this.#current?.(end);
    this.#current = undefined;
  }
}

/** In tests and demos the entry is a source; Node 20 does not hand the hooks of tsx on to workers. */
function startWorker(entry: URL, options: WorkerOptions): Worker {
  if (!entry.pathname.endsWith(".ts")) return new Worker(entry, options);
  const load = `({ register }) => { register(); return import(${JSON.stringify(entry.href)}); }`;
  return new Worker(`import("tsx/esm/api").then(${load})`, { ...options, eval: true });
}

function inSlices(ms: number, act: () => void): () => void {
  let left = SLICES;
  let stopped = false;
  const timer = setInterval(() => {
    left -= 1;
    if (left > 0) return;
    clearInterval(timer);
    // The result may have arrived while this thread was busy.
    setImmediate(() => {
      if (!stopped) act();
    });
  }, ms / SLICES);
  return () => {
    stopped = true;
    clearInterval(timer);
  };
}

/** All tasks that a worker knows, each loaded when it is first asked for. */
type Tasks = Readonly<Record<TaskName, () => Promise<Task<never, unknown>>>>;

/** What a worker is asked to do; it answers `started`, and then how it ended. */
interface Asked {
  readonly name: TaskName;
  input: unknown;
}

type WorkerMessage =
  /** The modules of the task are loaded. */
  | { readonly kind: "started" }
  | { readonly kind: "done"; readonly output: unknown; readonly heapBytes: number }
  | { readonly kind: "failed"; readonly error: unknown };

/** Runs in the worker: does one task after the other. */
export function serveTasks(tasks = TASKS): void {
  const port = parentPort;
  if (port === null) throw new Error("tasks are served in a worker thread");
  // Requests and leases come first. Only Linux gives a thread a priority of its own: see NOTES in setpriority(2).
  if (process.platform === "linux") setPriority(0, 10);
  const answer = (message: WorkerMessage) => {
    port.postMessage(message);
  };
  port.on("message", (asked: Asked) => {
    void (async () => {
      try {
        const task: Task<never, unknown> = await tasks[asked.name]();
        answer({ kind: "started" });
        const work = begun(task, asked);
        const output = await work();
        answer({ kind: "done", output, heapBytes: getHeapStatistics().total_heap_size });
      } catch (error) {
        answer({ kind: "failed", error: error instanceof Error ? error : new Error(String(error)) });
      }
    })();
  });
}

/** Takes the input out of the message: it is this thread's own copy, and may be large. */
function begun(task: Task<never, unknown>, asked: Asked): () => unknown {
  const input = asked.input as never;
  if (task.begin === undefined) return () => task.run(input);
  asked.input = undefined;
  return task.begin(input);
}

/** Every task over what strangers wrote that may take long. A thread loads only the modules of the tasks that it does. */
export const TASKS: Tasks = {
  "may-hold-resource": async () => (await import("../core/detect/scan/manifests.js")).mayHoldResourceTask,
  "read-resources": async () => (await import("../core/detect/scan/resources.js")).readResourcesTask,
  "read-documents": async () => (await import("../core/detect/tree/yaml-documents.js")).readDocumentsTask,
  "other-words": async () => (await import("../core/detect/yaml/resolve-scalar.js")).otherWordsTask,
  "read-repository-file": async () => (await import("../core/survey/policy-files.js")).readRepositoryFileTask,
  "read-manifests": async () => (await import("../deployer/argocd/render.js")).readManifestsTask,
  "read-generated": async () => (await import("../deployer/argocd/create-argocd.js")).readGeneratedTask,
  "read-live": async () => (await import("../deployer/argocd/live-resources.js")).readLiveTask,
  "read-live-texts": async () => (await import("../deployer/argocd/live-resources.js")).readLiveTextsTask,
  "trial-order": async () => (await import("../core/diff/diff-task.js")).trialOrderTask,
  marks: async () => (await import("../core/diff/diff-task.js")).markTask,
  diff: async () => (await import("../core/diff/diff-task.js")).diffTask,
  removal: async () => (await import("../core/render/preview.js")).removalTask,
  "check-input": async () => (await import("../core/render/check-manifests.js")).checkInputTask,
  "render-digest": async () => (await import("../core/render/digest-render.js")).renderDigestTask,
  "definition-diff": async () => (await import("../core/diff/manifest-diff.js")).definitionDiffTask,
  "render-plan": async () => (await import("../comments/plan.js")).renderPlanTask,
};
