import type { Clock } from "../../core/ports/clock.js";

const KEPT_MS = 10_000;

/** A cached answer, requested again after ten seconds or another time, and whenever a caller wants a newer one. */
export interface Kept<T> {
  /** @param since An answer that was requested before is too old. */
  readonly get: (signal?: AbortSignal, since?: Date) => Promise<T>;
  /** Drops the cached answer. */
  readonly forget: () => void;
}

/** Concurrent callers share one `read`, so the signal of one caller does not abort it. Failures are not cached. */
export function keep<T>(read: () => Promise<T>, clock: Clock, keptMs = KEPT_MS): Kept<T> {
  let cached: { readonly at: number; readonly answer: Promise<T> } | undefined;

  function get(signal?: AbortSignal, since?: Date): Promise<T> {
    const now = clock.now().getTime();
    const tooOld = cached === undefined || now - cached.at >= keptMs || (since && cached.at < since.getTime());
    if (cached === undefined || tooOld) {
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

/** Rejects with the signal's reason as soon as it is aborted; the work behind the promise continues. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason as Error);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
