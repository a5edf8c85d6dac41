import { describe, expect, test } from "@jest/globals";
import { Visitor } from "../web/visitor.js";
import { HOSTS, REPOSITORY, SHORT, startBot, type Bot } from "./bot.js";
import { changeOf } from "./resources.js";

const CONFIG = { server: { command: "argo" } };
const PASSWORD = "correct horse";
const AUTH = {
  enabled: true,
  session_secret: "session-secret-of-the-tests-5b1f0e",
  cookie_secure: false,
  basic: { users: [{ username: "ana", password: PASSWORD, role: "user" }] },
};

function statusOf(bot: Bot, number: number): string {
  return bot.forge.statuses(REPOSITORY, bot.seen(number).headRevision).at(-1)?.description ?? "";
}

describe.each(HOSTS)("server.command on %s", (host) => {
  test("is what commands begin with, in any case; the usual word is prose then", async () => {
    const bot = await startBot({ host, config: CONFIG });
    const one = await bot.open(changeOf(["web"]));
    for (const prose of ["svc plan", "svc sync", "svc nonsense", "argos sync"]) await bot.comment(one, prose);
    expect(bot.answers(one)).toHaveLength(1);
    expect(bot.changes()).toEqual([]);
    bot.expectChanges("sync web");
    await bot.comment(one, "ARGO Sync -a web");
    expect(bot.lastComment(one)).toContain("**Result:** ✅ succeeded");
    expect(bot.liveValue("web")).toBe("2");
  });

  test("stands in plans, results, refusals, help and the commit status", async () => {
    const bot = await startBot({ host, config: { ...CONFIG, [host]: { commit_status: true } } });
    const one = await bot.open(changeOf(["api", "web"]));
    bot.forge.runPipeline(REPOSITORY, one);
    expect(bot.lastComment(one)).toContain("comment:\n```\nargo sync\n```");
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo", draft: true });
    bot.forge.runPipeline(REPOSITORY, two);
    await bot.comment(one, "argo plan");
    await bot.comment(two, "argo sync", "bo");
    expect(bot.lastComment(two)).toContain(
      "No applications are locked by this PR. Run the plan command first.\n\nNext, comment:\n```\nargo plan\n```",
    );
    await bot.comment(one, "argo deploy");
    expect(bot.lastComment(one)).toContain(
      "not an argo command\n\nDid you mean `argo sync`?\n\n<details><summary>All commands</summary>\n\n- `argo plan [-a <application>]`: ",
    );
    await bot.comment(one, "argo help");
    expect(bot.lastComment(one)).toContain("- `argo sync [-a <application>] [--dry-run] [--prune]`: ");
    bot.expectChanges("sync web");
    await bot.comment(one, "argo sync -a web");
    expect(bot.lastComment(one)).toContain("comment `argo rollback`");
    await bot.comment(one, "argo unlock");
    await bot.close(one);
    expect(bot.lastComment(one)).toContain(`This ${SHORT[host]} was closed without a merge`);
    expect(bot.lastComment(one)).toContain("comment:\n```\nargo rollback\n```");
    for (const text of [...bot.answers(one), ...bot.answers(two), statusOf(bot, two)]) {
      expect(text).not.toMatch(/svc (?:plan|sync|rollback|unlock|help)|a svc command/);
    }
  });

  test("stands in the pages and in the API's answers", async () => {
    const bot = await startBot({ host, config: { ...CONFIG, auth: AUTH } });
    const ana = new Visitor(bot.service.url);
    await ana.ask("/auth/basic/login", { json: { username: "ana", password: PASSWORD } });
    const page = async (path: string) => (await ana.ask(path)).text;
    expect(await page("/")).toContain("<code>argo plan</code>");
    // Who is not logged in sees what svc deployed, which is nothing yet.
    const open = await startBot({ host, config: CONFIG });
    const applications = await fetch(`${open.service.url}/applications`);
    expect(await applications.text()).toContain("<code>argo sync</code>");
    expect(await page(`/changes/${host}/${REPOSITORY}/7`)).toContain("<code>argo plan</code>");
    expect(await page(`/api/v1/plans/${host}/${REPOSITORY}/7`)).toContain("comment `argo plan` on it");
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "argo plan");
    expect(await page("/")).toContain("<code>argo unlock</code>");
  });
});

describe.each([
  ["hosta", "pull request", "merge request"],
  ["hostb", "merge request", "pull request"],
] as const)("the pages of a service on %s", (host, own, other) => {
  test(`say ${own}`, async () => {
    const bot = await startBot({ host });
    const page = async (path: string) => (await fetch(`${bot.service.url}${path}`)).text();
    const empty = await Promise.all(["/", "/applications", "/activity"].map(page));
    for (const text of empty) expect(text).toContain(`a ${own}`);
    const one = await bot.open(changeOf(["web"]));
    const full = await Promise.all(["/", `/changes/${host}/${REPOSITORY}/${one}`].map(page));
    for (const text of full) expect(text).toContain(own);
    for (const text of [...empty, ...full]) expect(text).not.toContain(other);
  });
});
