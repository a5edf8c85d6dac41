import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { applicationName, repositoryName, revision, type ApplicationName } from "../../src/core/model/brand.js";
import { changeRequestKey, sameChangeRequest, type ChangeRequestRef } from "../../src/core/model/change-request.js";
import type { LockRequest } from "../../src/core/model/lock.js";
import type { LockStore } from "../../src/core/ports/stores.js";
import type { StoresUnderTest } from "./stores-under-test.js";

const web = applicationName("web");
const api = applicationName("argocd-apps/api");
const first = revision("1".repeat(40));
const second = revision("2".repeat(40));
const later = new Date("2026-03-02T11:30:00.000Z");
const now = new Date("2026-03-02T10:00:00.000Z");

const one: ChangeRequestRef = { host: "hosta", repository: repositoryName("acme/deploy"), number: 1 };
/** Each differs from `one` in a single member. */
const others: readonly ChangeRequestRef[] = [
  { ...one, number: 2 },
  { ...one, repository: repositoryName("acme/other") },
  { ...one, host: "hostb" },
];

/** One change request under both names of its repository, and one of another repository that got the first name. */
const known = { ...one, repositoryId: "11" };
const renamed = { ...known, repository: repositoryName("acme/renamed") };
const newcomer = { ...one, repositoryId: "22" };

function request(holder: ChangeRequestRef, changes: Partial<LockRequest> = {}): LockRequest {
  return { application: web, holder, user: "ana", planRevision: undefined, sourceFile: undefined, ...changes };
}

