import { setImmediate } from "node:timers/promises";
import { deserialize, serialize } from "node:v8";
import { gunzipSync, gzipSync } from "node:zlib";

/** Every task; `src/workers/worker-pool.ts` has the table. */
export type TaskName =
  | "may-hold-resource"
  | "read-resources"
  | "read-documents"
  | "other-words"
  | "read-repository-file"
  | "read-manifests"
  | "read-generated"
  | "read-live"
  | "read-live-texts"
  | "trial-order"
  | "marks"
  | "diff"
  | "removal"
  | "check-input"
  | "render-digest"
  | "definition-diff"
  | "render-plan";

/** A pure function over untrusted content. Input and output are plain values that can be cloned. */
export interface Task<I, O> {
  readonly name: TaskName;
  /** What is wrong with the content is part of the output. An error is a bug. */
  readonly run: (input: I) => O | Promise<O>;
  /** The first step of `run`. What it returns does the rest, without the input: a thread lets go of that in between. */
  readonly begin?: (input: I) => () => O | Promise<O>;
  /** Bytes of the input that the thread takes over instead of a copy. Each has a buffer of its own. */
  readonly handedOver?: (input: I) => readonly Bytes[];
}

type Bytes = Uint8Array<ArrayBuffer>;

/** A task over large texts, which do not stay in memory beside what was read in them. */
export function readFirst<I, R, O>(
  name: TaskName,
  read: (input: I) => R,
  work: (found: R) => O | Promise<O>,
): Task<I, O> {
  return {
    name,
    run: (input) => work(read(input)),
    begin(input) {
      const found = read(input);
      return () => work(found);
    },
  };
}

/** Runs tasks away from the thread that answers requests. One that takes too long, or too much memory, is ended alone. */
export interface Compute {
  /** Rejects with the reason of the signal, or with the error of a task that has a bug. */
  run<I, O>(task: Task<I, O>, input: I, limits: ComputeLimits): Promise<Computed<O>>;
}

export interface ComputeLimits {
  /** Whose work it is, for example a change request. Owners take turns, and none gets all the threads. */
  readonly owner: string;
  /** Milliseconds of running; waiting for a turn does not count. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
}

export type Computed<O> =
  | { readonly kind: "done"; readonly output: O }
  /** The task was ended; it would exceed its limits again. */
  | { readonly kind: "exceeded"; readonly limit: "time" | "memory" };

const PER_PIECE = 50;

/** Items for a thread, with turns for the event loop: to hand over ten thousand at once takes a fifth of a second. */
export async function packed<T>(items: readonly T[]): Promise<Packed<T>> {
  const pieces: Bytes[] = [];
  for (let start = 0; start < items.length; start += PER_PIECE) {
    await setImmediate();
    pieces.push(serialize(items.slice(start, start + PER_PIECE)));
  }
  return { pieces };
}

export interface Packed<T> {
  readonly pieces: readonly Bytes[];
  /** Never set: it keeps the type of what the pieces hold. */
  readonly items?: readonly T[];
}

/** Reads the items. Works once: it frees the memory of their pieces. */
export function unpacked<T>({ pieces }: Packed<T>): readonly T[] {
  // A buffer that is sent to a closed port is gone; otherwise its memory would wait for the garbage collection.
  const { port1: closed } = new MessageChannel();
  closed.close();
  return pieces.flatMap((piece) => {
    const items = deserialize(piece) as readonly T[];
    closed.postMessage(undefined, [piece.buffer]);
    return items;
  });
}

/** Items that only tasks read; in gzip if they are large. */
export type Kept<T> = { readonly items: readonly T[] } | KeptPacked<T>;

interface KeptPacked<T> {
  /** Each item by itself, so that no more than one is unpacked at a time. */
  readonly gzip: readonly Uint8Array[];
  /** Never set: it keeps the type of what is packed. */
  readonly item?: T;
}

/** Characters. Packing so many takes some hundredths of a second. */
const WORTH_PACKING = 1024 * 1024;

export function kept<T>(items: readonly T[], characters: number): Kept<T> {
  if (characters < WORTH_PACKING) return { items };
  return { gzip: items.map((item) => gzipSync(serialize(item), { level: 1 })) };
}

export function readKept<T>(from: Kept<T>): readonly T[] {
  return "items" in from ? from.items : from.gzip.map((item) => deserialize(unzipped(item)) as T);
}

/** Unpacks into one buffer: gzip ends with the length of what it holds. https://www.rfc-editor.org/rfc/rfc1952#page-5 */
function unzipped(gzip: Uint8Array): Buffer {
  const length = new DataView(gzip.buffer, gzip.byteOffset, gzip.byteLength).getUint32(gzip.byteLength - 4, true);
  return gunzipSync(gzip, { chunkSize: Math.max(64, length) });
}

/** A thread would cost more than it saves; the worst content of this size takes some tens of milliseconds. */
const SMALL = 8 * 1024;

/** Runs a task over so many characters of foreign content: at once if they are few, which most are. */
export async function computeIfLarge<I, O>(
  compute: Compute,
  task: Task<I, O>,
  input: I,
  characters: number,
  limits: ComputeLimits,
): Promise<Computed<O>> {
  if (characters > SMALL) return compute.run(task, input, limits);
  limits.signal.throwIfAborted();
  return { kind: "done", output: await task.run(input) };
}

/** The end of a sentence on a task that was ended. */
export function tooMuch(limit: Extract<Computed<never>, { kind: "exceeded" }>["limit"]): string {
  switch (limit) {
    case "time":
      return "took too long and was stopped";
    case "memory":
      return "took too much memory and was stopped";
  }
}
