import { randomUUID } from "node:crypto";
import { afterEach, describe, expect, test } from "@jest/globals";
import { revision } from "../../src/core/model/brand.js";
import { type Bot, type BotOptions, HOSTS, REPOSITORY, startBot } from "../scenarios/bot.js";
import { changeOf } from "../scenarios/resources.js";
import { interpose, stopRelays } from "./relay.js";

afterEach(stopRelays);

const RULES = "sync_on: approval\nrequire_approval: true\n";

async function start(options: BotOptions, rules = RULES): Promise<Bot> {
  const bot = await startBot({ files: () => ({ ".svc.yaml": rules }), ...options });
  bot.forge.setAccess(REPOSITORY, "olga", "write");
  return bot;
}

/** None of them is under a signature. */
const IDS = new Set([
  "x-github-delivery",
  "idempotency-key",
  "x-gitlab-event-uuid",
  "x-gitlab-webhook-uuid",
  "webhook-id",
]);

/** What the pull request shows is brought up to date once more, and by then everything else has been. */
async function lookAgain(bot: Bot, one: number): Promise<void> {
  await bot.stores.marks.set([bot.ref(one)], bot.clock.now());
  await bot.service.reconcile();
  await bot.idle();
}

async function ownStatus(bot: Bot, one: number): Promise<string | undefined> {
  const headRevision = revision(bot.seen(one).headRevision);
  return (await bot.stores.statuses.ofHead({ ...bot.ref(one), headRevision }))[0]?.description;
}

async function expectNothing(bot: Bot, one: number): Promise<void> {
  await lookAgain(bot, one);
  expect(bot.changes()).toEqual([]);
  expect(bot.answers(one).filter((text) => text.includes("started `svc sync`"))).toEqual([]);
}

