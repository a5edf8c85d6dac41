import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { gitEnvironment } from "./run-git.js";

export interface StoredObject {
  readonly id: string;
  readonly type: string;
  readonly content: Buffer;
}

interface Question {
  readonly resolve: (answer: StoredObject | undefined) => void;
  readonly reject: (reason: Error) => void;
}

/** Reads objects of one bare repository through a single `git cat-file --batch` (git-cat-file(1)), started when first asked. */
export class ObjectReader {
  readonly #folder: string;
  #child: ChildProcessWithoutNullStreams | undefined;
  #waiting: Question[] = [];
  #chunks: Buffer[] = [];
  #received = 0;
  /** Bytes without which no answer is whole. */
  #needed = 1;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The object that an id or an expression such as `refs/heads/main^{commit}` names. Without spaces and line ends. */
  read(name: string): Promise<StoredObject | undefined> {
    if (/[\s\0]/.test(name)) return Promise.resolve(undefined);
    return new Promise((resolve, reject) => {
      const child = (this.#child ??= this.#start());
      this.#waiting.push({ resolve, reject });
      child.stdin.write(`${name}\n`);
    });
  }

  close(): void {
    this.#child?.kill("SIGKILL");
  }

  #start(): ChildProcessWithoutNullStreams {
    const child = spawn("git", ["cat-file", "--batch"], { cwd: this.#folder, env: gitEnvironment() });
    child.stdout.on("data", (chunk: Buffer) => {
      this.#chunks.push(chunk);
      this.#received += chunk.length;
      if (this.#received >= this.#needed) this.#answer();
    });
    child.stderr.resume();
    child.stdin.on("error", () => undefined); // its end tells
    const ended = (cause?: Error): void => {
      if (this.#child !== child) return;
      const waiting = this.#waiting;
      [this.#child, this.#waiting, this.#chunks, this.#received, this.#needed] = [undefined, [], [], 0, 1];
      for (const { reject } of waiting) reject(new Error(`git cat-file in ${this.#folder} has ended`, { cause }));
    };
    child.once("error", ended);
    child.once("close", () => ended());
    return child;
  }

  /** `<id> <type> <size>`, a line end, the content, a line end; or `<name> missing` (or `ambiguous`) alone. */
  #answer(): void {
    let output = Buffer.concat(this.#chunks, this.#received);
    for (;;) {
      const lineEnd = output.indexOf(0x0a);
      this.#needed = output.length + 1;
      if (lineEnd < 0) break;
      const [, id, type = "", size = ""] =
        /^([0-9a-f]{40}) (\w+) (\d+)$/.exec(output.toString("latin1", 0, lineEnd)) ?? [];
      const end = lineEnd + 1 + (id === undefined ? 0 : Number(size) + 1);
      this.#needed = end;
      if (output.length < end) break;
      const content = output.subarray(lineEnd + 1, end - 1);
      this.#waiting.shift()?.resolve(id === undefined ? undefined : { id, type, content });
      output = output.subarray(end);
    }
    this.#chunks = [output];
    this.#received = output.length;
  }
}
