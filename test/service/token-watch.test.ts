import { describe, expect, test } from "@jest/globals";
import { HostFailure } from "../../src/core/model/errors.js";
import type { Notification } from "../../src/core/model/notification.js";
import { expiryOf, TokenWatch } from "../../src/service/token-watch.js";
import type { Stores } from "../../src/store/stores.js";
import { JumpClock } from "../jump-clock.js";
import { recordingLog } from "../recording-log.js";
import { ownRedis } from "../scenarios/own-redis.js";

const START = "2026-03-01T12:00:00.000Z";
const DAY = 24 * 60 * 60_000;
const redis = ownRedis();

const encoded = (claims: unknown) => Buffer.from(JSON.stringify(claims)).toString("base64url");
const jwt = (claims: unknown) => `${encoded({ alg: "HS256" })}.${encoded(claims)}.c2lnbmVk`;
const endingAt = (iso: string) => jwt({ sub: "svc:apiKey", exp: Date.parse(iso) / 1000 });

interface Gitlab {
  expires: Date | undefined;
  failure?: HostFailure;
}

/** Two replicas, and the expiry that GitLab reports. */
function replicas(connection: Stores["connection"], deployerToken: string, gitlab: Gitlab) {
  const clock = new JumpClock(Date.parse(START));
  const log = recordingLog();
  const told = new Map<string, Notification>();
  const hosts = [
    {
      id: "hostb" as const,
      tokenExpires: () => (gitlab.failure ? Promise.reject(gitlab.failure) : Promise.resolve(gitlab.expires)),
    },
  ];
  const notifications = {
    // As the outbox: an id is taken once.
    publish: (one: Notification) => Promise.resolve(void told.set(one.id, told.get(one.id) ?? one)),
  };
  const parts = { hosts, deployerToken, notifications, connection, clock, log };
  const watches = [new TokenWatch(parts), new TokenWatch(parts)];
  const look = async () => {
    const before = told.size;
    await Promise.all(watches.map((watch) => watch.look()));
    return [...told.values()].slice(before);
  };
  return { clock, log, watches, look };
}

test("receivers are told 30 days and 7 days before, once over all replicas and restarts; a new token starts anew", async () => {
  const stores = [redis.stores(), redis.stores()];
  const gitlab = { expires: new Date("2026-04-02T00:00:00Z") as Date | undefined };
  const { clock, look } = replicas(stores[0]?.connection, "no JSON Web Token", gitlab);
  expect(await look()).toEqual([]);
  clock.advance(DAY);
  expect(await look()).toMatchObject([
    { kind: "token-expires", system: "GitLab", expires: "2026-04-02T00:00:00.000Z", days: 30 },
  ]);
  clock.advance(DAY);
  expect(await look()).toEqual([]);
  // Another process, which has published nothing yet.
  const fresh = replicas(stores[1]?.connection, "no JSON Web Token", gitlab);
  fresh.clock.advance(5 * DAY);
  expect(await fresh.look()).toEqual([]);
  fresh.clock.advance(19 * DAY);
  expect(await fresh.look()).toMatchObject([{ system: "GitLab", days: 7 }]);
  expect(await fresh.look()).toEqual([]);
  gitlab.expires = new Date("2026-04-20T00:00:00Z");
  expect(await fresh.look()).toMatchObject([{ expires: "2026-04-20T00:00:00.000Z", days: 25 }]);
  gitlab.expires = undefined;
  expect(fresh.watches[0]?.expiries()).toHaveLength(1);
  await fresh.look();
  expect(fresh.watches[0]?.expiries()).toEqual([]);
  await Promise.all(stores.map((one) => one.close()));
});

test("Argo CD's token counts by its own `exp`, which is read without its text being logged", async () => {
  const token = endingAt("2026-03-05T12:00:00Z");
  const { log, look, watches } = replicas(undefined, token, { expires: undefined });
  expect(watches[0]?.expiries()).toEqual([{ system: "Argo CD", at: new Date("2026-03-05T12:00:00Z") }]);
  expect(await look()).toMatchObject([{ system: "Argo CD", days: 4 }]);
  expect(log.lines).toContainEqual({
    level: "warn",
    text: "a token expires soon",
    fields: { system: "Argo CD", expires: "2026-03-05T12:00:00.000Z", days: 4 },
  });
  for (const part of token.split(".")) expect(JSON.stringify(log.lines)).not.toContain(part);
});

test("a host that does not answer keeps what is known, and is logged", async () => {
  const gitlab: Gitlab = { expires: new Date("2026-03-20T00:00:00Z") };
  const { watches, look, log } = replicas(undefined, "none", gitlab);
  await look();
  gitlab.failure = new HostFailure("failed", "GitLab failed");
  await look();
  expect(watches[0]?.expiries()).toHaveLength(1);
  expect(log.lines.map(({ text }) => text)).toContain("could not read when a token expires");
});

describe("a token without a usable `exp` never expires", () => {
  test.each([
    ["", "an opaque text"],
    ["a.b.c", "parts that are no JSON"],
    [jwt({ sub: "svc" }), "no exp"],
    [jwt({ exp: "soon" }), "an exp that is no number"],
    [jwt({ exp: -1 }), "a negative exp"],
    [jwt({ exp: 1e300 }), "an exp beyond all dates"],
    [jwt(null), "no claims"],
    [`x.${"A".repeat(20_000)}.y`, "a text of any length"],
  ])("%#", (token) => {
    expect(expiryOf(token)).toBeUndefined();
  });
});
