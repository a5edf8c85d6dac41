import { spawn, type ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { access, chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { delimiter, join } from "node:path";
import { LRUCache } from "lru-cache";
import { childEnvironment, signalGroup } from "../config/environment.js";
import { errorCode } from "../config/files.js";
import type { CheckOutcome } from "../core/model/check.js";
import type { CheckOrder, CheckRunner, CheckLimits } from "../core/ports/check-runner.js";
import type { Clock } from "../core/ports/clock.js";
import type { Log } from "../core/ports/log.js";
import { SERVICE } from "../names.js";
import { FairQueue } from "./fair-queue.js";

/** How a check ended; `reused`: an earlier result answered it. */
type CheckEnd = CheckOutcome["kind"] | "reused";

interface CheckRunnerParts {
  /** Where the folders of checks are made. */
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when a check ends, with the seconds that it took. */
  readonly onEnd: (check: string, how: CheckEnd, seconds: number) => void;
}

/** Runs checks until it is closed. */
export interface ClosableCheckRunner extends CheckRunner {
  /** Ends all programs; checks that run or wait are rejected. */
  close(): void;
}

/** How many programs run at once. They also wait for the disk and the network, so it may exceed the cores. */
const AT_ONCE = Math.max(4, availableParallelism());
const MOST_KEPT = 10_000;
/** A program may read other files, such as rules. A change there shows after an hour, or in a plan that a person asks for. */
const MAX_AGE_MS = 60 * 60_000;

/** Runs checks as processes of this machine. Equal orders are run once: results that a program gave itself are kept. */
export function createCheckRunner({ folder: parent, clock, log, onEnd }: CheckRunnerParts): ClosableCheckRunner {
  // `max` would reserve the memory for all of them at once.
  const kept = new LRUCache<string, { readonly outcome: CheckOutcome; readonly at: number }>({
    maxSize: MOST_KEPT,
    sizeCalculation: () => 1,
  });
  const queue = new FairQueue<() => Promise<void>>(Math.max(1, AT_ONCE - 1));
  const closing = new AbortController();
  let running = 0;

  function assign(): void {
    while (running < AT_ONCE) {
      const next = queue.take();
      if (next === undefined) return;
      running += 1;
      void next.item().finally(() => {
        running -= 1;
        queue.done(next.owner);
        assign();
      });
    }
  }

  /** Waits for a turn. @throws the signal's reason. */
  function inTurn<T>({ owner, signal }: CheckLimits, work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const leave = () => {
        queue.remove(owner, item);
        reject(signal.reason as Error);
      };
      const item = async () => {
        signal.removeEventListener("abort", leave);
        await work().then(resolve, reject);
      };
      signal.addEventListener("abort", leave, { once: true });
      queue.push(owner, item);
      assign();
    });
  }

  async function runOne(order: CheckOrder, signal: AbortSignal): Promise<CheckOutcome> {
    const { check, application } = order;
    const folder = await mkdtemp(join(parent, `${SERVICE}-check-`));
    try {
      const [work, baseFile] = [join(folder, "work"), join(folder, "base.yaml")];
      await Promise.all([mkdir(work), writeFile(baseFile, order.base, { mode: 0o400 })]);
      const [name = "", ...rest] = check.command;
      const program = await findProgram(name);
      if (program === undefined) return broken(`the program ${name} was not found`);
      const { end, output } = await runCheckProcess({
        program,
        arguments: rest,
        environment: {
          ...Object.fromEntries(order.check.env.map(({ name, value }) => [name, value])),
          SVC_APPLICATION: order.application,
          SVC_REPOSITORY: order.repository,
          SVC_NUMBER: String(order.number),
          SVC_NAMESPACE: order.namespace,
          SVC_BASE_FILE: baseFile,
        },
        folder: work,
        input: order.head,
        timeoutMs: check.timeout,
        signal,
      });
      return outcomeOf(end, output, check.timeout);
    } finally {
      await removeFolder(folder).catch((error: unknown) => {
        log.warn({ check: check.name, application, err: error }, "could not remove the folder of a check");
      });
    }
  }

  return {
    async run(order, limits) {
      const key = keyOf(order);
      const known = kept.get(key);
      if (order.reuse && known !== undefined && clock.now().getTime() - known.at < MAX_AGE_MS) {
        onEnd(order.check.name, "reused", 0);
        return known.outcome;
      }
      const signal = AbortSignal.any([limits.signal, closing.signal]);
      const { outcome, seconds } = await inTurn({ ...limits, signal }, () => timed(() => runSafely(order, signal)));
      if (outcome.kind !== "broken") kept.set(key, { outcome, at: clock.now().getTime() });
      onEnd(order.check.name, outcome.kind, seconds);
      return outcome;
    },
    close() {
      closing.abort(new Error("the checks were ended"));
    },
  };

  /** Failures such as a full disk are outcomes, too. */
  async function runSafely(order: CheckOrder, signal: AbortSignal): Promise<CheckOutcome> {
    try {
      return await runOne(order, signal);
    } catch (error) {
      signal.throwIfAborted();
      log.warn({ check: order.check.name, application: order.application, err: error }, "could not run a check");
      return broken("svc could not prepare its folder; the log has the reason");
    }
  }
}

async function timed(work: () => Promise<CheckOutcome>) {
  const start = performance.now();
  const outcome = await work();
  return { outcome, seconds: (performance.now() - start) / 1000 };
}