/** What every `LockStore` must do. */
export function lockStoreContract(name: string, start: () => Promise<StoresUnderTest>): void {
  describe(`lock store: ${name}`, () => {
    let under: StoresUnderTest;
    let locks: LockStore;
    beforeAll(async () => {
      under = await start();
    });
    afterAll(() => under.stop());
    beforeEach(async () => {
      await under.clear();
      locks = under.stores.locks;
    });

    test("a free lock is acquired and found with all its members", async () => {
      const sourceFile = 'apps/web "ü"/\\application.yaml';
      const lock = { ...request(one, { planRevision: first, sourceFile }), timestamp: now.toISOString() };
      const attempt = await locks.acquire(request(one, { planRevision: first, sourceFile }), now);
      expect(attempt).toEqual({ kind: "acquired", lock, fresh: true });
      expect(await locks.find(web)).toEqual(lock);
    });

    test("a lock without plan revision and source file comes back without them", async () => {
      await locks.acquire(request(one), now);
      const lock = await locks.find(web);
      expect(lock).toBeDefined();
      expect(lock?.planRevision).toBeUndefined();
      expect(lock?.sourceFile).toBeUndefined();
    });

    test("a refresh keeps the timestamp, and what the request leaves undefined", async () => {
      await locks.acquire(request(one, { planRevision: first, sourceFile: "apps/web.yaml" }), now);
      const attempt = await locks.acquire(request(one, { user: "bo" }), later);
      const lock = {
        ...request(one, { user: "bo", planRevision: first, sourceFile: "apps/web.yaml" }),
        timestamp: now.toISOString(),
      };
      expect(attempt).toEqual({ kind: "acquired", lock, fresh: false });
      expect(await locks.find(web)).toEqual(lock);
    });

    test("a refresh replaces the plan revision and the source file", async () => {
      await locks.acquire(request(one, { planRevision: first, sourceFile: "old.yaml" }), now);
      await locks.acquire(request(one, { planRevision: second, sourceFile: "new.yaml" }), later);
      expect(await locks.find(web)).toMatchObject({ planRevision: second, sourceFile: "new.yaml" });
      await locks.acquire(request(one, { planRevision: second }), later);
      expect((await locks.find(web))?.sourceFile).toBeUndefined();
    });

    test.each(others.map((other) => [changeRequestKey(other), other] as const))(
      "%s takes the lock over only from the change request that it names",
      async (_name, other) => {
        await locks.acquire(request(one, { planRevision: first, sourceFile: "apps/web.yaml" }), now);
        for (const wrong of others) {
          expect((await locks.acquire(request(other), later, wrong)).kind).toBe("held");
        }
        const lock = { ...request(other), timestamp: later.toISOString() };
        expect(await locks.acquire(request(other), later, one)).toEqual({ kind: "acquired", lock, fresh: true });
        expect(await locks.find(web)).toEqual(lock);
        expect((await locks.acquire(request(one), later)).kind).toBe("held");
      },
    );

    test("naming another change request neither takes a lock from a third one, nor changes how one's own is refreshed", async () => {
      const [two, three] = others;
      if (two === undefined || three === undefined) throw new Error("three change requests are needed");
      const free = await locks.acquire(request(one, { planRevision: first }), now, two);
      expect(free).toMatchObject({ kind: "acquired", fresh: true });
      const own = { ...request(one, { planRevision: first }), timestamp: now.toISOString() };
      expect(await locks.acquire(request(one), later, two)).toEqual({ kind: "acquired", lock: own, fresh: false });
      expect(await locks.acquire(request(one), later, one)).toEqual({ kind: "acquired", lock: own, fresh: false });
      expect((await locks.acquire(request(three), later, two)).kind).toBe("held");
    });

    test.each(others.map((other) => [changeRequestKey(other), other] as const))(
      "%s does not take, refresh or release the lock",
      async (_name, other) => {
        await locks.acquire(request(one, { planRevision: first }), now);
        const lock = await locks.find(web);
        expect(await locks.acquire(request(other, { planRevision: second, user: "bo" }), later)).toEqual({
          kind: "held",
          lock,
        });
        expect(await locks.release(web, other)).toBe(false);
        expect(await locks.find(web)).toEqual(lock);
        expect(await locks.list(other)).toEqual([]);
      },
    );

    test("the holder releases its lock once, and then it is free for others", async () => {
      await locks.acquire(request(one), now);
      expect(await locks.release(web, one)).toBe(true);
      expect(await locks.release(web, one)).toBe(false);
      expect(await locks.find(web)).toBeUndefined();
      expect(await locks.acquire(request({ ...one, number: 2 }), now)).toMatchObject({ kind: "acquired", fresh: true });
    });

    test("a lock is that of its repository under every name, and takes the newest with a refresh", async () => {
      await locks.acquire(request(known, { planRevision: first }), now);
      expect(await locks.list(renamed)).toHaveLength(1);
      const attempt = await locks.acquire(request(renamed), later);
      const lock = { ...request(renamed, { planRevision: first }), timestamp: now.toISOString() };
      expect(attempt).toEqual({ kind: "acquired", lock, fresh: false });
      expect(await locks.find(web)).toEqual(lock);
      expect(await locks.release(web, known)).toBe(true);
    });

    test("another repository that got the name neither takes, nor refreshes, nor releases the lock, nor lends it to anybody", async () => {
      await locks.acquire(request(known, { planRevision: first }), now);
      const lock = await locks.find(web);
      expect(await locks.acquire(request(newcomer, { planRevision: second }), later)).toEqual({ kind: "held", lock });
      expect(await locks.acquire(request({ ...one, number: 2 }), later, newcomer)).toEqual({ kind: "held", lock });
      expect(await locks.release(web, newcomer)).toBe(false);
      expect(await locks.list(newcomer)).toEqual([]);
      expect(await locks.find(web)).toEqual(lock);
      const taken = await locks.acquire(request({ ...one, number: 2 }), later, renamed);
      expect(taken).toMatchObject({ kind: "acquired", fresh: true });
    });

    test("what has no id goes by name, gets one with a refresh, and never loses it", async () => {
      await locks.acquire(request(one), now);
      expect(await locks.acquire(request(renamed), later)).toMatchObject({ kind: "held" });
      expect((await locks.acquire(request(known), later)).lock.holder).toEqual(known);
      expect((await locks.acquire(request(one), later)).lock.holder).toEqual(known);
      expect(await locks.acquire(request(newcomer), later)).toMatchObject({ kind: "held" });
    });

    test("an expired lock is gone from every answer and can be taken by another", async () => {
      await locks.acquire(request(one, { planRevision: first }), now);
      await under.expire();
      expect(await locks.find(web)).toBeUndefined();
      expect(await locks.list()).toEqual([]);
      expect(await locks.release(web, one)).toBe(false);
      const attempt = await locks.acquire(request({ ...one, number: 2 }), later);
      expect(attempt).toMatchObject({ kind: "acquired", fresh: true, lock: { timestamp: later.toISOString() } });
      expect(attempt.lock.planRevision).toBeUndefined();
    });

    test("lists are sorted by application and narrowed by holder", async () => {
      const two = { ...one, number: 2 };
      await locks.acquire(request(one, { application: web }), now);
      await locks.acquire(request(two, { application: applicationName("shop") }), now);
      await locks.acquire(request(one, { application: api }), now);
      expect((await locks.list()).map((lock) => lock.application)).toEqual([api, "shop", web]);
      expect((await locks.list(one)).map((lock) => lock.application)).toEqual([api, web]);
      expect(await locks.list({ ...one, number: 3 })).toEqual([]);
    });

    test("of 20 that ask at once exactly one gets the lock, and all others learn who", async () => {
      const asked = Array.from({ length: 20 }, (_, index) => ({ ...one, number: index + 1 }));
      const attempts = await Promise.all(asked.map((holder) => locks.acquire(request(holder), now)));
      const winners = attempts.filter((attempt) => attempt.kind === "acquired");
      expect(winners).toHaveLength(1);
      const winner = winners[0]?.lock.holder;
      for (const attempt of attempts) expect(attempt.lock.holder).toEqual(winner);
      expect((await locks.find(web))?.holder).toEqual(winner);
    });

    test("it answers a ping", async () => {
      await expect(locks.ping()).resolves.toBeUndefined();
    });

    test("any sequence of acquires, releases and expiries behaves like one holder per application", async () => {
      const holders = [one, ...others, known, renamed, newcomer];
      const applications = [web, api];
      const step = fc.oneof(
        { weight: 6, arbitrary: acquireStep(holders, applications) },
        { weight: 3, arbitrary: releaseStep(holders, applications) },
        { weight: 1, arbitrary: fc.constant({ kind: "expire" } as const) },
      );
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
          await under.clear();
          await followModel(under, steps);
        }),
        { numRuns: 60 },
      );
    });
  });
}

