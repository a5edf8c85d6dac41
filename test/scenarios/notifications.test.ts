import { randomBytes } from "node:crypto";
import { afterEach, describe, expect, test } from "@jest/globals";
import { StoreUnavailable } from "../../src/core/model/errors.js";
import { signatureCheck, signingKey } from "../../src/hosts/gitlab/webhook.js";
import { wrapPort } from "../../src/observe/wrap-port.js";
import { createMemoryStores } from "../../src/store/memory/memory-stores.js";
import { freePort } from "../redis-server.js";
import { HOSTS, REPOSITORY, SIGIL, startBot, type Bot } from "./bot.js";
import { HookReceiver } from "./hook-receiver.js";
import { changeOf } from "./resources.js";
import { ServiceLog } from "./service-log.js";

const SECRET = `whsec_${Buffer.alloc(32, "notification").toString("base64")}`;
const HOUR_MS = 60 * 60_000;

const started: HookReceiver[] = [];
afterEach(async () => {
  for (const receiver of started.splice(0)) await receiver.stop();
});

async function receiverThat(...answer: Parameters<typeof HookReceiver.start>): Promise<HookReceiver> {
  const receiver = await HookReceiver.start(...answer);
  started.push(receiver);
  return receiver;
}

/** What programs are told, by event and applications. */
function told(receiver: HookReceiver): readonly unknown[] {
  const bodies = receiver.on("/records") as readonly {
    type: string;
    data: { applications: readonly { name: string }[] };
  }[];
  return bodies.map(({ type, data }) => [type, ...data.applications.map(({ name }) => name).sort()].join(" "));
}

function expectSigned(receiver: HookReceiver, bot: Bot): void {
  const records = receiver.messages.filter(({ path }) => path === "/records");
  for (const { headers, body } of records) {
    const sentAt = new Date(Number(headers["webhook-timestamp"]) * 1000);
    const check = signatureCheck(headers, signingKey(SECRET), sentAt);
    check?.update(Buffer.from(body));
    expect(check?.passes()).toBe(true);
    expect(sentAt.getTime()).toBeLessThanOrEqual(bot.clock.now().getTime());
  }
  expect(new Set(records.map(({ headers }) => headers["webhook-id"])).size).toBe(records.length);
}

