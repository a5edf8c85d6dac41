import { spawn } from "node:child_process";

/** Long enough for a slow machine, and shorter than a test's timeout, so that the error names the command. */
const timeLimitMs = 15_000;

export interface GitRun {
  readonly status: number;
  readonly stdout: string;
}

export interface GitOptions {
  readonly input?: string;
  readonly environment?: NodeJS.ProcessEnv;
  /** Exit codes, besides 0, that are no failure. */
  readonly expected?: readonly number[];
}

/**
 * This process's environment, without the `GIT_*` variables that a git hook sets and without personal configuration.
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

/** Runs git in a folder. @throws {Error} with git's message for an unexpected exit code. */
export async function runGit(folder: string, args: readonly string[], options: GitOptions = {}): Promise<GitRun> {
  const child = spawn("git", args, { cwd: folder, env: gitEnvironment(options.environment), timeout: timeLimitMs });
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => stdout.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => stderr.push(chunk));
  // A command may exit without reading all its input; only its exit code counts.
  child.stdin.on("error", () => undefined);
  child.stdin.end(options.input ?? "");
  const status = await new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(code ?? -1));
  });
  if (status !== 0 && options.expected?.includes(status) !== true) {
    throw new Error(`git ${args.join(" ")} exited with ${status}: ${Buffer.concat(stderr).toString().trim()}`);
  }
  return { status, stdout: Buffer.concat(stdout).toString() };
}
