import { localEnvironment } from "./environment.js";
import { GitFailure } from "./git-failure.js";
import { startGit, STDERR_LIMIT, type GitProcess } from "./git-process.js";
import { ObjectStream, type GitObject } from "./object-stream.js";

/** Limits of one question. */
export interface QuestionLimits {
  /** Milliseconds. */
  readonly timeoutMs: number;
  /** Most bytes of the answer. */
  readonly maxOutput: number;
  readonly signal: AbortSignal;
}

interface Running {
  readonly git: GitProcess;
  stderr: string;
  /** Takes the answer of the pending question. */
  take: (chunk: Buffer) => void;
  /** Fails the pending question. */
  stop: (reason: unknown) => void;
}

/**
 * Reads objects through one long-lived `git cat-file --batch-command` (git-cat-file(1)), because starting a process takes
 * longer the more memory this one uses. git looks for new packs whenever it lacks an object, so the process survives a
 * fetch. It ends after a time without questions and after any failure. One question at a time.
 */
export class ObjectReader {
  #running: Running | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(
    private readonly folder: string,
    private readonly idleMs: number,
    private readonly start = startGit,
  ) {}

  /** Objects in the order of the names (ids or refs), undefined for missing ones. @throws {GitFailure} or the signal's reason. */
  async ask(
    question: "info" | "contents",
    names: readonly string[],
    limits: QuestionLimits,
  ): Promise<readonly (GitObject | undefined)[]> {
    limits.signal.throwIfAborted();
    if (names.length === 0) return [];
    clearTimeout(this.#idle);
    const running = (this.#running ??= this.#start());
    try {
      return await answerOf(running, question, names, limits);
    } catch (error) {
      await this.close();
      throw error;
    } finally {
      this.#idle = setTimeout(() => void this.close(), this.idleMs);
      this.#idle.unref();
    }
  }

  /** Ends the process; the next question starts another. */
  async close(): Promise<void> {
    clearTimeout(this.#idle);
    const running = this.#running;
    if (running === undefined) return;
    this.#running = undefined;
    // It writes nothing, so it leaves nothing to clean up.
    running.git.signal("SIGKILL");
    await running.git.ended.catch(() => null);
  }

  #start(): Running {
    const git = this.start(["cat-file", "--batch-command", "--buffer"], localEnvironment(this.folder), {
      stdout: (chunk) => running.take(chunk),
      stderr: (chunk) => {
        running.stderr = (running.stderr + chunk.toString("utf8")).slice(-STDERR_LIMIT);
      },
    });
    const running: Running = { git, stderr: "", take: () => undefined, stop: () => undefined };
    git.ended.then(
      () => {
        this.#forget(running);
        running.stop(new GitFailure("exit", running.stderr));
      },
      (cause: unknown) => {
        this.#forget(running);
        running.stop(new GitFailure("not-started", "", { cause }));
      },
    );
    return running;
  }

  #forget(running: Running): void {
    if (this.#running === running) this.#running = undefined;
  }
}

async function answerOf(
  running: Running,
  question: "info" | "contents",
  names: readonly string[],
  { timeoutMs, maxOutput, signal }: QuestionLimits,
): Promise<readonly (GitObject | undefined)[]> {
  const stream = new ObjectStream(question === "contents", names.length);
  let received = 0;
  let timer: NodeJS.Timeout | undefined;
  const aborted = () => running.stop(signal.reason);
  try {
    return await new Promise((resolve, reject) => {
      running.stop = reject;
      timer = setTimeout(() => reject(new GitFailure("timeout", running.stderr)), timeoutMs);
      signal.addEventListener("abort", aborted, { once: true });
      running.take = (chunk) => {
        received += chunk.length;
        try {
          if (received > maxOutput) throw new GitFailure("too-much-output", running.stderr);
          if (stream.push(chunk)) resolve(stream.objects);
        } catch (error) {
          running.stop(error);
        }
      };
      running.git.write(names.map((name) => `${question} ${name}\n`).join("") + "flush\n");
    });
  } finally {
    running.stop = () => undefined;
    clearTimeout(timer);
    signal.removeEventListener("abort", aborted);
    running.take = () => undefined;
  }
}