describe.each(HOSTS)("notifications on %s", (host) => {
  test("nobody is told any more of an application that Argo CD no longer has, whose record ends; of a hidden one everybody is", async () => {
    const receiver = await receiverThat();
    const url = `${receiver.url}/records`;
    const bot = await startBot({
      host,
      config: { notifications: [{ name: "records", url, format: "json", secret: SECRET }] },
    });
    const one = await bot.open(changeOf(["web", "api"]));
    bot.expectChanges("sync web", "sync api");
    await bot.comment(one, "svc sync");
    await bot.close(one);
    bot.argocd.removeApplication("web");
    const body = JSON.stringify({ code: 7, message: "permission denied" });
    const show = bot.argocd.faults.add({ path: /applications\/web$/, fault: { kind: "status", status: 403, body } });
    bot.clock.advance(25 * HOUR_MS);
    await bot.service.reconcile();
    await receiver.until(2);
    expect((await bot.deployed(one)).toSorted()).toEqual(["api", "web"]);
    show();
    bot.clock.advance(25 * HOUR_MS);
    await bot.service.reconcile();
    await receiver.until(3);
    expect(told(receiver).slice(1)).toEqual(["not_merged api web", "not_merged api"]);
    expect(await bot.deployed(one)).toEqual(["api"]);
    bot.argocd.removeApplication("api");
    await bot.comment(one, "svc rollback");
    expect(await bot.deployed(one)).toEqual([]);
  });

  test("each receiver gets one message per run of what it wants to hear: sync, failure, rollback, merge, a day without merge", async () => {
    const receiver = await receiverThat();
    const { url } = receiver;
    const bot = await startBot({
      host,
      config: {
        notifications: [
          { name: "records", url: `${url}/records`, format: "json", secret: SECRET },
          {
            name: "chat",
            url: `${url}/chat?key=of-the-chat`,
            format: "slack",
            events: ["synced"],
            applications: ["w*"],
          },
          { name: "team", url: `${url}/team`, format: "teams", events: ["failed"], repositories: ["acme/*"] },
          { name: "others", url: `${url}/others`, format: "slack", repositories: ["acme/shop"] },
        ],
      },
    });
    const one = await bot.open(changeOf(["web", "api"]));
    await bot.comment(one, "svc plan");
    await bot.comment(one, "svc sync --dry-run");
    bot.expectChanges("dry-run web", "dry-run api", "sync web", "sync api");
    await bot.comment(one, "svc sync");
    await receiver.until(2);
    expect(told(receiver)).toEqual(["synced api web"]);
    const name = `${REPOSITORY}${SIGIL[host]}${one}`;
    expect(receiver.on("/chat?key=of-the-chat")).toEqual([
      expect.objectContaining({ text: expect.stringContaining("ana deployed 1 application at") }),
    ]);

    bot.clock.advance(25 * HOUR_MS);
    await bot.service.reconcile();
    await bot.service.reconcile();
    await receiver.until(3);
    await bot.forge.mergeByHand(REPOSITORY, one, "bo");
    await bot.idle();
    await receiver.until(4);
    expect(told(receiver).slice(1)).toEqual(["not_merged api web", "merged api web"]);
    expect(receiver.on("/records")[1]).toMatchObject({ data: { by: "ana", change: { name, host }, closed: false } });

    const two = await bot.open(changeOf(["web"], "3"));
    bot.argocd.failNextSync("web", { phase: "Failed", message: "it was denied" });
    await bot.comment(two, "svc sync");
    await bot.comment(two, "svc rollback");
    await receiver.until(7);
    expect(told(receiver).slice(3)).toEqual(["failed web", "rolled_back web"]);
    const [card] = receiver.on("/team");
    expect(JSON.stringify(card)).toContain("svc sync by ana failed for 1 application");
    expect(JSON.stringify(card)).not.toContain("it was denied");
    expect(receiver.on("/others")).toEqual([]);
    expectSigned(receiver, bot);
  });

  test("a sync that broke without an answer is told as failed, and by its second run as deployed", async () => {
    const receiver = await receiverThat();
    const records = { name: "records", url: `${receiver.url}/records`, format: "json", secret: SECRET };
    const bot = await startBot({ host, config: { notifications: [records] } });
    const one = await bot.open(changeOf(["web"]));
    const away = { kind: "status", status: 502 } as const;
    const end = bot.forge.faults.add({ path: /\/collaborators\/|\/members\/|\/(?:comments|notes)$/, fault: away });
    await bot.comment(one, "svc sync");
    end();
    bot.expectChanges("sync web");
    await bot.forge.redeliver(bot.forge.deliveries.at(-1)?.id ?? "");
    await bot.idle();
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    await receiver.until(2);
    expect(told(receiver)).toEqual(["failed", "synced web"]);
  });

  test("a receiver that redirects, is away or answers with garbage delays nothing; the status page and the log name the cause once", async () => {
    const [metadata, log] = [await receiverThat(), new ServiceLog()];
    const moved = await receiverThat((_request, response) => {
      response.writeHead(302, { location: `${metadata.url}/latest/meta-data` }).end();
    });
    const odd = await receiverThat((_request, response) => response.end(randomBytes(100_000)));
    const bot = await startBot({
      host,
      log: log.write,
      config: {
        notifications: [
          { name: "moved", url: `${moved.url}/address-of-moved`, format: "slack" },
          { name: "away", url: `http://127.0.0.1:${await freePort()}/address-of-away`, format: "teams" },
          { name: "odd", url: `${odd.url}/address-of-odd`, format: "json", secret: SECRET },
        ],
      },
    });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    // The clock jumps over the pauses.
    while (log.of("gave up delivering a notification").length < 2) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(moved.messages).toHaveLength(11);
    expect(odd.messages).toHaveLength(1);
    expect(metadata.messages).toEqual([]);
    const problems = log.of("could not deliver a notification").map((line) => [line.notification, line.problem]);
    expect(problems.sort()).toEqual([
      ["away", "cannot be reached (ECONNREFUSED)"],
      ["moved", "answered 302, a redirect, which is not followed"],
    ]);
    expect(log.text).not.toContain("address-of-");
    const page = await (await fetch(`${bot.service.url}/status`)).text();
    expect(page).toMatch(
      /Notifications: moved<\/strong>[^]*?unavailable[^]*?Notifications: away<\/strong>[^]*?unavailable/,
    );
    expect(page).toMatch(/Notifications: odd<\/strong>(?:(?!unavailable)[^])*?available/);
  });

  test("the store away for two looks in a row is told as well, although nothing can be queued in it", async () => {
    const receiver = await receiverThat();
    const records = { name: "records", url: `${receiver.url}/records`, format: "json", secret: SECRET };
    let away = false;
    const bot = await startBot({
      host,
      config: { notifications: [records] },
      stores: (clock) => {
        const stores = createMemoryStores(clock);
        const ping = () => (away ? Promise.reject(new StoreUnavailable("failed to connect to Redis")) : stores.ping());
        return { ...stores, ping };
      },
    });
    for (away of [true, true, true, false, false]) await bot.service.watch();
    await receiver.until(2);
    expect(receiver.on("/records")).toMatchObject([
      { type: "unavailable", data: { system: "Redis", available: false } },
      { type: "unavailable", data: { system: "Redis", available: true } },
    ]);
  });

  test("a merge is told although the store did not answer when svc first heard of it", async () => {
    const receiver = await receiverThat();
    const records = { name: "records", url: `${receiver.url}/records`, format: "json", secret: SECRET };
    let away = false;
    const bot = await startBot({
      host,
      config: { notifications: [records] },
      stores: (clock) => {
        const stores = createMemoryStores(clock);
        const deployments = wrapPort(stores.deployments, {
          ofChange(call) {
            const isAway = away;
            away = false;
            return isAway ? Promise.reject(new StoreUnavailable("failed to connect to Redis")) : call();
          },
        });
        return { ...stores, deployments };
      },
    });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    away = true;
    await bot.forge.mergeByHand(REPOSITORY, one, "bo");
    await bot.idle();
    await bot.service.reconcile();
    await bot.idle();
    await receiver.until(2);
    expect(told(receiver)).toEqual(["synced web", "merged web"]);
  });

  test("Argo CD away for two looks in a row is told once, and its return as well", async () => {
    const receiver = await receiverThat();
    const events = ["unavailable"];
    const records = { name: "records", url: `${receiver.url}/records`, format: "json", secret: SECRET, events };
    const bot = await startBot({ host, config: { notifications: [records] } });
    await bot.service.watch();
    bot.argocd.faults.add({ path: /\/api\/version|\/session\/userinfo/, fault: { kind: "status", status: 503 } });
    for (const look of [1, 2, 3]) {
      await bot.service.watch();
      if (look === 1) expect(receiver.messages).toEqual([]);
    }
    bot.argocd.faults.clear();
    await bot.service.watch();
    await bot.service.watch();
    await receiver.until(2);
    expect(receiver.on("/records")).toMatchObject([
      { type: "unavailable", data: { system: "Argo CD", available: false } },
      { type: "unavailable", data: { system: "Argo CD", available: true } },
    ]);
  });
});
