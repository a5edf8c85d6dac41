import { describe, expect, test } from "@jest/globals";
import { HOSTS, USUAL_RENDERS, REPOSITORY, startBot, type Bot } from "../scenarios/bot.js";
import { cloneUrlOf, generatedApplication, git, runsShops, shops, shopsResource } from "../scenarios/sets.js";

const REQUIRED = "sync_requirements: [{ name: '*', require_approval: true }]\n";

/** What Argo CD makes of the commit's checkout, which is not what git stores. */
function rendersOtherwise(bot: Bot, one: number, name: string): void {
  const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { value: "1\r\n" } };
  bot.argocd.setManifests(name, bot.seen(one).headRevision, [configMap]);
}

describe.each(HOSTS)("a file that changes what a checkout contains, on %s", (host) => {
  test.each([
    ["line ends at the root", ".gitattributes", "*.yaml text eol=crlf\n"],
    ["a filter on the way", "apps/.gitattributes", "*.yaml filter=lfs\n"],
    ["where large files come from", ".lfsconfig", "[lfs]\n  url = https://lfs.example.com\n"],
    ["where submodules come from", ".gitmodules", '[submodule "a"]\n  path = a\n  url = https://git.example.com/a\n'],
  ])("affects everything that is read from it, and needs its approval: %s", async (_what, path, content) => {
    const bot = await startBot({
      host,
      files: () => ({ ".svc.yaml": REQUIRED }),
      config: { ...USUAL_RENDERS, defaults: { autoplan: false } },
    });
    const one = await bot.open({ [path]: content });
    rendersOtherwise(bot, one, "web");
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).toContain("### Application: `web`");
    expect(bot.lastComment(one)).toContain("**Changes:** 0 to create, 1 to update");
    expect(await bot.locked(one)).toContain("web");
    await bot.comment(one, "svc sync -a web");
    expect(bot.lastComment(one)).toContain("PR must be approved before sync");
    expect(bot.changes()).toEqual([]);
    if (host === "hosta") {
      expect(bot.forge.statuses(REPOSITORY, bot.seen(one).headRevision).at(-1)?.state).toBe("pending");
    }
  });

  test("in another folder affects nothing", async () => {
    const bot = await startBot({ host });
    const one = await bot.open({ "docs/.gitattributes": "* text eol=crlf\n", "apps/.lfsconfig": "[lfs]\n" });
    expect(await bot.locked(one)).toEqual([]);
  });

  test("affects the sets whose generators read the files that it decides about", async () => {
    const generator = (url: string) => git(url, { files: [{ path: "envs/*.json" }] });
    const bot = await startBot({
      host,
      applications: [],
      files: (url) => ({ "sets/shops.yaml": shops(url, generator(url)), "envs/it.json": '{"name": "it"}\n' }),
      prepare: (world, forge) => {
        const url = cloneUrlOf(forge);
        runsShops(world, shopsResource(url, generator(url)), [generatedApplication("it", { repoURL: url })]);
      },
    });
    const one = await bot.open({ ".gitattributes": "*.json filter=lfs\n" });
    expect(bot.argocd.requests.filter(({ path }) => path.endsWith("/generate"))).not.toEqual([]);
    expect(await bot.locked(one)).toEqual(["shop-it"]);
  });
});
