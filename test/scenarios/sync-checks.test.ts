import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, SHORT, startBot } from "./bot.js";
import { apart, changeOf } from "./resources.js";

const AUTO_SYNC = { spec: { syncPolicy: { automated: {} } } };
const UNCOVERED = { annotations: { "argocd.argoproj.io/manifest-generate-paths": "/elsewhere" } };

describe.each(HOSTS)("the checks of a sync on %s", (host) => {
  test("come in their order: locked, approved, stale, mergeable, auto-sync, then the rest", async () => {
    const bot = await startBot({ host, config: { defaults: { require_approval: true } } });
    const one = await bot.open(changeOf(["api", "web"]));
    const ask = async () => {
      await bot.comment(one, "svc sync");
      return bot.lastComment(one);
    };
    await bot.comment(one, "svc unlock");
    // Everything is wrong at once from here on; each cure shows the next check.
    bot.argocd.addApplication(bot.resourceOf("web", { ...AUTO_SYNC, ...UNCOVERED }));
    await bot.forge.pushToBranch(REPOSITORY, "main", changeOf(["web"], "9"));
    expect(await ask()).toContain("No applications are locked by this PR. Run the plan command first.");
    await bot.comment(one, "svc plan");
    await bot.forge.pushSilently(REPOSITORY, one, changeOf(["web"], "3"));
    expect(await ask()).toContain("PR must be approved before sync");
    await bot.approve(one);
    expect(await ask()).toContain("Plan for web is stale. Please run the plan command again.");
    expect(bot.lastComment(one)).toContain("Plan for api is stale. Please run the plan command again.");
    await bot.comment(one, "svc plan");
    expect(await ask()).toContain("PR has merge conflicts, please resolve before syncing");
    await bot.forge.pushToBranch(REPOSITORY, "main", changeOf(["web"], "1"));
    expect(await ask()).toContain("Application web has auto-sync enabled.");
    expect(bot.lastComment(one)).toContain("\nsvc sync -a api\n");
    bot.argocd.addApplication(bot.resourceOf("web", UNCOVERED));
    expect(await ask()).toContain("- `web`: the annotation manifest-generate-paths does not cover");
    expect(bot.changes()).toEqual([]);
    bot.expectChanges("sync api");
    await bot.comment(one, "svc sync -a api");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    expect(await bot.locked(one)).toEqual(["web"]);
  });

  test("a check refuses the whole run, names every application it fails for, and gives the -a of those that would pass every check", async () => {
    const bot = await startBot({
      host,
      applications: ["api", "shop", "web", "wiki"],
      resources: () => {
        const own = apart("api", "shop", "web", "wiki");
        return { ...own, api: { spec: { ...own.api?.spec, ...AUTO_SYNC.spec } } };
      },
      files: () => ({
        ".svc.yaml": [
          "sync_requirements:",
          "  - { name: web, require_approval: true }",
          "  - { name: shop, require_approval: true }",
          "",
        ].join("\n"),
      }),
    });
    const one = await bot.open(changeOf(["api", "shop", "web", "wiki"]));
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("PR must be approved before sync");
    expect(bot.lastComment(one)).toContain("Approval is required for `shop`, `web`.");
    // api would pass this check and fail the next one.
    expect(bot.lastComment(one)).toContain("To continue with the others, comment:\n```\nsvc sync -a wiki\n```");
    expect(bot.changes()).toEqual([]);
    await bot.approve(one);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(
      "To continue with the others, comment:\n```\nsvc sync -a shop -a web -a wiki\n```",
    );
    bot.expectChanges("sync shop", "sync web", "sync wiki");
    await bot.comment(one, "svc sync -a shop -a web -a wiki");
    expect(bot.lastComment(one).match(/✅ succeeded/g)).toHaveLength(3);
  });

  test("mergeability still being computed: svc waits for it, and says so when the host does not come to an end", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.forge.delayMergeability(REPOSITORY, one, 1000);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(
      `is still computing whether this ${SHORT[host]} can be merged. Nothing was deployed`,
    );
    expect(await bot.locked(one)).toEqual(["web"]);
    bot.forge.delayMergeability(REPOSITORY, one, 2);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
  });

  test("a plan that could not be evaluated leaves the old revision: the sync is refused as stale, with the reason", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    await bot.push(one, { "apps/web/configmap.yaml": "kind: [broken" });
    expect(bot.lastComment(one)).toContain("**Changes:** could not be evaluated");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("Plan for web is stale. Please run the plan command again.");
    expect(bot.lastComment(one)).toContain("The last plan could not evaluate it:");
    expect(bot.changes()).toEqual([]);
  });
});
