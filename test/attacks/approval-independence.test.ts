import { describe, expect, test } from "@jest/globals";
import type { Push } from "../../sandbox/forge.js";
import type { HostId } from "../../src/names.js";
import { HOSTS, REPOSITORY, startBot, type Bot, type BotOptions } from "../scenarios/bot.js";
import { changeOf } from "../scenarios/resources.js";

const REQUIRED = { defaults: { require_approval: true } };
const STRANGER = { name: "Nobody", email: "nobody@nowhere.example" };

/** `ana` opens change requests, `bo` attacks, and `olga` may approve. */
async function start(host: HostId, options: Pick<BotOptions, "config" | "git"> = {}): Promise<Bot> {
  const bot = await startBot({ host, config: REQUIRED, ...options });
  bot.forge.setAccess(REPOSITORY, "olga", "write");
  return bot;
}

async function expectRefused(bot: Bot, one: number, why: RegExp): Promise<void> {
  const before = bot.changes().length;
  await bot.comment(one, "svc sync", "bo");
  expect(bot.lastComment(one)).toContain("PR must be approved before sync");
  expect(bot.lastComment(one)).toMatch(why);
  expect(bot.changes()).toHaveLength(before);
  expect(bot.seen(one).state).toBe("open");
}

async function expectSynced(bot: Bot, one: number): Promise<void> {
  bot.expectChanges("sync web");
  await bot.comment(one, "svc sync", "bo");
  expect(bot.lastComment(one)).toContain("✅ succeeded");
}

async function pushBy(bot: Bot, one: number, push: Push, version = "evil"): Promise<string> {
  const commit = await bot.forge.push(REPOSITORY, one, changeOf(["web"], version), push);
  await bot.idle();
  return commit;
}

const WROTE = /The approval by bo does not count: bo is an author or the committer of [0-9a-f]{8}, and nobody else/;
const PUSHED = /The approval by bo does not count: bo pushed to this branch what became [0-9a-f]{8}, or may have/;
const UNKNOWN = /The approval by bo does not count: (?:bo pushed|Git(?:Hub|Lab) knows no account)/;
const CURE = /Somebody else with write access \(not ana, bo\) has to approve the head commit\./;

