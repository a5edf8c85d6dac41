import { describe, expect, test } from "@jest/globals";
import { HOSTS, startBot } from "./bot.js";
import { planned } from "./plan-comment.js";
import { configMap } from "./resources.js";
import { git, names, shops } from "./sets.js";

describe.each(HOSTS)("ApplicationSet expansion on %s", (host) => {
  test("a changed ApplicationSet shows which applications would be added or removed", async () => {
    const bot = await startBot({ host, files: (url) => ({ "sets/shops.yaml": shops(url, names("de", "fr")) }) });
    const url = bot.forge.cloneUrl("acme/deploy");
    const one = await bot.open({ "sets/shops.yaml": shops(url, names("de", "it")) });
    const comment = bot.lastComment(one);
    expect(comment).toContain("### ApplicationSet: `shops`\n\n- adds `shop-it`\n- removes `shop-fr`\n");
    expect(comment).toContain("**Source file:** `sets/shops.yaml`");
    expect(planned(comment)).toEqual([]);
    const two = await bot.open({ "apps/web/configmap.yaml": configMap("web", { value: "2" }) });
    expect(bot.lastComment(two)).not.toContain("ApplicationSet");
    const three = await bot.open({ "sets/shops.yaml": null });
    expect(bot.lastComment(three)).toContain("- removes `shop-de`, `shop-fr`");
  });

  test("an unchanged ApplicationSet is expanded when its git generator reads what the PR changes", async () => {
    const bot = await startBot({
      host,
      files: (url) => ({
        "sets/shops.yaml": shops(url, git(url, { directories: [{ path: "shops/*" }] }), {
          name: "{{ .path.basename }}",
        }),
        "shops/de/configmap.yaml": configMap("de", { value: "1" }),
      }),
    });
    const one = await bot.open({ "shops/it/configmap.yaml": configMap("it", { value: "1" }) });
    expect(bot.lastComment(one)).toContain("### ApplicationSet: `shops`\n\n- adds `shop-it`\n");
    expect(bot.argocd.applications().map(({ metadata }) => metadata.name)).toEqual(["web", "api"]);
  });

  test("an ApplicationSet that cannot be expanded says why and hides no application", async () => {
    const bot = await startBot({
      host,
      files: (url) => ({ "sets/shops.yaml": shops(url, names("de")) }),
      config: ({ argocd }) => ({ deployer: { token: argocd.addAccount("small", { permissions: "get+sync" }) } }),
    });
    const url = bot.forge.cloneUrl("acme/deploy");
    const one = await bot.open({
      "sets/shops.yaml": shops(url, names("it")),
      "apps/web/configmap.yaml": configMap("web", { value: "2" }),
    });
    expect(bot.lastComment(one)).toContain("### ApplicationSet: `shops`\n\n**Changes:** could not be previewed");
    expect(bot.lastComment(one)).toContain("permission denied: applicationsets, create");
    expect(planned(bot.lastComment(one))).toEqual(["web"]);
    expect(await bot.locked(one)).toEqual(["web"]);
  });
});
