import { describe, expect, test } from "@jest/globals";
import { applicationName } from "../../src/core/model/brand.js";
import { type Bot, HOSTS, startBot } from "./bot.js";
import { changeOf } from "./resources.js";

const web = applicationName("web");

/** Deletes the application and applies its resource again, so that it has another uid. */
function makeAgain(bot: Bot): void {
  bot.argocd.removeApplication("web");
  bot.argocd.addApplication(bot.resourceOf("web"));
}

/** A bot with a change request that deployed `web`, which was deleted and made again since. */
async function withRemade(host: (typeof HOSTS)[number]) {
  const bot = await startBot({ host });
  const one = await bot.open(changeOf(["web"]));
  bot.expectChanges("sync web");
  await bot.comment(one, "svc sync");
  expect(await bot.deployed(one)).toEqual(["web"]);
  makeAgain(bot);
  return { bot, one };
}

describe.each(HOSTS)("an application that was deleted and made again on %s", (host) => {
  test("inherits no record: another plan does not say that it runs a commit", async () => {
    const { bot, one } = await withRemade(host);
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    expect(bot.lastComment(two)).not.toContain("Runs commit");
    expect(await bot.deployed(one)).toEqual([]);
  });

  test("is not rolled back by the change request that deployed the old one", async () => {
    const { bot, one } = await withRemade(host);
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("No applications are locked by this PR. Run the plan command first.");
    expect(await bot.deployed(one)).toEqual([]);
  });

  test("nobody is reminded of what the old one ran", async () => {
    const { bot, one } = await withRemade(host);
    const before = bot.answers(one).length;
    bot.clock.advance(25 * 60 * 60_000);
    await bot.service.reconcile();
    await bot.idle();
    expect(bot.answers(one)).toHaveLength(before);
  });

  test("one that is gone ends its record, although the repository that deployed it is gone as well", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    bot.argocd.removeApplication("web");
    bot.forge.faults.add({ path: /repos|projects/, times: 1000, fault: { kind: "status", status: 404 } });
    bot.clock.advance(25 * 60 * 60_000);
    await bot.service.reconcile();
    expect(await bot.deployed(one)).toEqual([]);
  });

  test("keeps its lock, which is by name", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    makeAgain(bot);
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    expect(bot.lastComment(two)).toContain(`Locked by PR`);
    expect(await bot.stores.locks.find(web)).toMatchObject({ holder: { number: one } });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("✅");
    expect(bot.liveValue("web")).toBe("2");
  });

  test("a record without a uid counts as the present one's", async () => {
    const { bot, one } = await withRemade(host);
    const [record] = await bot.stores.deployments.ofApplication(web);
    if (record === undefined) throw new Error("nothing was recorded");
    await bot.stores.deployments.save({ ...record, uid: undefined });
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    expect(bot.lastComment(two)).toContain("Runs commit");
    expect(await bot.deployed(one)).toEqual(["web"]);
  });
});
