import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { SessionData } from "express-session";
import type { Account } from "../../src/core/model/account.js";
import { setRole } from "../../src/service/set-role.js";
import { createRedisStores } from "../../src/store/redis/redis-stores.js";
import type { Stores } from "../../src/store/stores.js";
import { configOf, SMALLEST } from "../config/server-file.js";
import { recordingLog } from "../recording-log.js";
import { RedisServer } from "../redis-server.js";

const ANA: Account = { id: "oidc:7", provider: "oidc", username: "ana\u001b[2J", email: "ana@a.org", role: "user" };

let redis: RedisServer;
let stores: Stores;

beforeAll(async () => {
  redis = await RedisServer.start();
  stores = createRedisStores({ address: redis.address, db: 0, tls: false }, { log: recordingLog() });
});
afterAll(async () => {
  await stores.close();
  await redis.stop();
});

const config = () => configOf([`${SMALLEST}redis: { address: "${redis.address}" }\n`]);

test("somebody who has logged in gets the role, and keeps it at the next login", async () => {
  await stores.users.signIn(ANA, 60_000);
  const set = await setRole(config(), { id: "oidc:7", role: "admin" });
  expect(set).toMatchObject({ exitCode: 0, lines: [expect.stringContaining("(oidc:7) has the role admin")] });
  expect(set.lines.join("")).not.toContain("\u001b");
  expect((await stores.users.find("oidc:7"))?.role).toBe("admin");
  expect((await stores.users.signIn(ANA, 60_000)).role).toBe("admin");
  const reason = expect.stringMatching(/\(oidc:7\) has the role admin, by `users set-role` on the command line$/);
  expect(await stores.audit.list({ limit: 2 })).toMatchObject([{ who: "svc", action: "role-changed", reason }]);
});

test("the last admin keeps the role, and an unknown id is answered with who is logged in", async () => {
  const last = await setRole(config(), { id: "oidc:7", role: "user" });
  expect(last).toMatchObject({ exitCode: 1, lines: [expect.stringContaining("last admin")] });
  const nobody = await setRole(config(), { id: "oidc:8", role: "admin" });
  expect(nobody.exitCode).toBe(1);
  expect(nobody.lines.join("\n")).toMatch(/"oidc:8" has logged in.*\nnobody is logged in$/);
  await new Promise<void>((resolve, reject) => {
    const session = { accountId: "oidc:7", lifetimeMs: 60_000 } as unknown as SessionData;
    stores.sessions.set("a", session, (error) => (error instanceof Error ? reject(error) : resolve()));
  });
  const known = await setRole(config(), { id: "oidc:8", role: "admin" });
  expect(known.lines.slice(1)).toEqual(["logged in now:", "  oidc:7  admin  ana?[2J  ana@a.org"]);
});
