import { spawn, type ChildProcess } from "node:child_process";
import { errorCode } from "../config/files.js";

export interface CheckProcess {
  readonly program: string;
  readonly arguments: readonly string[];
  /** The whole environment: nothing is inherited. */
  readonly environment: Readonly<Record<string, string>>;
  /** The working folder. */
  readonly folder: string;
  readonly input: string;
  /** Milliseconds. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** How a program ended. */
export type ProcessEnd =
  | { readonly kind: "exited"; readonly code: number }
  | { readonly kind: "killed"; readonly signal: string }
  | { readonly kind: "stopped"; readonly limit: "time" | "output" }
  | { readonly kind: "not-started"; readonly code: string };

/** A program that prints more is ended. */
export const MOST_OUTPUT = 1024 * 1024;
/** Bytes of it that are kept. */
const KEPT_OUTPUT = 16 * 1024;
/** For the ends of its pipes that processes outside of its group may hold open, in milliseconds. */
const CLOSING_MS = 500;

/**
 * Runs a program in its own process group, which ends with it: at a limit, at an abort, and when the program exits and
 * leaves others behind. It need not read its input.
 * @throws only the signal's reason.
 */
export async function runCheckProcess(
  order: CheckProcess,
): Promise<{ readonly end: ProcessEnd; readonly output: string }> {
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

/** Once the program is gone, and all that it printed has arrived. */
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

/** SIGKILL, since a check has nothing to tidy up. */
function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The group has ended already.
  }
}
