import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, startBot } from "./bot.js";
import { changeOf, configMap } from "./resources.js";

describe.each(HOSTS)("a dry run on %s", (host) => {
  test("shows what would be applied; no lock, record, live object or merge comes of it", async () => {
    const bot = await startBot({ host, config: { defaults: { auto_merge: true } } });
    const one = await bot.open(changeOf(["api", "web"]));
    const locks = await bot.stores.locks.list(bot.ref(one));
    bot.expectChanges("dry-run api", "dry-run web");
    await bot.comment(one, "svc sync --dry-run");
    expect(bot.lastComment(one)).toContain("## svc Sync (dry run)");
    expect(bot.lastComment(one).match(/the dry run succeeded, nothing was changed/g)).toHaveLength(2);
    expect(bot.lastComment(one)).toContain("ConfigMap guestbook/web: Synced: configmap/web created (dry run)");
    expect(await bot.stores.locks.list(bot.ref(one))).toEqual(locks);
    expect(await bot.deployed(one)).toEqual([]);
    expect(bot.liveValue("web")).toBeUndefined();
    expect(bot.seen(one).state).toBe("open");
    expect(bot.changes()).toEqual(["dry-run api", "dry-run web"]);
  });

  test("needs no approval, which the sync itself still does; a rollback neither", async () => {
    const bot = await startBot({ host, config: { defaults: { require_approval: true } } });
    const one = await bot.open(changeOf(["api", "web"]));
    bot.expectChanges("dry-run web", "dry-run api", "dry-run web");
    await bot.comment(one, "svc sync -a web --dry-run", "bo");
    expect(bot.lastComment(one)).toContain("the dry run succeeded, nothing was changed");
    await bot.comment(one, "svc sync -a web");
    expect(bot.lastComment(one)).toContain("PR must be approved before sync");
    await bot.comment(one, "svc rollback --dry-run", "bo");
    expect(bot.lastComment(one)).toContain("## svc Rollback (dry run)");
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("PR must be approved before sync");
    expect(bot.changes()).toEqual(["dry-run web", "dry-run api", "dry-run web"]);
    expect(await bot.deployed(one)).toEqual([]);
  });

  test("is not hindered by a request for changes", async () => {
    const bot = await startBot({ host, config: { defaults: { require_approval: true } } });
    const one = await bot.open(changeOf(["web"]));
    await bot.forge.review(REPOSITORY, one, "bo", "request-changes");
    bot.expectChanges("dry-run web");
    await bot.comment(one, "svc sync --dry-run");
    expect(bot.lastComment(one)).toContain("the dry run succeeded, nothing was changed");
  });

  test("is refused to people who may not run the sync, approved or not", async () => {
    const bot = await startBot({
      host,
      files: () => ({
        ".svc.yaml": "sync_requirements:\n  - { name: web, allowed_users: [bo], require_approval: true }\n",
      }),
    });
    bot.forge.setAccess(REPOSITORY, "olga", "read");
    const one = await bot.open(changeOf(["web"]));
    for (const command of ["svc sync --dry-run", "svc rollback --dry-run"]) {
      await bot.comment(one, command);
      expect(bot.lastComment(one)).toContain("- `web`: only bo may");
    }
    await bot.comment(one, "svc sync --dry-run", "olga");
    expect(bot.lastComment(one)).toContain("`olga` has no write access");
    expect(bot.changes()).toEqual([]);
  });

  test("needs the approval of the sync where its author has no write access, and none is asked for", async () => {
    const defaults = { require_approval: true, command_access: "anyone" };
    const bot = await startBot({ host, config: { defaults } });
    bot.forge.setAccess(REPOSITORY, "olga", "read");
    const one = await bot.open(changeOf(["web"]));
    for (const command of ["svc sync --dry-run", "svc rollback --dry-run"]) {
      await bot.comment(one, command, "olga");
      expect(bot.lastComment(one)).toContain("PR must be approved before sync");
    }
    bot.expectChanges("dry-run web");
    await bot.comment(one, "svc sync --dry-run");
    expect(bot.changes()).toEqual(["dry-run web"]);
  });

  test("runs the other checks of a sync", async () => {
    const bot = await startBot({ host, config: { defaults: { require_approval: true } } });
    const one = await bot.open(changeOf(["web"]));
    await bot.forge.pushSilently(REPOSITORY, one, changeOf(["web"], "3"));
    await bot.comment(one, "svc sync --dry-run");
    expect(bot.lastComment(one)).toContain("Plan for web is stale. Please run the plan command again.");
    expect(bot.changes()).toEqual([]);
  });

  test("an application whose spec changed cannot be tried without changing its definition; the others are", async () => {
    const bot = await startBot({ host });
    const one = await bot.open({
      ...changeOf(["api"]),
      ...bot.moved("web"),
    });
    bot.expectChanges("dry-run api");
    await bot.comment(one, "svc sync --dry-run");
    expect(bot.lastComment(one)).toContain(" cannot be tried without changing its definition");
    expect(bot.changes()).toEqual(["dry-run api"]);
    expect(await bot.locked(one)).toEqual(["api", "web"]);
  });

  test("takes nothing away: what skip_no_changes drops keeps its lock, a failure leaves no record", async () => {
    const bot = await startBot({ host, config: { defaults: { skip_no_changes: true, auto_merge: true } } });
    const one = await bot.open({
      ...changeOf(["api"]),
      "apps/web/configmap.yaml": `# a remark\n${configMap("web", { value: "1" })}`,
    });
    bot.argocd.failNextSync("api", { phase: "Failed", message: "no room" });
    bot.expectChanges("dry-run api");
    await bot.comment(one, "svc sync --dry-run");
    expect(bot.lastComment(one)).toContain("❌ the dry run failed");
    expect(bot.lastComment(one)).toContain("no room");
    expect(bot.lastComment(one)).toContain("Skipped, because the plan proved that nothing changes: `web`.");
    expect(await bot.locked(one)).toEqual(["api", "web"]);
    expect(await bot.deployed(one)).toEqual([]);
    expect(bot.seen(one).state).toBe("open");
  });

  test("a rollback that would put back a definition cannot be tried either", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(bot.moved("web"));
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    await bot.comment(one, "svc rollback --dry-run");
    expect(bot.lastComment(one)).toContain(" cannot be tried without changing its definition");
    expect(bot.changes()).toEqual(["update web", "sync web"]);
    expect(await bot.deployed(one)).toEqual(["web"]);
  });
});
