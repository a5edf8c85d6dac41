import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

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
  const socket = await openGit({ args, cwd: folder, env: gitEnvironment(options.environment), streams: false });
  socket.end(options.input ?? "");
  const { status, stdout, stderr } = JSON.parse(await text(socket)) as GitRun & { readonly stderr: string };
  if (status !== 0 && options.expected?.includes(status) !== true) {
    throw new Error(`git ${args.join(" ")} exited with ${status}: ${stderr.trim()}`);
  }
  return { status, stdout };
}

/** Git's input and output as they come. Destroy the socket to stop git. */
export async function streamGit(
  folder: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<Socket> {
  return openGit({ args, cwd: folder, env: gitEnvironment(environment), streams: true });
}

interface GitRequest {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly streams: boolean;
}

let runner: Promise<string> | undefined;

/** Starts a run in the runner, which starts with the first. */
async function openGit(request: GitRequest): Promise<Socket> {
  runner ??= startRunner();
  const socket = connect({ path: await runner, allowHalfOpen: true });
  await once(socket, "connect");
  socket.write(`${JSON.stringify(request)}\n`);
  return socket;
}

/** Resolves to the runner's socket. The runner ends with this process. */
async function startRunner(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "git-runner-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "socket");
  const program = fileURLToPath(new URL("git-runner.js", import.meta.url));
  const child = spawn(process.execPath, [program, path], { stdio: ["pipe", "pipe", "inherit"] });
  await once(child.stdout, "data");
  child.unref();
  for (const stream of [child.stdin, child.stdout]) (stream as Socket).unref();
  return path;
}
