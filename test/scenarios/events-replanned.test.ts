import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, startBot } from "./bot.js";
import { planned, section } from "./plan-comment.js";
import { asYaml, changeOf } from "./resources.js";

describe.each(HOSTS)("also replanned on %s", (host) => {
  test("reopened: planned and locked again", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    await bot.close(one);
    expect(await bot.locked(one)).toEqual([]);
    await bot.forge.reopen(REPOSITORY, one);
    await bot.idle();
    expect(bot.answers(one)).toHaveLength(2);
    expect(planned(bot.lastComment(one))).toEqual(["web"]);
    expect(await bot.locked(one)).toEqual(["web"]);
  });

  test("reopened, and told late that it was closed: planned and locked nevertheless", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    await bot.loseWebhooks(async () => {
      await bot.forge.close(REPOSITORY, one);
    });
    const { id } = bot.forge.deliveries.at(-1) ?? { id: "" };
    await bot.loseWebhooks(() => bot.forge.reopen(REPOSITORY, one));
    await bot.close(one);
    bot.meanwhile("argocd", { path: /\/manifests$/ }, () => bot.forge.redeliver(id));
    await bot.forge.reopen(REPOSITORY, one);
    await bot.idle();
    expect(planned(bot.lastComment(one))).toEqual(["web"]);
    expect(await bot.locked(one)).toEqual(["web"]);
    expect(bot.answers(one)).toHaveLength(2);
  });

  test("a draft is planned on command only, and by itself once it is ready for review", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]), { draft: true });
    await bot.push(one, changeOf(["web"], "3"));
    expect(bot.answers(one)).toEqual([]);
    expect(await bot.locked(one)).toEqual([]);
    await bot.comment(one, "svc plan");
    expect(bot.answers(one)).toHaveLength(1);
    expect(await bot.locked(one)).toEqual(["web"]);
    await bot.forge.markDraft(REPOSITORY, one, false);
    await bot.idle();
    expect(bot.answers(one)).toHaveLength(2);
    await bot.forge.markDraft(REPOSITORY, one, true);
    await bot.idle();
    expect(bot.answers(one)).toHaveLength(2);
  });

  test("with defaults.plan_drafts a draft is planned like any other", async () => {
    const bot = await startBot({ host, config: { defaults: { plan_drafts: true } } });
    const one = await bot.open(changeOf(["web"]), { draft: true });
    expect(planned(bot.lastComment(one))).toEqual(["web"]);
  });

  test("with defaults.plan_drafts an approval plans again what a draft's plan withheld, and nobody is asked to", async () => {
    const bot = await startBot({ host, config: { defaults: { plan_drafts: true } } });
    const stray = asYaml(bot.resourceOf("stray", { project: "nowhere" }));
    const one = await bot.open({ "argocd/stray.yaml": stray }, { draft: true });
    expect(bot.lastComment(one)).toContain("it is not rendered before somebody who may deploy it has approved");
    expect(bot.lastComment(one)).toContain(", which plans it again");
    expect(bot.lastComment(one)).not.toContain("then `svc plan`");
    await bot.approve(one);
    expect(section(bot.lastComment(one), "stray")).not.toContain("An approval of this commit");
  });

  test("the base branch changed: planned against the new one", async () => {
    const bot = await startBot({ host });
    await bot.forge.pushToBranch(REPOSITORY, "release", { "README.md": "release" });
    const one = await bot.open(changeOf(["web"]));
    expect(await bot.locked(one)).toEqual(["web"]);
    await bot.forge.retarget(REPOSITORY, one, "release");
    await bot.idle();
    expect(planned(bot.lastComment(one))).toEqual([]);
    expect(bot.lastComment(one)).toContain("- `web`: it follows main, not release");
    expect(bot.lastComment(one)).toContain("No longer affected, lock released: `web`.");
    expect(await bot.locked(one)).toEqual([]);
    await bot.forge.retarget(REPOSITORY, one, "main");
    await bot.idle();
    expect(planned(bot.lastComment(one))).toEqual(["web"]);
  });

  test("another title or label replans nothing: GitLab's update without oldrev", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const before = bot.forge.requests.length;
    await bot.forge.rename(REPOSITORY, one, "A better title");
    await bot.world.gitlab?.label(REPOSITORY, one, "urgent");
    await bot.idle();
    expect(bot.forge.deliveries.at(-1)).toMatchObject({ status: 200 });
    expect(bot.forge.deliveries.at(-1)?.body).toContain('{"status":"ignored","reason":');
    expect(bot.forge.requests).toHaveLength(before);
    expect(bot.answers(one)).toHaveLength(1);
  });
});
