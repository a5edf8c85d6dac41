import { spawn, type ChildProcess } from "node:child_process";
import { GitFailure } from "./git-failure.js";

/** Receives the output of one git process. */
export interface GitOutput {
  readonly stdout: (chunk: Buffer) => void;
  readonly stderr: (chunk: Buffer) => void;
}

/** A git process in a process group of its own. */
export interface GitProcess {
  /** Its exit status after all of its output; null if a signal ended it. @throws {Error} if it could not be started. */
  readonly ended: Promise<number | null>;
  write(text: string): void;
  /** Ends its input. */
  end(): void;
  /** Signals git and its helpers. */
  signal(signal: "SIGTERM" | "SIGKILL"): void;
}

/** Starts git. The environment is the whole of it: nothing is inherited. */
export type StartGit = (
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  output: GitOutput,
) => GitProcess;

/** Starts git from this process. */
export const startGit: StartGit = (args, environment, { stdout, stderr }) => {
  const child = spawn("git", [...args], { env: { ...environment }, detached: true });
  child.stdout.on("data", stdout);
  child.stderr.on("data", stderr);
  // git may exit before it has read all its input; the exit code says whether it failed.
  child.stdin.on("error", () => undefined);
  return {
    ended: new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    }),
    write: (text) => void child.stdin.write(text),
    end: () => void child.stdin.end(),
    signal: (signal) => signalGroup(child, signal),
  };
};

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // The group has ended already.
  }
}

export interface GitCommand {
  readonly args: readonly string[];
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

/** Runs one git command to its end. @throws {GitFailure} @throws the signal's reason. */
export async function runGitProcess(start: StartGit, command: GitCommand): Promise<Buffer> {
  command.signal.throwIfAborted();
  const output: Buffer[] = [];
  let outputSize = 0;
  let stderr = "";
  let failure: { readonly reason: unknown } | undefined;
  let killing: NodeJS.Timeout | undefined;
  const stop = (reason: unknown) => {
    if (failure !== undefined) return;
    failure = { reason };
    git.signal("SIGTERM");
    killing = setTimeout(() => git.signal("SIGKILL"), KILL_AFTER_MS);
  };
  const git = start(command.args, command.environment, {
    stdout: (chunk) => {
      outputSize += chunk.length;
      if (outputSize > command.maxOutput) stop(new GitFailure("too-much-output", stderr));
      else output.push(chunk);
    },
    stderr: (chunk) => {
      stderr = (stderr + chunk.toString("utf8")).slice(-STDERR_LIMIT);
    },
  });
  git.write(command.input ?? "");
  git.end();

  const timer = setTimeout(() => stop(new GitFailure("timeout", stderr)), command.timeoutMs);
  const watch = watchWork(command, () => stop(new GitFailure("too-big", stderr)));
  const aborted = () => stop(command.signal.reason);
  command.signal.addEventListener("abort", aborted, { once: true });
  try {
    const status = await exitStatus(git);
    throwStopped(failure);
    if (status !== 0) throw new GitFailure("exit", stderr);
    return Buffer.concat(output);
  } finally {
    clearTimeout(timer);
    clearTimeout(killing);
    clearInterval(watch);
    command.signal.removeEventListener("abort", aborted);
  }
}

async function exitStatus({ ended }: GitProcess): Promise<number | null> {
  try {
    return await ended;
  } catch (cause) {
    throw new GitFailure("not-started", "", { cause });
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