describe.each(HOSTS)("independent eyes on %s", (host) => {
  test.each<readonly [string, Push, RegExp]>([
    ["in their own name", { by: "bo" }, WROTE],
    ["in the author's name", { by: "bo", author: "ana" }, PUSHED],
    ["in the name of somebody who never was here", { by: "bo", author: "olga" }, PUSHED],
    ["from an address that the host does not know", { by: "bo", author: STRANGER }, UNKNOWN],
    ["as the committer of what the author wrote", { by: "ana", author: "ana", committer: "bo" }, WROTE],
    ["that the author pushed for them", { by: "ana", author: "bo" }, WROTE],
    ["as the host itself seems to commit", { by: "bo", author: "ana", committer: "web-flow" }, PUSHED],
  ])("who adds a commit %s cannot approve it, and somebody else can", async (_, push, why) => {
    const bot = await start(host);
    const one = await bot.open(changeOf(["web"], "1.5"));
    await pushBy(bot, one, push);
    await bot.approve(one, "bo");
    await expectRefused(bot, one, why);
    expect(bot.lastComment(one)).toMatch(CURE);
    await bot.approve(one, "olga");
    await expectSynced(bot, one);
  });

  test("who opens a change request with somebody else's commit does not make that person an independent approver", async () => {
    const bot = await start(host);
    const one = await bot.open(changeOf(["web"]), { author: "bo" });
    await bot.approve(one, "bo");
    await expectRefused(bot, one, WROTE);
    expect(bot.lastComment(one)).toMatch(CURE);
  });

  test("what was squashed or pushed away again still counts as brought by who pushed it", async () => {
    const bot = await start(host);
    const one = await bot.open(changeOf(["web"], "1.5"));
    const first = bot.seen(one).headRevision;
    await pushBy(bot, one, { by: "bo" });
    await pushBy(bot, one, { by: "ana", onto: first });
    await bot.approve(one, "bo");
    await expectRefused(bot, one, PUSHED);
  });

  test("who rebases the commits of another is their committer", async () => {
    const bot = await start(host);
    const one = await bot.open(changeOf(["web"], "1.5"));
    const base = (await bot.forge.commitsSince(REPOSITORY, bot.seen(one).headRevision, "change-1"))[0]?.parents[0];
    await pushBy(bot, one, { by: "bo", author: "ana", committer: "bo", ...(base && { onto: base }) });
    await bot.approve(one, "bo");
    await expectRefused(bot, one, WROTE);
  });

  test("a merge of the base branch with something of one's own in it is one's own commit", async () => {
    const bot = await start(host, { git: true });
    const one = await bot.open(changeOf(["web"], "1.5"));
    const main = await bot.forge.pushToBranch(REPOSITORY, "main", { "docs/notes.md": "more\n" });
    await pushBy(bot, one, { by: "bo", merging: main });
    await bot.approve(one, "bo");
    await expectRefused(bot, one, WROTE);
  });

  test("a merge of a branch other than the base does not launder its commits", async () => {
    const bot = await start(host, { git: true });
    const one = await bot.open(changeOf(["web"], "1.5"));
    const side = await bot.open(changeOf(["web"], "side"), { by: "bo", title: "side" });
    await bot.forge.push(REPOSITORY, one, {}, { by: "ana", merging: bot.seen(side).headRevision });
    await bot.idle();
    await bot.approve(one, "bo");
    await expectRefused(bot, one, /The approval by bo does not count/);
  });

  test("a merge of the base branch that git makes in the same way is nobody's commit", async () => {
    const bot = await start(host, { git: true });
    const one = await bot.open(changeOf(["web"]));
    await bot.forge.pushToBranch(REPOSITORY, "main", { "docs/notes.md": "more\n" });
    await bot.forge.updateBranch(REPOSITORY, one, "bo");
    await bot.idle();
    await bot.approve(one, "bo");
    await expectSynced(bot, one);
  });

  test("an approval counts for what its giver did not write, if another approved the rest before", async () => {
    const bot = await start(host);
    const one = await bot.open(changeOf(["web"], "1.5"));
    await pushBy(bot, one, { by: "bo" }, "1.6");
    await bot.approve(one, "olga");
    await pushBy(bot, one, { by: "ana" }, "1.7");
    await bot.approve(one, "bo");
    await expectSynced(bot, one);
  });

  test("another's approval of an earlier commit does not cover what one pushed after it", async () => {
    const bot = await start(host);
    const one = await bot.open(changeOf(["web"], "1.5"));
    await bot.approve(one, "olga");
    await pushBy(bot, one, { by: "bo" });
    await bot.approve(one, "bo");
    await expectRefused(bot, one, WROTE);
  });

  test("a change request with more commits than svc reads needs a second approver", async () => {
    const bot = await start(host, { git: true });
    const one = await bot.open(changeOf(["web"], "1.5"));
    let merging = await bot.forge.pushToBranch(REPOSITORY, "long", { "docs/n.md": "0" });
    const { store } = bot.world.repository(bot.forge.cloneUrl(REPOSITORY)) ?? {};
    // Nothing here depends on how they were pushed.
    for (let at = 1; at <= 205 && store !== undefined; at += 1) {
      merging = await store.commit(REPOSITORY, "long", { "docs/n.md": `${at}` });
    }
    await bot.forge.push(REPOSITORY, one, changeOf(["web"]), { by: "ana", merging });
    await bot.idle();
    await bot.approve(one, "bo");
    await expectRefused(bot, one, /which commits are theirs cannot be told.*A second person with write access has to/);
    await bot.approve(one, "olga");
    await expectSynced(bot, one);
  });

  test("the server can count approvals by committers", async () => {
    const bot = await start(host, { config: { defaults: { require_approval: true, approval_from_committers: true } } });
    const one = await bot.open(changeOf(["web"], "1.5"));
    await pushBy(bot, one, { by: "bo" });
    await bot.approve(one, "bo");
    await expectSynced(bot, one);
  });
});

describe("independent eyes where the host does not tell who pushed", () => {
  const ACTIVITY = /\/activity$/;

  test("one approver may have pushed in another's name, so two are needed", async () => {
    const bot = await start("hosta");
    const one = await bot.open(changeOf(["web"]));
    bot.forge.faults.add({ path: ACTIVITY, times: 50, fault: { kind: "status", status: 404 } });
    await bot.approve(one, "bo");
    await expectRefused(bot, one, /The approval by bo is not enough: GitHub does not tell who pushed [0-9a-f]{8}/);
    await bot.approve(one, "olga");
    await expectSynced(bot, one);
  });

  test("a co-author that GitHub knows is no independent approver", async () => {
    const bot = await start("hosta");
    const one = await bot.open(changeOf(["web"], "1.5"));
    await pushBy(bot, one, { by: "ana", message: "Pair\n\nCo-authored-by: bo <bo@users.noreply.localhost>" });
    await bot.approve(one, "bo");
    await expectRefused(bot, one, WROTE);
  });
});
