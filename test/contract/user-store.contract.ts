import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { Cookie, type SessionData, type Store } from "express-session";
import type { Account } from "../../src/core/model/account.js";
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
      expect(await users.signIn(ana)).toEqual(ana);
      expect(await users.signIn(olga)).toEqual(olga);
      expect(await users.find(ana.id)).toEqual(ana);
      expect(await users.find(olga.id)).toEqual(olga);
      expect(await users.find("hosta:1")).toBeUndefined();
    });

    test("a later login brings the name, the address and the role up to date", async () => {
      await users.signIn(ana);
      const later: Account = { ...ana, username: "ana-maria", email: undefined, role: "admin" };
      expect(await users.signIn(later)).toEqual(later);
      expect(await users.find(ana.id)).toEqual(later);
    });

    test("a role that an admin set counts at once and at every later login, until an admin sets another", async () => {
      await users.signIn(ana);
      expect(await users.setRole(ana.id, "admin", olga)).toEqual({ ...ana, role: "admin" });
      expect(await users.find(ana.id)).toEqual({ ...ana, role: "admin" });
      expect(await users.signIn({ ...ana, username: "ana2" })).toEqual({ ...ana, username: "ana2", role: "admin" });
      expect(await users.setRole(ana.id, "user", olga)).toEqual({ ...ana, username: "ana2", role: "user" });
      expect(await users.signIn({ ...ana, role: "admin" })).toEqual(ana);
    });

    test("nobody gets a role who never logged in", async () => {
      expect(await users.setRole("hosta:1", "admin", olga)).toBeUndefined();
      expect(await users.find("hosta:1")).toBeUndefined();
      expect(await users.signIn({ ...ana, id: "hosta:1" })).toMatchObject({ role: "user" });
    });

    test("logins and changes of roles at the same time lose nothing", async () => {
      await users.signIn(ana);
      const logins = Array.from({ length: 10 }, (_, index) => users.signIn({ ...ana, username: `ana${index}` }));
      await Promise.all([...logins, users.setRole(ana.id, "admin", olga)]);
      expect(await users.find(ana.id)).toMatchObject({ username: expect.stringMatching(/^ana\d$/), role: "admin" });
    });

    test("those with a live session are listed, each once, by name", async () => {
      await users.signIn(olga);
      await users.signIn(ana);
      expect(await users.list()).toEqual([]);
      await put(sessions, "one", { accountId: olga.id });
      await put(sessions, "two", { accountId: ana.id });
      await put(sessions, "three", { accountId: ana.id });
      await put(sessions, "guest", {});
      await put(sessions, "stranger", { accountId: "hosta:1" });
      expect(await users.list()).toEqual([ana, olga]);
      await removeSession(sessions, "one");
      await removeSession(sessions, "two");
      expect(await users.list()).toEqual([ana]);
      await under.expireAll();
      expect(await users.list()).toEqual([]);
      expect(await users.find(ana.id)).toEqual(ana);
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
      await under.expireAll();
      expect(await read(sessions, "two")).toBeFalsy();
    });

    test("attempts are counted by key, in a window that the first one opens", async () => {
      const [first, second] = [await attempts.add("192.0.2.1", 60_000), await attempts.add("192.0.2.1", 60_000)];
      expect([first.count, second.count]).toEqual([1, 2]);
      expect(second.resetsInMs).toBeGreaterThan(50_000);
      expect(second.resetsInMs).toBeLessThanOrEqual(60_000);
      expect((await attempts.add("2001:db8::/56", 60_000)).count).toBe(1);
      await under.expireAll();
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
