import { spawn, type ChildProcess } from "node:child_process";
import { GitFailure } from "./git-failure.js";

export interface GitCommand {
  readonly args: readonly string[];
  /** The whole environment: nothing is inherited. */
  readonly environment: Readonly<Record<string, string>>;
  readonly input?: string;
  /** Milliseconds. */
  readonly timeoutMs: number;
  /** Most bytes of standard output; a command that prints more is stopped. */
  readonly maxOutput: number;
  readonly signal: AbortSignal;
  /** Called four times a second while the command runs; false stops it. */
  readonly mayContinue?: () => Promise<boolean>;
}

/** How much of git's standard error is kept, in characters. */
export const STDERR_LIMIT = 8 * 1024;
/** Time between SIGTERM and SIGKILL, in milliseconds, for git to remove its lock files. */
const KILL_AFTER_MS = 2000;

/** Runs git in its own process group, so that its helpers end with it. @throws {GitFailure} @throws the signal's reason. */
export async function runGitProcess(command: GitCommand): Promise<Buffer> {
  command.signal.throwIfAborted();
  const child = spawn("git", [...command.args], {
    env: { ...command.environment },
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
  });
  const output: Buffer[] = [];
  let outputSize = 0;
  let stderr = "";
  let failure: { readonly reason: unknown } | undefined;
  const stop = (reason: unknown) => {
    if (failure !== undefined) return;
    failure = { reason };
    endGroup(child);
  };
  child.stdout.on("data", (chunk: Buffer) => {
    outputSize += chunk.length;
    if (outputSize > command.maxOutput) stop(new GitFailure("too-much-output", stderr));
    else output.push(chunk);
  });
  child.stderr.on("data", (chunk: Buffer) => {
    stderr = (stderr + chunk.toString("utf8")).slice(-STDERR_LIMIT);
  });
  // git may exit before it has read all its input; the exit code says whether it failed.
  child.stdin.on("error", () => undefined);
  child.stdin.end(command.input ?? "");

  const timer = setTimeout(() => stop(new GitFailure("timeout", stderr)), command.timeoutMs);
  const watch = watchWork(command, () => stop(new GitFailure("too-big", stderr)));
  const aborted = () => stop(command.signal.reason);
  command.signal.addEventListener("abort", aborted, { once: true });
  try {
    const status = await exitStatus(child);
    throwStopped(failure);
    if (status !== 0) throw new GitFailure("exit", stderr);
    return Buffer.concat(output);
  } finally {
    clearTimeout(timer);
    clearInterval(watch);
    command.signal.removeEventListener("abort", aborted);
  }
}

function throwStopped(failure: { readonly reason: unknown } | undefined): void {
  if (failure !== undefined) throw failure.reason;
}

function watchWork({ mayContinue }: GitCommand, stop: () => void): NodeJS.Timeout | undefined {
  if (mayContinue === undefined) return undefined;
  return setInterval(() => {
    void mayContinue().then((may) => {
      if (!may) stop();
    });
  }, 250);
}

function exitStatus(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once("error", (cause) => reject(new GitFailure("not-started", "", { cause })));
    child.once("close", resolve);
  });
}

function endGroup(child: ChildProcess): void {
  signalGroup(child, "SIGTERM");
  const timer = setTimeout(() => signalGroup(child, "SIGKILL"), KILL_AFTER_MS);
  child.once("close", () => clearTimeout(timer));
}

/** Signals a detached process and all processes that it started. */
export function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // The group has ended already.
  }
}
