import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, SHORT, startBot, type Bot } from "./bot.js";
import { changeOf } from "./resources.js";

const SYNC = { method: "POST", path: /\/sync$/ };
const MERGE = { method: "PUT", path: /\/merge$/ };

async function syncWeb(bot: Bot, more: { readonly branch?: string } = {}): Promise<number> {
  const one = await bot.open(changeOf(["web"]), more);
  bot.expectChanges("sync web");
  await bot.comment(one, "svc sync");
  return one;
}

function withMerging(more: object = {}) {
  return { defaults: { auto_merge: true, ...more } };
}

describe.each(HOSTS)("the merge itself on %s", (host) => {
  test.each(["squash", "merge", "rebase"])("merge_method: %s", async (method) => {
    const bot = await startBot({ host, config: withMerging({ merge_method: method }) });
    const one = await bot.open(changeOf(["web"], "1.5"));
    bot.world.gitlab?.tickSquash(REPOSITORY, one);
    await bot.push(one, changeOf(["web"]));
    const before = await bot.forge.pushToBranch(REPOSITORY, "main", { "docs/readme.txt": "x" });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.seen(one).state).toBe("merged");
    const parents = (await bot.forge.commitsSince(REPOSITORY, before, "main")).map((commit) => commit.parents.length);
    // GitLab has no choice between merge and rebase per merge request: that is the project's setting.
    const merged = method === "rebase" && host === "hosta" ? [1, 1] : method === "squash" ? [1] : [1, 1, 2];
    expect(parents).toEqual(merged);
  });

  test("delete_source_branch deletes the source branch", async () => {
    const bot = await startBot({ host, config: withMerging({ delete_source_branch: true }) });
    const one = await syncWeb(bot);
    expect(bot.seen(one).state).toBe("merged");
    expect(await bot.forge.branches(REPOSITORY)).toEqual(["main"]);
  });

  test.each(["master", "develop", "development", "release"])("the branch %s is never deleted", async (branch) => {
    const more = { delete_source_branch: true, protected_branches: ["release"] };
    const bot = await startBot({ host, config: withMerging(more) });
    const one = await syncWeb(bot, { branch });
    expect(bot.seen(one).state).toBe("merged");
    expect([...(await bot.forge.branches(REPOSITORY))].sort()).toEqual([branch, "main"].sort());
  });

  test("the head moved before the merge: the guard keeps the new commit from being merged", async () => {
    const bot = await startBot({ host, config: withMerging() });
    bot.meanwhile("forge", MERGE, async () => {
      await bot.forge.pushSilently(REPOSITORY, 1, changeOf(["api"], "9"));
    });
    const one = await syncWeb(bot);
    expect(bot.seen(one).state).toBe("open");
    expect(bot.lastComment(one)).toContain(`Everything is deployed, but this ${SHORT[host]} could not be merged:`);
    expect(bot.lastComment(one)).toContain("The head commit changed before the merge.");
    expect(bot.lastComment(one)).not.toContain("by hand");
    expect(await bot.deployed(one)).toEqual(["web"]);
  });

  test.each([
    ["refuses it", { status: 405, body: JSON.stringify({ message: "405 Method Not Allowed: rules are not met" }) }],
    ["may not be done by this account", { status: 403, body: JSON.stringify({ message: "403 Forbidden" }) }],
    ["breaks", { status: 500, body: "<html>oops</html>" }],
  ])("the host %s: the reply says to merge by hand, and the deployment stays recorded", async (_how, answer) => {
    const bot = await startBot({ host, config: withMerging() });
    bot.forge.faults.add({ ...MERGE, fault: { kind: "status", ...answer } });
    const one = await syncWeb(bot);
    expect(bot.seen(one).state).toBe("open");
    expect(bot.lastComment(one)).toContain(`Everything is deployed, but this ${SHORT[host]} could not be merged:`);
    expect(bot.lastComment(one)).toMatch(
      / merge (?:it )?by hand\.\n\nUntil it is merged, `main` does not have what is deployed\.$/i,
    );
    expect(await bot.deployed(one)).toEqual(["web"]);
    expect(await bot.locked(one)).toEqual([]);
  });

  test("a draft is not merged, and the answer to its sync says so", async () => {
    const bot = await startBot({ host, config: withMerging() });
    const one = await bot.open(changeOf(["web"]), { draft: true });
    await bot.comment(one, "svc plan");
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toMatch(/Not merged automatically:\n- `[0-9a-f]{8}`: it is a draft/);
    expect(bot.lastComment(one)).toContain(`mark this ${SHORT[host]} as ready, then merge it`);
    expect(bot.lastComment(one)).not.toContain("svc merges");
    expect(bot.seen(one).state).toBe("open");
  });

  test.each([true, false])("what counts is whether it is a draft after the sync; a draft before: %s", async (draft) => {
    const bot = await startBot({ host, config: withMerging() });
    const one = await bot.open(changeOf(["web"]), { draft });
    await bot.comment(one, "svc plan");
    bot.meanwhile("argocd", SYNC, () => bot.forge.markDraft(REPOSITORY, one, !draft));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.seen(one).state).toBe(draft ? "merged" : "open");
    if (!draft) expect(bot.lastComment(one)).toContain("it is a draft");
  });

  test("the host merged and the answer was lost: not merged twice, and no word of a failure", async () => {
    const bot = await startBot({ host, config: withMerging() });
    bot.forge.faults.add({ ...MERGE, times: 1, fault: { kind: "lost-answer" } });
    const one = await syncWeb(bot);
    expect(bot.seen(one).state).toBe("merged");
    expect(bot.answers(one).join("\n")).not.toContain("could not be merged");
    expect(bot.forge.requests.filter(({ method, path }) => method === "PUT" && path.endsWith("/merge"))).toHaveLength(
      1,
    );
  });
});
