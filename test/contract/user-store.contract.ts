import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { Cookie, type SessionData, type Store } from "express-session";
import { USER_KEPT_MS, type Account } from "../../src/core/model/account.js";
import type { AttemptCounter, UserStore } from "../../src/core/ports/stores.js";
import type { StoresUnderTest } from "./stores-under-test.js";

const ana: Account = {
  id: "hosta:583231",
  provider: "hosta",
  username: "ana",
  email: "ana@example.com",
  role: "user",
};
const olga: Account = {
  id: "basic:Olga O'Neil:*",
  provider: "basic",
  username: "olga",
  email: undefined,
  role: "admin",
};

const SESSION_MS = 24 * 60 * 60 * 1000;
const MINUTE_MS = 60_000;

/** What every `UserStore` must do, together with the sessions and the counter that belong to it. */
export function userStoreContract(name: string, start: () => Promise<StoresUnderTest>): void {
  describe(`user store: ${name}`, () => {
    let under: StoresUnderTest;
    let users: UserStore;
    let sessions: Store;
    let attempts: AttemptCounter;
    beforeAll(async () => {
      under = await start();
    });
    afterAll(() => under.stop());
    beforeEach(async () => {
      await under.clear();
      ({ users, sessions, attempts } = under.stores);
    });

    test("a person who logged in is found as they are", async () => {
      expect(await users.signIn(ana, SESSION_MS)).toEqual(ana);
      expect(await users.signIn(olga, SESSION_MS)).toEqual(olga);
      expect(await users.find(ana.id)).toEqual(ana);
      expect(await users.find(olga.id)).toEqual(olga);
      expect(await users.find("hosta:1")).toBeUndefined();
    });

    test("a later login brings the name, the address and the role up to date", async () => {
      await users.signIn(ana, SESSION_MS);
      const later: Account = { ...ana, username: "ana-maria", email: undefined, role: "admin" };
      expect(await users.signIn(later, SESSION_MS)).toEqual(later);
      expect(await users.find(ana.id)).toEqual(later);
    });

    test("a role that an admin set counts at once and at every later login, until an admin sets another", async () => {
      await users.signIn(ana, SESSION_MS);
      await users.signIn(olga, SESSION_MS);
      expect(await users.setRole(ana.id, "admin", olga)).toEqual({ kind: "set", account: { ...ana, role: "admin" } });
      expect(await users.find(ana.id)).toEqual({ ...ana, role: "admin" });
      expect(await users.signIn({ ...ana, username: "ana2" }, SESSION_MS)).toEqual({
        ...ana,
        username: "ana2",
        role: "admin",
      });
      expect(await users.setRole(ana.id, "user", olga)).toEqual({
        kind: "set",
        account: { ...ana, username: "ana2", role: "user" },
      });
      expect(await users.signIn({ ...ana, role: "admin" }, SESSION_MS)).toEqual(ana);
    });

    test("nobody gets a role who never logged in", async () => {
      expect(await users.setRole("hosta:1", "admin", olga)).toEqual({ kind: "unknown" });
      expect(await users.find("hosta:1")).toBeUndefined();
      expect(await users.signIn({ ...ana, id: "hosta:1" }, SESSION_MS)).toMatchObject({ role: "user" });
    });

    test("logins and changes of roles at the same time lose nothing", async () => {
      await users.signIn(ana, SESSION_MS);
      const logins = Array.from({ length: 10 }, (_, index) =>
        users.signIn({ ...ana, username: `ana${index}` }, SESSION_MS),
      );
      await Promise.all([...logins, users.setRole(ana.id, "admin", olga)]);
      expect(await users.find(ana.id)).toMatchObject({ username: expect.stringMatching(/^ana\d$/), role: "admin" });
    });

    test("those with a live session are listed, each once, by name", async () => {
      await users.signIn(olga, SESSION_MS);
      await users.signIn(ana, SESSION_MS);
      expect(await users.list()).toEqual([]);
      await put(sessions, "one", { accountId: olga.id });
      await put(sessions, "two", { accountId: ana.id });
      await put(sessions, "three", { accountId: ana.id });
      await put(sessions, "guest", {});
      await put(sessions, "stranger", { accountId: "hosta:1" });
      expect(await users.list()).toEqual([ana, olga]);
      expect([await users.list(olga.id), await users.list("hosta:1")]).toEqual([[olga], []]);
      await removeSession(sessions, "one");
      await removeSession(sessions, "two");
      expect(await users.list()).toEqual([ana]);
      await under.expire(SESSION_MS);
      expect(await users.list()).toEqual([]);
      expect(await users.find(ana.id)).toEqual(ana);
    });

    test("a person is forgotten 90 days after the last session, and not before", async () => {
      await users.signIn(ana, SESSION_MS);
      await users.signIn(olga, 2 * SESSION_MS);
      await under.expire(USER_KEPT_MS);
      // A later login with a shorter session takes nothing from what an earlier one still has.
      await users.signIn(olga, 0);
      await under.expire(SESSION_MS - MINUTE_MS);
      expect(await users.find(ana.id)).toEqual(ana);
      await under.expire(2 * MINUTE_MS);
      expect(await users.find(ana.id)).toBeUndefined();
      expect(await users.setRole(ana.id, "admin", olga)).toEqual({ kind: "unknown" });
      expect(await users.find(olga.id)).toEqual(olga);
      await under.expire(USER_KEPT_MS);
      expect(await users.find(olga.id)).toBeUndefined();
    });

    test("a later session does not shorten what an earlier, longer one keeps", async () => {
      await users.signIn(ana, 300 * SESSION_MS);
      await users.signIn(ana, SESSION_MS);
      await under.expire(389 * SESSION_MS);
      expect(await users.find(ana.id)).toEqual(ana);
      await under.expire(2 * SESSION_MS);
      expect(await users.find(ana.id)).toBeUndefined();
    });

    test("the role admin, if only an admin gave it, is forgotten with the person", async () => {
      await users.signIn(ana, SESSION_MS);
      await users.setRole(ana.id, "admin", olga);
      await under.expire(SESSION_MS + USER_KEPT_MS + MINUTE_MS);
      expect(await users.signIn(ana, SESSION_MS)).toEqual(ana);
    });

    test("the role user that an admin set is never forgotten: the rules would give back the other one", async () => {
      await users.signIn({ ...ana, role: "admin" }, SESSION_MS);
      await users.signIn(olga, SESSION_MS);
      await users.setRole(ana.id, "user", olga);
      await under.expire(10 * USER_KEPT_MS);
      expect(await users.find(ana.id)).toEqual(ana);
      expect(await users.signIn({ ...ana, role: "admin" }, SESSION_MS)).toEqual(ana);
      await under.expire(10 * USER_KEPT_MS);
      expect(await users.find(ana.id)).toEqual(ana);
      await users.setRole(ana.id, "admin", olga);
      await under.expire(USER_KEPT_MS - MINUTE_MS);
      expect(await users.find(ana.id)).toMatchObject({ role: "admin" });
      await under.expire(2 * MINUTE_MS);
      expect(await users.find(ana.id)).toBeUndefined();
    });

    describe("the last admin", () => {
      const admins = (...people: readonly Account[]) =>
        Promise.all(people.map((one) => users.signIn({ ...one, role: "admin" }, SESSION_MS)));

      test("keeps the role, whoever takes it", async () => {
        await admins(olga);
        await users.signIn(ana, SESSION_MS);
        expect(await users.setRole(olga.id, "user", olga)).toEqual({ kind: "last-admin" });
        expect(await users.setRole(olga.id, "user", ana)).toEqual({ kind: "last-admin" });
        expect(await users.find(olga.id)).toEqual(olga);
        await users.setRole(ana.id, "admin", olga);
        expect(await users.setRole(olga.id, "user", olga)).toMatchObject({ kind: "set", account: { role: "user" } });
        expect(await users.setRole(ana.id, "user", ana)).toEqual({ kind: "last-admin" });
      });

      test("is not somebody who only was one, is gone, or whose login was ended", async () => {
        const standing = { sealed: "s", askedAt: 1, provenAt: 1 };
        await admins(olga, ana);
        await users.setRole(ana.id, "user", olga);
        await users.signIn({ ...ana, role: "admin" }, SESSION_MS);
        expect(await users.setRole(olga.id, "user", olga)).toEqual({ kind: "last-admin" });
        const bo: Account = { ...ana, id: "hosta:77", username: "bo", role: "admin" };
        await users.signIn(bo, SESSION_MS, standing);
        await users.end(bo.id, standing);
        expect(await users.setRole(olga.id, "user", olga)).toEqual({ kind: "last-admin" });
        await users.signIn(bo, 0);
        await under.expire(USER_KEPT_MS + MINUTE_MS);
        expect(await users.setRole(olga.id, "user", olga)).toEqual({ kind: "last-admin" });
      });

      test("remains when several admins take the role from each other at the same time", async () => {
        const people = Array.from({ length: 5 }, (_, index) => ({
          ...ana,
          id: `hosta:${index}`,
          username: `p${index}`,
        }));
        for (let round = 0; round < 10; round += 1) {
          await under.clear();
          ({ users } = under.stores);
          await admins(...people);
          await Promise.all(people.map(({ id }, index) => users.setRole(id, "user", people[(index + 1) % 5] ?? ana)));
          const found = await Promise.all(people.map(({ id }) => users.find(id)));
          expect(found.filter((one) => one?.role === "admin")).toHaveLength(1);
        }
      });

      test("may be set to what it is, and users to user", async () => {
        await admins(olga);
        await users.signIn(ana, SESSION_MS);
        expect(await users.setRole(olga.id, "admin", olga)).toMatchObject({ kind: "set" });
        expect(await users.setRole(ana.id, "user", olga)).toMatchObject({ kind: "set" });
      });
    });

    describe("the standing of a person", () => {
      const first = { sealed: "sealed-1", askedAt: 1_700_000_000_000, provenAt: 1_700_000_000_000 };
      const second = { sealed: "sealed-2", askedAt: 1_700_000_900_000, provenAt: 1_700_000_000_000 };

      test("is what the last login left, as long as its session", async () => {
        expect(await users.standing(ana.id)).toBeUndefined();
        await users.signIn(ana, SESSION_MS, first);
        expect(await users.standing(ana.id)).toEqual(first);
        await users.signIn(ana, SESSION_MS, second);
        expect(await users.standing(ana.id)).toEqual(second);
        expect(await users.standing(olga.id)).toBeUndefined();
        await under.expire(SESSION_MS + MINUTE_MS);
        expect(await users.standing(ana.id)).toBeUndefined();
        expect(await users.find(ana.id)).toEqual(ana);
        await users.signIn(ana, SESSION_MS, first);
        await users.signIn(ana, SESSION_MS);
        expect(await users.standing(ana.id)).toBeUndefined();
      });

      test("is renewed once, with the profile and without the role of an admin, and lasts no longer", async () => {
        await users.signIn(ana, SESSION_MS, first);
        await users.setRole(ana.id, "admin", olga);
        const renamed: Account = { ...ana, username: "ana-maria", external: true };
        const tries = await Promise.all(Array.from({ length: 8 }, () => users.renew(ana.id, first, second, renamed)));
        expect(tries.filter(Boolean)).toHaveLength(1);
        expect(await users.standing(ana.id)).toEqual(second);
        expect(await users.find(ana.id)).toEqual({ ...renamed, role: "admin" });
        expect(await users.renew(ana.id, second, first)).toBe(true);
        expect(await users.find(ana.id)).toEqual({ ...renamed, role: "admin" });
        await under.expire(SESSION_MS + MINUTE_MS);
        expect(await users.renew(ana.id, first, second)).toBe(false);
        expect(await users.standing(ana.id)).toBeUndefined();
      });

      test("ends the login if nobody has renewed it since, and the next login begins anew", async () => {
        await users.signIn(olga, SESSION_MS);
        await users.signIn({ ...ana, role: "admin" }, SESSION_MS, first);
        await users.setRole(ana.id, "user", olga);
        await put(sessions, "one", { accountId: ana.id });
        expect(await users.end(ana.id, second)).toBe(false);
        expect(await users.list()).toEqual([ana]);
        expect(await users.end(ana.id, first)).toBe(true);
        expect([await users.find(ana.id), await users.standing(ana.id)]).toEqual([undefined, undefined]);
        expect(await users.list()).toEqual([]);
        expect(await users.renew(ana.id, first, second, ana)).toBe(false);
        expect(await users.setRole(ana.id, "admin", olga)).toEqual({ kind: "unknown" });
        expect(await users.signIn({ ...ana, role: "admin" }, SESSION_MS, second)).toEqual(ana);
        expect(await users.list()).toEqual([]);
        await put(sessions, "two", { accountId: ana.id });
        expect(await users.list()).toEqual([ana]);
      });

      test("of an earlier login ends nothing of a later one", async () => {
        await users.signIn(ana, SESSION_MS, first);
        await users.signIn(ana, SESSION_MS, second);
        expect(await users.end(ana.id, first)).toBe(false);
        expect(await users.renew(ana.id, first, { ...first, sealed: "x" }, { ...ana, role: "admin" })).toBe(false);
        expect(await users.find(ana.id)).toEqual(ana);
      });
    });

    test("a session comes back as it was written, until it ends or is removed", async () => {
      const attempt = {
        provider: "oidc",
        state: "s",
        codeVerifier: "v",
        nonce: "n",
        returnTo: "/",
        expiresAt: 5,
      } as const;
      await put(sessions, "one", { accountId: ana.id, expiresAt: 7, attempts: [attempt] });
      expect(await read(sessions, "one")).toMatchObject({ accountId: ana.id, expiresAt: 7, attempts: [attempt] });
      expect(await read(sessions, "two")).toBeFalsy();
      await put(sessions, "one", { accountId: olga.id });
      expect(await read(sessions, "one")).toMatchObject({ accountId: olga.id });
      await removeSession(sessions, "one");
      expect(await read(sessions, "one")).toBeFalsy();
      await put(sessions, "two", {});
      await under.expire();
      expect(await read(sessions, "two")).toBeFalsy();
    });

    test("attempts are counted by key, in a window that the first one opens", async () => {
      const [first, second] = [await attempts.add("192.0.2.1", 60_000), await attempts.add("192.0.2.1", 60_000)];
      expect([first.count, second.count]).toEqual([1, 2]);
      expect(second.resetsInMs).toBeGreaterThan(50_000);
      expect(second.resetsInMs).toBeLessThanOrEqual(60_000);
      expect((await attempts.add("2001:db8::/56", 60_000)).count).toBe(1);
      await under.expire();
      expect((await attempts.add("192.0.2.1", 60_000)).count).toBe(1);
    });
  });
}

function put(store: Store, sid: string, data: Partial<SessionData>): Promise<void> {
  return promisify((done: Done) => store.set(sid, { lifetimeMs: 3_600_000, ...data, cookie: new Cookie() }, done))();
}

function read(store: Store, sid: string): Promise<SessionData | null | undefined> {
  return promisify((done: Done<SessionData | null | undefined>) => store.get(sid, done))();
}

function removeSession(store: Store, sid: string): Promise<void> {
  return promisify((done: Done) => store.destroy(sid, done))();
}

type Done<T = void> = (error: Error | null, result: T) => void;
