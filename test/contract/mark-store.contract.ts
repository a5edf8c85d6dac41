import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { applicationName, repositoryName } from "../../src/core/model/brand.js";
import { type ChangeNote, type ChangeRequestRef, identityKey } from "../../src/core/model/change-request.js";
import { PLAN_LIFETIME_MS } from "../../src/core/model/plan/plan.js";
import type { MarkStore } from "../../src/core/ports/stores.js";
import type { StoresUnderTest } from "./stores-under-test.js";

const one: ChangeRequestRef = { host: "hosta", repository: repositoryName("acme/deploy"), number: 1 };
const two: ChangeRequestRef = { ...one, number: 2 };
const three: ChangeRequestRef = { host: "hostb", repository: repositoryName("acme/team/deploy"), number: 1 };
const web = applicationName("web");
const api = applicationName("team/api");
const at = (ms: number) => new Date(1_700_000_000_000 + ms);

const inOrder = async (changes: Promise<readonly ChangeRequestRef[]>) =>
  (await changes).toSorted((left, right) => identityKey(left).localeCompare(identityKey(right), "en"));

/** What every `MarkStore` must do. */
export function markStoreContract(name: string, start: () => Promise<StoresUnderTest>): void {
  describe(`mark store: ${name}`, () => {
    let under: StoresUnderTest;
    let marks: MarkStore;
    let others: MarkStore;
    beforeAll(async () => {
      under = await start();
    });
    afterAll(() => under.stop());
    beforeEach(async () => {
      await under.clear();
      marks = under.stores.marks;
      others = under.replica.marks;
    });

    const taken = async (store: MarkStore, now: number, most = 10) =>
      (await store.take(at(now), at(now + 1000), most)).map(({ change }) => change);

    test("a mark is taken when it is due, in the order of times, and by one replica alone until its lease ends", async () => {
      await marks.set([two], at(20));
      await marks.set([one], at(10));
      expect(await taken(others, 9)).toEqual([]);
      expect(await taken(others, 20)).toEqual([one, two]);
      expect(await taken(marks, 1019)).toEqual([]);
      expect(await inOrder(taken(marks, 1020))).toEqual([one, two]);
    });

    test("of many that are due, no more are taken than asked for", async () => {
      await marks.set([one, two, three], at(0));
      expect(await taken(marks, 0, 2)).toHaveLength(2);
      expect(await taken(others, 0, 2)).toHaveLength(1);
      expect(await taken(marks, 0, 2)).toEqual([]);
    });

    test("marks that somebody waits for are taken before patient ones", async () => {
      await marks.set([one, two], at(0), true);
      await marks.set([three], at(5));
      expect(await others.take(at(5), at(1000), 2)).toMatchObject([
        { change: three, patient: false },
        { patient: true },
      ]);
      expect(await marks.take(at(5), at(1000), 2)).toMatchObject([{ patient: true }]);
      expect(await taken(marks, 5)).toEqual([]);
    });

    test("a patient mark becomes one that somebody waits for, and not the other way round; each is due at its own time", async () => {
      await marks.set([one], at(0), true);
      await marks.set([one], at(0));
      await marks.set([two], at(0));
      await marks.set([two], at(0), true);
      await marks.set([three], at(500));
      await marks.set([three], at(0), true);
      const all = await others.take(at(0), at(1000), 10);
      expect(all).toMatchObject([{ patient: false }, { patient: false }, { change: three, patient: true }]);
      // What was taken counts for both.
      expect(await taken(marks, 499)).toEqual([]);
      expect(await marks.take(at(500), at(1500), 10)).toMatchObject([{ change: three, patient: false }]);
      for (const mark of all) await marks.remove(mark);
      expect(await taken(marks, 5000)).toEqual([]);
    });

    test("a patient mark that is postponed is taken again at that time, and before it if somebody waits for it", async () => {
      await marks.set([one, two], at(0), true);
      const first = await marks.take(at(0), at(1000), 10);
      for (const mark of first) await others.postpone(mark, at(3000));
      // Late, from their runs.
      for (const mark of first) await marks.remove(mark);
      expect(await taken(marks, 2999)).toEqual([]);
      await marks.set([two], at(2000));
      expect(await taken(marks, 2000)).toEqual([two]);
      expect(await taken(marks, 2999)).toEqual([]);
      expect(await inOrder(taken(marks, 3000))).toEqual([one, two]);
    });

    test("a mark that was set again is not postponed", async () => {
      await marks.set([one], at(0), true);
      const [mark] = await marks.take(at(0), at(1000), 10);
      if (mark === undefined) throw new Error("there is one");
      await marks.set([one], at(0), true);
      await others.postpone(mark, at(3000));
      expect(await taken(marks, 1000)).toEqual([one]);
    });

    test("marks of a change request that wait become one, at the earliest of their times", async () => {
      await marks.set([one], at(10));
      await marks.set([one], at(20));
      await others.set([one], at(5));
      const [mark, ...more] = await marks.take(at(5), at(1000), 10);
      expect(more).toEqual([]);
      if (mark === undefined) throw new Error("there is one");
      await marks.remove(mark);
      expect(await taken(marks, 5000)).toEqual([]);
    });

    test("a mark that was set again while its change request was brought up to date stays, and is due at its own time", async () => {
      await marks.set([one], at(0));
      const [first] = await marks.take(at(0), at(1000), 10);
      await others.set([one], at(0));
      if (first === undefined) throw new Error("there is one");
      await marks.remove(first);
      const [second] = await marks.take(at(0), at(1000), 10);
      expect(second?.change).toEqual(one);
      expect(second?.turn).not.toBe(first.turn);
      // Late, from the first run.
      await marks.remove(first);
      expect(await taken(marks, 1000)).toEqual([one]);
    });

    test("a mark is that of its repository under every name, and keeps the last one", async () => {
      const known = { ...one, repositoryId: "11" };
      const renamed = { ...known, repository: repositoryName("acme/renamed") };
      await marks.set([known], at(0));
      await marks.set([renamed, { ...one, repositoryId: "22" }], at(0));
      expect(await inOrder(taken(marks, 0))).toEqual([renamed, { ...one, repositoryId: "22" }]);
    });

    test("only what identifies the change request is kept", async () => {
      await marks.set([{ ...one, title: "A title" } as ChangeRequestRef], at(0));
      expect(await taken(marks, 0)).toEqual([one]);
      await marks.concern({ ...one, title: "A title" } as ChangeRequestRef, [web]);
      expect(await marks.concernedBy(web)).toEqual([one]);
    });

    test("an application concerns whoever shows its state, until it is forgotten or 30 days later", async () => {
      await marks.concern(one, [web, api]);
      await marks.concern(one, [web]);
      await others.concern(two, [web]);
      expect(await inOrder(marks.concernedBy(web))).toEqual([one, two]);
      expect(await marks.concernedBy(api)).toEqual([one]);
      expect([...(await marks.applications())].sort()).toEqual([api, web].sort());
      await others.forget(one);
      expect(await marks.concernedBy(web)).toEqual([two]);
      expect(await marks.concernedBy(api)).toEqual([]);
      await marks.forget(three);
      expect(await marks.concernedBy(applicationName("nobody"))).toEqual([]);
      await under.expire(PLAN_LIFETIME_MS);
      expect(await marks.concernedBy(web)).toEqual([]);
    });

    test("what the host said of a change request last is known for 30 days, under every name of the repository", async () => {
      const known = { ...one, repositoryId: "11" };
      const note = { title: 'Scale "web" to 3', state: "open", draft: true } as const;
      expect(await marks.described([])).toEqual([]);
      await marks.describe(known, note);
      await marks.describe(two, { ...note, state: "merged", draft: false, body: "much more" } as ChangeNote);
      const renamed = { ...known, repository: repositoryName("acme/renamed") };
      expect(await others.described([two, { ...one, repositoryId: "22" }, renamed])).toEqual([
        { ...note, state: "merged", draft: false },
        undefined,
        note,
      ]);
      await others.describe(known, { ...note, draft: false });
      expect(await marks.described([known])).toEqual([{ ...note, draft: false }]);
      await under.expire(PLAN_LIFETIME_MS);
      expect(await marks.described([known, two])).toEqual([undefined, undefined]);
    });

    test("what a surface shows is known for 30 days, under every name of the repository, until it is not known any more", async () => {
      const known = { ...one, repositoryId: "11" };
      expect(await marks.written(known, "status")).toBeUndefined();
      await marks.wrote(known, "status", "abc");
      await marks.wrote(known, "plan", "def");
      expect(await others.written({ ...known, repository: repositoryName("acme/renamed") }, "status")).toBe("abc");
      expect(await others.written({ ...one, repositoryId: "22" }, "status")).toBeUndefined();
      await others.wrote(known, "status", undefined);
      expect(await marks.written(known, "status")).toBeUndefined();
      expect(await marks.written(known, "plan")).toBe("def");
      await under.expire(PLAN_LIFETIME_MS);
      expect(await marks.written(known, "plan")).toBeUndefined();
    });
  });
}
