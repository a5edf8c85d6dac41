import { describe, expect, test } from "@jest/globals";
import { applicationName } from "../../src/core/model/brand.js";
import type { HostId } from "../../src/names.js";
import { HOSTS, REPOSITORY, SECRET, startBot, type Bot } from "./bot.js";
import { section } from "./plan-comment.js";
import { changeOf } from "./resources.js";

const WORD: Readonly<Record<HostId, string>> = { hosta: "PR #", hostb: "MR !" };
const DAY_MS = 24 * 60 * 60 * 1000;

/** The numbers of those who wait for `web`, in their order. */
async function queue(bot: Bot): Promise<readonly number[]> {
  return (await bot.stores.waiting.of(applicationName("web"))).map(({ number }) => number);
}

/** One that has locked `web`, and so many who wait for it. */
async function waitingFor(bot: Bot, waiting: number): Promise<readonly number[]> {
  const numbers: number[] = [];
  for (let value = 2; value < waiting + 3; value += 1) numbers.push(await bot.open(changeOf(["web"], String(value))));
  return numbers;
}

/** Ways in which a lock is released. */
const RELEASES: readonly (readonly [string, (bot: Bot, holder: number) => Promise<unknown>])[] = [
  ["svc sync", (bot, holder) => bot.comment(holder, "svc sync")],
  ["svc rollback", (bot, holder) => bot.comment(holder, "svc rollback")],
  ["svc unlock", (bot, holder) => bot.comment(holder, "svc unlock")],
  ["a close", (bot, holder) => bot.close(holder)],
  ["a merge", (bot, holder) => bot.forge.mergeByHand(REPOSITORY, holder, "bo")],
  ["a push that does not touch it any more", (bot, holder) => bot.push(holder, changeOf(["web"], "1"))],
];

