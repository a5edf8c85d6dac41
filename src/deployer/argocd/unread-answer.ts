import { constants, createGunzip, gunzipSync } from "node:zlib";
import * as z from "zod";
import { type JsonText, jsonText } from "../../core/model/json.js";
import { type Compute, computeIfLarge, type ComputeLimits, type Task, tooMuch } from "../../core/ports/compute.js";
import { ArgoCdFailure, parseAnswer, readAnswer } from "./argocd-failure.js";

const MEBIBYTE = 1024 * 1024;
/** Larger answers are refused: 3,000 whole applications are 22 MB. */
export const MAXIMUM_BODY = 64 * MEBIBYTE;

/** An answer that is not read yet. A large one stays in gzip until the thread that reads it unpacks it. */
export type UnreadAnswer = string | { readonly gzip: Uint8Array };

const BEGINNING = 1024;

/** What an answer begins with. */
export function beginningOf({ bytes, packed }: { readonly bytes: Buffer; readonly packed: boolean }): string {
  const first = bytes.subarray(0, BEGINNING);
  if (!packed) return first.toString();
  try {
    return gunzipSync(first, { finishFlush: constants.Z_SYNC_FLUSH }).toString();
  } catch {
    return "";
  }
}

export function tooLarge(maxBytes: number, cause?: unknown): ArgoCdFailure {
  const message = `Argo CD's answer is larger than ${maxBytes / MEBIBYTE} MiB and was not read`;
  return new ArgoCdFailure("failed", message, { cause });
}

async function* unpacked(gzip: Uint8Array): AsyncGenerator<Uint8Array> {
  const pieces = createGunzip({ chunkSize: 64 * 1024 });
  pieces.end(gzip);
  let size = 0;
  try {
    for await (const piece of pieces as AsyncIterable<Uint8Array>) {
      size += piece.length;
      if (size > MAXIMUM_BODY) throw tooLarge(MAXIMUM_BODY);
      yield piece;
    }
  } catch (error) {
    throw error instanceof ArgoCdFailure ? error : incomplete(error);
  }
}

function incomplete(cause: unknown): ArgoCdFailure {
  return new ArgoCdFailure("failed", "Argo CD's answer is incomplete or not JSON", { maybeDone: true, cause });
}

/** An answer whose large part is an array. */
interface ArrayAnswer<T> {
  readonly member: string;
  readonly element: z.ZodType<T>;
  readonly whole: z.ZodType<Readonly<Record<string, readonly T[] | null | undefined>>>;
}

/** Describes answers of which the array `member` is read. */
export function arrayAnswer<T>(member: string, element: z.ZodType<T>): ArrayAnswer<T> {
  return { member, element, whole: z.object({ [member]: z.array(element).nullish() }) };
}

const ZEROS = z.array(z.literal(0)).nullish();

/** Reads the array of an answer, one element after the other. `what` completes "Argo CD's answer about". @throws {ArgoCdFailure} */
export async function readArray<T, R>(
  { member, element, whole }: ArrayAnswer<T>,
  answer: UnreadAnswer,
  what: string,
  read: (element: T) => R,
): Promise<readonly R[]> {
  if (typeof answer === "string") return (parseAnswer(whole, readAnswer(answer), what)[member] ?? []).map(read);
  const found: R[] = [];
  const elements = new JsonElements(member, (text) => {
    found.push(read(parseAnswer(element, readAnswer(text), what)));
  });
  for await (const piece of unpacked(answer.gzip)) elements.add(piece);
  const cut = z.object({ [member]: ZEROS.refine((zeros) => (zeros?.length ?? 0) === found.length) });
  parseAnswer(cut, readAnswer(elements.rest()), what);
  return found;
}

/** Parses a whole answer. @throws {ArgoCdFailure} */
export async function readWhole(answer: UnreadAnswer): Promise<unknown> {
  if (typeof answer === "string") return readAnswer(answer);
  const pieces: Uint8Array[] = [];
  for await (const piece of unpacked(answer.gzip)) pieces.push(piece);
  return readAnswer(Buffer.concat(pieces).toString());
}

/** What a task read in an answer, or why it could not: errors lose their class on the way between threads. */
export type Read<T> =
  | { readonly kind: "read"; readonly text: JsonText<T> }
  | { readonly kind: "failed"; readonly message: string };

