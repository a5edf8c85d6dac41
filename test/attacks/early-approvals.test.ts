import { describe, expect, test } from "@jest/globals";
import { HOSTS, nameOn, REPOSITORY, startBot, type Bot, type BotOptions } from "../scenarios/bot.js";
import { applicationResource, asYaml, changeOf } from "../scenarios/resources.js";

const POLICY = `if grep -q forbidden; then echo "web holds a forbidden value"; exit 1; fi`;
const PLATFORM = [...new Set(HOSTS.map((host) => nameOn(host, "acme/platform")))];
const CHECKS = [{ name: "values", command: ["sh", "-c", POLICY], overridable_by: PLATFORM }];
const EARLY = "bo approved before svc knew that it failed: approve again";

/** `bo` may lift the check. Nothing is planned before somebody asks. */
async function start(options: BotOptions): Promise<Bot> {
  const bot = await startBot({
    config: { checks: CHECKS, defaults: { autoplan: false, auto_merge: true } },
    ...options,
  });
  bot.forge.setTeam("acme/platform", ["bo"]);
  return bot;
}

async function expectFailed(bot: Bot, one: number, why = EARLY): Promise<void> {
  await bot.comment(one, "svc sync");
  expect(bot.lastComment(one)).toContain("`web`: check values failed");
  expect(bot.lastComment(one)).toContain(why);
  expect(bot.changes()).toEqual([]);
  expect(bot.seen(one).state).toBe("open");
}

describe.each(HOSTS)("a failed check on %s", (host) => {
  test("is not lifted by an approval from before any plan, and is by one from after it", async () => {
    const bot = await start({ host });
    const one = await bot.open(changeOf(["web"], "forbidden"));
    await bot.approve(one);
    await bot.comment(one, "svc plan");
    await expectFailed(bot, one);
    await bot.approve(one);
    // A plan that shows the same failure of the same head takes nothing back.
    await bot.comment(one, "svc plan");
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("`values` failed; the approval of `bo` lifts that");
    expect(bot.seen(one).state).toBe("merged");
  });

  test("is not lifted by an approval in the second in which it failed", async () => {
    const bot = await start({ host });
    const one = await bot.open(changeOf(["web"], "forbidden"));
    bot.forge.freezeClock();
    await bot.comment(one, "svc plan");
    await bot.approve(one);
    await expectFailed(bot, one);
  });

  test("is not lifted where the clock of the service is behind that of the host", async () => {
    const bot = await start({ host });
    bot.clock.advance(-60 * 60_000);
    const one = await bot.open(changeOf(["web"], "forbidden"));
    await bot.approve(one);
    await bot.comment(one, "svc plan");
    await expectFailed(bot, one);
  });

  test("of what only the merge deploys is not lifted by an earlier approval either", async () => {
    const bot = await start({ host });
    const repoURL = bot.forge.cloneUrl(REPOSITORY);
    const fresh = asYaml(applicationResource("fresh", { repoURL, path: "apps/web" }));
    const one = await bot.open({ ...changeOf(["web", "api"], "forbidden"), "argocd/fresh.yaml": fresh });
    await bot.approve(one);
    await bot.comment(one, "svc plan");
    await expectFailed(bot, one);
  });

  test("is not lifted where the host does not tell its time", async () => {
    const bot = await start({ host });
    const one = await bot.open(changeOf(["web"], "forbidden"));
    const asked = host === "hosta" ? /\/api\/v3\/app$/ : /\/api\/v4\/user$/;
    bot.forge.faults.add({ path: asked, fault: { kind: "status", status: 500, body: "{}" } });
    await bot.comment(one, "svc plan");
    bot.forge.faults.clear();
    await bot.approve(one);
    await expectFailed(
      bot,
      one,
      "which approvals came after it failed is not known: run the plan command, then approve",
    );
  });
});
