import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, startBot } from "./bot.js";
import { planned } from "./plan-comment.js";
import { applicationResource, changeOf } from "./resources.js";

const SHA = "0123456789abcdef0123456789abcdef01234567";

/** What the source of an application of each of these names follows. */
const FOLLOWED: Readonly<Record<string, string>> = {
  branch: "main",
  empty: "",
  full: "refs/heads/main",
  head: "HEAD",
  other: "release",
  "other-full": "refs/heads/release",
  range: "1.x",
  sha: SHA,
  tag: "v1",
  "tag-full": "refs/tags/main",
};

const NAMES = Object.keys(FOLLOWED);
const onMain = ["branch", "empty", "full", "head"];

describe.each(HOSTS)("which sources follow the base branch on %s", (host) => {
  const start = () =>
    startBot({
      host,
      applications: NAMES,
      resources: () => Object.fromEntries(NAMES.map((name) => [name, { targetRevision: FOLLOWED[name] ?? "" }])),
    });

  test("sources that follow the base branch by any of its names get the head commit; all others are listed with what they follow", async () => {
    const bot = await start();
    const one = await bot.open(changeOf(NAMES));
    const comment = bot.lastComment(one);
    expect(planned(comment)).toEqual(onMain);
    for (const name of NAMES.filter((other) => !onMain.includes(other))) {
      expect(comment).toContain(
        `- \`${name}\`: it follows ${FOLLOWED[name] ?? ""}, not main: this change does not reach it before that moves`,
      );
    }
    bot.expectChanges(...onMain.map((name) => `sync ${name}`));
    await bot.comment(one, "svc sync");
    for (const name of onMain) {
      const { operationState } = bot.argocd.application(name)?.status ?? {};
      expect([name, operationState?.syncResult?.revision]).toEqual([name, bot.seen(one).headRevision]);
      expect(bot.liveValue(name)).toBe("2");
    }
    expect(bot.changes()).toHaveLength(onMain.length);
  });

  test("under another base branch HEAD and an empty revision mean the default branch, and are left out", async () => {
    const bot = await start();
    await bot.forge.pushToBranch(REPOSITORY, "release", {});
    const one = await bot.open(changeOf(NAMES), { base: "release" });
    const comment = bot.lastComment(one);
    expect(planned(comment)).toEqual(["other", "other-full"]);
    expect(comment).toContain("- `head`: it follows HEAD, not release: this change does not reach it");
    expect(comment).toContain("- `empty`: it follows HEAD (main), not release: this change does not reach it");
    expect(comment).toContain("- `branch`: it follows main, not release");
  });

  test("a base branch whose name means a range of versions is not deployed where there are versions, since Argo CD takes the newest of them", async () => {
    const bot = await start();
    const tip = await bot.forge.pushToBranch(REPOSITORY, "1.x", {});
    const one = await bot.open(changeOf(["range"]), { base: "1.x" });
    expect(planned(bot.lastComment(one))).toEqual(["range"]);
    await bot.forge.setRef(REPOSITORY, "refs/tags/v1.2.3", tip);
    await bot.comment(one, "svc sync");
    const why = "source 1: 1.x may mean a range of versions, and Argo CD takes the highest tag in it before a branch";
    expect(bot.lastComment(one)).toContain(`- \`range\`: ${why}`);
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).toContain("Name a branch (refs/heads/1.x), a tag or a whole commit id");
    // Nor may a definition from there take the application over.
    const taken = JSON.stringify(bot.resourceOf("range", { targetRevision: "refs/heads/1.x" }));
    const two = await bot.open({ "argocd/range.yaml": taken }, { base: "1.x" });
    expect(bot.lastComment(two)).toContain(why);
    await bot.comment(two, "svc sync");
    expect(bot.changes()).toEqual([]);
  });

  test("a source that a PR lets follow the base branch from now on is planned at the head commit", async () => {
    const bot = await startBot({ host, resources: () => ({ web: { targetRevision: "v1" } }) });
    const moved = bot.resourceOf("web", { targetRevision: "main" });
    bot.argocd.addApplication(bot.resourceOf("web", { targetRevision: "release" }));
    await bot.forge.pushToBranch(REPOSITORY, "release", {});
    const one = await bot.open({ "argocd/web.yaml": JSON.stringify(moved), ...changeOf(["web"]) });
    expect(planned(bot.lastComment(one))).toEqual(["web"]);
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("web")).toBe("2");
    expect(bot.argocd.application("web")?.spec.source?.targetRevision).toBe("main");
  });

  test("a source that a PR takes off the base branch is planned and synced at its new revision, not at the head commit", async () => {
    const bot = await startBot({ host });
    await bot.forge.pushToBranch(REPOSITORY, "release", changeOf(["web"], "release"));
    const resource = applicationResource("web", {
      repoURL: bot.forge.cloneUrl(REPOSITORY),
      targetRevision: "release",
    });
    const one = await bot.open({ "argocd/web.yaml": JSON.stringify(resource), ...changeOf(["web"], "head") });
    expect(bot.lastComment(one)).toContain("+  value: release");
    await bot.approve(one);
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("web")).toBe("release");
  });
});
