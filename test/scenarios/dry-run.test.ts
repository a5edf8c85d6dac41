import { describe, expect, test } from "@jest/globals";
import { HOSTS, startBot } from "./bot.js";
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

  test("runs the checks of a sync", async () => {
    const bot = await startBot({ host, config: { defaults: { require_approval: true } } });
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "svc sync --dry-run");
    expect(bot.lastComment(one)).toContain("PR must be approved before sync");
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
    expect(bot.lastComment(one)).toContain("Nothing to deploy, proven unchanged by the plan: `web`.");
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
