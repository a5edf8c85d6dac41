import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "@jest/globals";
import { allInTurns, ChangedPaths } from "../../../src/core/model/collections.js";

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

describe("changed paths", () => {
  const changed = new ChangedPaths(["b/c", "a/b/c", "a-/x", "a0", "a/b-c", "a/b", "ä/\u{1f600}/x", "b/c"]);

  test.each<[string, readonly string[]]>([
    ["", ["a-/x", "a/b", "a/b-c", "a/b/c", "a0", "b/c", "ä/\u{1f600}/x"]],
    ["a", ["a/b", "a/b-c", "a/b/c"]],
    ["a/b", ["a/b", "a/b/c"]],
    ["a/b/c/d", ["a/b/c", "a/b"]],
    ["a/bc", []],
    ["a0/x", ["a0"]],
    ["ä/\u{1f600}", ["ä/\u{1f600}/x"]],
    ["b/c", ["b/c"]],
    ["c", []],
  ])("at, above and below %j", (path, expected) => {
    expect([...changed.touching(path)].sort()).toEqual([...expected].sort());
    expect(changed.touch(path)).toBe(expected.length > 0);
  });

  test("nothing touches none", () => {
    expect([new ChangedPaths([]).touch(""), new ChangedPaths([]).touching("")]).toEqual([false, []]);
  });

  test("a thousand of them below two thousand folders take no time", () => {
    const before = process.cpuUsage();
    const deep = new ChangedPaths(Array.from({ length: 1000 }, (_, at) => `${"a/".repeat(2000)}${at}`));
    expect(deep.touch("a/a")).toBe(true);
    expect(process.cpuUsage(before).user / 1e6).toBeLessThan(2); // seconds of our own, however busy the machine is
  });
});
