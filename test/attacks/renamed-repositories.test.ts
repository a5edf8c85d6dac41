import { describe, expect, test } from "@jest/globals";
import { applicationName } from "../../src/core/model/brand.js";
import type { HostId } from "../../src/names.js";
import { type Bot, type BotOptions, HOSTS, nameOn, REPOSITORY, startBot } from "../scenarios/bot.js";
import { HookReceiver } from "../scenarios/hook-receiver.js";
import { changeOf, configMap, repositoryOf } from "../scenarios/resources.js";
import { loggedIn, startWithLogin } from "./logged-in.js";

const RENAMED = "acme/platform";
const WEB = applicationName("web");
const NOTHING_LOCKED = "No applications are locked by this PR.";

/** Somebody gets the old name of the renamed repository, and with it the address that Argo CD still reads. */
async function takeName(bot: Bot): Promise<void> {
  await bot.forge.renameRepository(REPOSITORY, RENAMED);
  bot.repository = RENAMED;
  await giveName(bot);
}

async function giveName({ forge }: Bot): Promise<void> {
  await forge.createRepository(
    REPOSITORY,
    repositoryOf(["web", "api"], forge.cloneUrl(RENAMED).replace(RENAMED, REPOSITORY)),
  );
  forge.setAccess(REPOSITORY, "mallory", "admin");
}

/** Opens change requests in the repository that got the name, up to the number of one that it is to pass for. */
async function openAs(bot: Bot, number: number): Promise<void> {
  for (let opened = 0; opened < number;) {
    const changes = changeOf(["web"], `66${opened}`);
    opened = await bot.forge.open({ repository: REPOSITORY, by: "mallory", changes });
    await bot.idle();
    expect(opened).toBeLessThanOrEqual(number);
  }
}

async function say(bot: Bot, number: number, body: string): Promise<string> {
  await bot.forge.comment(REPOSITORY, number, "mallory", body);
  await bot.idle();
  return said(bot, number).at(-1) ?? "";
}

function said({ forge }: Bot, number: number): readonly string[] {
  const { comments } = forge.changeRequest(REPOSITORY, number);
  return comments.filter(({ author }) => author !== "mallory").map(({ body }) => body);
}

async function withLocked(host: HostId, config: BotOptions["config"] = {}) {
  const bot = await startBot({ host, config });
  const one = await bot.open(changeOf(["web"]));
  const lock = await bot.stores.locks.find(WEB);
  expect(lock).toMatchObject({ holder: bot.ref(one) });
  return { bot, one, lock };
}