describe.each(HOSTS)("an approval that starts a sync on %s", (host) => {
  test("an approval before the plan starts nothing, and one after it does", async () => {
    const bot = await start({ host, config: { defaults: { autoplan: false } } });
    const one = await bot.open(changeOf(["web"]));
    await bot.approve(one);
    await bot.comment(one, "svc plan");
    await expectNothing(bot, one);
    expect(bot.lastComment(one)).toMatch(/To deploy .*, comment:\n```\nsvc sync\n/);
    bot.expectChanges("sync web");
    await bot.approve(one);
    expect(bot.lastComment(one)).toContain("The approval by `bo` started `svc sync`.");
  });

  test("an approval in the second in which the plan was shown starts nothing", async () => {
    const bot = await start({ host, config: { defaults: { autoplan: false } } });
    const one = await bot.open(changeOf(["web"]));
    bot.forge.freezeClock();
    await bot.comment(one, "svc plan");
    await bot.approve(one);
    await expectNothing(bot, one);
  });

  test("an approval of an earlier head starts nothing of what was pushed since", async () => {
    const bot = await start({ host }, "sync_on: approval\n");
    const one = await bot.open(changeOf(["web"]));
    bot.meanwhile("forge", { path: host === "hosta" ? /\/graphql$/ : /\/approvals$/ }, async () => {
      await bot.forge.push(REPOSITORY, one, changeOf(["web"], "3"));
    });
    await bot.approve(one);
    await expectNothing(bot, one);
    expect(bot.seen(one).state).toBe("open");
  });

  test("an approver whom the rules do not let sync starts nothing and is told who may", async () => {
    const rules = `${RULES}sync_requirements: [{ name: web, allowed_users: [olga] }]\n`;
    const bot = await start({ host }, rules);
    const one = await bot.open(changeOf(["web"]));
    await bot.approve(one);
    expect(bot.changes()).toEqual([]);
    expect(bot.lastComment(one)).toContain("`bo` may not run `svc sync` for:");
    expect(bot.lastComment(one)).toContain("olga");
    expect(bot.lastComment(one)).toContain("The approval by `bo` started `svc sync`.");
  });

  test("the approver who may sync does not stand in for the later one who may not", async () => {
    const rules = `${RULES}sync_requirements: [{ name: web, allowed_users: [olga] }]\n`;
    const bot = await start({ host, gitlab: { edition: "premium" } }, rules);
    bot.forge.requireReviews(REPOSITORY, 2);
    const one = await bot.open(changeOf(["web"]));
    await bot.approve(one, "olga");
    await bot.approve(one, "bo");
    expect(bot.changes()).toEqual([]);
    expect(bot.lastComment(one)).toContain("`bo` may not run `svc sync` for:");
  });

  test("an approval by who wrote the commits starts nothing", async () => {
    const bot = await start({ host });
    const one = await bot.open(changeOf(["web"]), { by: "bo" });
    await bot.forge.push(REPOSITORY, one, changeOf(["web"], "3"), { by: "ana", author: "ana" });
    await bot.idle();
    await bot.approve(one, "ana");
    await expectNothing(bot, one);
  });

  test("an approval by a program starts nothing", async () => {
    const bot = await start({ host });
    const robot = host === "hosta" ? "helper[bot]" : "project_9_bot_1a2b";
    bot.forge.setAccess(REPOSITORY, robot, "write");
    const one = await bot.open(changeOf(["web"]));
    await bot.approve(one, robot);
    await expectNothing(bot, one);
  });

  test("an approval that was taken back and given again starts no second sync", async () => {
    const bot = await start({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.approve(one);
    const { length } = bot.changes();
    expect(length).toBe(1);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc rollback");
    const before = bot.changes().length;
    await bot.comment(one, "svc plan");
    for (let time = 0; time < 2; time += 1) {
      await bot.forge.review(REPOSITORY, one, "bo", "request-changes");
      await bot.idle();
      await bot.approve(one);
    }
    await bot.restart();
    await bot.approve(one);
    expect(bot.changes()).toHaveLength(before);
    expect(bot.liveValue("web")).toBe("1");
  });

  test("an approval starts nothing that was planned again before its sync could run", async () => {
    const bot = await start({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.meanwhile("forge", { path: host === "hosta" ? /\/graphql$/ : /\/approvals$/ }, async () => {
      await bot.forge.comment(REPOSITORY, one, "ana", "svc plan");
    });
    await bot.approve(one);
    await expectNothing(bot, one);
    expect(bot.lastComment(one)).toMatch(/To deploy .*, comment:\n```\nsvc sync\n/);
  });

  test("an approver who lost write access before the sync could run starts nothing and is told so", async () => {
    const bot = await start({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.meanwhile("forge", { path: host === "hosta" ? /\/app$/ : /\/user$/ }, () => {
      bot.forge.setAccess(REPOSITORY, "bo", "read");
    });
    await bot.approve(one);
    await lookAgain(bot, one);
    expect(bot.changes()).toEqual([]);
    expect(bot.lastComment(one)).toContain("write access");
  });

  test("once an approval was used, also if its sync was refused, no other is asked for", async () => {
    const rules = `${RULES}sync_requirements: [{ name: web, allowed_users: [olga] }]\n`;
    const bot = await start({ host, config: { [host]: { commit_status: true } } }, rules);
    const one = await bot.open(changeOf(["web"]));
    expect(bot.lastComment(one)).toMatch(/Needs an approval of .*, which deploys it/);
    expect(await ownStatus(bot, one)).toBe("web needs an approval, which starts svc sync");
    await bot.approve(one);
    await bot.forge.review(REPOSITORY, one, "bo", "request-changes");
    await bot.idle();
    await lookAgain(bot, one);
    const plan = () => bot.answers(one).find((text) => text.includes("svc Plan")) ?? "";
    expect(plan()).toMatch(/Needs an approval of .*, then `svc sync`/);
    expect(await ownStatus(bot, one)).toBe("web needs an approval, then svc sync");
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).toMatch(/Needs an approval of .*, then `svc sync`/);
  });

  test("an approval that is given again days after its sync was refused starts no second one", async () => {
    const rules = `${RULES}sync_requirements: [{ name: web, allowed_users: [olga] }]\n`;
    const bot = await start({ host }, rules);
    const one = await bot.open(changeOf(["web"]));
    await bot.approve(one);
    const before = bot.answers(one);
    bot.clock.advance(5 * 24 * 60 * 60_000);
    await bot.forge.review(REPOSITORY, one, "bo", "request-changes");
    await bot.idle();
    await bot.approve(one);
    expect(bot.answers(one)).toHaveLength(before.length);
  });

  test("the webhook of an approval starts one sync, however often it is sent", async () => {
    const bot = await start({ host });
    const relay = await interpose(bot);
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.approve(one);
    const told = relay.captured.findLast(({ body }) => body.includes(host === "hosta" ? '"submitted"' : '"approved"'));
    if (told === undefined) throw new Error("no delivery tells of the approval");
    const headers = Object.entries(told.headers);
    for (const id of [undefined, randomUUID(), randomUUID()]) {
      const anew = headers.map(([name, value]) => [name, id !== undefined && IDS.has(name) ? id : value]);
      await relay.send({ ...told, headers: Object.fromEntries(anew) as typeof told.headers });
      await bot.idle();
    }
    expect(bot.changes()).toEqual(["sync web"]);
  });

  test("two approvals in the same second start one sync", async () => {
    const bot = await start({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    bot.forge.passTime(1000);
    bot.forge.freezeClock();
    await Promise.all([bot.approve(one), bot.approve(one, "olga")]);
    expect(bot.changes()).toEqual(["sync web"]);
  });

  test("an approval whose webhook was lost starts the sync once the reconciler has passed", async () => {
    const bot = await start({ host });
    const one = await bot.open(changeOf(["web"]));
    await bot.loseWebhooks(() => bot.forge.review(REPOSITORY, one, "bo", "approve"));
    expect(bot.changes()).toEqual([]);
    bot.expectChanges("sync web");
    bot.clock.advance(5 * 60_000);
    await bot.service.reconcile();
    await bot.idle();
    bot.clock.advance(2_000);
    await bot.idle();
    expect(bot.changes()).toEqual(["sync web"]);
  });

  test("an approval that is found a quarter of an hour later starts nothing", async () => {
    const bot = await start({ host });
    const one = await bot.open(changeOf(["web"]));
    await bot.loseWebhooks(() => bot.forge.review(REPOSITORY, one, "bo", "approve"));
    bot.forge.passTime(15 * 60_000);
    bot.clock.advance(15 * 60_000);
    await bot.service.reconcile();
    await bot.idle();
    await expectNothing(bot, one);
  });

  test("an approval that meets a hold starts nothing, also once the hold has ended", async () => {
    const bot = await start({ host });
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "svc hold -a web --reason x --until 2h");
    await bot.approve(one);
    bot.forge.passTime(2 * 60 * 60_000);
    bot.clock.advance(2 * 60 * 60_000);
    await bot.idle();
    await expectNothing(bot, one);
  });

  test("where another pull request holds one of the locks nothing starts, also once it is free and planned again", async () => {
    const bot = await start({ host });
    const one = await bot.open(changeOf(["api"]));
    const two = await bot.open(changeOf(["web", "api"], "3"));
    await bot.approve(two);
    await expectNothing(bot, two);
    await bot.close(one);
    expect([...(await bot.locked(two))].sort()).toEqual(["api", "web"]);
    await expectNothing(bot, two);
    expect(bot.lastComment(two)).toMatch(/To deploy .*, comment:\n```\nsvc sync\n/);
  });

  test("a base branch without the rule starts nothing, whatever the default branch says", async () => {
    const bot = await start({ host });
    await bot.forge.pushToBranch(REPOSITORY, "release", { ".svc.yaml": "require_approval: true\n" });
    const one = await bot.open(changeOf(["web"]), { base: "release" });
    await bot.approve(one);
    await expectNothing(bot, one);
  });

  test("a pull request that sets sync_on itself is not deployed by its approval", async () => {
    const bot = await start({ host }, "require_approval: true\n");
    const one = await bot.open({ ...changeOf(["web"]), ".svc.yaml": RULES });
    await bot.approve(one);
    await expectNothing(bot, one);
    expect(bot.answers(one)[0]).toContain("takes effect only after the merge");
  });

  test("the server's sync_on: command holds whatever a repository says", async () => {
    const sync_requirements = [{ name: "web", sync_on: "command" }];
    const bot = await start({ host, config: { sync_requirements } });
    const one = await bot.open(changeOf(["web"]));
    await bot.approve(one);
    await expectNothing(bot, one);
  });

  test.each(["a draft", "a fork"])(
    "%s is not deployed by an approval, although a person had it planned",
    async (what) => {
      const bot = await start({ host, config: { defaults: { allow_forks: true } } });
      const one = await bot.open(changeOf(["web"]), what === "a fork" ? { fork: true } : { draft: true });
      await bot.comment(one, "svc plan");
      await bot.approve(one);
      await expectNothing(bot, one);
    },
  );

  test("a plan with a danger is not deployed by an approval", async () => {
    const claim = `apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: guestbook}\n`;
    const bot = await start({
      host,
      config: { deployer: { diff_mode: "branch" } },
      files: () => ({ ".svc.yaml": RULES, "apps/web/claim.yaml": claim }),
    });
    const one = await bot.open({ ...changeOf(["web"]), "apps/web/claim.yaml": null });
    expect(bot.lastComment(one)).toContain("⚠️");
    expect(bot.lastComment(one)).toContain("then `svc sync`");
    await bot.approve(one);
    await expectNothing(bot, one);
  });
});
