import { spawn } from "node:child_process";

/** Long enough for a slow machine, short enough that a test names the command before its own time is up. */
const timeLimitMs = 15_000;

export interface GitRun {
  readonly status: number;
  readonly stdout: string;
}

export interface GitOptions {
  readonly input?: string;
  readonly environment?: NodeJS.ProcessEnv;
  /** Exit codes that are answers and no failures; 0 always is. */
  readonly expected?: readonly number[];
}

/**
 * The environment for git: that of this process, without the `GIT_*` variables that a git hook would leave in it and
 * without anybody's own configuration.
 */
export function gitEnvironment(added: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("GIT_"));
  return {
    ...Object.fromEntries(inherited),
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_TERMINAL_PROMPT: "0",
    ...added,
  };
}

/** Runs git in a folder; throws with git's own words when the exit code is not expected. */
export async function runGit(folder: string, args: readonly string[], options: GitOptions = {}): Promise<GitRun> {
  const child = spawn("git", args, { cwd: folder, env: gitEnvironment(options.environment), timeout: timeLimitMs });
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => stdout.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => stderr.push(chunk));
  // A command that ends without reading all of its input is judged by its exit code.
  child.stdin.on("error", () => undefined);
  child.stdin.end(options.input ?? "");
  const status = await new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(code ?? -1));
  });
  if (status !== 0 && options.expected?.includes(status) !== true) {
    throw new Error(`git ${args.join(" ")} ended with ${status}: ${Buffer.concat(stderr).toString().trim()}`);
  }
  return { status, stdout: Buffer.concat(stdout).toString() };
}
