import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { HOLD_MS } from "../../src/core/commands/hold.js";
import type { Hold } from "../../src/core/model/hold.js";
import type { HoldStore } from "../../src/core/ports/stores.js";
import { implementations, type StoresUnderTest } from "./stores-under-test.js";

// What every `HoldStore` must do.
describe.each(implementations)("hold store: %s", (_, start) => {
  const begin = new Date("2026-03-02T10:00:00.000Z");
  const hold = (id: string, { since = begin, lastsMs = HOLD_MS } = {}): Hold => ({
    id,
    applications: ["prod-*", "web"],
    reason: "migration",
    by: { provider: "hosta", id: "hosta:1", login: "ana" },
    since: since.toISOString(),
    until: new Date(begin.getTime() + lastsMs).toISOString(),
  });
  let under: StoresUnderTest;
  let holds: HoldStore;
  beforeAll(async () => {
    under = await start();
  });
  afterAll(() => under.stop());
  beforeEach(async () => {
    await under.clear();
    holds = under.stores.holds;
  });

  test("every replica sees the holds that stand, the oldest first", async () => {
    const [first, second] = [hold("b"), hold("a", { since: new Date(begin.getTime() + 1000) })];
    await holds.save(second, begin);
    await holds.save(first, begin);
    expect(await under.replica.holds.list()).toEqual([first, second]);
  });

  test("one that is saved again is replaced", async () => {
    await holds.save(hold("a"), begin);
    const longer = hold("a", { lastsMs: 2 * HOLD_MS });
    await holds.save(longer, begin);
    expect(await holds.list()).toEqual([longer]);
  });

  test("it ends at its time, or when it is removed, once", async () => {
    const [short, long] = [hold("short", { lastsMs: 60_000 }), hold("long", { lastsMs: 3 * HOLD_MS })];
    await holds.save(short, begin);
    await holds.save(long, begin);
    await under.expire(HOLD_MS);
    expect(await holds.list()).toEqual([long]);
    expect(await holds.remove("short")).toBeUndefined();
    expect(await holds.remove("long")).toEqual(long);
    expect(await holds.remove("long")).toBeUndefined();
    expect(await holds.list()).toEqual([]);
  });
});
