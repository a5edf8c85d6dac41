import { jest } from "@jest/globals";

/**
 * Stops time for caches whose entries expire; what it returns lets minutes pass. lru-cache asks `performance` for the time,
 * and again only after a timer. `jest.useRealTimers` and `jest.restoreAllMocks` end it.
 */
export function stopTime(): (minutes: number) => void {
  jest.useFakeTimers({ doNotFake: ["nextTick", "performance", "queueMicrotask", "setImmediate"] });
  let now = performance.now();
  jest.spyOn(performance, "now").mockImplementation(() => now);
  return (minutes) => {
    now += minutes * 60_000;
    jest.advanceTimersByTime(minutes * 60_000);
  };
}
