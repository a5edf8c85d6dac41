import { describe, expect, test } from "@jest/globals";
import { HOSTS, SHORT, SIGIL, startBot, type Bot } from "../scenarios/bot.js";
import { changeOf } from "../scenarios/resources.js";

/** A PR whose head runs in the cluster, and another one that locks the same application with its plan. */
async function deployedAndPlanned(bot: Bot): Promise<readonly [number, number]> {
  const one = await bot.open(changeOf(["web"]));
  bot.expectChanges("sync web");
  await bot.comment(one, "svc sync");
  const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
  expect(await bot.locked(two)).toEqual(["web"]);
  return [one, two];
}

describe.each(HOSTS)("on %s, the rollback of what a PR deployed", (host) => {
  test("is not held back by a lock that only a plan of another PR holds, which is told", async () => {
    const bot = await startBot({ host });
    const [one, two] = await deployedAndPlanned(bot);
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("✅ succeeded, `main` is deployed");
    expect(bot.lastComment(one)).toContain(`⚠️ Its lock was taken over from [${SHORT[host]} ${SIGIL[host]}`);
    expect(bot.lastComment(one)).toContain(`${two}>) (bo), which had only planned it and is the first to get it back.`);
    expect(bot.liveValue("web")).toBe("1");
    const told = bot.answers(two).filter((text) => text.includes("## svc Lock taken over"));
    expect(told).toHaveLength(1);
    expect(told[0]).toContain(
      `(\`ana\`) rolled back \`web\`, which it had deployed, and took over the lock that a plan of this ${SHORT[host]} held. ` +
        `This ${SHORT[host]} is the first in the queue now: once that lock is free, svc plans it again, or says that it is its turn.`,
    );
    expect(bot.lastComment(two)).toContain(
      `**Your turn:** \`web\` is no longer locked by [${SHORT[host]} ${SIGIL[host]}${one}](<http`,
    );
    expect(await bot.locked(two)).toEqual(["web"]);
    expect(bot.changes()).toEqual(["sync web", "sync web"]);
  });

  test("takes no lock of a PR that deployed as well, nor of an application that it did not deploy itself", async () => {
    const bot = await startBot({ host });
    const [one, two] = await deployedAndPlanned(bot);
    bot.argocd.failNextSync("web", { phase: "Failed", message: "no room" });
    await bot.comment(two, "svc sync", "bo");
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain(`web: [Locked by PR #${two} (bo)](<http`);
    expect(await bot.locked(two)).toEqual(["web"]);
    const three = await bot.open(changeOf(["web"], "4"));
    await bot.comment(three, "svc rollback");
    expect(bot.lastComment(three)).toContain("No applications are locked by this PR.\n");
    expect(bot.lastComment(three)).toMatch(/\(bo\)\]\(<http[^>]*>\), which has locked `web`\./);
    expect(await bot.locked(two)).toEqual(["web"]);
  });

  test("that is refused leaves the other PR's lock and plan as they were", async () => {
    const bot = await startBot({ host });
    const [one, two] = await deployedAndPlanned(bot);
    bot.argocd.addApplication(bot.resourceOf("web", { spec: { syncPolicy: { automated: {} } } }));
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("Application web has auto-sync enabled.");
    expect(await bot.locked(two)).toEqual(["web"]);
    bot.argocd.addApplication(bot.resourceOf("web"));
    bot.expectChanges("sync web");
    await bot.comment(two, "svc sync", "bo");
    expect(bot.liveValue("web")).toBe("3");
  });
});
