import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import { HOSTS, startBot } from "./bot.js";
import { ownRedis } from "./own-redis.js";
import { changeOf } from "./resources.js";
import { ServiceLog } from "./service-log.js";

const WEB = changeOf(["web"]);
const NOT_USABLE = "not usable at start: ";
const CREDENTIAL_KEYS = { hosta: /github\.app_id.*github\.private_key/, hostb: /gitlab\.token/ };
const TITLES = { hosta: "GitHub", hostb: "GitLab" };

const redis = ownRedis();

describe.each(HOSTS)("operational messages on %s", (host) => {
  test("`failed to connect to <store>: connection refused`: store unreachable; the service starts, answers webhooks and recovers", async () => {
    await redis.server.kill();
    const log = new ServiceLog();
    const bot = await startBot({ host, log: log.write, stores: () => redis.stores() });
    const started = await log.first(`${NOT_USABLE}Redis`);
    expect(started).toMatchObject({
      problem: "failed to connect to Redis: connection refused",
      cure: expect.stringContaining("redis.address"),
    });
    const away = await fetch(`${bot.service.url}/ready`);
    expect(away.status).toBe(503);
    expect(await away.json()).toEqual({
      status: "unavailable",
      error: "failed to connect to Redis: connection refused",
    });
    expect((await fetch(`${bot.service.url}/health`)).status).toBe(200);
    const one = await bot.open(WEB);
    expect(bot.answers(one)).toEqual([]);
    await bot.comment(one, "svc plan");
    expect(bot.forge.deliveries.map(({ status }) => status)).not.toContain(503);
    expect(bot.lastComment(one)).toContain("failed to acquire lock");
    await redis.server.restart();
    await untilReady(bot.service.url);
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).toContain("**Status:** Locked by this PR");
  });

  test("a store that lost everything: a plan is enough for a rollback of what was deployed before", async () => {
    const bot = await startBot({ host, stores: () => redis.stores() });
    const one = await bot.open(WEB);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    await redis.server.restart();
    await untilReady(bot.service.url);
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("Next, comment:\n```\nsvc plan\n```");
    expect(bot.liveValue("web")).toBe("2");
    for (const command of ["svc plan", "svc rollback"]) await bot.comment(one, command);
    expect(bot.lastComment(one)).toContain("✅ succeeded, `main` is deployed");
    expect(bot.liveValue("web")).toBe("1");
  });

  test("`failed to connect to <deployer>`: deployer unreachable; the service starts, answers webhooks and recovers", async () => {
    const log = new ServiceLog();
    const bot = await startBot({
      host,
      log: log.write,
      prepare: ({ argocd }) => void argocd.faults.add({ fault: { kind: "drop" } }),
    });
    expect(await log.first(`${NOT_USABLE}Argo CD`)).toMatchObject({
      problem: expect.stringMatching(/^failed to connect to Argo CD/),
      cure: expect.stringContaining("argocd.server_url"),
    });
    const one = await bot.open(WEB);
    expect(bot.forge.deliveries).not.toHaveLength(0);
    expect(bot.forge.deliveries.every(({ status }) => status === 200)).toBe(true);
    expect(bot.lastComment(one)).toContain("failed to connect to Argo CD");
    expect(await bot.locked(one)).toEqual([]);
    bot.argocd.faults.clear();
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).toContain("**Status:** Locked by this PR");
  });

  test("`permission denied: applications, sync`: deployer token lacks permission", async () => {
    const log = new ServiceLog();
    const bot = await startBot({
      host,
      log: log.write,
      config: ({ argocd }) => ({
        deployer: { token: argocd.addAccount("reader", { permissions: "readonly" }) },
      }),
    });
    const one = await bot.open(WEB);
    expect(bot.lastComment(one)).toContain("**Status:** Locked by this PR");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("permission denied: applications, sync");
    expect(await bot.locked(one)).toEqual(["web"]);
    expect(log.text).toContain("permission denied: applications, sync");
  });

  test("a wrong Argo CD token is reported at start with its key, and in the reply that it causes", async () => {
    const log = new ServiceLog();
    const message = "invalid session: failed to verify the token";
    const body = JSON.stringify({ error: message, code: 16, message });
    const bot = await startBot({
      host,
      log: log.write,
      prepare: ({ argocd }) => void argocd.faults.add({ fault: { kind: "status", status: 401, body } }),
    });
    expect(await log.first(`${NOT_USABLE}Argo CD`)).toMatchObject({
      problem: expect.stringMatching(/^Argo CD does not accept argocd\.token/),
      cure: expect.stringContaining("argocd.token"),
    });
    const one = await bot.open(WEB);
    expect(bot.lastComment(one)).toContain("Argo CD does not accept argocd.token");
    expect(bot.lastComment(one)).toContain(message);
    expect(log.text + bot.answers(one).join("")).not.toContain(bot.world.argocdToken);
  });

  test("a wrong credential of the host is reported at start with its key, and at the command that it breaks", async () => {
    const log = new ServiceLog();
    const wrong = {
      hosta: () => ({ hosta: { private_key: otherKey() } }),
      hostb: () => ({ hostb: { token: "wrong-host-token" } }),
    };
    const bot = await startBot({ host, log: log.write, config: wrong[host]() });
    expect(await log.first(`${NOT_USABLE}${TITLES[host]}`)).toMatchObject({
      problem: expect.stringMatching(CREDENTIAL_KEYS[host]),
      cure: expect.stringMatching(CREDENTIAL_KEYS[host]),
    });
    const one = await bot.open(WEB);
    expect(bot.forge.deliveries.at(-1)).toMatchObject({ status: 200, body: '{"status":"accepted"}' });
    expect(await log.first("event failed")).toMatchObject({
      err: { message: expect.stringMatching(CREDENTIAL_KEYS[host]) },
    });
    // Without the credential there is no way to answer.
    expect(bot.answers(one)).toEqual([]);
    expect(log.text).not.toContain("wrong-host-token");
  });

  test("a host that is away at start hinders nothing: webhooks are answered, and commands work once it is back", async () => {
    const log = new ServiceLog();
    const bot = await startBot({
      host,
      log: log.write,
      prepare: (_, forge) => void forge.faults.add({ fault: { kind: "drop" } }),
    });
    const started = await log.first(`${NOT_USABLE}${TITLES[host]}`);
    expect(started).toMatchObject({ problem: expect.stringContaining("could not be reached") });
    const one = await bot.open(WEB);
    expect(bot.forge.deliveries.at(-1)).toMatchObject({ status: 200, body: '{"status":"accepted"}' });
    bot.forge.faults.clear();
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).toContain("**Status:** Locked by this PR");
  });
});

/** Redis is used again as soon as it answers, within about a second. */
async function untilReady(url: string): Promise<void> {
  for (;;) {
    const { status } = await fetch(`${url}/ready`);
    if (status === 200) return;
  }
}

function otherKey(): string {
  const { privateKey } = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  return privateKey;
}
