import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, SHORT, SIGIL, startBot, type Bot } from "./bot.js";
import { changeOf, configMap } from "./resources.js";

const ON = { defaults: { auto_merge: true } };
const AUTO_SYNC = { spec: { syncPolicy: { automated: {} } } };

async function syncAll(bot: Bot, one: number, command = "svc sync"): Promise<void> {
  bot.expectChanges("sync api", "sync web");
  await bot.comment(one, command);
}

describe.each(HOSTS)("auto-merge on %s", (host) => {
  test("after a sync in which everything succeeded the PR is merged, and locks and records end", async () => {
    const bot = await startBot({ host, config: ON });
    const one = await bot.open(changeOf(["api", "web"]));
    await syncAll(bot, one);
    expect(bot.lastComment(one)).toContain(
      `svc merges this ${SHORT[host]} into \`main\` next, unless a comment below says otherwise`,
    );
    expect(bot.seen(one).state).toBe("merged");
    expect(await bot.deployed(one)).toEqual([]);
    expect(await bot.forge.branches(REPOSITORY)).toContain(bot.seen(one).headBranch);
  });

  test("is off by default", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    await syncAll(bot, one);
    expect(bot.seen(one).state).toBe("open");
    expect(bot.lastComment(one)).not.toContain("erging");
  });

  test("a failed sync hinders it and is listed; the sync of the rest merges", async () => {
    const bot = await startBot({ host, config: ON });
    const one = await bot.open(changeOf(["api", "web"]));
    bot.argocd.failNextSync("api", { phase: "Failed", message: "no room" });
    await syncAll(bot, one);
    expect(bot.lastComment(one)).toContain("Not merged automatically:\n- `api`: its sync has not succeeded");
    expect(bot.seen(one).state).toBe("open");
    await bot.comment(one, "svc sync -a api");
    expect(bot.seen(one).state).toBe("merged");
  });

  test("what -a left out hinders it and is listed, and so does an application that is locked elsewhere", async () => {
    const bot = await startBot({ host, applications: ["api", "shop", "web"], config: ON });
    const other = await bot.open(changeOf(["shop"], "3"), { by: "bo" });
    const one = await bot.open(changeOf(["api", "shop", "web"]));
    await syncAll(bot, one, "svc sync -a web");
    expect(bot.lastComment(one)).toContain("- `api`: it was not synced at the head commit");
    expect(bot.lastComment(one)).toContain(`- \`shop\`: it is locked by [${SHORT[host]} ${SIGIL[host]}${other}](<http`);
    await bot.comment(one, "svc sync -a api");
    expect(bot.lastComment(one)).toContain(
      `Not merged automatically:\n- \`shop\`: it is locked by [${SHORT[host]} ${SIGIL[host]}${other}](<http`,
    );
    expect(bot.seen(one).state).toBe("open");
    await bot.close(other);
    await bot.comment(one, "svc plan");
    bot.expectChanges("sync shop");
    await bot.comment(one, "svc sync -a shop");
    expect(bot.seen(one).state).toBe("merged");
  });

  test("a failure does not hide what else hinders it", async () => {
    const bot = await startBot({ host, applications: ["api", "shop", "web"], config: ON });
    const other = await bot.open(changeOf(["shop"], "3"), { by: "bo" });
    const one = await bot.open(changeOf(["api", "shop", "web"]));
    bot.argocd.failNextSync("web", { phase: "Failed", message: "no room" });
    await syncAll(bot, one, "svc sync -a web");
    expect(bot.lastComment(one)).toContain(
      [
        "- `web`: its sync has not succeeded",
        "- `api`: it was not synced at the head commit",
        `- \`shop\`: it is locked by [${SHORT[host]} ${SIGIL[host]}${other}](<http`,
      ].join("\n"),
    );
  });

  test("an application that was not evaluated, or left out of the plan, hinders it and is listed", async () => {
    const bot = await startBot({ host, applications: ["api", "shop", "web"], config: ON });
    const one = await bot.open({ ...changeOf(["shop", "web"]), "apps/api/configmap.yaml": "kind: [broken" });
    expect(bot.lastComment(one)).toContain("**Changes:** could not be evaluated");
    await syncAll(bot, one, "svc sync -a web");
    expect(bot.lastComment(one)).toContain("- `api`: its plan could not be evaluated");
    await bot.push(one, changeOf(["api"]));
    await bot.comment(one, "svc unlock");
    await bot.comment(one, "svc plan -a web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("- `api`: it was not synced at the head commit");
    expect(bot.seen(one).state).toBe("open");
  });

  test("new, deleted and auto-synced applications do not hinder it", async () => {
    const bot = await startBot({
      host,
      applications: ["api", "auto", "web"],
      config: ON,
      resources: () => ({ auto: AUTO_SYNC }),
    });
    const one = await bot.open({
      ...changeOf(["auto", "web"]),
      "argocd/api.yaml": null,
      "argocd/fresh.yaml": JSON.stringify(bot.resourceOf("fresh")),
      "apps/fresh/configmap.yaml": configMap("fresh", { value: "1" }),
    });
    expect(bot.lastComment(one)).toContain("Not deployed by a sync: auto-sync is enabled");
    await syncAll(bot, one, "svc sync -a web");
    expect(bot.seen(one).state).toBe("merged");
    expect(bot.changes()).toEqual(["sync web"]);
  });

  test("what skip_no_changes dropped does not hinder it", async () => {
    const bot = await startBot({ host, config: { defaults: { auto_merge: true, skip_no_changes: true } } });
    const one = await bot.open({
      ...changeOf(["api"]),
      "apps/web/configmap.yaml": `# a remark\n${configMap("web", { value: "1" })}`,
    });
    await syncAll(bot, one);
    expect(bot.changes()).toEqual(["sync api"]);
    expect(bot.seen(one).state).toBe("merged");
  });

  test("an application synced at an earlier head hinders it until it is synced at the present one", async () => {
    const bot = await startBot({ host, config: ON });
    const one = await bot.open(changeOf(["api", "web"]));
    await syncAll(bot, one, "svc sync -a web");
    await bot.push(one, changeOf(["api"], "3"));
    await bot.comment(one, "svc sync -a api");
    expect(bot.lastComment(one)).toContain("- `web`: it was not synced at the head commit");
    expect(bot.seen(one).state).toBe("open");
    await bot.comment(one, "svc sync");
    expect(bot.seen(one).state).toBe("merged");
  });

  test("what takes effect by the merge itself needs the approval that it requires", async () => {
    const bot = await startBot({
      host,
      config: ON,
      files: () => ({ ".svc.yaml": "sync_requirements:\n  - { name: fresh, require_approval: true }\n" }),
    });
    const one = await bot.open({
      ...changeOf(["api", "web", "fresh"]),
      "argocd/fresh.yaml": JSON.stringify(bot.resourceOf("fresh")),
    });
    await syncAll(bot, one, "svc sync -a api -a web");
    expect(bot.lastComment(one)).toContain(`- \`fresh\`: ${SHORT[host]} must be approved before it is merged`);
    expect(bot.seen(one).state).toBe("open");
    await bot.approve(one);
    await bot.comment(one, "svc plan");
    await bot.comment(one, "svc sync");
    expect(bot.seen(one).state).toBe("merged");
  });
});
