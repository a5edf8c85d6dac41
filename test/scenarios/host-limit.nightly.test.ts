import { expect, test } from "@jest/globals";
import { startBot } from "./bot.js";
import { changeOf } from "./resources.js";

test("75 plans with their statuses, reactions and edits leave GitHub's hour to what counts: nothing waits for an hour, and a sync is answered at once", async () => {
  const bot = await startBot({ host: "hosta" });
  const one = await bot.open(changeOf(["web"]));
  const started = bot.clock.now().getTime();
  for (let at = 0; at < 75; at += 1) await bot.comment(one, "svc plan");
  bot.expectChanges("sync web");
  const asked = bot.clock.now().getTime();
  await bot.comment(one, "svc sync");
  expect(bot.lastComment(one)).toContain("## svc Sync");
  expect(bot.clock.now().getTime() - asked).toBeLessThan(10_000);
  expect(bot.clock.now().getTime() - started).toBeLessThan(10 * 60_000);
});