describe.each(HOSTS)("a new repository under the name of a renamed one on %s", (host) => {
  test("neither takes, drives nor releases a lock by a pull request of the same number, whatever was planned and approved", async () => {
    const { bot, one, lock } = await withLocked(host, { defaults: { require_approval: true } });
    await bot.approve(one);
    await takeName(bot);
    await openAs(bot, one);
    expect(said(bot, one).at(-1)).toContain("Locked by ");
    expect(await say(bot, one, "svc sync")).toContain(NOTHING_LOCKED);
    expect(await say(bot, one, "svc rollback")).toContain(NOTHING_LOCKED);
    await say(bot, one, "svc unlock");
    expect(await bot.stores.locks.find(WEB)).toEqual(lock);
    expect(bot.liveValue("web")).toBeUndefined();
  });

  test("gives nobody a say in the renamed one, not even while a command waits", async () => {
    const { bot, one, lock } = await withLocked(host);
    bot.meanwhile("forge", { path: /\/(?:collaborators|members)\// }, () => takeName(bot));
    await bot.forge.comment(REPOSITORY, one, "mallory", "svc unlock");
    await bot.idle();
    expect(bot.repository).toBe(RENAMED);
    expect(bot.lastComment(one)).toContain("has no write access to");
    expect(await bot.stores.locks.find(WEB)).toEqual(lock);
  });

  test("releases nothing by closing it, neither with a webhook nor when the reconciler looks", async () => {
    const { bot, one, lock } = await withLocked(host);
    await takeName(bot);
    await openAs(bot, one);
    await bot.forge.close(REPOSITORY, one);
    await bot.idle();
    expect(await bot.stores.locks.find(WEB)).toEqual(lock);
    await bot.service.reconcile();
    await bot.idle();
    expect(await bot.stores.locks.find(WEB)).toEqual(lock);
  });

  test("releases nothing if the reconciler finds its pull request closed before any webhook told of it", async () => {
    const { bot, one, lock } = await withLocked(host);
    await takeName(bot);
    await bot.loseWebhooks(async () => {
      await openAs(bot, one);
      await bot.forge.close(REPOSITORY, one);
    });
    await bot.service.reconcile();
    await bot.idle();
    expect(await bot.stores.locks.find(WEB)).toEqual(lock);
  });

  test("neither rolls back nor ends what was deployed, by a command or by its own merge", async () => {
    const { bot, one } = await withLocked(host);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    const records = await bot.stores.deployments.list();
    expect(records).toHaveLength(1);
    await takeName(bot);
    await openAs(bot, one);
    await say(bot, one, "svc unlock");
    expect(await say(bot, one, "svc rollback")).toContain(NOTHING_LOCKED);
    await bot.forge.mergeByHand(REPOSITORY, one, "mallory");
    await bot.idle();
    await bot.service.reconcile();
    await bot.idle();
    expect(await bot.stores.deployments.list()).toEqual(records);
    expect(bot.liveValue("web")).toBe("2");
  });

  test("gets no place in a queue, and takes nobody's", async () => {
    const { bot } = await withLocked(host);
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    await takeName(bot);
    await openAs(bot, two);
    const ids = async () =>
      (await bot.stores.waiting.of(WEB)).map(({ repositoryId, number }) => ({ repositoryId, number }));
    const place = { repositoryId: bot.forge.repositoryId(RENAMED), number: two };
    expect((await ids())[0]).toEqual(place);
    for (let number = 1; number <= two; number += 1) await bot.forge.close(REPOSITORY, number);
    await bot.idle();
    expect(await ids()).toEqual([place]);
  });

  test("is not told what concerns the renamed one", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "svc unlock");
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    bot.expectChanges("sync web");
    await bot.comment(two, "svc sync", "bo");
    await bot.comment(one, "svc plan");
    await bot.rename(RENAMED);
    await giveName(bot);
    await openAs(bot, one);
    const before = said(bot, one);
    const told = bot.answers(one).length;
    await bot.comment(two, "svc rollback", "bo");
    expect(bot.liveValue("web")).toBe("1");
    expect(bot.answers(one).slice(told).join("\n")).toContain("`web`");
    expect(said(bot, one)).toEqual(before);
  });

  test("is told of its merge, although receivers know of one with its number in the renamed one", async () => {
    const receiver = await HookReceiver.start();
    try {
      const merges = { name: "merges", url: `${receiver.url}/merges`, format: "slack", events: ["merged"] };
      const bot = await startBot({ host, config: { notifications: [merges] } });
      const one = await bot.open(changeOf(["web"]));
      await bot.forge.mergeByHand(REPOSITORY, one, "bo");
      await bot.idle();
      await receiver.until(1);
      await takeName(bot);
      await openAs(bot, one);
      await bot.forge.mergeByHand(REPOSITORY, one, "mallory");
      await bot.idle();
      await receiver.until(2);
      const told = receiver.on("/merges").map((message) => JSON.stringify(message));
      expect(told).toEqual([expect.stringContaining("was merged"), expect.stringContaining("was merged")]);
    } finally {
      await receiver.stop();
    }
  });

  test("shows nobody the plans of the renamed one under the old address", async () => {
    const bot = await startWithLogin(host);
    const one = await bot.open({ "apps/web/configmap.yaml": configMap("web", { value: "plans-of-the-merger" }) });
    await takeName(bot);
    const mallory = await loggedIn(bot, "mallory");
    for (const root of ["changes", "api/v1/plans"]) {
      const { text } = await mallory.ask(`/${root}/${host}/${REPOSITORY}/${one}`);
      expect(text).toContain("mallory cannot");
      expect(text).not.toContain("plans-of-the-merger");
    }
    const ana = await loggedIn(bot, "ana");
    expect((await ana.ask(`/changes/${host}/${REPOSITORY}/${one}`)).text).toContain("plans-of-the-merger");
  });
});

describe.each(HOSTS)("a repository that was moved out of allowed_repos on %s", (host) => {
  test.each(["plan", "unlock", "sync"])(
    "gets nothing for a %s that was on its way under the old name",
    async (command) => {
      const moved = "mallory/deploy";
      const { bot, one } = await withLocked(host, { defaults: { allowed_repos: [nameOn(host, "acme/*")] } });
      const before = bot.answers(one).length;
      bot.meanwhile("forge", { path: /./ }, async () => {
        await bot.forge.renameRepository(REPOSITORY, moved);
        bot.repository = moved;
      });
      await bot.comment(one, `svc ${command}`);
      expect(bot.repository).toBe(moved);
      expect(bot.answers(one).slice(before)).toEqual([]);
      expect(bot.changes()).toEqual([]);
      expect(await bot.locked(one)).toEqual(["web"]);
      // Its locks are no longer of use to anybody once it is closed.
      await bot.forge.close(moved, one);
      await bot.service.reconcile();
      await bot.idle();
      expect(await bot.stores.locks.list()).toEqual([]);
    },
  );
});
