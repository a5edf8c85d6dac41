import { describe, expect, test } from "@jest/globals";
import { stringify } from "yaml";
import { HOSTS, startBot } from "./bot.js";
import { DELETED_TEXT, NEW_TEXT, planned, section, UNCHANGED_TEXT } from "./plan-comment.js";
import { asYaml, changeOf, configMap } from "./resources.js";

const BROKEN = "apiVersion: argoproj.io/v1alpha1\nkind: Application\n\t: broken\n";

describe.each(HOSTS)("detection by Application resources, head versus base, on %s", (host) => {
  test("new: present in head, absent in base", async () => {
    const bot = await startBot({ host });
    const one = await bot.open({
      "apps/shop/configmap.yaml": configMap("shop", { value: "1" }),
      "argocd/shop.yaml": asYaml(bot.resourceOf("shop")),
    });
    const shop = section(bot.lastComment(one), "shop");
    expect(shop).toContain("### Application: `shop` (new)");
    expect(shop).toContain(NEW_TEXT);
    expect(shop).toContain("**Source file:** `argocd/shop.yaml`");
    expect(planned(bot.lastComment(one))).toEqual(["shop"]);
    expect(await bot.locked(one)).toEqual(["shop"]);
    expect(bot.argocd.application("shop")).toBeUndefined();
  });

  test("deleted: present in base, absent in head", async () => {
    const bot = await startBot({ host });
    const one = await bot.open({ "argocd/web.yaml": null });
    const web = section(bot.lastComment(one), "web");
    expect(web).toContain("### Application: `web` (deleted)");
    expect(web).toContain(DELETED_TEXT);
    expect(web).toContain("**Source file:** `argocd/web.yaml`");
    expect(planned(bot.lastComment(one))).toEqual(["web"]);
    expect(bot.argocd.application("web")).toBeDefined();
  });

  test("modified: present in both with differing manifest content", async () => {
    const bot = await startBot({ host });
    const one = await bot.open({
      "apps/next/configmap.yaml": configMap("web", { value: "next" }),
      "argocd/web.yaml": asYaml(bot.resourceOf("web", { path: "apps/next" })),
    });
    const web = section(bot.lastComment(one), "web");
    expect(web).toMatch(/^### Application: `web`$/m);
    expect(web).toContain("**Changes:** 0 to create, 1 to update");
    expect(web).toContain("+  value: next");
    expect(await bot.stores.locks.list()).toMatchObject([{ application: "web", sourceFile: "argocd/web.yaml" }]);
  });

  test("modified: present in both where the resource cannot be retrieved in one branch", async () => {
    const bot = await startBot({ host, files: () => ({ "argocd/api.yaml": BROKEN }) });
    const one = await bot.open({ "argocd/web.yaml": BROKEN });
    const web = section(bot.lastComment(one), "web");
    expect(web).toMatch(/^### Application: `web`$/m);
    expect(web).toContain("**Changes:** could not be evaluated");
    expect(web).toContain("its Application resource in argocd/web.yaml cannot be read");
    expect(planned(bot.lastComment(one))).toEqual(["web"]);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("Plan for web is stale. Please run the plan command again.");
    const two = await bot.open({ "argocd/api.yaml": asYaml(bot.resourceOf("api")) });
    const api = section(bot.lastComment(two), "api");
    expect(api).toMatch(/^### Application: `api`$/m);
    expect(api).toContain(UNCHANGED_TEXT);
    expect(await bot.locked(two)).toEqual(["api"]);
  });

  test("a resource that moves to another file, or is only formatted anew, is no change", async () => {
    const bot = await startBot({ host, config: { comments: { nothing_affected: "comment" } } });
    const resource = bot.resourceOf("web");
    const one = await bot.open({ "argocd/web.yaml": null, "clusters/one/web.yml": asYaml(resource) });
    expect(bot.lastComment(one)).toContain("No applications are affected");
    const two = await bot.open({ "argocd/web.yaml": `# the web shop\n---\n${stringify(resource)}---\n` });
    expect(bot.lastComment(two)).toContain("No applications are affected");
    expect(await bot.stores.locks.list()).toEqual([]);
  });

  test("resources that the base branch got since the branch left it are no change of the PR", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    await bot.forge.pushToBranch("acme/deploy", "main", {
      "argocd/late.yaml": asYaml(bot.resourceOf("late")),
      "argocd/api.yaml": null,
    });
    await bot.comment(one, "svc plan");
    expect(planned(bot.lastComment(one))).toEqual(["web"]);
  });
});
