import { fork, type ChildProcess } from "node:child_process";
import type { GitOutput, GitProcess, StartGit } from "../../src/git/git-process.js";

/** What the launcher is asked. Runs have numbers. */
export type Ask =
  | {
      readonly kind: "start";
      readonly run: number;
      readonly args: readonly string[];
      readonly environment: Readonly<Record<string, string>>;
    }
  | { readonly kind: "write"; readonly run: number; readonly text: string }
  | { readonly kind: "end"; readonly run: number }
  | { readonly kind: "signal"; readonly run: number; readonly signal: NodeJS.Signals };

type Answer =
  | { readonly kind: "stdout" | "stderr"; readonly run: number; readonly chunk: Buffer }
  | { readonly kind: "closed"; readonly run: number; readonly status: number | null }
  | { readonly kind: "failed"; readonly run: number; readonly message: string };

interface Run extends GitOutput {
  readonly resolve: (status: number | null) => void;
  readonly reject: (problem: Error) => void;
}

/** One that nobody needs ends after this time: without a shared realm each test file has its own. */
const IDLE_MS = 5_000;

class GitLauncher {
  readonly #runs = new Map<number, Run>();
  #process: ChildProcess | undefined;
  #idle: NodeJS.Timeout | undefined;
  #count = 0;

  start(args: readonly string[], environment: Readonly<Record<string, string>>, output: GitOutput): GitProcess {
    clearTimeout(this.#idle);
    const launcher = (this.#process ??= this.#fork());
    const run = (this.#count += 1);
    const ended = new Promise<number | null>((resolve, reject) => {
      this.#runs.set(run, { ...output, resolve, reject });
    });
    const ask = (what: Ask) => {
      if (launcher.connected) launcher.send(what, () => undefined);
    };
    ask({ kind: "start", run, args, environment });
    return {
      ended,
      write: (text) => ask({ kind: "write", run, text }),
      end: () => ask({ kind: "end", run }),
      signal: (signal) => ask({ kind: "signal", run, signal }),
    };
  }

  #fork(): ChildProcess {
    const program = new URL("launch-git.js", import.meta.url);
    const launcher = fork(program, [], { execArgv: [], serialization: "advanced", detached: true });
    launcher.on("message", (answer) => this.#take(answer as Answer));
    launcher.once("exit", () => this.#lost(launcher));
    // The tests decide how long this process lives.
    launcher.unref();
    launcher.channel?.unref();
    return launcher;
  }

  #take(answer: Answer): void {
    const run = this.#runs.get(answer.run);
    if (run === undefined) return;
    switch (answer.kind) {
      case "stdout":
        run.stdout(answer.chunk);
        return;
      case "stderr":
        run.stderr(answer.chunk);
        return;
      case "closed":
        this.#forget(answer.run);
        run.resolve(answer.status);
        return;
      case "failed":
        this.#forget(answer.run);
        run.reject(new Error(answer.message));
        return;
    }
  }

  #forget(run: number): void {
    this.#runs.delete(run);
    if (this.#runs.size > 0) return;
    this.#idle = setTimeout(() => {
      this.#process?.disconnect();
      this.#process = undefined;
    }, IDLE_MS);
    this.#idle.unref();
  }

  #lost(launcher: ChildProcess): void {
    if (this.#process !== launcher) return;
    this.#process = undefined;
    for (const { reject } of this.#runs.values()) reject(new Error("the launcher of git has ended"));
    this.#runs.clear();
  }
}

const KEY = Symbol.for("svc.test.git-launcher");

/**
 * Starts git from a small process, one for all test files of a worker. Node copies its page tables for every process that it
 * starts: 45 ms of CPU in a worker with 800 MB, which is more than git itself takes.
 */
export const startGitElsewhere: StartGit = (args, environment, output) => {
  const realm = globalThis as { [KEY]?: GitLauncher };
  return (realm[KEY] ??= new GitLauncher()).start(args, environment, output);
};
