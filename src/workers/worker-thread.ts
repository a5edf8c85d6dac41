import { Worker, type WorkerOptions } from "node:worker_threads";
import type { Computed } from "../core/ports/compute.js";
import type { Asked, WorkerMessage } from "./serve-tasks.js";

/** How a task ended in a worker; `failed` is a bug in it. */
export type TaskEnd = Computed<unknown> | { readonly kind: "failed"; readonly error: unknown };

/** Deadlines are counted in slices: a process that was suspended, or did not get the CPU, loses one slice at most. */
const SLICES = 10;

/** One thread. It does one task at a time. Once it has `ended` it does no more. */
export class WorkerThread {
  readonly #worker: Worker;
  #markStarted: () => void = () => undefined;
  #current: ((end: TaskEnd) => void) | undefined;
  #ended: Promise<unknown> | undefined;

  constructor(entry: URL, memoryMb: number) {
    this.#worker = startWorker(entry, {
      execArgv: [],
      env: {},
      // V8 allows 16 MB more once the limit is reached, and aborts the process if one collection needs more than that.
      resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: 8 },
    });
    this.#worker.on("message", (message: WorkerMessage) => {
      if (message.kind === "started") this.#markStarted();
      else this.#finish(message);
    });
    this.#worker.on("error", (error: unknown) => {
      this.#end(isOutOfMemory(error) ? { kind: "exceeded", limit: "memory" } : { kind: "failed", error });
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
  async run(asked: Asked, deadlineMs: number): Promise<TaskEnd> {
    const ended = new Promise<TaskEnd>((resolve) => {
      this.#current = resolve;
    });
    const started = new Promise<void>((resolve) => {
      this.#markStarted = resolve;
    });
    // The process lives until the task has ended.
    this.#worker.ref();
    this.#worker.postMessage(asked);
    await Promise.race([started, ended]);
    const stopTimer = inSlices(deadlineMs, () => this.#end({ kind: "exceeded", limit: "time" }));
    try {
      return await ended;
    } finally {
      stopTimer();
      this.#worker.unref();
    }
  }

  /** Ends the thread and the task it does. */
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

function isOutOfMemory(error: unknown): boolean {
  return typeof error === "object" && error !== null && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
}

function inSlices(ms: number, act: () => void): () => void {
  let left = SLICES;
  const timer = setInterval(() => {
    left -= 1;
    if (left > 0) return;
    clearInterval(timer);
    // The result may have arrived while this thread was busy.
    setImmediate(act);
  }, ms / SLICES);
  return () => {
    left = 0;
    clearInterval(timer);
  };
}
