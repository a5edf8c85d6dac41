import { describe, expect, test } from "@jest/globals";
import { HOSTS, SHORT, SIGIL, startBot } from "./bot.js";
import { planned, section, UNCHANGED_TEXT } from "./plan-comment.js";
import { changeOf, configMap } from "./resources.js";

const AUTO_SYNCED = { syncPolicy: { automated: {} } };

describe.each(HOSTS)("plans beside other PRs, syncs and commits on %s", (host) => {
  test("locked by another PR: its diff is shown all the same, with the warning", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const two = await bot.open(changeOf(["api", "web"], "3"), { by: "bo" });
    const web = section(bot.lastComment(two), "web");
    expect(web).toContain(`⚠️ [Locked by PR #${one} (ana)](<http`);
    expect(web).toContain('+  value: "3"');
    expect(section(bot.lastComment(two), "api")).toContain("**Status:** Locked by this PR");
    expect(await bot.locked(one)).toEqual(["web"]);
    expect(await bot.locked(two)).toEqual(["api"]);
  });

  test("auto-synced and unchanged is shown as unchanged and not locked; auto-synced and changed is locked", async () => {
    const bot = await startBot({ host, resources: () => ({ web: { spec: AUTO_SYNCED } }) });
    const one = await bot.open({ "apps/web/README.md": "hello" });
    const unchanged = section(bot.lastComment(one), "web");
    expect(unchanged).toContain(UNCHANGED_TEXT);
    expect(unchanged).toContain("**Status:** Not locked");
    expect(await bot.locked(one)).toEqual([]);
    const two = await bot.open(changeOf(["web"]));
    const changed = section(bot.lastComment(two), "web");
    expect(changed).toContain("**Status:** Locked by this PR");
    expect(changed).toContain("auto-sync is enabled: Argo CD deploys it by itself at the merge");
    expect(await bot.locked(two)).toEqual(["web"]);
  });

  test("deployed from another PR and not merged: its plans say so", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    const head = bot.seen(one).headRevision.slice(0, 8);
    const web = section(bot.lastComment(two), "web");
    expect(web).toContain(`⚠️ Runs commit ${head} of [${SHORT[host]} ${SIGIL[host]}${one}](<http`);
    expect(web).toMatch(/-  value: "1"\n\+  value: "3"/);
    expect(web).toContain("**Status:** Locked by this PR");
  });

  test("while a record exists the base side is the base branch's resource, never the definition that a PR wrote", async () => {
    const bot = await startBot({ host });
    const one = await bot.open({
      "apps/next/configmap.yaml": configMap("web", { value: "next" }),
      "argocd/web.yaml": JSON.stringify(bot.resourceOf("web", { path: "apps/next" })),
    });
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    expect(bot.argocd.application("web")?.spec.source?.path).toBe("apps/next");
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    const web = section(bot.lastComment(two), "web");
    expect(web).toMatch(/-  value: "1"\n\+  value: "3"/);
    expect(web).not.toContain("next");
  });

  test("an application that this PR deployed counts as affected at every later head, until it was synced at that head", async () => {
    const bot = await startBot({ host, config: { defaults: { skip_no_changes: true, auto_merge: true } } });
    const one = await bot.open({ ...changeOf(["api", "web"]) });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync -a web");
    expect(bot.liveValue("web")).toBe("2");
    await bot.push(one, { "apps/web/configmap.yaml": configMap("web", { value: "1" }) });
    expect(planned(bot.lastComment(one))).toEqual(["api", "web"]);
    expect(section(bot.lastComment(one), "web")).toContain("⚠️ May run commit");
    expect(await bot.locked(one)).toEqual(["api", "web"]);
    await bot.comment(one, "svc sync -a web");
    expect(bot.liveValue("web")).toBe("1");
    await bot.comment(one, "svc plan");
    expect(planned(bot.lastComment(one))).toEqual(["api"]);
    expect(bot.seen(one).state).toBe("open");
  });

  test("behind its base: the plan warns that a sync would revert what the base branch got, with the commits", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    expect(bot.lastComment(one)).not.toContain("would revert");
    const tip = await bot.forge.pushToBranch("acme/deploy", "main", {
      "apps/web/more.yaml": configMap("more", { a: "1" }),
    });
    await bot.comment(one, "svc plan");
    const web = section(bot.lastComment(one), "web");
    expect(web).toContain(
      `⚠️ The base branch main changed apps/web/more.yaml since this branch left it: a sync would revert this commit: ${tip.slice(0, 8)} "`,
    );
    expect(web).toContain("**Deletes:** 1 to delete");
  });
});
