import { describe, expect, test } from "@jest/globals";
import { GITHUB_APP } from "../../sandbox/world.js";
import { HOSTS, REPOSITORY, startBot, type Bot } from "./bot.js";
import { changeOf } from "./resources.js";

const ROBOTS = { hosta: "helper[bot]", hostb: "project_9_bot_1a2b" } as const;

function ownLogin({ host, world }: Bot): string {
  return host === "hosta" ? `${GITHUB_APP.slug}[bot]` : (world.gitlab?.bot.username ?? "");
}

function commentsOf(bot: Bot, number: number): readonly string[] {
  return bot.seen(number).comments.map(({ body }) => body);
}

describe.each(HOSTS)("comments that are no commands on %s", (host) => {
  test("our own comments and those of other bots are ignored, whatever access they have", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    for (const login of [ownLogin(bot), ROBOTS[host]]) {
      bot.forge.setAccess(REPOSITORY, login, "admin");
      await bot.comment(one, "svc unlock", login);
      expect(commentsOf(bot, one).at(-1)).toBe("svc unlock");
    }
    expect(await bot.locked(one)).toEqual(["web"]);
  });

  test("a bot in defaults.allowed_bots may command, with write access where the host tells that of bots", async () => {
    const robot = ROBOTS[host];
    // Both hosts ignore the case of logins.
    const bot = await startBot({ host, config: { defaults: { allowed_bots: [robot.toUpperCase()] } } });
    const one = await bot.open(changeOf(["web"]));
    if (host === "hostb") {
      bot.forge.setAccess(REPOSITORY, robot, "read");
      await bot.comment(one, "svc unlock", robot);
      expect(commentsOf(bot, one).at(-1)).toContain(`\`${robot}\` has no write access to \`acme/deploy\``);
      bot.forge.setAccess(REPOSITORY, robot, "write");
    }
    await bot.comment(one, "svc unlock", robot);
    expect(commentsOf(bot, one).at(-1)).toContain("Released: `web`.");
  });

  test("edits are ignored, also those that make a command of a comment", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const id = await bot.forge.comment(REPOSITORY, one, "ana", "hello");
    await bot.idle();
    const before = commentsOf(bot, one).length;
    await bot.forge.editComment(REPOSITORY, one, id, "ana", "svc unlock");
    await bot.idle();
    expect(bot.forge.deliveries.at(-1)?.body).toContain("only new comments are commands");
    expect(commentsOf(bot, one)).toHaveLength(before);
    expect(await bot.locked(one)).toEqual(["web"]);
  });

  test("comments on plain issues are ignored", async () => {
    const bot = await startBot({ host });
    await bot.forge.commentOnIssue(REPOSITORY, "ana", "svc plan");
    const asked = bot.forge.requests.filter(({ method }) => method === "POST").length;
    await bot.idle();
    expect(bot.forge.deliveries).toHaveLength(1);
    expect(bot.forge.deliveries[0]).toMatchObject({ status: 200 });
    expect(bot.forge.deliveries[0]?.body).toContain('"status":"ignored"');
    expect(bot.forge.requests.filter(({ method }) => method === "POST")).toHaveLength(asked);
  });

  test("the same delivery once more has no second effect", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "svc help");
    const before = commentsOf(bot, one);
    for (const { id } of [...bot.forge.deliveries]) {
      await bot.forge.redeliver(id);
      await bot.idle();
      expect(bot.forge.deliveries.at(-1)).toMatchObject({ id, status: 200 });
    }
    expect(bot.forge.deliveries.at(-1)?.body).toContain("this delivery was accepted before");
    expect(commentsOf(bot, one)).toEqual(before);
  });
});
