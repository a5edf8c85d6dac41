import { describe, expect, test } from "@jest/globals";
import { type Bot, HOSTS, REPOSITORY, startBot } from "./bot.js";
import { changeOf, configMap } from "./resources.js";

const HOUR = 60 * 60 * 1000;

/** Time passes, with a look of the reconciler at its end. */
async function pass(hours: number, bot: Bot): Promise<void> {
  bot.clock.advance(hours * HOUR);
  await bot.service.reconcile();
  await bot.idle();
}

function remindersOn(number: number, bot: Bot): readonly string[] {
  return bot.answers(number).filter((body) => body.includes("## svc Reminder"));
}

describe.each(HOSTS)("a reminder of what is deployed and not merged on %s", (host) => {
  test("once a day: who deployed what when, what main got since, and the two ways out; none before, or once rolled back", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    await bot.open({ "README.md": "nothing deployed" });
    const remind = (hours: number) => pass(hours, bot);
    const reminders = () => remindersOn(one, bot);
    await remind(30);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    await remind(23);
    expect(reminders()).toEqual([]);
    await bot.forge.pushToBranch(REPOSITORY, "main", { "apps/api/more.yaml": configMap("more", { value: "1" }) });
    await bot.idle();
    await remind(2);
    const [said = ""] = reminders();
    expect(said).toContain("**Deployed and not merged for 25 hours** · merge this ");
    expect(said).toContain("To deploy `main` again, comment `svc rollback`.");
    expect(said).toMatch(/^- \[`web`\]\([^)]*\): `[0-9a-f]{8}` by `ana`, \d{4}-\d\d-\d\d \d\d:\d\d UTC$/m);
    expect(said).toContain("`main` has received 1 commit since:");
    await remind(23);
    expect(reminders()).toHaveLength(1);
    await remind(2);
    expect(reminders()).toHaveLength(2);
    expect(reminders()[0]).toContain("An earlier reminder: a newer one is below");
    expect(reminders()[1]).toContain("**Deployed and not merged for 2 days**");
    await bot.comment(one, "svc rollback");
    await remind(30);
    expect(reminders()).toHaveLength(2);
  });

  test("a new sync starts the time anew, and the next reminder still comes after a day", async () => {
    const bot = await startBot({ host, config: { comments: { remind_after: "2h" } } });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    await pass(3, bot);
    expect(remindersOn(one, bot)).toHaveLength(1);
    await bot.comment(one, "svc sync");
    await pass(3, bot);
    expect(remindersOn(one, bot)).toHaveLength(1);
    await pass(22, bot);
    expect(remindersOn(one, bot)).toHaveLength(2);
  });

  test("what was closed is asked for its state alone, and is reminded of once it is open again", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    await bot.close(one);
    await pass(25, bot);
    const before = bot.forge.requests.length;
    await pass(1, bot);
    const asked = bot.forge.requests.slice(before).filter(({ path }) => /\/(?:pulls|merge_requests)\/\d+/.test(path));
    expect(asked).toHaveLength(1);
    await bot.forge.reopen(REPOSITORY, one);
    await pass(1, bot);
    expect(remindersOn(one, bot)).toHaveLength(1);
  });

  test("with `off` nobody is reminded", async () => {
    const bot = await startBot({ host, config: { comments: { remind_after: "off" } } });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    await pass(1000, bot);
    expect(remindersOn(one, bot)).toEqual([]);
  });

  test("a reminder that the host did not take is not tried again before a day is over", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    const fault = { kind: "status", status: 500, body: "{}" } as const;
    bot.forge.faults.add({ method: "POST", path: /\/(comments|notes)$/, fault });
    await pass(25, bot);
    bot.forge.faults.clear();
    await pass(1, bot);
    expect(remindersOn(one, bot)).toEqual([]);
    await pass(23, bot);
    expect(remindersOn(one, bot)).toHaveLength(1);
  });
});
