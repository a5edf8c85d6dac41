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

const reader = async (bot: Bot) => (await readers(bot)).head;

/** Read the head of a page, and the states of its applications, without markup. */
async function readers(bot: Bot) {
  const visitor = new Visitor(bot.service.url);
  await visitor.ask("/auth/basic/login", { json: { username: "vera", password: PASSWORD } });
  const part = (pattern: RegExp) => async (number: number) => {
    const { text } = await visitor.ask(`/changes/${bot.host}/${REPOSITORY}/${number}`);
    const found = pattern.exec(text)?.[1] ?? "";
    return found.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");
  };
  return { head: part(/<div id="head">([\s\S]*?)<\/div>/), rows: part(/<tbody role="rowgroup">([\s\S]*?)<\/tbody>/) };
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

  test("says to wait while a sync runs, and after the merge what was deployed", async () => {
    const defaults = { require_approval: true };
    const bot = await startBot({ host, applications: ["web"], config: { auth: AUTH, defaults } });
    const { head, rows } = await readers(bot);
    const one = await bot.open(changeOf(["web"]));
    expect(await rows(one)).toMatch(/ no $/);
    await bot.approve(one);
    let running = "";
    bot.meanwhile("argocd", { method: "POST", path: /\/web\/sync$/ }, async () => {
      running = await head(one);
    });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(running).toMatch(/Next step wait for the sync of ana, which has started: 0 of 1 applications are done/);
    expect(await rows(one)).toMatch(/this commit is deployed/);
    await bot.forge.mergeByHand(REPOSITORY, one, "bo");
    await bot.idle();
    expect(await bot.deployed(one)).toEqual([]);
    expect(await rows(one)).toMatch(/was deployed [0-9a-f]{8} ana/);
  });
});