/** Digest of everything that the program gets. */
function keyOf(order: CheckOrder): string {
  const { name, command, env, timeout } = order.check;
  const { application, namespace, repository, number, head, base } = order;
  const parts = [name, command, env, timeout, application, namespace, repository, number, head, base];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

/** A name is looked up in svc's own PATH: the program has none. */
async function findProgram(name: string): Promise<string | undefined> {
  const folders = (childEnvironment().PATH ?? "").split(delimiter).filter((folder) => folder.startsWith("/"));
  const candidates = name.startsWith("/") ? [name] : folders.map((folder) => join(folder, name));
  for (const candidate of candidates) {
    try {
      await access(candidate, constants.X_OK);
      return candidate;
    } catch {
      // The next folder may have it.
    }
  }
  return undefined;
}

function outcomeOf(end: ProcessEnd, output: string, timeoutMs: number): CheckOutcome {
  switch (end.kind) {
    case "exited":
      return end.code === 0 ? { kind: "passed" } : { kind: "failed", reason: `exit code ${end.code}`, output };
    case "killed":
      return broken(`it was ended by ${end.signal}`, output);
    case "stopped":
      return end.limit === "time"
        ? broken(`it was stopped after ${timeoutMs / 1000} s`, output)
        : broken(`it printed more than ${MOST_OUTPUT / 1024 / 1024} MiB and was stopped`, output);
    case "not-started":
      return broken(`it could not be started${end.code === "" ? "" : ` (${end.code})`}`);
  }
}

function broken(reason: string, output = ""): CheckOutcome {
  return { kind: "broken", reason, output };
}

/** A program may have taken away its own rights to its folders. */
async function removeFolder(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true });
  } catch {
    await chmod(join(folder, "work"), 0o700);
    await rm(folder, { recursive: true, force: true, maxRetries: 2 });
  }
}

interface CheckProcess {
  readonly program: string;
  readonly arguments: readonly string[];
  /** The whole environment: nothing is inherited. */
  readonly environment: Readonly<Record<string, string>>;
  readonly folder: string;
  readonly input: string;
  /** Milliseconds. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

type ProcessEnd =
  | { readonly kind: "exited"; readonly code: number }
  | { readonly kind: "killed"; readonly signal: string }
  | { readonly kind: "stopped"; readonly limit: "time" | "output" }
  | { readonly kind: "not-started"; readonly code: string };

/** A program that prints more bytes is ended. */
const MOST_OUTPUT = 1024 * 1024;
/** How many bytes of the output are kept. */
const KEPT_OUTPUT = 16 * 1024;
/** How long to wait for processes outside the program's group that hold its pipes open, in milliseconds. */
const CLOSING_MS = 500;

/** Runs a program in a process group that ends with it, at a limit or an abort. It need not read its input. @throws only the signal's reason. */
async function runCheckProcess(order: CheckProcess): Promise<{ readonly end: ProcessEnd; readonly output: string }> {
  const { signal } = order;
  signal.throwIfAborted();
  const chunks: Buffer[] = [];
  let printed = 0;
  let kept = 0;
  let stopped: ProcessEnd | undefined;
  let child: ChildProcess;
  try {
    child = start(order);
  } catch (error) {
    return { end: { kind: "not-started", code: errorCode(error) ?? "" }, output: "" };
  }
  const stop = (why: ProcessEnd) => {
    stopped ??= why;
    endGroup(child);
  };
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => {
      printed += chunk.length;
      if (kept < KEPT_OUTPUT) chunks.push(chunk.subarray(0, KEPT_OUTPUT - kept));
      kept += Math.min(chunk.length, KEPT_OUTPUT - kept);
      if (printed > MOST_OUTPUT) stop({ kind: "stopped", limit: "output" });
    });
    stream?.on("error", () => undefined);
  }
  // It may exit before it has read everything (EPIPE).
  child.stdin?.on("error", () => undefined);
  child.stdin?.end(order.input);
  const timer = setTimeout(() => stop({ kind: "stopped", limit: "time" }), order.timeoutMs);
  const abort = () => endGroup(child);
  signal.addEventListener("abort", abort, { once: true });
  try {
    const end = await endOf(child);
    signal.throwIfAborted();
    return { end: stopped ?? end, output: Buffer.concat(chunks).toString("utf8") };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}

/** @throws what `spawn` throws at once, for example for a NUL in a variable. */
function start({ program, arguments: rest, environment, folder }: CheckProcess): ChildProcess {
  return spawn(program, [...rest], { cwd: folder, env: { ...environment }, detached: true, stdio: "pipe" });
}

/** Resolves once the program is gone and all its output has arrived. */
function endOf(child: ChildProcess): Promise<ProcessEnd> {
  return new Promise((resolve) => {
    let end: ProcessEnd = { kind: "not-started", code: "" };
    let closing: NodeJS.Timeout | undefined;
    const finish = () => {
      clearTimeout(closing);
      resolve(end);
    };
    child.once("error", (error) => {
      if (child.pid !== undefined) return;
      end = { kind: "not-started", code: errorCode(error) ?? "" };
      finish();
    });
    child.once("exit", (code, signal) => {
      end = code === null ? { kind: "killed", signal: signal ?? "" } : { kind: "exited", code };
      endGroup(child);
      closing = setTimeout(() => {
        for (const stream of child.stdio) stream?.destroy();
        finish();
      }, CLOSING_MS);
    });
    child.once("close", finish);
  });
}

/** A check has nothing to tidy up. */
function endGroup(child: ChildProcess): void {
  signalGroup(child, "SIGKILL");
}
