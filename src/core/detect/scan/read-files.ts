import { setImmediate } from "node:timers/promises";
import type { Task } from "../../ports/compute.js";
import type { Unreadable } from "../../ports/manifest-scanner.js";
import { SHORT_TEXT, type Reading } from "../tree/foreign-text.js";
import { readResources, readResourcesTask, type FileResources } from "./resources.js";
import { mayHoldResource } from "./spelling.js";

/** A file that may hold resources. */
export interface FileText {
  readonly blob: string;
  readonly text: string;
}

/** What reading the files of one commit may cost. */
export interface ReadingLimits {
  /** Of the texts that may hold resources. */
  readonly characters: number;
  /** For each batch, and then for each file of one that took too long. */
  readonly deadlineMs: number;
  /** After so many files that took too long, no other file is read. */
  readonly exceeding: number;
  /** Files over 1 MiB that are searched. */
  readonly largeFiles: number;
}

/** About a minute of work. Later scans continue from what is remembered. */
export const FULL_READING: ReadingLimits = {
  characters: 32 * 1024 * 1024,
  deadlineMs: 10_000,
  exceeding: 3,
  largeFiles: 200,
};
/** For commits of people who may not write to the repository, and for drafts. */
export const SMALL_READING: ReadingLimits = {
  characters: 2 * 1024 * 1024,
  deadlineMs: 3_000,
  exceeding: 1,
  largeFiles: 5,
};

/** Characters in one batch: a few hundred ordinary resources. */
const BATCH = 256 * 1024;
/** What one commit may have read on this thread: an ordinary change, without a thread to start. */
const INLINE = 192 * 1024;

const TOO_MUCH: Unreadable = {
  reason: "the repository has more Application resources than svc reads",
  mayHide: true,
};
const TOO_LARGE: Unreadable = {
  reason: "it is larger than 1 MiB and, by its words, may hold an Application",
  mayHide: true,
};
const NOT_TRIED: Unreadable = { reason: "other files of this commit already took too long", mayHide: true };

/** Whether a text can hold a resource at all. */
export const mayHoldResourceTask: Task<string, boolean> = { name: "may-hold-resource", run: mayHoldResource };

/** How one file was read. */
export interface FileReading {
  readonly found: FileResources;
  /** Whether to remember that: a file that took too long may have met a busy machine. */
  readonly keep: "always" | "a-while" | "never";
}

/** A file that could not be read may be readable through another snapshot with other limits. */
const NO_TEXT: FileReading = { found: readResources(undefined), keep: "never" };
export const NOTHING: FileReading = { found: readResources(""), keep: "always" };

/**
 * Reads the files of one commit within its limits. Short files are read at once, others elsewhere in batches. A batch that
 * takes too long is read again file by file, so that only those at fault are refused.
 */
export class FileReader {
  #characters = 0;
  #inline = 0;
  #exceeding = 0;
  #large = 0;

  constructor(
    private readonly limits: ReadingLimits,
    private readonly reading: Reading,
  ) {}

  /** The files by blob. */
  async read(files: readonly FileText[]): Promise<ReadonlyMap<string, FileReading>> {
    const read = new Map<string, FileReading>();
    let batch: FileText[] = [];
    let size = 0;
    let sinceTurn = 0;
    for (const file of files) {
      const { length } = file.text;
      this.#characters += length;
      if (this.#characters > this.limits.characters) {
        read.set(file.blob, { found: unreadable(TOO_MUCH), keep: "never" });
      } else if (length <= SHORT_TEXT && this.#inline + length <= INLINE) {
        this.#inline += length;
        sinceTurn += length;
        if (sinceTurn > SHORT_TEXT) {
          sinceTurn = 0;
          await setImmediate();
        }
        read.set(file.blob, { found: readResources(file.text), keep: "always" });
      } else {
        if (size + length > BATCH) {
          await this.#readBatch(batch, read);
          [batch, size] = [[], 0];
        }
        batch.push(file);
        size += length;
      }
    }
    await this.#readBatch(batch, read);
    return read;
  }

  /**
   * Searches a file that is too large to be parsed: most of these, such as bundles of definitions, cannot hold an
   * Application however it is spelled.
   * @param read Reads its text; undefined if there is none.
   */
  async readLarge(read: () => Promise<string | undefined>): Promise<FileReading> {
    if (this.#large >= this.limits.largeFiles || this.#exceeding >= this.limits.exceeding) return NO_TEXT;
    this.#large += 1;
    const text = await read();
    if (text === undefined) return NO_TEXT;
    const { compute, owner, signal } = this.reading;
    const computed = await compute.run(mayHoldResourceTask, text, {
      owner,
      signal,
      deadlineMs: this.limits.deadlineMs,
    });
    if (computed.kind === "exceeded") this.#exceeding += 1;
    else if (!computed.output) return NOTHING;
    return { found: unreadable(TOO_LARGE), keep: "a-while" };
  }

  async #readBatch(batch: readonly FileText[], read: Map<string, FileReading>): Promise<void> {
    if (batch.length === 0) return;
    if (this.#exceeding >= this.limits.exceeding) {
      for (const { blob } of batch) read.set(blob, { found: unreadable(NOT_TRIED), keep: "never" });
      return;
    }
    const { compute, owner, signal } = this.reading;
    const texts = batch.map(({ text }) => text);
    const { deadlineMs } = this.limits;
    const computed = await compute.run(readResourcesTask, texts, { owner, signal, deadlineMs });
    if (computed.kind === "done") {
      for (const [index, { blob }] of batch.entries()) {
        const found = computed.output[index];
        if (found !== undefined) read.set(blob, { found, keep: "always" });
      }
    } else if (batch.length > 1) {
      for (const file of batch) await this.#readBatch([file], read);
    } else {
      this.#exceeding += 1;
      const reason = computed.limit === "time" ? "reading it takes too long" : "reading it takes too much memory";
      const found = unreadable({ reason, mayHide: true });
      for (const { blob } of batch) read.set(blob, { found, keep: "a-while" });
    }
  }
}

function unreadable(problem: Unreadable): FileResources {
  return { resources: [], problem };
}
