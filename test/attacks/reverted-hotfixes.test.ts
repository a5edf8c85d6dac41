import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, startBot, type Bot } from "../scenarios/bot.js";
import { apart, asYaml, changeOf, configMap } from "../scenarios/resources.js";

const AUTO_MERGE = { auto_merge: true };

/** Somebody mends the application on the base branch after the PR was planned. Returns the commit. */
async function hotfix(bot: Bot): Promise<string> {
  const tip = await bot.forge.pushToBranch(REPOSITORY, "main", {
    "apps/web/hotfix.yaml": configMap("hotfix", { on: "1" }),
  });
  await bot.idle();
  return tip.slice(0, 8);
}

describe.each(HOSTS)("on %s, a hotfix that reached the base branch after the plan", (host) => {
  test("is not taken out of the cluster by a sync: it is refused with the commit, unless the repository allows it", async () => {
    const bot = await startBot({ host, config: { defaults: AUTO_MERGE } });
    const one = await bot.open(changeOf(["web"]));
    const tip = await hotfix(bot);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(
      `- \`web\`: the base branch main changed apps/web/hotfix.yaml since this branch left it: a sync would revert this commit: ${tip}`,
    );
    expect(bot.lastComment(one)).toContain("Update the branch first");
    expect(bot.changes()).toEqual([]);
    bot.expectChanges("sync web");
    await bot.push(one, { "apps/web/hotfix.yaml": configMap("hotfix", { on: "1" }) });
    await bot.comment(one, "svc sync");
    expect(bot.seen(one).state).toBe("merged");
  });

  test("that a sync was allowed to revert is named in the result, which is not everything and merges nothing", async () => {
    const bot = await startBot({ host, config: { defaults: { ...AUTO_MERGE, require_up_to_date: false } } });
    const one = await bot.open(changeOf(["web"]));
    const tip = await hotfix(bot);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(
      `⚠️ The base branch main changed apps/web/hotfix.yaml since this branch left it: this sync reverted this commit: ${tip}`,
    );
    expect(bot.lastComment(one)).not.toContain("Everything is deployed");
    expect(bot.lastComment(one)).toContain(
      "- `web`: its sync reverted what main got since this branch left it: update the branch and sync again",
    );
    expect(bot.seen(one).state).toBe("open");
  });

  test("is not taken off the base branch by a rebase of commits that make the same change and take it back", async () => {
    const rebase = { ...AUTO_MERGE, merge_method: "rebase" };
    const resources = () => apart("api", "web");
    const bot = await startBot({ host, git: true, resources, config: { defaults: rebase } });
    const mended = { "apps/web/hotfix.yaml": configMap("hotfix", { on: "1" }) };
    const one = await bot.open({ ...changeOf(["api"]), ...mended });
    await bot.push(one, { "apps/web/hotfix.yaml": null });
    await hotfix(bot);
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).toContain("### Application: `web`");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("- `web`: the base branch main changed apps/web/hotfix.yaml");
    expect(bot.changes()).toEqual([]);
    expect(bot.seen(one).state).toBe("open");
  });

  test("is not taken off the base branch by a merge of older commits, which have several merge bases with it", async () => {
    const bot = await startBot({
      host,
      git: true,
      resources: () => apart("api", "web"),
      config: { defaults: AUTO_MERGE },
    });
    const one = await bot.open(changeOf(["api"], "2"));
    const mended = await bot.forge.pushToBranch(REPOSITORY, "main", {
      "apps/web/hotfix.yaml": configMap("hotfix", { on: "1" }),
    });
    const older = await bot.forge.push(REPOSITORY, one, { "README.md": "Older than the hotfix\n" });
    await bot.forge.mergeByHand(REPOSITORY, one, "ana");
    await bot.idle();
    const two = await bot.open(changeOf(["api"], "3"));
    const evil = { ...changeOf(["api"], "4"), "apps/web/hotfix.yaml": null };
    await bot.forge.push(REPOSITORY, two, evil, { onto: older, merging: mended });
    await bot.idle();
    expect(bot.lastComment(two)).toContain("### Application: `web`");
    await bot.comment(two, "svc sync");
    expect(bot.lastComment(two)).toContain("- `web`: the base branch main changed apps/web/hotfix.yaml");
    expect(bot.changes()).toEqual([]);
  });

  test("in a definition that the PR changes as well is not reverted either", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(bot.moved("web"));
    const mended = asYaml(bot.resourceOf("web", { annotations: { "example.com/owner": "team-a" } }));
    await bot.forge.pushToBranch(REPOSITORY, "main", { "argocd/web.yaml": mended });
    await bot.idle();
    await bot.comment(one, "svc plan");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(
      "the base branch main changed argocd/web.yaml since this branch left it: a sync would revert",
    );
    expect(bot.changes()).toEqual([]);
  });
});
