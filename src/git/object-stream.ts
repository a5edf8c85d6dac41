import { GitFailure } from "./git-failure.js";

export interface GitObject {
  readonly id: string;
  readonly type: string;
  /** Bytes. */
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
