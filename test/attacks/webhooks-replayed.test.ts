import { randomUUID } from "node:crypto";
import { afterEach, describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, startBot, type Bot } from "../scenarios/bot.js";
import { changeOf } from "../scenarios/resources.js";
import { interpose, stopRelays, type Captured, type Relay } from "./relay.js";

afterEach(stopRelays);

/** The newest delivery that came by and has this text as a value. */
function heard(relay: Relay, text: string): Captured {
  const found = relay.captured.findLast(({ body }) => body.includes(`:${JSON.stringify(text)}`));
  if (found === undefined) throw new Error(`no delivery holds ${text}`);
  return found;
}

/** The same signed bytes as another delivery: none of these headers is under GitHub's signature. */
function anew({ headers, body }: Captured): Captured {
  const ids = ["x-github-delivery", "idempotency-key", "x-gitlab-event-uuid", "x-gitlab-webhook-uuid", "webhook-id"];
  const changed = Object.entries(headers).map(([name, value]) => [name, ids.includes(name) ? randomUUID() : value]);
  return { headers: Object.fromEntries(changed) as Record<string, string>, body };
}

async function replay(bot: Bot, relay: Relay, delivery: Captured): Promise<void> {
  await relay.send(delivery);
  await bot.idle();
}

describe.each(HOSTS)("webhooks that a neighbour on the network read along and sends again, on %s", (host) => {
  test("word for word, once and often: each is ignored, and a command runs once", async () => {
    const bot = await startBot({ host });
    const relay = await interpose(bot);
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    await bot.push(one, changeOf(["web"], "3"));
    const before = bot.answers(one);
    for (const delivery of [...relay.captured, ...relay.captured]) {
      expect((await relay.send(delivery)).body).toMatchObject({ status: "ignored" });
    }
    await bot.idle();
    expect(bot.changes()).toEqual(["sync web"]);
    expect(bot.answers(one)).toEqual(before);
    expect(bot.liveValue("web")).toBe("2");
  });

  test("a command under a new delivery id does not deploy what came after it", async () => {
    const bot = await startBot({ host });
    const relay = await interpose(bot);
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    await bot.push(one, changeOf(["web"], "3"));
    expect(await bot.locked(one)).toEqual(["web"]);
    await replay(bot, relay, anew(heard(relay, "svc sync")));
    expect(bot.changes()).toEqual(["sync web"]);
    expect(bot.liveValue("web")).toBe("2");
  });

  test("an unlock under a new delivery id does not release what was locked after it", async () => {
    const bot = await startBot({ host });
    const relay = await interpose(bot);
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "svc unlock");
    await bot.comment(one, "svc plan");
    expect(await bot.locked(one)).toEqual(["web"]);
    await replay(bot, relay, anew(heard(relay, "svc unlock")));
    expect(await bot.locked(one)).toEqual(["web"]);
  });

  test("a close under a new delivery id releases nothing of a change request that is open again", async () => {
    const bot = await startBot({ host });
    const relay = await interpose(bot);
    const one = await bot.open(changeOf(["web"]));
    await bot.close(one);
    const closed = anew(heard(relay, host === "hosta" ? "closed" : "close"));
    await bot.forge.reopen(REPOSITORY, one);
    await bot.idle();
    expect(await bot.locked(one)).toEqual(["web"]);
    await replay(bot, relay, closed);
    expect(await bot.locked(one)).toEqual(["web"]);
  });

  test("an opening under a new delivery id takes no lock of a change request that is closed", async () => {
    const bot = await startBot({ host });
    const relay = await interpose(bot);
    const one = await bot.open(changeOf(["web"]));
    const opened = anew(heard(relay, host === "hosta" ? "opened" : "open"));
    await bot.close(one);
    const before = bot.answers(one).length;
    await replay(bot, relay, opened);
    expect(await bot.locked(one)).toEqual([]);
    expect(bot.answers(one)).toHaveLength(before);
  });

  test("a command of somebody who has no write access any more does nothing", async () => {
    const bot = await startBot({ host });
    const relay = await interpose(bot);
    const one = await bot.open(changeOf(["web"]), { by: "bo" });
    await bot.comment(one, "svc plan", "bo");
    bot.forge.setAccess(REPOSITORY, "bo", "read");
    const before = await bot.locked(one);
    await bot.comment(one, "svc unlock", "ana");
    await replay(bot, relay, anew(heard(relay, "svc plan")));
    expect(before).toEqual(["web"]);
    expect(await bot.locked(one)).toEqual([]);
    expect(bot.changes()).toEqual([]);
  });
});

describe("a webhook with another text", () => {
  const token = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

  test.each(HOSTS)("is refused where it is signed, on %s", async (host) => {
    const bot = await startBot(host === "hosta" ? { host } : { host, config: { hostb: { signing_token: token } } });
    const relay = await interpose(bot, host === "hosta" ? {} : { signingToken: token });
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "svc help");
    const delivery = heard(relay, "svc help");
    for (const forged of [delivery, anew(delivery)]) {
      const answer = await relay.send({ ...forged, body: forged.body.replaceAll("svc help", "svc sync") });
      expect(answer.status).toBe(401);
    }
    await bot.idle();
    expect(bot.changes()).toEqual([]);
    expect(await bot.locked(one)).toEqual(["web"]);
  });
});