function acquireStep(holders: readonly ChangeRequestRef[], applications: readonly ApplicationName[]) {
  const asked = fc.record({
    holder: fc.constantFrom(...holders),
    application: fc.constantFrom(...applications),
    planRevision: fc.constantFrom(undefined, first, second),
    user: fc.string({ unit: "grapheme", maxLength: 8 }),
    sourceFile: fc.option(fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 }), { nil: undefined }),
  });
  return asked.map((request) => ({ kind: "acquire", request }) as const);
}

function releaseStep(holders: readonly ChangeRequestRef[], applications: readonly ApplicationName[]) {
  return fc.record({
    kind: fc.constant("release" as const),
    by: fc.constantFrom(...holders),
    application: fc.constantFrom(...applications),
  });
}

type Step =
  | { readonly kind: "acquire"; readonly request: LockRequest }
  | { readonly kind: "release"; readonly by: ChangeRequestRef; readonly application: ApplicationName }
  | { readonly kind: "expire" };

async function followModel(under: StoresUnderTest, steps: readonly Step[]): Promise<void> {
  const { locks } = under.stores;
  const model = new Map<ApplicationName, { holder: ChangeRequestRef; timestamp: string; rest: Partial<LockRequest> }>();
  for (const [index, step] of steps.entries()) {
    if (step.kind === "expire") {
      await under.expire();
      model.clear();
    } else if (step.kind === "release") {
      const held = model.get(step.application);
      const mayRelease = held !== undefined && sameChangeRequest(held.holder, step.by);
      expect(await locks.release(step.application, step.by)).toBe(mayRelease);
      if (mayRelease) model.delete(step.application);
    } else {
      const at = new Date(now.getTime() + index);
      const held = model.get(step.request.application);
      const attempt = await locks.acquire(step.request, at);
      if (held === undefined || sameChangeRequest(held.holder, step.request.holder)) {
        expect(attempt).toMatchObject({ kind: "acquired", fresh: held === undefined });
        model.set(step.request.application, {
          holder: { ...held?.holder, ...step.request.holder },
          timestamp: held?.timestamp ?? at.toISOString(),
          rest: {
            user: step.request.user,
            planRevision: step.request.planRevision ?? held?.rest.planRevision,
            sourceFile:
              step.request.sourceFile ?? (step.request.planRevision === undefined ? held?.rest.sourceFile : undefined),
          },
        });
      } else expect(attempt.kind).toBe("held");
      expect(attempt.lock.holder).toEqual(model.get(step.request.application)?.holder);
    }
    const expected = [...model].map(([application, { rest, ...lock }]) => ({ application, ...lock, ...rest }));
    const actual = await locks.list();
    expect(actual).toHaveLength(expected.length);
    expect(actual).toEqual(expect.arrayContaining(expected));
  }
}
