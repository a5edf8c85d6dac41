import { describe, expect, test } from "@jest/globals";
import { applicationName, revision } from "../../src/core/model/brand.js";
import { StoreUnavailable } from "../../src/core/model/errors.js";
import { wrapPort } from "../../src/observe/wrap-port.js";
import { createMemoryStores } from "../../src/store/memory/memory-stores.js";
import type { JumpClock } from "../jump-clock.js";
import { type Bot, HOSTS, REPOSITORY, SHORT, SIGIL, startBot } from "./bot.js";
import { changeOf } from "./resources.js";

const WEB = applicationName("web");

async function queue(bot: Bot): Promise<readonly number[]> {
  return (await bot.stores.waiting.of(WEB)).map(({ number }) => number);
}

/** One that deployed `web`, one that has planned it since, and one that waits for that. */
async function threeOf(bot: Bot): Promise<readonly [number, number, number]> {
  const one = await bot.open(changeOf(["web"]));
  bot.expectChanges("sync web");
  await bot.comment(one, "svc sync");
  const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
  const three = await bot.open(changeOf(["web"], "4"), { by: "bo" });
  expect(await queue(bot)).toEqual([three]);
  return [one, two, three];
}

describe.each(HOSTS)("a lock that is lost on %s", (host) => {
  const name = (number: number) => `${SHORT[host]} ${SIGIL[host]}${number}`;

  test("to a rollback comes back before all who wait: the loser is told once, planned when it is free, and shows that", async () => {
    const bot = await startBot({ host, config: { [host]: { commit_status: true } } });
    const [one, two, three] = await threeOf(bot);
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("✅ succeeded, `main` is deployed");
    expect(bot.answers(two).filter((text) => text.includes("## svc Lock taken over"))).toHaveLength(1);
    expect(bot.lastComment(two)).toContain(`**Your turn:** \`web\` is no longer locked by [${name(one)}](<http`);
    expect([await bot.locked(two), await queue(bot)]).toEqual([["web"], [three]]);
    if (host === "hosta") {
      const last = bot.forge.statuses(REPOSITORY, bot.seen(two).headRevision).at(-1);
      expect(last?.description).toBe("web awaits svc sync");
    }
    await bot.service.reconcile();
    await bot.idle();
    expect(bot.answers(three).filter((text) => text.includes("Your turn"))).toEqual([]);
  });

  test("to a rollback that fails stays lost, and the loser keeps the first place", async () => {
    const bot = await startBot({ host });
    const [one, two, three] = await threeOf(bot);
    bot.argocd.failNextSync("web", { phase: "Failed", message: "no room" });
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(two)).toContain("## svc Lock taken over");
    expect([await bot.locked(one), await queue(bot)]).toEqual([["web"], [two, three]]);
    await bot.comment(one, "svc rollback");
    expect([await bot.locked(two), await queue(bot)]).toEqual([["web"], [three]]);
  });

  test("stays whose it was if the store fails while a rollback takes it", async () => {
    const store: { fails?: "join" | "records"; armed?: boolean } = {};
    const away = () => Promise.reject(new StoreUnavailable("away"));
    const stores = (clock: JumpClock) => {
      const real = createMemoryStores(clock);
      const locks = wrapPort(real.locks, {
        acquire(call) {
          store.armed = store.fails === "records";
          return call();
        },
      });
      const waiting = wrapPort(real.waiting, {
        join: (call, _application, _change, where) => (where !== undefined && store.fails === "join" ? away() : call()),
      });
      const deployments = wrapPort(real.deployments, { ofChange: (call) => (store.armed === true ? away() : call()) });
      return { ...real, locks, waiting, deployments };
    };
    const bot = await startBot({ host, stores });
    const [one, two, three] = await threeOf(bot);
    store.fails = "join";
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("failed to acquire lock");
    expect([await bot.locked(two), await queue(bot)]).toEqual([["web"], [three]]);
    for (const number of [two, three]) await bot.comment(number, "svc unlock", "bo");
    store.fails = "records";
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("failed to acquire lock");
    expect(await bot.stores.locks.list()).toEqual([]);
  });

  test("to a plan whose store answers too late is shown as theirs wherever it was free", async () => {
    let late = 0;
    const stores = (clock: JumpClock) => {
      const real = createMemoryStores(clock);
      const locks = wrapPort(real.locks, {
        async acquire(call) {
          const attempt = await call();
          if (late-- > 0) throw new StoreUnavailable("away");
          return attempt;
        },
      });
      return { ...real, locks };
    };
    const bot = await startBot({ host, stores });
    const one = await bot.open(changeOf(["web"]));
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    for (const number of [two, one]) await bot.comment(number, "svc unlock");
    const shown = () => bot.answers(two).find((text) => text.includes("## svc Plan"));
    expect(shown()).not.toContain("Locked by");
    late = 1;
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).toContain("failed to acquire lock");
    await bot.comment(one, "svc plan");
    expect(await bot.locked(one)).toEqual(["web"]);
    expect(shown()).toContain("Locked by");
  });

  test("from a plan that the store kept too late to say so is shown by that plan", async () => {
    let late = 0;
    const stores = (clock: JumpClock) => {
      const real = createMemoryStores(clock);
      const plans = wrapPort(real.plans, {
        async save(call) {
          await call();
          if (late-- > 0) throw new StoreUnavailable("away");
        },
      });
      return { ...real, plans };
    };
    const bot = await startBot({
      host,
      config: { [host]: { commit_status: true }, defaults: { autoplan: false } },
      stores,
    });
    const one = await bot.open(changeOf(["web"]));
    late = 1;
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).not.toContain("## svc Plan");
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    await bot.comment(one, "svc unlock");
    await bot.comment(two, "svc plan", "bo");
    const headRevision = revision(bot.seen(one).headRevision);
    const [own] = await bot.stores.statuses.ofHead({ ...bot.ref(one), headRevision });
    expect(own?.description).toContain("web is locked by");
  });

  test("is nobody's turn who has taken it back by a plan of their own", async () => {
    const bot = await startBot({ host });
    const [one, two] = [await bot.open(changeOf(["web"], "2")), await bot.open(changeOf(["web"], "3"))];
    expect(await queue(bot)).toEqual([two]);
    // As after a rollback whose release ended the replica.
    await bot.stores.locks.release(WEB, bot.ref(one));
    await bot.stores.waiting.join(WEB, bot.ref(one), "first");
    await bot.comment(one, "svc plan");
    expect([await bot.locked(one), await queue(bot)]).toEqual([["web"], [two]]);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.answers(one).filter((text) => text.includes("Your turn"))).toEqual([]);
    expect(await bot.locked(two)).toEqual(["web"]);
  });
});
