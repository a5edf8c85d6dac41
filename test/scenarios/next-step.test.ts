import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, SHORT, SIGIL, startBot } from "./bot.js";
import { changeOf, configMap } from "./resources.js";

describe.each(HOSTS)("the next step on %s", (host) => {
  test("of a merged PR is no command: neither rollback nor plan sends people to the other", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    await bot.forge.mergeByHand(REPOSITORY, one, "bo");
    await bot.idle();
    for (const command of ["svc rollback", "svc plan", "svc sync"]) {
      await bot.comment(one, command);
      expect(bot.lastComment(one)).toContain("Nothing is left to do here; to undo the merge, comment `svc revert`.");
      expect(bot.lastComment(one)).not.toMatch(/svc (plan|sync|rollback)`|Run the plan|`rollback`/);
    }
  });

  test("of what a sync leaves in the cluster while it merges is in Argo CD, and no command of this PR", async () => {
    const bot = await startBot({
      host,
      config: { defaults: { auto_merge: true } },
      files: () => ({ "apps/web/old.yaml": configMap("old", { value: "1" }) }),
      prepare: ({ argocd }) => argocd.deploy("web"),
    });
    const one = await bot.open({ "apps/web/old.yaml": null });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    const said = bot.lastComment(one);
    expect(said).toContain(
      `⚠️ 1 resource not pruned · svc merges this ${SHORT[host]} into \`main\` next, unless a comment below says otherwise`,
    );
    expect(said).toContain("1 resource was left in the cluster. To remove it, sync with prune in Argo CD.");
    expect(said).not.toMatch(/`svc /);
    expect(bot.seen(one).state).toBe("merged");
  });

  test("is the same in the commit status and in the plan: an approval, then svc sync", async () => {
    const config = { defaults: { require_approval: true }, [host]: { commit_status: true } };
    const bot = await startBot({ host, config });
    const one = await bot.open(changeOf(["web"]));
    const head = bot.seen(one).headRevision;
    const plan = bot.lastComment(one);
    expect(plan).toMatch(
      new RegExp(`Needs an approval of .*${head.slice(0, 8)}.* by somebody other than ana, then \`svc sync\``),
    );
    expect(plan).not.toMatch(/comment:/i);
    if (host === "hosta") {
      const { description } = bot.forge.statuses(REPOSITORY, head).at(-1) ?? {};
      expect(description).toBe("web needs an approval, then svc sync");
    }
    await bot.comment(one, "svc unlock");
    await bot.approve(one, "bo");
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).toMatch(/\n---\nTo deploy commit [^\n]*, comment:\n```\nsvc sync\n```\n/);
  });

  test("after a success without auto-merge is the merge", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    const first = bot.lastComment(one).split("\n").slice(0, 4).join("\n");
    expect(first).toContain("**1 application deployed**");
    expect(first).toContain(`merge this ${SHORT[host]}`);
  });

  test("where another PR holds the lock is to wait for it, and not a plan", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    for (const command of ["svc sync", "svc sync -a web"]) {
      await bot.comment(two, command, "bo");
      expect(bot.lastComment(two)).toMatch(
        new RegExp(`[Ww]ait for \\[${SHORT[host]} .${one} \\(ana\\)\\]\\(<[^>]*/${one}>\\), which has locked \`web\``),
      );
      expect(bot.lastComment(two)).not.toMatch(/Run the plan|svc plan/);
    }
  });

  test("where another PR holds several locks names that PR once", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web", "api"]));
    const two = await bot.open(changeOf(["web", "api"], "3"), { by: "bo" });
    await bot.comment(two, "svc sync", "bo");
    const text = bot.lastComment(two).replace(/\(<[^>]*>\)/g, "");
    expect(text).toContain(`Wait for [${SHORT[host]} ${SIGIL[host]}${one} (ana)], which has locked \`api\`, \`web\`.`);
  });

  test("where Argo CD was away for the plan is another plan, and nothing is said to have changed since", async () => {
    const bot = await startBot({ host });
    const away = bot.argocd.faults.add({ path: /\/applications\/web/, fault: { kind: "status", status: 503 } });
    const one = await bot.open(changeOf(["web"]));
    expect(bot.lastComment(one)).toContain("fix the cause, then push or comment `svc plan`.");
    away();
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("The last plan could not evaluate it:");
    expect(bot.lastComment(one)).toContain("failed to connect to Argo CD");
    expect(bot.lastComment(one)).not.toContain("since the plan");
    bot.expectChanges("sync web");
    for (const command of ["svc plan", "svc sync"]) await bot.comment(one, command);
    expect(bot.liveValue("web")).toBe("2");
  });

  test("names the applications that may be synced where one is auto-synced", async () => {
    const bot = await startBot({ host });
    bot.argocd.addApplication(bot.resourceOf("api", { spec: { syncPolicy: { automated: {} } } }));
    const one = await bot.open(changeOf(["api", "web"]));
    expect(bot.lastComment(one)).toContain("Next, comment:\n```\nsvc sync -a web\n```");
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync -a web");
    // Without `-a` it takes back what was deployed, and leaves the lock of the other.
    expect(bot.lastComment(one)).toContain("To deploy `main` again, comment `svc rollback`.");
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("✅ succeeded, `main` is deployed");
  });
});
