import { describe, expect, test } from "@jest/globals";
import { revision } from "../../src/core/model/brand.js";
import { StoredValueUnreadable } from "../../src/core/model/errors.js";
import { HOSTS, REPOSITORY, startBot, type Bot } from "./bot.js";
import { changeOf, hydrated } from "./resources.js";

const start = (host: Bot["host"], more: object = {}) =>
  startBot({ host, config: { [host]: { commit_status: true }, ...more } });

const written = (bot: Bot, number: number) => bot.forge.statuses(REPOSITORY, bot.seen(number).headRevision);

/** GitLab keeps the first text of a pending status. */
async function statusOf(bot: Bot, number: number): Promise<string> {
  const { headRevision } = bot.seen(number);
  if (bot.host === "hosta") return written(bot, number).at(-1)?.description ?? "";
  const own = await bot.stores.statuses.ofHead({ ...bot.ref(number), headRevision: revision(headRevision) });
  return own.map(({ description }) => description).join("; ");
}

/** For half an hour fewer than half of the host's calls are left. @returns What ends that early. */
function useUpCalls({ host, clock, forge }: Bot): () => void {
  const reset = String(Math.floor(clock.now().getTime() / 1000) + 1800);
  const names = host === "hosta" ? "X-RateLimit" : "RateLimit";
  const headers = { [`${names}-Limit`]: "5000", [`${names}-Remaining`]: "2400", [`${names}-Reset`]: reset };
  return forge.faults.add({ fault: { kind: "headers", headers } });
}

describe.each(HOSTS)("what svc shows on %s follows what happens elsewhere", (host) => {
  test("who loses a lock to a rollback is told who has it, and that it is free once it is", async () => {
    const bot = await start(host);
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    const three = await bot.open(changeOf(["web"], "4"), { by: "bo" });
    expect(await bot.locked(two)).toEqual(["web"]);
    bot.argocd.faults.add({ method: "POST", path: /\/web\/sync$/, times: 1, fault: { kind: "status", status: 500 } });
    await bot.comment(one, "svc rollback");
    expect(await bot.locked(one)).toEqual(["web"]);
    expect(await statusOf(bot, two)).toMatch(new RegExp(`web is locked by .*${one}`));
    expect(await statusOf(bot, three)).toMatch(new RegExp(`web is locked by .*${one}`));
    await bot.comment(three, "svc unlock", "bo");
    await bot.comment(one, "svc unlock");
    expect(await bot.locked(two)).toEqual(["web"]);
    expect(await statusOf(bot, two)).not.toContain("locked by");
    expect(await statusOf(bot, three)).toMatch(new RegExp(`web is locked by .*${two}`));
    await bot.comment(two, "svc unlock", "bo");
    expect(await statusOf(bot, two)).not.toContain("locked by");
    expect(await statusOf(bot, three)).not.toContain("locked by");
  });

  test("while half of the host's calls are used up, only what somebody asks for is brought up to date", async () => {
    const bot = await start(host);
    const one = await bot.open(changeOf(["web"]));
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    const three = await bot.open(changeOf(["web"], "4"), { by: "bo" });
    const lockedBy = (number: number) => new RegExp(`web is locked by .*${number}`);
    expect(await statusOf(bot, three)).toMatch(lockedBy(one));
    const restore = useUpCalls(bot);
    await bot.comment(one, "svc unlock");
    // Its turn is its own, and so is a comment.
    expect(await bot.locked(two)).toEqual(["web"]);
    expect(await statusOf(bot, two)).not.toContain("locked by");
    await bot.service.reconcile();
    expect(await statusOf(bot, three)).toMatch(lockedBy(one));
    await bot.approve(three, "ana");
    expect(await statusOf(bot, three)).toMatch(lockedBy(two));
    const four = await bot.open(changeOf(["web"], "5"), { by: "bo" });
    await bot.comment(two, "svc unlock", "bo");
    expect(await bot.locked(three)).toEqual(["web"]);
    expect(await statusOf(bot, four)).toMatch(lockedBy(two));
    restore();
    bot.clock.advance(1800 * 1000);
    await bot.service.reconcile();
    await bot.idle();
    expect(await statusOf(bot, four)).toMatch(lockedBy(three));
  });

  test.each([
    ["", undefined],
    [", and its plan cannot be read", "plan"],
    [", and a status of its commit cannot be read", "status"],
  ] as const)(
    "a green status that a hold makes wrong is taken back although the host's calls are scarce%s",
    async (_, damaged) => {
      const bot = await start(host);
      const { plans, statuses } = bot.stores;
      const [find, ofHead] = [plans.find.bind(plans), statuses.ofHead.bind(statuses)];
      const stateOf = async (number: number) => {
        const { headRevision } = bot.seen(number);
        return (await ofHead({ ...bot.ref(number), headRevision: revision(headRevision) }))[0]?.state;
      };
      const one = await bot.open(changeOf(["web"]));
      bot.expectChanges("sync web");
      await bot.comment(one, "svc sync");
      const two = await bot.open(changeOf(["api"], "3"), { by: "bo" });
      expect(await stateOf(one)).toBe("success");
      useUpCalls(bot);
      const unreadable = () => Promise.reject(new StoredValueUnreadable("of another version"));
      if (damaged === "plan") plans.find = (ref) => (ref.number === one ? unreadable() : find(ref));
      if (damaged === "status") statuses.ofHead = (ref) => (ref.number === one ? unreadable() : ofHead(ref));
      await bot.comment(two, "svc hold -a web --reason migration --until 2h", "bo");
      expect(await stateOf(one)).toBe("pending");
    },
  );

  test.each([
    ["", false],
    [", and an earlier head has a plan", true],
  ])("so is that of what only the merge deploys, where nothing is planned by itself%s", async (_, planned) => {
    const resources = (url: string) => ({ web: { spec: hydrated(url) } });
    const config = { [host]: { commit_status: true }, defaults: { autoplan: false } };
    const bot = await startBot({ host, config, resources });
    const one = await bot.open(changeOf(["web"]));
    if (planned) {
      await bot.comment(one, "svc plan");
      await bot.push(one, changeOf(["web"], "3"));
    }
    const two = await bot.open(changeOf(["api"], "3"), { by: "bo" });
    const state = async () => {
      const headRevision = revision(bot.seen(one).headRevision);
      return (await bot.stores.statuses.ofHead({ ...bot.ref(one), headRevision }))[0]?.state;
    };
    expect(await state()).toBe("success");
    useUpCalls(bot);
    await bot.comment(two, "svc hold -a web --reason migration --until 2h", "bo");
    expect(bot.lastComment(two)).toContain("web");
    expect(await state()).toBe("pending");
  });

  test("a status whose text did not change is not written again", async () => {
    const bot = await start(host);
    const one = await bot.open(changeOf(["web"]));
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    await bot.comment(one, "svc unlock");
    await bot.comment(two, "svc unlock", "bo");
    const texts = written(bot, two).map(({ state, description }) => `${state}: ${description}`);
    expect(texts.filter((text, index) => text === texts[index - 1])).toEqual([]);
    const after = texts.length;
    await bot.stores.marks.set([bot.ref(two)], bot.clock.now());
    await bot.approve(two, "ana");
    expect(written(bot, two)).toHaveLength(after);
  });
});
