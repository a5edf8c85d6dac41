import { setImmediate } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { allInTurns } from "../../../src/core/model/collections.js";

const MANY = Array.from({ length: 1000 }, (_, index) => index);

test.each([
  ["a hundred", undefined, 100],
  ["four, if the caller wants no more,", 4, 4],
])(
  "of a thousand items %s are under way at most, and the results keep the order of the items",
  async (_, atOnce, expected) => {
    let [running, most] = [0, 0];
    const work = async (item: number) => {
      running += 1;
      most = Math.max(most, running);
      for (let turn = 0; turn < 5; turn += 1) await setImmediate();
      running -= 1;
      return 2 * item;
    };
    const doubled = await allInTurns(MANY, work, atOnce);
    expect(most).toBe(expected);
    expect(doubled).toEqual(MANY.map((item) => 2 * item));
  },
);

test("one that fails keeps no other from being started", async () => {
  const started: number[] = [];
  const all = allInTurns(MANY, async (item) => {
    started.push(item);
    await setImmediate();
    if (item === 3) throw new Error("broken");
  });
  await expect(all).rejects.toThrow("broken");
  expect(started).toEqual(MANY);
});

test("work that never waits leaves the event loop its turns", async () => {
  let turns = 0;
  const stop = new AbortController();
  const counted = (async () => {
    for (; !stop.signal.aborted; turns += 1) await setImmediate();
  })();
  await allInTurns(MANY, () => Promise.resolve());
  stop.abort();
  await counted;
  expect(turns).toBeGreaterThanOrEqual(20);
});
