import { describe, expect, test } from "@jest/globals";
import { createContentPace } from "../../src/hosts/content-pace.js";
import { skippingClock } from "./skipping-clock.js";

/** Moments at which so many writes that are asked for at once may be sent, in seconds from the first. */
async function momentsOf(count: number, limits: { readonly perMinute: number; readonly perHour: number }) {
  const clock = skippingClock();
  const start = clock.now().getTime();
  const pace = createContentPace(limits, clock);
  const moments: number[] = [];
  await Promise.all(
    Array.from({ length: count }, async () => {
      await pace.turn();
      moments.push((clock.now().getTime() - start) / 1000);
    }),
  );
  return moments;
}

describe("writes of content", () => {
  test("pass at once as long as the host takes them", async () => {
    expect(await momentsOf(80, { perMinute: 80, perHour: 500 })).toEqual(Array(80).fill(0));
  });

  test("wait for a minute after the limit of a minute", async () => {
    expect(await momentsOf(7, { perMinute: 3, perHour: 500 })).toEqual([0, 0, 0, 60, 60, 60, 120]);
  });

  test("wait for an hour after the limit of an hour", async () => {
    const moments = await momentsOf(1001, { perMinute: 80, perHour: 500 });
    expect(moments[499]).toBe(360);
    expect(moments[500]).toBe(3600);
    expect(moments[1000]).toBe(7200);
    for (const [at, moment] of moments.entries()) {
      const later = (ms: number) => moments.filter((one, other) => other >= at && one < moment + ms).length;
      expect(later(60)).toBeLessThanOrEqual(80);
      expect(later(3600)).toBeLessThanOrEqual(500);
    }
  });

  test("wait as long as the host asked", async () => {
    const clock = skippingClock();
    const pace = createContentPace({ perMinute: 80, perHour: 500 }, clock);
    pace.hold(7_000);
    pace.hold(2_000);
    await pace.turn();
    await pace.turn();
    expect(clock.sleeps).toEqual([7_000]);
  });

  test("that were given up let the others pass", async () => {
    const pace = createContentPace({ perMinute: 1, perHour: 10 }, skippingClock());
    const given = new AbortController();
    given.abort(new Error("pushed"));
    await expect(pace.turn(given.signal)).rejects.toThrow("pushed");
    await expect(pace.turn()).resolves.toBeUndefined();
  });
});
