import { type GitCommand, environmentFor, GitFailure, type GitProcess, startGit, STDERR_LIMIT } from "./git-process.js";

export interface GitObject {
  readonly id: string;
  readonly type: string;
  readonly size: number;
  /** Empty if only the size was requested. */
  readonly content: Buffer;
}

const NEWLINE = 0x0a;
const NOTHING = Buffer.alloc(0);

/** Parses the output of `git cat-file --batch-command`: `<id> <type> <size>` and contents, or `<name> missing`. */
export class ObjectStream {
  readonly objects: (GitObject | undefined)[] = [];
  #chunks: Buffer[] = [];
  #received = 0;
  /** Parsing again is of no use before this many bytes have arrived. */
  #needed = 1;

  constructor(
    private readonly withContents: boolean,
    private readonly expected: number,
  ) {}

  /** Returns true once all answers have arrived. @throws {GitFailure} if an answer is malformed. */
  push(chunk: Buffer): boolean {
    this.#chunks.push(chunk);
    this.#received += chunk.length;
    if (this.#received < this.#needed) return false;
    const output = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks, this.#received);
    const rest = output.subarray(this.#parse(output));
    this.#chunks = [rest];
    this.#received = rest.length;
    if (this.objects.length < this.expected) return false;
    if (this.objects.length === this.expected && rest.length === 0) return true;
    throw malformed();
  }

  /** Parses all complete answers, and returns where the first incomplete one starts. */
  #parse(output: Buffer): number {
    let position = 0;
    while (this.objects.length < this.expected) {
      const lineEnd = output.indexOf(NEWLINE, position);
      this.#needed = 1;
      if (lineEnd < 0) {
        // Names, and so headers, are shorter than this.
        if (output.length - position > 1024) throw malformed();
        return position;
      }
      const object = headerOf(output.toString("latin1", position, lineEnd));
      if (object === undefined || !this.withContents) {
        this.objects.push(object);
        position = lineEnd + 1;
        continue;
      }
      const end = lineEnd + 1 + object.size;
      if (end >= output.length) {
        this.#needed = end + 1 - position;
        return position;
      }
      if (output[end] !== NEWLINE) throw malformed();
      this.objects.push({ ...object, content: output.subarray(lineEnd + 1, end) });
      position = end + 1;
    }
    return position;
  }
}

function headerOf(line: string): GitObject | undefined {
  if (line.endsWith(" missing")) return undefined;
  const [id = "", type = "", size = "", more] = line.split(" ");
  if (!/^[0-9a-f]+$/.test(id) || !/^\d+$/.test(size) || more !== undefined) throw malformed();
  return { id, type, size: Number(size), content: NOTHING };
}

function malformed(): GitFailure {
  return new GitFailure("unexpected-answer", "git gave an unexpected answer");
}

export type QuestionLimits = Pick<GitCommand, "timeoutMs" | "maxOutput" | "signal">;

interface Running {
  readonly git: GitProcess;
  stderr: string;
  take: (chunk: Buffer) => void;
  stop: (reason: unknown) => void;
}

/**
 * Reads objects through one long-lived `git cat-file --batch-command`: starting a process takes longer the more memory this one
 * uses. git looks for new packs whenever it lacks an object. It ends after a time without questions and after any failure. One
 * question at a time.
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
    const git = this.start(["cat-file", "--batch-command", "--buffer"], environmentFor(this.folder, "read"), {
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
