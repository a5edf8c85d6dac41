import type { Clock } from "../../core/ports/clock.js";
import { abortable } from "./abortable.js";

const KEPT_MS = 10_000;

/** An answer that is asked for at most every ten seconds. */
export interface Kept<T> {
  readonly get: (signal?: AbortSignal) => Promise<T>;
  /** It is asked for anew the next time. */
  readonly forget: () => void;
}

/** Shared by all who ask meanwhile, so that the abort of one of them does not reach it; a failure is not kept. */
export function keep<T>(read: () => Promise<T>, clock: Clock): Kept<T> {
  let cached: { readonly at: number; readonly answer: Promise<T> } | undefined;

  function get(signal?: AbortSignal): Promise<T> {
    const now = clock.now().getTime();
    if (cached === undefined || now - cached.at >= KEPT_MS) {
      const entry = { at: now, answer: read() };
      cached = entry;
      entry.answer.catch(() => {
        if (cached === entry) cached = undefined;
      });
    }
    return abortable(cached.answer, signal);
  }

  return { get, forget: () => (cached = undefined) };
}
