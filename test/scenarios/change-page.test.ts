import { describe, expect, test } from "@jest/globals";
import { PASSWORD } from "../web/site-under-test.js";
import { Visitor } from "../web/visitor.js";
import { HOSTS, REPOSITORY, startBot, type Bot } from "./bot.js";
import { changeOf } from "./resources.js";

const AUTH = {
  enabled: true,
  session_secret: "session-secret-of-the-tests-5b1f0e",
  cookie_secure: false,
  diffs: "all",
  basic: { users: [{ username: "vera", password: PASSWORD, role: "user" }] },
};

async function reader(bot: Bot): Promise<(number: number) => Promise<string>> {
  const visitor = new Visitor(bot.service.url);
  await visitor.ask("/auth/basic/login", { json: { username: "vera", password: PASSWORD } });
  return async (number) => {
    const { text } = await visitor.ask(`/changes/${bot.host}/${REPOSITORY}/${number}`);
    const head = /<div id="head">([\s\S]*?)<\/div>/.exec(text)?.[1] ?? "";
    return head.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");
  };
}

describe.each(HOSTS)("the page of a change request on %s", (host) => {
  test("begins with title, author, approval, next step and the last failure's reason, at each step of its life", async () => {
    const defaults = { require_approval: true, auto_merge: true };
    const bot = await startBot({ host, applications: ["web"], config: { auth: AUTH, defaults } });
    const head = await reader(bot);
    const one = await bot.open(changeOf(["web"]), { title: "Raise the limit" });
    expect(await head(one)).toMatch(
      /Raise the limit .*open by ana.* Next step needs an approval of .* Approval needed/,
    );

    await bot.approve(one);
    bot.clock.advance(11_000);
    expect(await head(one)).toMatch(/Next step comment svc sync Approval by bo $/);

    bot.argocd.failNextSync("web", { phase: "Failed", message: "no room" });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(await head(one)).toMatch(/Next step fix the cause, .* Last failure sync failed ana, .* web failed no room/);

    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    bot.clock.advance(11_000);
    expect(await head(one)).toMatch(/Raise the limit .*merged by ana/);
    expect(await head(one)).not.toContain("Last failure");
  });
});
