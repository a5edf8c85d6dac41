import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { repositoryName, revision } from "../../src/core/model/brand.js";
import { changeRequestRef, type HeadRef } from "../../src/core/model/change-request.js";
import {
  OWN_STATUS_LIFETIME_MS,
  type OwnStatus,
  type StatusStore,
  WRITES_LIFETIME_MS,
} from "../../src/core/ports/stores.js";
import type { StoresUnderTest } from "./stores-under-test.js";

const X = revision("a".repeat(40));
const Y = revision("b".repeat(40));
const one: HeadRef = { host: "hosta", repository: repositoryName("acme/deploy"), number: 1, headRevision: X };
const two: HeadRef = { ...one, number: 2 };
const ten: HeadRef = { ...one, number: 10 };

function own(change: HeadRef, more: Partial<OwnStatus> = {}): OwnStatus {
  return { change, state: "pending", description: `of ${change.number}`, url: undefined, ...more };
}

/** What every `StatusStore` must do. */
export function statusStoreContract(name: string, start: () => Promise<StoresUnderTest>): void {
  describe(`status store: ${name}`, () => {
    let under: StoresUnderTest;
    let statuses: StatusStore;
    beforeAll(async () => {
      under = await start();
    });
    afterAll(() => under.stop());
    beforeEach(async () => {
      await under.clear();
      statuses = under.stores.statuses;
    });

    test("those with the same head are together, by number, each as it was saved last", async () => {
      const green = own(one, { state: "success", url: "https://svc.example.com/1" });
      for (const status of [own(ten), own(two), own(one), green]) expect(await statuses.save(status)).toBeUndefined();
      expect(await statuses.ofHead(two)).toEqual([green, own(two), own(ten)]);
      expect(await under.replica.statuses.ofHead(one)).toEqual([green, own(two), own(ten)]);
    });

    test("another commit, repository or host with the same commit is another head", async () => {
      const others: readonly HeadRef[] = [
        { ...two, headRevision: Y },
        { ...one, repository: repositoryName("acme/fork") },
        { ...one, host: "hostb" },
        { ...one, host: "hostb", repository: repositoryName("acme/team/deploy") },
      ];
      for (const change of [one, ...others]) await statuses.save(own(change));
      for (const change of [one, ...others]) expect(await statuses.ofHead(change)).toEqual([own(change)]);
      expect(await statuses.listShared()).toEqual([]);
    });

    test("another repository that got the name shares no head", async () => {
      const [known, newcomer] = [
        { ...one, repositoryId: "11" },
        { ...two, repositoryId: "22" },
      ];
      for (const change of [known, newcomer]) await statuses.save(own(change));
      expect(await statuses.ofHead(known)).toEqual([own(known)]);
      expect(await statuses.ofHead(newcomer)).toEqual([own(newcomer)]);
      const shared = [known, newcomer].map(changeRequestRef);
      expect(await statuses.listShared()).toEqual(expect.arrayContaining(shared));
      expect(await statuses.remove({ ...known, repositoryId: "22" })).toBeUndefined();
      expect(await statuses.ofHead(known)).toEqual([own(known)]);
      expect(await statuses.remove(known)).toBe(X);
    });

    test("only what identifies the change request and its head is kept of it", async () => {
      await statuses.save(own({ ...one, title: "A title" } as HeadRef));
      expect(await statuses.ofHead(one)).toEqual([own(one)]);
    });

    test("a new head leaves the old one, which is named", async () => {
      await statuses.save(own(one));
      await statuses.save(own(two));
      expect(await statuses.save(own({ ...one, headRevision: Y }))).toBe(X);
      expect(await statuses.ofHead(one)).toEqual([own(two)]);
      expect(await statuses.ofHead({ ...one, headRevision: Y })).toEqual([own({ ...one, headRevision: Y })]);
      expect(await statuses.save(own({ ...one, headRevision: Y }, { state: "failure" }))).toBeUndefined();
      expect(await statuses.save(own(one))).toBe(Y);
      expect(await statuses.ofHead(two)).toEqual([own(one), own(two)]);
    });

    test("one that is removed leaves its head, which is named; the others stay", async () => {
      await statuses.save(own(one));
      await statuses.save(own(two));
      expect(await statuses.remove(one)).toBe(X);
      expect(await statuses.remove(one)).toBeUndefined();
      expect(await statuses.ofHead(one)).toEqual([own(two)]);
      expect(await statuses.save(own(one))).toBeUndefined();
    });

    test("those that share a head are listed", async () => {
      expect(await statuses.listShared()).toEqual([]);
      await statuses.save(own(one));
      await statuses.save(own({ ...ten, headRevision: Y }));
      expect(await statuses.listShared()).toEqual([]);
      await statuses.save(own(two));
      const refs = [one, two].map(({ host, repository, number }) => ({ host, repository, number }));
      expect([...(await statuses.listShared())].sort((left, right) => left.number - right.number)).toEqual(refs);
      await statuses.remove(two);
      expect(await statuses.listShared()).toEqual([]);
    });

    test("a status ends 30 days after it was saved, whatever others with its head do", async () => {
      await statuses.save(own(one));
      await under.expire(OWN_STATUS_LIFETIME_MS - 60_000);
      await statuses.save(own(two));
      expect(await statuses.ofHead(one)).toEqual([own(one), own(two)]);
      await under.expire(60_000);
      expect(await statuses.ofHead(one)).toEqual([own(two)]);
      expect(await statuses.remove(one)).toBeUndefined();
      await under.expire(OWN_STATUS_LIFETIME_MS);
      expect(await statuses.ofHead(one)).toEqual([]);
    });

    test("what is set for a head is counted by all replicas, for 90 days", async () => {
      expect(await statuses.countWrite(one)).toBe(1);
      expect(await under.replica.statuses.countWrite(two)).toBe(2);
      expect(await statuses.countWrite({ ...one, headRevision: Y })).toBe(1);
      await under.expire(WRITES_LIFETIME_MS - 60_000);
      expect(await statuses.countWrite(one)).toBe(3);
      await under.expire(WRITES_LIFETIME_MS);
      expect(await statuses.countWrite(one)).toBe(1);
      expect(await statuses.ofHead(one)).toEqual([]);
    });

    test("of many replicas and runs that write the status of a commit, one has its turn at a time", async () => {
      let inside = 0;
      const turns: number[] = [];
      const work = async (isOurs: () => Promise<boolean>) => {
        inside += 1;
        turns.push(inside);
        await new Promise((resolve) => setImmediate(resolve));
        expect(await isOurs()).toBe(true);
        inside -= 1;
      };
      const all = Array.from({ length: 6 }, (_, at) => (at % 2 === 0 ? under.stores : under.replica));
      await Promise.all(all.map((stores) => stores.statuses.exclusively(one, work)));
      expect(turns).toEqual([1, 1, 1, 1, 1, 1]);
    });

    test("turns of different heads do not wait for each other", async () => {
      const order: string[] = [];
      await statuses.exclusively(one, async () => {
        await under.replica.statuses.exclusively({ ...one, headRevision: Y }, async () => {
          order.push("inner");
          await Promise.resolve();
        });
        order.push("outer");
      });
      expect(order).toEqual(["inner", "outer"]);
    });

    test("work that fails ends its turn, and its failure is the caller's", async () => {
      const broken = new Error("broken");
      await expect(statuses.exclusively(one, () => Promise.reject(broken))).rejects.toBe(broken);
      expect(await under.replica.statuses.exclusively(one, () => Promise.resolve("next"))).toBe("next");
    });
  });
}
