import { describe, expect, test } from "@jest/globals";
import type { SandboxWorld } from "../../../sandbox/world.js";
import { createRedisStores } from "../../../src/store/redis/redis-stores.js";
import { recordingLog } from "../../recording-log.js";
import { RedisServer } from "../../redis-server.js";
import { HOSTS, startBot, type Bot } from "../../scenarios/bot.js";
import { changeOf } from "../../scenarios/resources.js";
import { Visitor } from "../visitor.js";
import { CLIENT } from "./forges.js";
import { BASE_URL, SESSION_SECRET } from "./site.js";

const CALLBACKS = { hosta: `${BASE_URL}/auth/hosta/callback`, hostb: `${BASE_URL}/auth/hostb/callback` };

/** Registers the service at whichever host there is, where everybody signs in as `olga`. */
function register({ github, gitlab }: SandboxWorld): void {
  const client = { clientId: CLIENT.client_id, clientSecret: CLIENT.client_secret };
  github?.login.registerApp({ ...client, callbackUrl: CALLBACKS.hosta });
  const scopes = ["read_user", "read_api"];
  gitlab?.login.registerApplication({ ...client, redirectUris: [CALLBACKS.hostb], scopes });
  for (const forge of [github, gitlab]) if (forge !== undefined) forge.login.signedIn = "olga";
}

function authOf({ gitlab }: SandboxWorld) {
  const url = gitlab === undefined ? undefined : { url: gitlab.url };
  return {
    auth: {
      enabled: true,
      session_secret: SESSION_SECRET,
      cookie_secure: false,
      role_assignments: [{ pattern: "olga@example.com", role: "admin" }],
      [gitlab === undefined ? "hosta" : "hostb"]: { ...CLIENT, ...url },
    },
  };
}

function browserAt(bot: Bot): Visitor {
  return new Visitor(BASE_URL, { [BASE_URL]: bot.service.url });
}

describe.each(HOSTS)("the whole service with a login at %s", (host) => {
  test("shows its pages to nobody before the login, and to an admin more than to a user", async () => {
    const bot = await startBot({ host, applications: ["web"], prepare: register, config: authOf });
    await bot.open(changeOf(["web"], "2"));
    const visitor = browserAt(bot);
    const before = await visitor.open("/");
    expect(before.url.pathname).toBe("/login");
    expect(before.text).not.toContain("acme/deploy");
    expect((await visitor.ask("/api/v1/locks")).status).toBe(401);
    const page = await visitor.open(`/auth/${host}/login?return_to=/`);
    expect([page.status, page.url.pathname]).toEqual([200, "/"]);
    expect(page.text).toContain("acme/deploy");
    const users = JSON.parse((await visitor.ask("/api/v1/users")).text) as unknown;
    expect(users).toMatchObject({ users: [{ username: "olga", role: "admin", provider: host }] });
  });

  test("a store that stops answering during a login loses nothing", async () => {
    const redis = await RedisServer.start();
    const parts = { address: redis.address, db: 0, tls: false };
    const stores = () => createRedisStores(parts, { log: recordingLog() });
    const bot = await startBot({ host, applications: ["web"], prepare: register, config: authOf, stores });
    try {
      while ((await fetch(`${bot.service.url}/ready`)).status !== 200);
      const visitor = browserAt(bot);
      const provider = (await visitor.ask(`/auth/${host}/login`)).headers.get("location") ?? "";
      const callback = (await visitor.ask(provider)).headers.get("location") ?? "";
      redis.freeze();
      expect((await visitor.ask(callback)).status).toBe(503);
      expect((await visitor.ask(`/auth/${host}/login`)).status).toBe(503);
      redis.thaw();
      expect((await visitor.ask(callback)).status).toBe(303);
      expect((await visitor.ask("/auth/me")).status).toBe(200);
    } finally {
      await bot.end();
      await redis.stop();
    }
  });
});
