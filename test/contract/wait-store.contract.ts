import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { applicationName, repositoryName } from "../../src/core/model/brand.js";
import type { ChangeRequestRef } from "../../src/core/model/change-request.js";
import { MAX_WAITING, WAITING_LIFETIME_MS } from "../../src/core/model/lock.js";
import type { WaitStore } from "../../src/core/ports/stores.js";
import type { StoresUnderTest } from "./stores-under-test.js";

const one: ChangeRequestRef = { host: "hosta", repository: repositoryName("acme/deploy"), number: 1 };
const two: ChangeRequestRef = { ...one, number: 2 };
const three: ChangeRequestRef = { host: "hostb", repository: repositoryName("acme/team/deploy"), number: 1 };
const web = applicationName("web");
const api = applicationName("team/api");

/** What every `WaitStore` must do. */
export function waitStoreContract(name: string, start: () => Promise<StoresUnderTest>): void {
  describe(`wait store: ${name}`, () => {
    let under: StoresUnderTest;
    let waiting: WaitStore;
    beforeAll(async () => {
      under = await start();
    });
    afterAll(() => under.stop());
    beforeEach(async () => {
      await under.clear();
      waiting = under.stores.waiting;
    });

    test("whoever asks first comes first, and nobody waits twice or loses the place by asking again", async () => {
      expect(await waiting.join(web, two)).toBe(1);
      expect(await waiting.join(web, three)).toBe(2);
      expect(await waiting.join(web, one)).toBe(3);
      expect(await waiting.join(web, two)).toBe(1);
      expect(await waiting.join(web, three)).toBe(2);
      expect(await waiting.of(web)).toEqual([two, three, one]);
    });

    test("those behind one who leaves move up, and one who comes back is the last", async () => {
      for (const change of [one, two, three]) await waiting.join(web, change);
      expect(await waiting.leave(web, one)).toBe(true);
      expect(await waiting.leave(web, one)).toBe(false);
      expect(await waiting.of(web)).toEqual([two, three]);
      expect(await waiting.join(web, two)).toBe(1);
      expect(await waiting.join(web, one)).toBe(3);
      expect(await waiting.of(web)).toEqual([two, three, one]);
    });

    test("a place is that of its repository under every name, and another repository that got the name has none", async () => {
      const known = { ...one, repositoryId: "11" };
      const renamed = { ...known, repository: repositoryName("acme/renamed") };
      const newcomer = { ...one, repositoryId: "22" };
      await waiting.join(web, known);
      await waiting.join(web, two);
      expect(await waiting.leave(web, newcomer)).toBe(false);
      expect(await waiting.join(web, newcomer)).toBe(3);
      expect(await waiting.join(web, renamed)).toBe(1);
      expect(await waiting.of(web)).toEqual([renamed, two, newcomer]);
      expect(await waiting.leave(web, known)).toBe(true);
      expect(await waiting.of(web)).toEqual([two, newcomer]);
    });

    test("a place without an id goes by name, gets one by asking again, and never loses it", async () => {
      const known = { ...one, repositoryId: "11" };
      await waiting.join(web, one);
      expect(await waiting.join(web, known)).toBe(1);
      expect(await waiting.join(web, one)).toBe(1);
      expect(await waiting.of(web)).toEqual([known]);
    });

    test("each application has a queue of its own; empty ones are not listed", async () => {
      await waiting.join(web, one);
      await waiting.join(api, two);
      await waiting.join(api, one);
      expect(await waiting.list()).toMatchObject([
        { application: api, changes: [two, one] },
        { application: web, changes: [one] },
      ]);
      expect(await waiting.leave(web, two)).toBe(false);
      await waiting.leave(web, one);
      expect(await waiting.list()).toMatchObject([{ application: api, changes: [two, one] }]);
      expect(await waiting.of(web)).toEqual([]);
      expect(await waiting.of(applicationName("team"))).toEqual([]);
    });

    test("each waits since it joined, also if it asks again, becomes the first or gets an id", async () => {
      const sinceOf = async (): Promise<readonly (string | undefined)[]> => (await waiting.list())[0]?.since ?? [];
      await waiting.join(web, one);
      const [first] = await sinceOf();
      expect(Date.parse(first ?? "")).toBeGreaterThan(0);
      await under.expire(60_000);
      await waiting.join(web, two);
      const [, second] = await sinceOf();
      expect(Date.parse(second ?? "")).toBeGreaterThan(Date.parse(first ?? ""));
      await waiting.join(web, { ...one, repositoryId: "11" });
      await waiting.join(web, two, "first");
      expect(await sinceOf()).toEqual([second, first]);
    });

    test("only what identifies the change request counts", async () => {
      await waiting.join(web, { ...one, title: "A title" } as ChangeRequestRef);
      expect(await waiting.of(web)).toEqual([one]);
      expect(await waiting.join(web, { ...one, title: "Another title" } as ChangeRequestRef)).toBe(1);
      expect(await waiting.leave(web, one)).toBe(true);
    });

    test("who is to come first does, from outside, from behind and in a full queue, and the others keep their order", async () => {
      expect(await waiting.join(web, one, "first")).toBe(1);
      expect(await waiting.join(web, two)).toBe(2);
      expect(await waiting.join(web, three, "first")).toBe(1);
      expect(await waiting.of(web)).toEqual([three, one, two]);
      expect(await waiting.join(web, two, "first")).toBe(1);
      expect(await waiting.join(web, two, "first")).toBe(1);
      expect(await waiting.of(web)).toEqual([two, three, one]);
      expect(await waiting.join(web, { ...three, repositoryId: "33" }, "first")).toBe(1);
      expect(await waiting.of(web)).toEqual([{ ...three, repositoryId: "33" }, two, one]);
      for (let number = 10; number < MAX_WAITING + 7; number += 1) await waiting.join(web, { ...one, number });
      expect(await waiting.of(web)).toHaveLength(MAX_WAITING);
      const late = { ...one, number: 9 };
      expect(await waiting.join(web, late)).toBeUndefined();
      expect(await waiting.join(web, late, "first")).toBe(1);
      expect((await waiting.of(web)).slice(0, 3)).toEqual([late, { ...three, repositoryId: "33" }, two]);
    });

    test("a full queue takes nobody else, whoever asks how often, and keeps the places of those who wait", async () => {
      const numbers = Array.from({ length: MAX_WAITING }, (_, index) => index + 1);
      for (const number of numbers) expect(await waiting.join(web, { ...one, number })).toBe(number);
      expect(await waiting.join(web, three)).toBeUndefined();
      expect(await waiting.join(web, { ...one, number: MAX_WAITING + 1 })).toBeUndefined();
      expect(await waiting.join(web, two)).toBe(2);
      expect(await waiting.of(web)).toHaveLength(MAX_WAITING);
      await waiting.leave(web, one);
      expect(await waiting.join(web, three)).toBe(MAX_WAITING);
    });

    test("of many who ask at once, each gets another place", async () => {
      const numbers = Array.from({ length: 20 }, (_, index) => index + 1);
      const places = await Promise.all(numbers.map((number) => waiting.join(web, { ...one, number })));
      expect([...places].sort((left = 0, right = 0) => left - right)).toEqual(numbers);
    });

    test("a queue ends 30 days after the last one asked", async () => {
      await waiting.join(web, one);
      await under.expire(WAITING_LIFETIME_MS - 60_000);
      await waiting.join(web, two);
      await under.expire(WAITING_LIFETIME_MS - 60_000);
      expect(await waiting.of(web)).toEqual([one, two]);
      await under.expire(60_000);
      expect(await waiting.of(web)).toEqual([]);
      expect(await waiting.list()).toEqual([]);
      expect(await waiting.join(web, two)).toBe(1);
    });
  });
}
