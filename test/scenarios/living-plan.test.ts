import { describe, expect, test } from "@jest/globals";
import { revision } from "../../src/core/model/brand.js";
import { type Bot, HOSTS, REPOSITORY, SHORT, startBot } from "./bot.js";
import { changeOf } from "./resources.js";

const APPROVAL = { defaults: { require_approval: true } };

/** The comment of the newest plan. */
const planOf = (bot: Bot, number: number) =>
  bot.answers(number).findLast((body) => body.includes("## svc Plan") && !body.includes("Outdated plan")) ?? "";

/** How often our comments on a change request were edited. */
const edits = (bot: Bot) => bot.forge.requests.filter(({ method, path }) => isEdit(method, path)).length;

function isEdit(method: string, path: string): boolean {
  return (method === "PATCH" || method === "PUT") && /\/(comments|notes)\/\d+$/.test(path);
}

function isAnswer(path: string): boolean {
  return /\/(comments|notes)$/.test(path);
}

describe.each(HOSTS)("the comment of the newest plan on %s", (host) => {
  test("says after an approval who approved, and what comes next, and is edited once for it", async () => {
    const bot = await startBot({ host, config: APPROVAL });
    const one = await bot.open(changeOf(["web"]));
    const comments = bot.answers(one).length;
    expect(planOf(bot, one)).toContain("Needs an approval of");
    const before = edits(bot);
    await bot.approve(one);
    expect(planOf(bot, one)).toContain("pproved by `bo`");
    expect(planOf(bot, one)).not.toContain("Needs an approval");
    expect(planOf(bot, one)).toContain("comment:\n```\nsvc sync\n```");
    expect(bot.answers(one)).toHaveLength(comments);
    expect(edits(bot)).toBe(before + 1);
    await bot.stores.marks.set([bot.ref(one)], bot.clock.now());
    await bot.service.reconcile();
    await bot.idle();
    expect(edits(bot)).toBe(before + 1);
  });

  test("says after a sync who deployed it, and after the merge that it is merged and was deployed", async () => {
    const bot = await startBot({ host, config: APPROVAL });
    const one = await bot.open(changeOf(["web"]));
    await bot.approve(one);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(planOf(bot, one)).toMatch(/✅ deployed by `ana`, \d{4}-\d\d-\d\d \d\d:\d\d UTC, in \d+ s/);
    expect(planOf(bot, one)).toContain(`Merge this ${SHORT[host]}`);
    await bot.forge.mergeByHand(REPOSITORY, one, "bo");
    await bot.idle();
    expect(planOf(bot, one)).toContain("**Merged** · ✅ deployed by `ana`");
    for (const past of ["Needs an approval", "Merging into", "Merge this", "to lock it again"]) {
      expect(planOf(bot, one)).not.toContain(past);
    }
  });

  test("says who deployed it where somebody merged while the sync ran", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const release = bot.argocd.holdSync("web");
    bot.expectChanges("sync web");
    const syncing = bot.asked("argocd", { method: "POST", path: /\/sync$/ });
    await bot.forge.comment(REPOSITORY, one, "ana", "svc sync");
    await syncing;
    await bot.forge.mergeByHand(REPOSITORY, one, "bo");
    release();
    await bot.idle();
    expect(planOf(bot, one)).toContain("**Merged** · ✅ deployed by `ana`");
    expect(planOf(bot, one)).not.toContain("not deployed before the merge");
    expect(await bot.deployed(one)).toEqual([]);
    expect(await bot.stores.locks.list()).toEqual([]);
  });

  test("says after an automatic merge that it is merged", async () => {
    const bot = await startBot({ host, config: { defaults: { auto_merge: true } } });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.seen(one).state).toBe("merged");
    expect(planOf(bot, one)).toContain("**Merged** · ✅ deployed by `ana`");
  });

  test("says who has the lock, and whose turn it is, as that changes elsewhere", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    const three = await bot.open(changeOf(["web"], "4"), { by: "bo" });
    expect(planOf(bot, three)).toContain(`Locked by PR #${one} (ana)`);
    await bot.comment(one, "svc unlock");
    expect(planOf(bot, one)).toContain(`Locked by PR #${two} (bo)`);
    expect(planOf(bot, two)).toContain("**Your turn:**");
    expect(planOf(bot, three)).toContain(`Locked by PR #${two} (bo)`);
    expect(planOf(bot, three)).not.toContain(`#${one}`);
  });

  test("says that it was closed, and what to do with what it deployed", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    await bot.close(one);
    expect(planOf(bot, one)).toContain("**Closed without a merge** · ✅ deployed by `ana`");
    expect(planOf(bot, one)).toContain("omment:\n```\nsvc rollback\n```");
    await bot.comment(one, "svc rollback");
    expect(planOf(bot, one)).toContain("**Closed without a merge**");
    expect(planOf(bot, one)).not.toContain("omment:\n```\nsvc rollback\n```");
  });

  test("overwrites what somebody else wrote into it with the next change", async () => {
    const bot = await startBot({ host, config: APPROVAL });
    const one = await bot.open(changeOf(["web"]));
    const { comments } = bot.seen(one);
    const plan = comments.find(({ body }) => body.includes("## svc Plan"));
    const [marker = ""] = plan?.body.split("\n") ?? [];
    await bot.forge.editComment(
      REPOSITORY,
      one,
      plan?.id ?? "",
      "olga",
      `${marker}\n## svc Plan\nNothing to see here.`,
    );
    await bot.idle();
    await bot.approve(one);
    expect(planOf(bot, one)).not.toContain("Nothing to see here");
    expect(planOf(bot, one)).toContain("pproved by `bo`");
  });

  test("says how far a sync is while it runs", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web", "api"]));
    const letGo = bot.argocd.holdSync("web");
    let seen = "";
    const edit = { method: host === "hosta" ? "PATCH" : "PUT", path: /\/(comments|notes)\/\d+$/, nth: 2 };
    bot.meanwhile("forge", edit, () => {
      seen = planOf(bot, one);
      letGo();
    });
    bot.expectChanges("sync web", "sync api");
    await bot.comment(one, "svc sync");
    // Which of both ends first is open.
    expect(seen).toMatch(/⏳ sync running, [01] of 2 applications done, by `ana`/);
    expect(seen).toContain("`ana` is syncing: wait for the result.");
    expect(planOf(bot, one)).not.toContain("running");
    expect(planOf(bot, one)).toContain("✅ 2 of 2 applications deployed by `ana`");
  });

  test("is posted anew once if somebody deleted it, and edited from then on", async () => {
    const bot = await startBot({ host, config: { ...APPROVAL, [host]: { commit_status: true } } });
    const one = await bot.open(changeOf(["web"]));
    const answers = bot.answers(one).length;
    bot.forge.faults.add({
      method: host === "hosta" ? "PATCH" : "PUT",
      path: /\/(comments|notes)\/\d+$/,
      times: 1,
      fault: { kind: "status", status: 404, body: '{"message":"Not Found"}' },
    });
    await bot.approve(one);
    expect(bot.answers(one)).toHaveLength(answers + 1);
    const { id = "none" } = bot.seen(one).comments.findLast(({ body }) => body === planOf(bot, one)) ?? {};
    const [status] = await bot.stores.statuses.ofHead({
      ...bot.ref(one),
      headRevision: revision(bot.seen(one).headRevision),
    });
    expect(status?.url).toMatch(new RegExp(`#(issuecomment-|note_)${id}$`));
    expect(planOf(bot, one)).toBe(bot.lastComment(one));
    expect(planOf(bot, one)).toContain("pproved by `bo`");
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(planOf(bot, one)).toContain("✅ deployed by `ana`");
    expect(bot.answers(one)).toHaveLength(answers + 2);
  });

  test("is not posted anew where somebody deleted it and the holder of its lock pushes, which it does not show", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    // Svc knows the comment, but not its text.
    await bot.stores.marks.wrote(bot.ref(two), "plan", undefined);
    await bot.stores.marks.set([bot.ref(two)], bot.clock.now());
    await bot.service.reconcile();
    await bot.idle();
    const plan = bot.seen(two).comments.find(({ body }) => body === planOf(bot, two));
    bot.forge.deleteComment(REPOSITORY, two, plan?.id ?? "");
    const answers = bot.answers(two);
    await bot.push(one, changeOf(["web"], "4"));
    await bot.stores.marks.set([bot.ref(two)], bot.clock.now());
    await bot.service.reconcile();
    await bot.idle();
    expect(bot.answers(two)).toEqual(answers);
  });

  test("a repository that is gone is asked once for each change", async () => {
    const bot = await startBot({ host, config: APPROVAL });
    const one = await bot.open(changeOf(["web"]));
    const answers = bot.answers(one).length;
    const fault = { kind: "status", status: 404, body: "{}" } as const;
    bot.forge.faults.add({ path: /\/(comments|notes)(\/\d+)?$/, times: 100, fault });
    const posts = () => bot.forge.requests.filter(({ method, path }) => method === "POST" && isAnswer(path)).length;
    const before = [edits(bot), posts()] as const;
    await bot.approve(one);
    expect([edits(bot), posts()]).toEqual([before[0] + 1, before[1]]);
    bot.clock.advance(5 * 60_000);
    await bot.comment(one, "hello");
    expect([edits(bot), posts()]).toEqual([before[0] + 1, before[1]]);
    bot.forge.faults.clear();
    expect(bot.answers(one)).toHaveLength(answers);
  });

  test("a locked conversation is asked once for each change, and stops nothing", async () => {
    const bot = await startBot({ host, config: APPROVAL });
    const one = await bot.open(changeOf(["web"]));
    bot.forge.faults.add({
      method: host === "hosta" ? "PATCH" : "PUT",
      path: /\/(comments|notes)\/\d+$/,
      times: 100,
      fault: { kind: "status", status: 403, body: "{}" },
    });
    const before = edits(bot);
    await bot.approve(one);
    expect(edits(bot)).toBe(before + 1);
    bot.clock.advance(5 * 60_000);
    await bot.comment(one, "hello");
    expect(edits(bot)).toBe(before + 1);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(await bot.deployed(one)).toEqual(["web"]);
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    bot.forge.faults.clear();
  });

  test("an edit that failed is made a minute later", async () => {
    const bot = await startBot({ host, config: APPROVAL });
    const one = await bot.open(changeOf(["web"]));
    const two = await bot.open(changeOf(["api"]));
    bot.forge.faults.add({
      method: host === "hosta" ? "PATCH" : "PUT",
      path: /\/(comments|notes)\/\d+$/,
      times: 20,
      fault: { kind: "status", status: 500, body: "{}" },
    });
    await bot.approve(one);
    expect(planOf(bot, one)).toContain("Needs an approval");
    bot.forge.faults.clear();
    bot.clock.advance(60_000);
    // The next mark wakes the publisher.
    await bot.approve(two);
    expect(planOf(bot, one)).toContain("pproved by `bo`");
  });
});
