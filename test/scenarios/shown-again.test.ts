import { describe, expect, test } from "@jest/globals";
import { revision } from "../../src/core/model/brand.js";
import { HOSTS, REPOSITORY, startBot, type Bot } from "./bot.js";
import { changeOf } from "./resources.js";

const DAY_MS = 24 * 60 * 60_000;

const start = (host: Bot["host"], defaults: Readonly<Record<string, unknown>> = {}) =>
  startBot({ host, config: { [host]: { commit_status: true }, defaults } });

/** The newest plan of a change request; empty if no comment shows one. */
function planOf(bot: Bot, number: number): string {
  return bot.answers(number).findLast((body) => body.includes("## svc Plan") && !body.includes("Outdated plan")) ?? "";
}

const statusesOf = (bot: Bot, number: number) => bot.forge.statuses(REPOSITORY, bot.seen(number).headRevision);

/** Expects that the plan says what it would say if svc looked at everything once more. `other` is another change request by `bo`. */
async function expectTrue(bot: Bot, number: number, other: number): Promise<void> {
  const before = planOf(bot, number);
  await bot.stores.marks.set([bot.ref(number)], bot.clock.now());
  await bot.approve(other, "ana");
  expect(before).toBe(planOf(bot, number));
}

/** Calls of the code host, where they write or read a change request and its comments. */
const CALLS = {
  hosta: {
    post: { method: "POST", path: /\/issues\/\d+\/comments$/ },
    edit: { method: "PATCH", path: /\/comments\/\d+$/ },
    read: { method: "GET", path: /\/pulls\/1$/ },
  },
  hostb: {
    post: { method: "POST", path: /\/merge_requests\/\d+\/notes$/ },
    edit: { method: "PUT", path: /\/notes\/\d+$/ },
    read: { method: "GET", path: /\/merge_requests\/1$/ },
  },
} as const;

describe.each(HOSTS)("what is shown becomes true again, on %s", (host) => {
  test("a lock that nobody refreshed for a week is not shown any more", async () => {
    const bot = await start(host);
    const one = await bot.open(changeOf(["web"]));
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    await bot.comment(two, "svc unlock", "bo");
    expect(planOf(bot, one)).toContain("Locked by this");
    for (let day = 0; day < 8; day += 1) {
      bot.clock.advance(DAY_MS);
      await bot.service.reconcile();
    }
    await bot.idle();
    expect(await bot.locked(one)).toEqual([]);
    expect(planOf(bot, one)).toContain("Not locked any more");
    expect(planOf(bot, two)).not.toContain("Locked by PR");
    await expectTrue(bot, one, two);
  });

  test("a plan whose comment was deleted is posted anew although the host failed for a moment", async () => {
    const bot = await start(host, { require_approval: true });
    const one = await bot.open(changeOf(["web"]));
    const two = await bot.open(changeOf(["api"], "3"), { by: "bo" });
    const plan = bot.seen(one).comments.find(({ body }) => body.includes("## svc Plan"));
    bot.forge.deleteComment(REPOSITORY, one, plan?.id ?? "");
    const restore = bot.forge.faults.add({ ...CALLS[host].post, fault: { kind: "status", status: 500, body: "{}" } });
    await bot.approve(one);
    restore();
    bot.clock.advance(61_000);
    await bot.approve(two, "ana");
    expect(planOf(bot, one)).toContain("pproved by `bo`");
  });

  test("who planned by command, was closed and reopened is told who takes the lock then", async () => {
    const bot = await start(host, { autoplan: false });
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "svc plan");
    await bot.close(one);
    await bot.forge.reopen(REPOSITORY, one);
    await bot.idle();
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    await bot.comment(two, "svc plan", "bo");
    expect(planOf(bot, one)).toMatch(/Locked by (?:\[PR|PR)/);
    await expectTrue(bot, one, two);
  });

  test("a hold that ends while its change request is brought up to date is not shown any more", async () => {
    const bot = await start(host, { require_approval: true });
    const one = await bot.open(changeOf(["web"]));
    const two = await bot.open(changeOf(["api"], "3"), { by: "bo" });
    await bot.comment(two, "svc hold -a web --reason migration --until 2h", "bo");
    const [hold] = await bot.stores.holds.list();
    bot.clock.advance(Date.parse(hold?.until ?? "") - bot.clock.now().getTime() - 3_000);
    bot.meanwhile("forge", CALLS[host].edit, () => bot.clock.advance(5_000));
    await bot.approve(one);
    bot.clock.advance(60_000);
    await bot.approve(two, "ana");
    await expectTrue(bot, one, two);
  });

  test("a change request that the host refuses to show for good is left alone", async () => {
    const bot = await start(host);
    const one = await bot.open(changeOf(["web"]));
    const two = await bot.open(changeOf(["api"], "3"), { by: "bo" });
    const refusal = { kind: "status", status: 403, body: '{"message":"Repository access blocked"}' } as const;
    bot.forge.faults.add({ ...CALLS[host].read, fault: refusal });
    const { method, path } = CALLS[host].read;
    const reads = () => bot.forge.requests.filter((one) => one.method === method && path.test(one.path)).length;
    await bot.stores.marks.set([bot.ref(one)], bot.clock.now());
    await bot.approve(two, "ana");
    const before = reads();
    for (let minute = 0; minute < 5; minute += 1) {
      bot.clock.advance(61_000);
      await bot.approve(two, "ana");
    }
    expect(reads()).toBe(before);
  });
});

/** GitLab does not count them. */
test("a green status is not set again with each mark, and so its commit does not run out of statuses", async () => {
  const bot = await start("hosta");
  const one = await bot.open(changeOf(["web"]));
  const two = await bot.open(changeOf(["api"], "3"), { by: "bo" });
  bot.expectChanges("sync web");
  await bot.comment(one, "svc sync");
  const before = statusesOf(bot, one);
  expect(before.at(-1)?.state).toBe("success");
  const head = { ...bot.ref(one), headRevision: revision(bot.seen(one).headRevision) };
  for (let count = 0; count < 900; count += 1) await bot.stores.statuses.countWrite(head);
  for (let marks = 0; marks < 3; marks += 1) {
    await bot.stores.marks.set([bot.ref(one)], bot.clock.now());
    await bot.approve(two, "ana");
  }
  expect(statusesOf(bot, one)).toEqual(before);
});
