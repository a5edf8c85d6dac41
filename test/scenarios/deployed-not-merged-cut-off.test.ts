import { describe, expect, test } from "@jest/globals";
import { StoreUnavailable } from "../../src/core/model/errors.js";
import { HOSTS, REPOSITORY, startBot, type Bot } from "./bot.js";
import { asYaml, changeOf } from "./resources.js";

/** A sync that is carried out while the end of it cannot be written down. */
async function cutOff(bot: Bot, one: number, command = "svc sync"): Promise<void> {
  const { deployments, locks } = bot.stores;
  const [{ save }, { release }] = [deployments, locks];
  const away = () => Promise.reject(new StoreUnavailable("the store is away"));
  bot.meanwhile("argocd", { method: "POST", path: /\/sync$/ }, () => {
    deployments.save = away;
    locks.release = away;
  });
  bot.expectChanges("sync web");
  await bot.comment(one, command);
  deployments.save = save;
  locks.release = release;
  expect(await records(bot, one)).toEqual(["web: started"]);
  expect(await bot.locked(one)).toEqual(["web"]);
}

async function records(bot: Bot, one: number): Promise<readonly string[]> {
  const found = await bot.stores.deployments.ofChange(bot.ref(one));
  return found.map(({ application, outcome }) => `${application}: ${outcome}`);
}

describe.each(HOSTS)("a sync whose end was not written down on %s", (host) => {
  test("the next command looks it up in Argo CD first and says so; nothing is deployed again", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    await cutOff(bot, one);
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).toContain("Argo CD reports how an earlier sync ended:");
    expect(bot.lastComment(one)).toContain("- `web`: ✅ it succeeded, and its lock was released");
    expect(await records(bot, one)).toEqual(["web: succeeded"]);
    expect(bot.changes()).toEqual(["sync web"]);
  });

  test("a failure is looked up as well, and keeps its lock", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.argocd.failNextSync("web", { phase: "Failed", message: "no room" });
    await cutOff(bot, one);
    await bot.service.reconcile();
    await bot.idle();
    expect(await records(bot, one)).toEqual(["web: failed"]);
    expect(await bot.locked(one)).toEqual(["web"]);
  });

  test("the reconciler brings lock, record and status up to date, and says nothing", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    await cutOff(bot, one);
    const said = bot.answers(one).length;
    await bot.service.reconcile();
    await bot.idle();
    expect(await records(bot, one)).toEqual(["web: succeeded"]);
    expect(await bot.locked(one)).toEqual([]);
    expect(bot.answers(one)).toHaveLength(said);
    const status = bot.forge.statuses(REPOSITORY, bot.seen(one).headRevision).at(-1)?.description;
    expect(status).toBe(host === "hosta" ? "synced: web" : undefined);
  });

  test("it counts as a success from the sources that it had, whatever an earlier commit defined", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(bot.moved("web"));
    bot.argocd.failNextSync("web", { phase: "Failed", message: "no room" });
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    await bot.push(one, { ...changeOf(["web"]), "argocd/web.yaml": asYaml(bot.resourceOf("web")) });
    await cutOff(bot, one);
    await bot.service.reconcile();
    await bot.idle();
    expect(await records(bot, one)).toEqual(["web: succeeded"]);
    expect(await bot.locked(one)).toEqual([]);
  });

  test("somebody else's operation came after it: its end is not known, nobody is said to sync, and the lock is kept", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    await cutOff(bot, one);
    expect(bot.answers(one).join("\n")).toContain("`ana` is syncing: wait for the result.");
    await bot.argocd.deploy("web");
    await bot.service.reconcile();
    await bot.idle();
    expect(await records(bot, one)).toEqual(["web: unknown"]);
    expect(bot.answers(one).join("\n")).not.toContain("is syncing");
    expect(await bot.locked(one)).toEqual(["web"]);
  });

  test("a newer plan keeps its lock when an older head's sync is looked up", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const forbidden = { kind: "status", status: 403, body: '{"code":7,"message":"permission denied"}' } as const;
    await cutOff(bot, one);
    bot.forge.connect({ url: "http://127.0.0.1:9/", secret: "nobody" });
    await bot.forge.push(REPOSITORY, one, changeOf(["web"], "3"));
    bot.forge.connect({ url: `${bot.service.url}/webhook/${host}`, secret: "sandbox-webhook-secret" });
    bot.argocd.faults.add({ path: /\/applications\/web$/, times: 2, fault: forbidden });
    await bot.comment(one, "svc plan");
    await bot.comment(one, "svc plan");
    expect(await records(bot, one)).toEqual(["web: succeeded"]);
    expect(await bot.locked(one)).toEqual(["web"]);
  });
});
