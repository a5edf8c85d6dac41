import { describe, expect, test } from "@jest/globals";
import { applicationName } from "../../src/core/model/brand.js";
import { HOSTS, REPOSITORY, startBot } from "./bot.js";
import { planned, section } from "./plan-comment.js";
import { applicationResource, changeOf, configMap } from "./resources.js";

describe.each(HOSTS)("what is shown is true when it is shown, on %s", (host) => {
  test("a plan with -a says of the others who has locked them by now", async () => {
    const bot = await startBot({ host, applications: ["api", "mail", "web"] });
    const one = await bot.open(changeOf(["api", "mail", "web"]));
    await bot.comment(one, "svc unlock");
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    await bot.comment(one, "svc plan -a api");
    const plan = bot.lastComment(one);
    expect(section(plan, "api")).toContain("**Status:** Locked by this PR");
    expect(section(plan, "mail")).toContain("**Status:** Not locked any more");
    expect(section(plan, "mail")).toContain("`svc plan -a mail`");
    expect(section(plan, "web")).toContain(`Locked by PR #${two} (ana)`.replace("ana", "bo"));
    expect(await bot.locked(one)).toEqual(["api"]);
  });

  test("what another deployed is said of it until that is merged, also by a plan of the others alone", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["api", "web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync -a web");
    const two = await bot.open(changeOf(["api", "web"], "3"), { by: "bo" });
    const runs = `Runs commit ${bot.seen(one).headRevision.slice(0, 8)}`;
    expect(section(bot.lastComment(two), "web")).toContain(runs);
    await bot.forge.mergeByHand(REPOSITORY, one, "bo");
    await bot.idle();
    expect(await bot.deployed(one)).toEqual([]);
    await bot.comment(two, "svc plan -a api", "bo");
    expect(section(bot.lastComment(two), "web")).not.toContain(runs);
  });

  test("a record that ends while a plan runs is not in it any more", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    bot.meanwhile("argocd", { path: /\/applications\/web\/manifests$/ }, () =>
      bot.stores.deployments.remove(applicationName("web"), bot.ref(one)),
    );
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    expect(section(bot.lastComment(two), "web")).not.toContain("deployed and not merged");
  });

  test("a lock that is released while a plan runs is taken by it", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.meanwhile("argocd", { path: /\/applications\/web\/manifests$/ }, async () => {
      await bot.stores.locks.release(applicationName("web"), bot.ref(one));
    });
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    expect(section(bot.lastComment(two), "web")).toContain("**Status:** Locked by this PR");
    expect(await bot.locked(two)).toEqual(["web"]);
    expect(await bot.stores.waiting.list()).toEqual([]);
  });

  test("an application that was created a moment ago is found, by a push and by its name", async () => {
    const applications = ["web"];
    const files = () => ({ "apps/shop/configmap.yaml": configMap("shop", { value: "1" }) });
    const bot = await startBot({ host, applications, files });
    await bot.open(changeOf(["web"]));
    bot.clock.advance(1000);
    bot.argocd.addApplication(applicationResource("shop", { repoURL: bot.forge.cloneUrl(REPOSITORY) }));
    const two = await bot.open(changeOf(["shop"]), { by: "bo" });
    expect(planned(bot.lastComment(two))).toEqual(["shop"]);
    expect(await bot.locked(two)).toEqual(["shop"]);
    bot.clock.advance(1000);
    bot.argocd.addApplication(
      applicationResource("mail", { repoURL: bot.forge.cloneUrl(REPOSITORY), path: "apps/shop" }),
    );
    await bot.comment(two, "svc plan -a mail", "bo");
    expect(await bot.locked(two)).toEqual(["mail", "shop"]);
  });

  test("that none is affected costs one list of them and of the sets, or none if they were just read", async () => {
    const bot = await startBot({ host });
    await bot.open(changeOf(["web"]));
    bot.clock.advance(1000);
    const lists = () => bot.argocd.requests.filter(({ path }) => /\/application(set)?s$/.test(path)).length;
    const before = lists();
    await bot.open({ "README.md": "hello" });
    expect(lists() - before).toBe(2);
    bot.clock.advance(20_000);
    const later = lists();
    await bot.open({ "README.md": "hello again" });
    expect(lists() - later).toBe(2);
  });
});