/** Reading 64 MiB takes some seconds. */
const READ_DEADLINE_MS = 60_000;

/** Turns an `ArgoCdFailure` of a task into a value, without its cause, which may quote the answer. */
export async function reading<T>(read: () => Promise<T>): Promise<Read<T>> {
  try {
    return { kind: "read", text: jsonText(await read()) };
  } catch (error) {
    if (error instanceof ArgoCdFailure) return { kind: "failed", message: error.message };
    throw error;
  }
}

/** Reads an answer, in a thread of its own if it is large; `what` completes "reading". @throws {ArgoCdFailure} */
export async function readLarge<I extends { readonly answer: UnreadAnswer }, T>(
  compute: Compute,
  task: Task<I, Read<T>>,
  input: I,
  { what, ...limits }: Omit<ComputeLimits, "deadlineMs"> & { readonly what: string },
): Promise<JsonText<T>> {
  const { answer } = input;
  // What is left in gzip is large, whatever it claims to hold.
  const characters = typeof answer === "string" ? answer.length : Number.POSITIVE_INFINITY;
  const computed = await computeIfLarge(compute, task, input, characters, { ...limits, deadlineMs: READ_DEADLINE_MS });
  if (computed.kind === "exceeded") throw new ArgoCdFailure("failed", `reading ${what} ${tooMuch(computed.limit)}`);
  const { output } = computed;
  if (output.kind === "failed") throw new ArgoCdFailure("failed", output.message);
  return output.text;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const ZERO = Buffer.from("0");
/** No member of an answer that is searched for has a longer name. */
const LONGEST_NAME = 20;

/**
 * Cuts the elements out of an array in a JSON text that arrives in pieces, so that the whole text is never in memory. The array is
 * the value of a member of the outermost object. A zero is left in the place of each element: if the rest and all elements are JSON,
 * then so was the text.
 */
export class JsonElements {
  readonly #rest: Uint8Array[] = [];
  /** The pieces of the element that has begun. */
  #element: Uint8Array[] | undefined;
  #depth = 0;
  #inString = false;
  #escaped = false;
  /** The last string of the outermost object. */
  #name = "";
  #inArray = false;

  /** @param each Is given the text of each element. */
  constructor(
    private readonly member: string,
    private readonly each: (text: string) => void,
  ) {}

  add(piece: Uint8Array): void {
    let start = 0;
    for (let at = 0; at < piece.length; at += 1) {
      const byte = piece[at] ?? 0;
      if (this.#inString) {
        this.#inside(byte);
        continue;
      }
      if (byte <= 0x20) continue;
      const between = this.#inArray && this.#depth === 2;
      const ends = between && (byte === COMMA || isClosing(byte));
      if (ends && this.#element !== undefined) {
        this.#element.push(piece.subarray(start, at));
        start = at;
        this.#finishElement(this.#element);
      } else if (between && !ends && this.#element === undefined) {
        this.#rest.push(piece.subarray(start, at), ZERO);
        start = at;
        this.#element = [];
      }
      this.#outside(byte);
    }
    (this.#element ?? this.#rest).push(piece.subarray(start));
  }

  /** The text with a zero in the place of each element. */
  rest(): string {
    return Buffer.concat(this.#rest).toString();
  }

  #finishElement(pieces: readonly Uint8Array[]): void {
    this.#element = undefined;
    this.each(Buffer.concat(pieces).toString());
  }

  #inside(byte: number): void {
    if (this.#escaped) this.#escaped = false;
    else if (byte === QUOTE) this.#inString = false;
    else if (byte === 0x5c) this.#escaped = true;
    if (this.#inString && this.#depth === 1 && this.#name.length <= LONGEST_NAME) {
      this.#name += String.fromCharCode(byte);
    }
  }

  #outside(byte: number): void {
    if (byte === QUOTE) {
      this.#inString = true;
      if (this.#depth === 1) this.#name = "";
    } else if (byte === 0x5b || byte === 0x7b) {
      if (this.#depth === 1) this.#inArray = byte === 0x5b && this.#name === this.member;
      this.#depth += 1;
    } else if (isClosing(byte)) {
      this.#depth -= 1;
    }
  }
}

function isClosing(byte: number): boolean {
  return byte === 0x5d || byte === 0x7d;
}
