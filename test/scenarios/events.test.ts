import { describe, expect, test } from "@jest/globals";
import type { HostId } from "../../src/names.js";
import { REPOSITORY, startBot, type Bot } from "./bot.js";
import { planned } from "./plan-comment.js";
import { changeOf } from "./resources.js";

/** Host, name of its event, the specification's word for the action. */
type Row = readonly [host: HostId, event: string, action: string];

const AUTOPLAN_OFF = { config: { defaults: { autoplan: false } } };

/** Checks that the host sent this event last, and that it was answered at once with 200. */
function expectAccepted(bot: Bot, event: string): void {
  const last = bot.forge.deliveries.filter((delivery) => delivery.event === event).at(-1);
  expect(last).toMatchObject({ status: 200, body: JSON.stringify({ status: "accepted" }) });
}

describe("events of provider A and provider B", () => {
  test.each<Row>([
    ["hosta", "pull_request", "opened"],
    ["hostb", "Merge Request Hook", "open"],
  ])("%s: %s, %s: auto-plan if enabled", async (host, event) => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    expectAccepted(bot, event);
    expect(planned(bot.lastComment(one))).toEqual(["web"]);
    const off = await startBot({ host, ...AUTOPLAN_OFF });
    const two = await off.open(changeOf(["web"]));
    expectAccepted(off, event);
    expect(off.answers(two)).toEqual([]);
    expect(await off.locked(two)).toEqual([]);
  });

  test.each<Row>([
    ["hosta", "pull_request", "synchronize"],
    ["hostb", "Merge Request Hook", "update"],
  ])("%s: %s, %s: auto-plan if enabled", async (host, event) => {
    const bot = await startBot({ host });
    const one = await bot.open({ "README.md": "hello" });
    await bot.push(one, changeOf(["web"]));
    expectAccepted(bot, event);
    expect(planned(bot.lastComment(one))).toEqual(["web"]);
    const off = await startBot({ host, files: () => ({ ".svc.yaml": "autoplan: false\n" }) });
    const two = await off.open({ "README.md": "hello" });
    await off.push(two, changeOf(["web"]));
    expectAccepted(off, event);
    expect(off.answers(two)).toEqual([]);
    expect(await off.locked(two)).toEqual([]);
  });

  test.each([
    ["hosta", "pull_request", "closed", "closed"],
    ["hosta", "pull_request", "closed, merged", "merged"],
    ["hostb", "Merge Request Hook", "close", "closed"],
    ["hostb", "Merge Request Hook", "merge", "merged"],
  ] as const)("%s: %s, %s: release all locks of it", async (host, event, _, end) => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["api", "web"]));
    expect(await bot.locked(one)).toEqual(["api", "web"]);
    if (end === "closed") await bot.forge.close(REPOSITORY, one);
    else await bot.forge.mergeByHand(REPOSITORY, one, "bo");
    await bot.idle();
    expectAccepted(bot, event);
    expect(await bot.stores.locks.list()).toEqual([]);
    expect(bot.answers(one)).toHaveLength(1);
  });

  test.each<Row>([
    ["hosta", "issue_comment", "created"],
    ["hostb", "Note Hook", "on a merge request"],
  ])("%s: %s, %s: parse and execute the command", async (host, event) => {
    const bot = await startBot({ host, ...AUTOPLAN_OFF });
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "looks good to me");
    expect(bot.answers(one)).toEqual([]);
    await bot.comment(one, "> svc unlock\n\nsvc plan\n\nthank you");
    expectAccepted(bot, event);
    expect(planned(bot.lastComment(one))).toEqual(["web"]);
    await bot.comment(one, "svc paln");
    expect(bot.lastComment(one)).toContain("not a svc command");
  });

  test.each<Row>([
    ["hosta", "pull_request_review", "submitted"],
    ["hostb", "Merge Request Hook", "approved"],
  ])("%s: %s, %s: used for approval checks, nothing is planned", async (host, event) => {
    const bot = await startBot({ host, config: { defaults: { require_approval: true } } });
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("PR must be approved before sync");
    const before = bot.answers(one).length;
    await bot.approve(one);
    expectAccepted(bot, event);
    expect(bot.answers(one)).toHaveLength(before);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("web")).toBe("2");
  });

  // GitHub's interface knows a pull request some seconds after its webhook tells of it.
  test.each(["hosta", "hostb"] as const)("%s: what the host cannot show yet is looked for again", async (host) => {
    const bot = await startBot({ host });
    const fault = { kind: "status", status: 404, body: '{"message":"Not Found"}' } as const;
    bot.forge.faults.add({ method: "GET", path: /\/(?:pulls|merge_requests)\/\d+$/, times: 2, fault });
    const one = await bot.open(changeOf(["web"]));
    expect(bot.answers(one)).toHaveLength(1);
    expect(planned(bot.lastComment(one))).toEqual(["web"]);
  });

  test.each(["hosta", "hostb"] as const)(
    "%s: a head that the host does not show yet is looked for again",
    async (host) => {
      const bot = await startBot({ host });
      const one = await bot.open(changeOf(["web"]));
      const shown = /\/(?:pulls|merge_requests)\/\d+$/;
      const read = bot.forge.requests.findLast(({ method, path }) => method === "GET" && shown.test(path));
      const authorization = read?.authorization ?? "";
      const before = await fetch(`${bot.forge.url}${read?.path ?? ""}`, {
        headers: host === "hosta" ? { authorization } : { "private-token": authorization },
      });
      expect(before.status).toBe(200);
      const headers = { "content-type": "application/json" };
      const fault = { kind: "status", status: 200, body: await before.text(), headers } as const;
      bot.forge.faults.add({ method: "GET", path: shown, times: 3, fault });
      await bot.push(one, changeOf(["web", "api"], "3"));
      expect(planned(bot.lastComment(one))).toEqual(["api", "web"]);
    },
  );
});
