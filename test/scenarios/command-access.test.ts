import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, startBot } from "./bot.js";
import { changeOf } from "./resources.js";

const REFUSED = "`olga` has no write access to `acme/deploy`, which this command needs. Ask someone who has it.";

describe.each(HOSTS)("who may command on %s", (host) => {
  test("without write access every command is refused; the refusal says why, once per PR", async () => {
    const bot = await startBot({ host });
    bot.forge.setAccess(REPOSITORY, "olga", "read");
    const one = await bot.open(changeOf(["web"]));
    const said = bot.answers(one).length;
    for (const command of ["svc sync", "svc plan", "svc rollback", "svc unlock", "svc sync --dry-run"]) {
      await bot.comment(one, command, "olga");
    }
    expect(bot.answers(one).slice(said)).toEqual([expect.stringContaining(REFUSED)]);
    expect(await bot.locked(one)).toEqual(["web"]);
    expect(bot.changes()).toEqual([]);
    const two = await bot.open(changeOf(["api"]));
    await bot.comment(two, "svc plan", "olga");
    expect(bot.lastComment(two)).toContain(REFUSED);
  });

  test("the host is asked at each command: access given or taken away acts at once", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "svc unlock", "olga");
    expect(bot.lastComment(one)).toContain(REFUSED);
    bot.forge.setAccess(REPOSITORY, "olga", "write");
    await bot.comment(one, "svc unlock", "olga");
    expect(bot.lastComment(one)).toContain("Released: `web`.");
    await bot.comment(one, "svc plan", "olga");
    bot.forge.setAccess(REPOSITORY, "olga", "none");
    await bot.comment(one, "svc sync", "olga");
    expect(await bot.locked(one)).toEqual(["web"]);
    expect(bot.changes()).toEqual([]);
    expect((await bot.stores.locks.list(bot.ref(one))).map(({ user }) => user)).toEqual(["olga"]);
  });

  test("help and what is no command need no access, and are answered once per PR to all who have none", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const two = await bot.open(changeOf(["api"]));
    await bot.comment(one, "svc help", "olga");
    expect(bot.lastComment(one)).toContain("## svc Help");
    await bot.comment(two, "svc synk", "olga");
    expect(bot.lastComment(two)).toContain("not a svc command");
    const said = () => [one, two].map((number) => bot.answers(number).filter((body) => body.startsWith("<!--")).length);
    const before = said();
    for (const number of [one, two]) {
      for (const by of ["olga", "mallory"]) {
        for (const text of ["svc help", "svc synk", "svc sync"]) await bot.comment(number, text, by);
      }
    }
    expect(said()).toEqual(before);
  });

  test("command_access: anyone", async () => {
    const bot = await startBot({ host, config: { defaults: { command_access: "anyone" } } });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync", "olga");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
  });

  test("the host cannot say who may command: nothing is run, and the reply says what is wrong", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const path = host === "hosta" ? /\/collaborators\/ana\/permission$/ : /\/members\/all\//;
    bot.forge.faults.add({ path, fault: { kind: "status", status: 500, body: "oops" } });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("The command could not be finished:");
    expect(bot.changes()).toEqual([]);
    expect(await bot.locked(one)).toEqual(["web"]);
  });
});
