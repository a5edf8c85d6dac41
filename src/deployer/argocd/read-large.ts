import { type JsonText, jsonText } from "../../core/model/json.js";
import { type Compute, computeIfLarge, type ComputeLimits, type Task, tooMuch } from "../../core/ports/compute.js";
import { ArgoCdFailure } from "./argocd-failure.js";

/** Part of an answer, or why it cannot be read: errors lose their class on the way between threads. */
export type Read<T> =
  { readonly kind: "read"; readonly text: JsonText<T> } | { readonly kind: "failed"; readonly message: string };

/** Levels of lists and maps in one object. Kubernetes' own schemas have less than 50. */
export const MAX_DEPTH = 200;

/** Milliseconds; 64 MiB take some seconds. */
const DEADLINE_MS = 60_000;

/** For tasks: turns an `ArgoCdFailure` of `read` into a value. Drops its cause, which may quote the answer. */
export function reading<T>(read: () => T): Read<T> {
  try {
    return { kind: "read", text: jsonText(read()) };
  } catch (error) {
    if (error instanceof ArgoCdFailure) return { kind: "failed", message: error.message };
    throw error;
  }
}

/**
 * Reads an answer of Argo CD, in a thread of its own if it is large. `what` completes "reading".
 * @throws {ArgoCdFailure} if it cannot be read.
 */
export async function readLarge<I extends { readonly answer: string }, T>(
  compute: Compute,
  task: Task<I, Read<T>>,
  input: I,
  { what, ...limits }: Omit<ComputeLimits, "deadlineMs"> & { readonly what: string },
): Promise<JsonText<T>> {
  const computed = await computeIfLarge(compute, task, input, input.answer.length, {
    ...limits,
    deadlineMs: DEADLINE_MS,
  });
  if (computed.kind === "exceeded") throw new ArgoCdFailure("failed", `reading ${what} ${tooMuch(computed.limit)}`);
  const { output } = computed;
  if (output.kind === "failed") throw new ArgoCdFailure("failed", output.message);
  return output.text;
}
