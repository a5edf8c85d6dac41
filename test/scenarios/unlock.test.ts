import { describe, expect, test } from "@jest/globals";
import { HOSTS, SHORT, SIGIL, startBot } from "./bot.js";
import { changeOf } from "./resources.js";

describe.each(HOSTS)("unlock on %s", (host) => {
  test("releases the locks of this PR and of no other; -a restricts it", async () => {
    const bot = await startBot({ host, applications: ["api", "shop", "web"] });
    const one = await bot.open(changeOf(["api", "web"]));
    const two = await bot.open(changeOf(["shop", "web"], "3"), { by: "bo" });
    await bot.comment(one, "svc unlock -a api");
    expect(bot.lastComment(one)).toContain("Released: `api`.");
    expect(await bot.locked(one)).toEqual(["web"]);
    await bot.comment(two, "svc unlock -a web -a nope -a shop");
    expect(bot.lastComment(two)).toContain("Released: `shop`.");
    expect(bot.lastComment(two)).toContain(`- \`web\`: is locked by [${SHORT[host]} ${SIGIL[host]}${one} (ana)](<http`);
    expect(bot.lastComment(two)).toContain("- `nope`: is not locked");
    expect(await bot.locked(one)).toEqual(["web"]);
    await bot.comment(one, "svc unlock");
    expect(bot.lastComment(one)).toContain("Released: `web`.");
    await bot.comment(one, "svc unlock");
    expect(bot.lastComment(one)).toContain(
      `No applications are locked by this ${SHORT[host]}, so there was nothing to release.`,
    );
    await bot.comment(two, "svc plan");
    expect(await bot.locked(two)).toEqual(["shop", "web"]);
  });

  test("-a with a mistyped name says what this PR has locked, and what was meant", async () => {
    const bot = await startBot({ host, applications: ["api", "shop", "web"] });
    const one = await bot.open(changeOf(["api", "web"]));
    await bot.open(changeOf(["shop"]), { by: "bo" });
    await bot.comment(one, "svc unlock -a wbe");
    expect(bot.lastComment(one)).toContain(
      `Not locked by this ${SHORT[host]}: \`wbe\`. Did you mean \`svc unlock -a web\`? This ${SHORT[host]} has locked \`api\`, \`web\`.`,
    );
    await bot.comment(one, "svc unlock -a shop");
    expect(bot.lastComment(one)).toContain("Nothing was released.\n\nNot released:\n- `shop`: is locked by");
    expect(await bot.locked(one)).toEqual(["api", "web"]);
  });

  test("works when .svc.yaml is broken, needs no approval, deploys nothing, and keeps the record of what is deployed", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["api", "web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync -a web");
    await bot.push(one, { ".svc.yaml": "require_approval: perhaps\n" });
    expect(bot.lastComment(one)).toContain("`.svc.yaml` cannot be used");
    await bot.comment(one, "svc unlock");
    expect(await bot.locked(one)).toEqual([]);
    expect(await bot.deployed(one)).toEqual(["web"]);
    expect(bot.changes()).toEqual(["sync web"]);
  });

  test("works on a closed PR", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    await bot.close(one);
    await bot.comment(one, "svc unlock");
    expect(bot.lastComment(one)).toContain(`No applications are locked by this ${SHORT[host]}`);
  });
});
