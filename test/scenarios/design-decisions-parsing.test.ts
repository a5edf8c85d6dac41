import { describe, expect, test } from "@jest/globals";
import { HOSTS, startBot, type Bot } from "./bot.js";
import { changeOf } from "./resources.js";

const NOT_A_COMMAND = "not a svc command";

/** What each comment is answered with; undefined: nothing. */
const COMMENTS: readonly (readonly [string, string, string | undefined])[] = [
  ["any case of the word and of the command", "SVC Help", "## svc Help"],
  ["empty lines above it", "\n\n  svc help  \n", "## svc Help"],
  ["a quoted command above an own one", "> svc sync\n\nsvc help", "## svc Help"],
  ["a fenced command above an own one", "```sh\nsvc sync\n```\nsvc help", "## svc Help"],
  ["a mail tail below it", "svc help\n\n-- \nAna\nOn Monday bo wrote:\n> svc sync", "## svc Help"],
  ["text below it", "svc help\nsvc sync\nplease", "## svc Help"],
  ["only a quote", "> svc sync", undefined],
  ["only a fence", "~~~\nsvc sync\n~~~", undefined],
  ["a command below a mail tail", "-- \nsvc sync", undefined],
  ["a command on the second own line", "please look:\nsvc sync", undefined],
  ["a longer word that begins so", "svcs sync", undefined],
  ["a word that the service does not know", "svc deploy", NOT_A_COMMAND],
  ["a command with words behind it", "svc sync right now", NOT_A_COMMAND],
  ["prose that begins with the word", "svc needs more memory", undefined],
  ["an option of another command", "svc plan --dry-run", NOT_A_COMMAND],
  ["-a without a name", "svc sync -a", NOT_A_COMMAND],
  ["the bare word", "svc", NOT_A_COMMAND],
];

async function answerTo(bot: Bot, number: number, body: string): Promise<string | undefined> {
  const before = bot.answers(number).length;
  await bot.comment(number, body);
  const added = bot.answers(number).slice(before);
  expect(added.length).toBeLessThanOrEqual(1);
  return added[0];
}

describe.each(HOSTS)("parsing on %s", (host) => {
  test("only the first own line of a comment is looked at, in any case; the rest is ignored in silence", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web", "api"]));
    const answers: Record<string, string> = {};
    const expected: Record<string, string> = {};
    for (const [name, body, answer] of COMMENTS) {
      answers[name] = firstLine(await answerTo(bot, one, body));
      expected[name] = answer ?? "";
    }
    expect(answers).toEqual(expected);
    expect(bot.lastComment(one)).toContain("`svc plan [-a <application>]`");
  });

  test("-a and --app are repeatable, on plan, sync, rollback and unlock", async () => {
    const bot = await startBot({ host, applications: ["web", "api", "db"] });
    const one = await bot.open(changeOf(["web", "api", "db"]));
    bot.expectChanges("sync web", "sync api");
    await bot.comment(one, "svc unlock -A web --app=api");
    expect(await bot.locked(one)).toEqual(["db"]);
    await bot.comment(one, "svc plan --app web -a api");
    expect(await bot.locked(one)).toEqual(["api", "db", "web"]);
    await bot.comment(one, "svc sync -a web -a api --prune");
    expect(await bot.locked(one)).toEqual(["db"]);
    await bot.comment(one, "svc rollback -a web --app api");
    expect(bot.lastComment(one)).toContain("### Application: `api`");
    expect(bot.liveValue("web")).toBe("1");
    expect(await bot.locked(one)).toEqual(["db"]);
  });
});

/** Without the hidden marker. */
function firstLine(comment = ""): string {
  return comment.split("\n").find((line) => !line.startsWith("<!--")) ?? "";
}
