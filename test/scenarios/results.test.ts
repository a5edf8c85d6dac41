import { describe, expect, test } from "@jest/globals";
import { HOSTS, startBot } from "./bot.js";
import { changeOf, configMap } from "./resources.js";

describe.each(HOSTS)("what a result says on %s", (host) => {
  test("success: the commit, the health, and the command that undoes it", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    const commit = bot.seen(one).headRevision.slice(0, 8);
    const shown = `${bot.argocd.url}/applications/web`;
    expect(bot.lastComment(one)).toContain(
      `**Result:** ✅ succeeded, \`${commit}\` is deployed · in Argo CD: [application](<${shown}>), [operation](<${shown}?operation=true>)\n\n**Health:** \`Healthy\``,
    );
    expect(bot.lastComment(one)).toContain("To deploy `main` again, comment `svc rollback`.");
  });

  test("what was not pruned is named, and the two commands that it names remove it", async () => {
    const bot = await startBot({
      host,
      files: () => ({
        "apps/web/old.yaml": configMap("old", { value: "1" }),
        "apps/web/older.yaml": configMap("older", { value: "1" }),
      }),
      prepare: ({ argocd }) => argocd.deploy("web"),
    });
    const one = await bot.open({ "apps/web/old.yaml": null, "apps/web/older.yaml": null });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    const said = bot.lastComment(one);
    expect(said).toContain("**Not pruned:** 2 resources were left in the cluster.");
    expect(said).toContain("```\n ConfigMap guestbook/old\n ConfigMap guestbook/older\n```");
    const [, first, second] = /comment `([^`]*)` and then `([^`]*)`/.exec(said) ?? [];
    await bot.comment(one, first ?? "");
    await bot.comment(one, second ?? "");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    expect(bot.liveValue("old")).toBeUndefined();
    expect(bot.liveValue("older")).toBeUndefined();
  });

  test("failure: the messages of the failed resources, fenced, and what to type next", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.argocd.failNextSync("web", {
      phase: "Failed",
      message: "one or more objects failed to apply",
      resources: [{ kind: "ConfigMap", name: "web", message: "denied:\n```\n/close\n@team" }],
    });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("ConfigMap guestbook/web: SyncFailed: denied:");
    expect(bot.lastComment(one)).not.toMatch(/^\/close/m);
    expect(bot.lastComment(one)).toContain(" · fix the cause, then `svc sync`, or `svc rollback -a web` · [plan](");
    await bot.comment(one, "svc rollback -a web");
    expect(bot.lastComment(one)).toContain("✅ succeeded, `main` is deployed");
  });
});
