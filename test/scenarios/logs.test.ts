import { describe, expect, test } from "@jest/globals";
import { stringify } from "yaml";
import { appKeys, GITLAB_TOKEN } from "../../sandbox/world.js";
import { createRedisStores } from "../../src/store/redis/redis-stores.js";
import { recordingLog } from "../recording-log.js";
import { RedisServer } from "../redis-server.js";
import { HOSTS, startBot, type Bot } from "./bot.js";
import { changeOf } from "./resources.js";
import { ServiceLog } from "./service-log.js";

const PRIVATE_WORDS = "the-merger-is-on-friday";

function secret(value: string): string {
  return stringify({ apiVersion: "v1", kind: "Secret", metadata: { name: "login" }, stringData: { password: value } });
}

/** A conversation in which much goes well and much goes wrong. */
async function converse(bot: Bot): Promise<number> {
  const one = await bot.open({ ...changeOf(["web"]), "apps/web/secret.yaml": secret("new-s3cret") });
  bot.expectChanges("sync web");
  await bot.comment(one, `svc sync\n${PRIVATE_WORDS}`);
  await bot.comment(one, `svc deploy ${PRIVATE_WORDS}`);
  await bot.comment(one, PRIVATE_WORDS);
  await bot.push(one, { "apps/web/secret.yaml": secret("newest-s3cret") });
  bot.argocd.failNextSync("web", { phase: "Failed", message: "the cluster said no" });
  await bot.comment(one, "svc sync");
  bot.argocd.faults.add({ path: /\/web\/(?:sync|manifests)$/, times: 2, fault: { kind: "status", status: 500 } });
  await bot.comment(one, "svc sync");
  await bot.comment(one, "svc plan");
  for (const fault of [
    { kind: "status", status: 401, body: '{"message":"no"}' },
    { kind: "status", status: 404 },
    { kind: "half-json" },
    { kind: "drop" },
  ] as const) {
    const remove = bot.forge.faults.add({ path: /collaborators|members|\.git\/|comments|notes/, fault });
    await bot.comment(one, "svc plan");
    remove();
  }
  bot.argocd.faults.add({
    path: /^\/api\/v1\/applications$/,
    times: 1,
    fault: { kind: "redirect", to: "http://127.0.0.1:9/" },
  });
  bot.clock.advance(60_000);
  await bot.comment(one, "svc plan");
  await bot.comment(one, "svc rollback");
  const event = {
    "content-type": "application/json",
    "x-github-event": "issue_comment",
    "x-gitlab-token": "wrong-s3cret",
  };
  const body = JSON.stringify({ comment: { body: PRIVATE_WORDS } });
  await fetch(`${bot.service.url}/webhook/${bot.host}`, { method: "POST", headers: event, body });
  await bot.comment(one, "svc unlock");
  await bot.close(one);
  return one;
}

describe.each(HOSTS)("logs on %s", (host) => {
  test("at debug level, over a whole conversation with failures: no secret, token, key or comment text", async () => {
    const log = new ServiceLog();
    const bot = await startBot({
      host,
      git: true,
      log: log.write,
      files: () => ({ "apps/web/secret.yaml": secret("old-s3cret") }),
    });
    const one = await converse(bot);
    expect(log.lines.length).toBeGreaterThan(20);
    expect(log.text).toContain("command failed");
    const credentials = bot.forge.requests.flatMap(({ authorization }) => authorization?.split(" ") ?? []);
    const decoded = credentials.flatMap((text) => [
      text,
      Buffer.from(text, "base64").toString().split(":").at(-1) ?? "",
    ]);
    const secrets = [
      ...decoded.filter((text) => /^[\w.-]{12,}$/.test(text)),
      ...appKeys()
        .privateKey.split("\n")
        .filter((line) => line.length > 30 && !line.startsWith("-")),
      bot.world.argocdToken,
      GITLAB_TOKEN,
      "sandbox-webhook-secret",
      "wrong-s3cret",
      "PRIVATE KEY",
      ...["old-s3cret", "new-s3cret", "newest-s3cret"].flatMap((value) => [
        value,
        Buffer.from(value).toString("base64"),
      ]),
    ];
    expect(secrets.length).toBeGreaterThan(15);
    for (const text of secrets) expect([text, log.text.includes(text)]).toEqual([text, false]);
    expect(log.text).not.toContain(PRIVATE_WORDS);
    const answered = JSON.stringify([bot.answers(one), await bot.stores.plans.find(bot.ref(one))]);
    for (const text of secrets) expect([text, answered.includes(text)]).toEqual([text, false]);
  });

  test("delivery id, change request, run, application and duration are fields", async () => {
    const log = new ServiceLog();
    const bot = await startBot({ host, log: log.write });
    const one = await converse(bot);
    const deliveries = bot.forge.deliveries.map(({ id }) => `${host}-${id}`);
    const handled = log.of("event handled");
    expect(handled.length).toBeGreaterThan(5);
    for (const line of handled) {
      expect(line).toMatchObject({
        change: `${host}/acme/deploy/${one}`,
        runId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        event: expect.any(String),
        outcome: expect.any(String),
        ms: expect.any(Number),
      });
      expect(deliveries).toContain(line.delivery);
    }
    const ours = {
      application: "web",
      delivery: expect.any(String),
      runId: expect.any(String),
      ms: expect.any(Number),
    };
    expect(log.of("sync ended").map(({ outcome }) => outcome)).toEqual(["succeeded", "failed", "rejected"]);
    for (const line of [...log.of("sync ended"), ...log.of("rollback ended")]) expect(line).toMatchObject(ours);
    expect(log.of("rollback ended")).toHaveLength(1);
    expect(log.of("rendered")).toContainEqual(expect.objectContaining({ ...ours, side: "head" }));
  });
});

test("a password that Redis refuses is in no line, neither of a connection nor of a message that cannot be queued", async () => {
  const [log, redis] = [new ServiceLog(), await RedisServer.start(["--requirepass", "right-s3cret"])];
  try {
    const access = { address: redis.address, db: 0, tls: false, password: "refused-s3cret" };
    const bot = await startBot({
      host: "hosta",
      log: log.write,
      stores: () => createRedisStores(access, { log: recordingLog() }),
      config: { notifications: [{ name: "chat", url: "http://127.0.0.1:9/", format: "slack" }] },
    });
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "svc sync");
    await Promise.all([
      log.first("the queue's connection failed"),
      log.first("the outbox's connection failed"),
      log.first("could not queue a notification"),
    ]);
    expect(log.text).not.toContain("refused-s3cret");
  } finally {
    await redis.stop();
  }
});
