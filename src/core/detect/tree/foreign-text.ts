import { setImmediate } from "node:timers/promises";
import type { Json } from "../../model/json.js";
import type { Compute, Computed, ComputeLimits, Task } from "../../ports/compute.js";
import { readYamlDocuments, type YamlDocuments } from "./yaml-documents.js";

/** Who reads what strangers wrote, and where. */
export interface Reading extends Pick<ComputeLimits, "owner" | "signal"> {
  readonly compute: Compute;
}

/** The slowest known texts of this size take a few tens of milliseconds, which is less than a start of a thread. */
export const SHORT_TEXT = 2048;
const DEADLINE_MS = 10_000;

/** Reads texts, the long ones elsewhere. */
export class TextReader {
  #sinceTurn = 0;

  constructor(private readonly reading: Reading) {}

  /** `characters` is the length of the texts in the input. */
  async run<I, O>(task: Task<I, O>, input: I, characters: number): Promise<Computed<O>> {
    const { compute, owner, signal } = this.reading;
    if (characters > SHORT_TEXT) return compute.run(task, input, { owner, signal, deadlineMs: DEADLINE_MS });
    this.#sinceTurn += characters;
    if (this.#sinceTurn > SHORT_TEXT) {
      this.#sinceTurn = 0;
      await setImmediate();
    }
    return { kind: "done", output: await task.run(input) };
  }

  /** The YAML documents of a text; undefined if not all of it can be read. */
  async yaml(text: string): Promise<readonly Json[] | undefined> {
    const read = await this.run(readDocumentsTask, text, text.length);
    return read.kind === "done" && read.output.problems.length === 0 ? read.output.values : undefined;
  }
}

/** Reads all YAML documents of a text. */
export const readDocumentsTask: Task<string, YamlDocuments> = {
  name: "read-documents",
  run: (text) => readYamlDocuments(text),
};