describe.each(HOSTS)("whose turn it is on %s", (host) => {
  const word = WORD[host];

  test("the plan of one that waits says its place, which does not change when it is planned again", async () => {
    const bot = await startBot({ host });
    const [one = 0, two = 0, three = 0] = await waitingFor(bot, 2);
    const place = (number: number) => section(bot.lastComment(number), "web");
    expect(place(two)).toContain(`[Locked by PR #${one} (ana)](<http`);
    expect(place(two)).toContain(`is next in the queue, and is planned again by itself`);
    expect(place(three)).toContain(`is 2nd in the queue, and is planned again by itself`);
    await bot.push(two, changeOf(["web"], "7"));
    expect(place(two)).toContain(`is next in the queue`);
    expect(await queue(bot)).toEqual([two, three]);
  });

  test.each(RELEASES)(
    "after %s the one that has waited longest is planned, told so, and locks it",
    async (_, release) => {
      const bot = await startBot({ host });
      const [one = 0, two = 0, three = 0] = await waitingFor(bot, 2);
      bot.expectChanges("sync web");
      const before = bot.answers(three).length;
      await release(bot, one);
      await bot.idle();
      expect(await bot.locked(two)).toEqual(["web"]);
      expect(bot.answers(two)).toHaveLength(2);
      const told = `**Your turn:** \`web\` is no longer locked by [${word}${one}](<http`;
      expect(bot.lastComment(two)).toContain(told);
      expect(section(bot.lastComment(two), "web")).toContain("**Status:** Locked by this PR");
      expect(bot.answers(three)).toHaveLength(before);
      expect(await queue(bot)).toEqual([three]);
      await bot.close(two);
      expect(await bot.locked(three)).toEqual(["web"]);
      expect(await queue(bot)).toEqual([]);
    },
  );

  test("a sync that also merges is planned against what it merged", async () => {
    const bot = await startBot({ host, config: { defaults: { auto_merge: true } } });
    const one = await bot.open(changeOf(["web"], "2"));
    const two = await bot.open({ "apps/web/other.yaml": changeOf(["api"])["apps/api/configmap.yaml"] ?? "" });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.seen(one).state).toBe("merged");
    const plans = bot.answers(two).filter((body) => body.includes("**Your turn:**"));
    expect(plans).toHaveLength(1);
    expect(plans[0]).not.toContain("is deployed and not merged");
    expect(await bot.locked(two)).toEqual(["web"]);
  });

  test("svc unlock of one that others wait for says who is next, and one that waits leaves the queue with it", async () => {
    const bot = await startBot({ host });
    const [one = 0, two = 0, three = 0] = await waitingFor(bot, 2);
    await bot.comment(two, "svc unlock");
    expect(bot.lastComment(two)).toContain("No longer in the queue for: `web`.");
    await bot.comment(one, "svc unlock -a web");
    expect(bot.lastComment(one)).toContain("Released: `web`.");
    expect(bot.lastComment(one)).toContain(`Next in the queue: [${word}${three}](<http`);
    expect(await bot.locked(three)).toEqual(["web"]);
    expect(bot.lastComment(two)).not.toContain("Your turn");
    await bot.comment(three, "svc unlock");
    expect(bot.lastComment(three)).not.toContain("Next in the queue");
  });

  test("several locks that one waits for are one turn", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["api", "web"]));
    const two = await bot.open(changeOf(["api", "web"], "3"));
    await bot.close(one);
    expect(await bot.locked(two)).toEqual(["api", "web"]);
    expect(bot.answers(two)).toHaveLength(2);
    expect(bot.lastComment(two)).toContain(
      `**Your turn:** \`api\`, \`web\` are no longer locked by [${word}${one}](<http`,
    );
  });

  test("one that was closed meanwhile is passed over, also if its close was lost", async () => {
    const bot = await startBot({ host });
    const [one = 0, two = 0, three = 0, four = 0] = await waitingFor(bot, 3);
    await bot.close(two);
    expect(await queue(bot)).toEqual([three, four]);
    bot.forge.connect({ url: "http://127.0.0.1:1/gone", secret: "nobody" });
    await bot.forge.close(REPOSITORY, three);
    await bot.forge.idle();
    bot.forge.connect({ url: `${bot.service.url}/webhook/${host}`, secret: SECRET });
    await bot.close(one);
    expect(await bot.locked(four)).toEqual(["web"]);
    expect(bot.answers(three)).toHaveLength(1);
    expect(await queue(bot)).toEqual([]);
  });

  test("one whose head does not touch it any more leaves the queue", async () => {
    const bot = await startBot({ host });
    const [one = 0, two = 0, three = 0] = await waitingFor(bot, 2);
    await bot.push(two, changeOf(["web"], "1"));
    expect(await queue(bot)).toEqual([three]);
    await bot.close(one);
    expect(await bot.locked(three)).toEqual(["web"]);
  });

  test("a lock that expired is offered by the reconciler", async () => {
    const bot = await startBot({ host });
    const [, two = 0] = await waitingFor(bot, 1);
    bot.clock.advance(7 * DAY_MS);
    expect(await bot.locked(two)).toEqual([]);
    await bot.service.reconcile();
    await bot.idle();
    expect(await bot.locked(two)).toEqual(["web"]);
    expect(bot.lastComment(two)).toContain("**Your turn:** `web` is no longer locked.");
    const said = bot.answers(two);
    await bot.service.reconcile();
    await bot.idle();
    expect(bot.answers(two)).toEqual(said);
  });

  test("a draft and a repository without autoplan have their turn with the commit that somebody had planned, and only with that", async () => {
    const bot = await startBot({ host, config: { defaults: { autoplan: false } } });
    const one = await bot.open(changeOf(["web"], "2"));
    const two = await bot.open(changeOf(["web"], "3"), { draft: true });
    const three = await bot.open(changeOf(["web"], "4"));
    for (const number of [one, two, three]) await bot.comment(number, "svc plan");
    await bot.comment(one, "svc unlock");
    expect(await bot.locked(two)).toEqual(["web"]);
    expect(bot.lastComment(two)).toContain("**Your turn:**");
    await bot.push(three, changeOf(["web"], "5"));
    await bot.comment(two, "svc unlock");
    expect(await bot.locked(three)).toEqual([]);
    expect(bot.answers(three)).toHaveLength(2);
    expect(bot.lastComment(three)).toMatch(
      /^.*\n\*\*Your turn:\*\* .* To lock it before .*, comment:\n```\nsvc plan\n```/,
    );
    expect(await queue(bot)).toEqual([]);
  });

  test("one that cannot be told of its turn, as where its conversation is locked, holds up nobody behind it", async () => {
    const bot = await startBot({ host, config: { defaults: { autoplan: false } } });
    const one = await bot.open(changeOf(["web"], "2"));
    const two = await bot.open(changeOf(["web"], "3"));
    const three = await bot.open(changeOf(["web"], "4"));
    for (const number of [one, two, three]) await bot.comment(number, "svc plan");
    await bot.push(two, changeOf(["web"], "5"));
    const refused = { kind: "status", status: 403, body: "{}" } as const;
    bot.forge.faults.add({ method: "POST", path: new RegExp(`/${two}/(comments|notes)$`), fault: refused });
    await bot.comment(one, "svc unlock");
    await bot.service.reconcile();
    await bot.idle();
    expect(await bot.locked(three)).toEqual(["web"]);
  });

  test("a narrowed plan that waited is repeated as it was", async () => {
    const bot = await startBot({ host, config: { defaults: { autoplan: false } } });
    const one = await bot.open(changeOf(["web"], "2"));
    const two = await bot.open(changeOf(["api", "web"], "3"));
    await bot.comment(one, "svc plan");
    await bot.comment(two, "svc plan -a web");
    await bot.comment(one, "svc unlock");
    expect(await bot.locked(two)).toEqual(["web"]);
  });
});
