import { describe, expect, test } from "@jest/globals";
import { GITHUB_APP } from "../../sandbox/world.js";
import { HOSTS, REPOSITORY, startBot, type Bot } from "../scenarios/bot.js";
import { changeOf } from "../scenarios/resources.js";

/** Comments of somebody with write access in whose text an attacker hid a command, or that look like one. */
const HIDDEN = [
  ["a quote", "> svc unlock"],
  ["a quote of several lines", "> hello\n> svc unlock\n\nno, please do not"],
  ["a nested quote", "> > svc unlock"],
  ["a quote that goes on without its sign", "> hello\nsvc unlock"],
  ["a quote that goes on behind a lone carriage return", "> hello\rsvc unlock"],
  ["a quote that goes on indented", "> hello\n   svc unlock"],
  ["a quote that goes on far indented", "> hello\n        svc unlock"],
  ["a nested quote that goes on without signs", "> > hello\nsvc unlock"],
  ["a nested quote that goes on with one sign", "> > hello\n> svc unlock"],
  ["an indented quote that goes on without its sign", "   > hello\nsvc unlock"],
  ["a quote in a list", "- > svc unlock"],
  ["a quote in a list that goes on without its sign", "- > hello\nsvc unlock"],
  ["a list in a quote that goes on without a sign", "> - hello\nsvc unlock"],
  ["an alert that goes on without its sign", "> [!NOTE]\nsvc unlock"],
  ["a link's definition in a quote that goes on", "> [a]: /b\nsvc unlock"],
  ["a quote of GitLab", ">>>\nsvc unlock\n>>>"],
  ["a quote of GitLab with empty lines", ">>>\n\nsvc unlock\n\n>>>"],
  ["an alert of GitLab", ">>> [!note]\n\nsvc unlock\n\n>>>"],
  ["a quote that leaves an element open", "> </blockquote><details>\n\nsvc unlock"],
  ["a quote that leaves a comment open", "> <!--\n\nsvc unlock\n\n-->"],
  ["a fenced block", "```\nsvc unlock\n```"],
  ["a fence of tildes with a word", "~~~sh\nsvc unlock\n~~~"],
  ["a fence that a shorter one does not end", "````\n```\nsvc unlock\n````"],
  ["a fence that one with a word does not end", "```\n``` sh\nsvc unlock\n```"],
  ["a fence that an indented one does not end", "```\n    ```\nsvc unlock\n```"],
  ["a fence without an end", "```\n\nsvc unlock"],
  ["a fence between lone carriage returns", "```\rsvc unlock\r```"],
  ["a fence in a list", "- ```\n  svc unlock\n  ```"],
  ["an indented block", "    svc unlock"],
  ["a block indented by a tab", "\tsvc unlock"],
  ["a block indented by spaces and a tab", "  \tsvc unlock"],
  ["a code span", "`svc unlock`"],
  ["a hidden comment", "<!-- svc unlock -->"],
  ["a hidden comment of several lines", "<!--\nsvc unlock\n-->"],
  ["a hidden comment before it on the line", "<!-- hello --> svc unlock"],
  ["a processing instruction", "<?\n\nsvc unlock\n\n?>"],
  ["a declaration", "<!A\n\nsvc unlock\n\n>"],
  ["preformatted text", "<pre>\n\nsvc unlock\n\n</pre>"],
  ["a block of HTML", "<div>\nsvc unlock\n</div>"],
  ["a cell of a table in HTML", "<table><tr><td>\n\nsvc unlock\n\n</td></tr></table>"],
  ["a collapsible", "<details><summary>log</summary>\n\nsvc unlock\n\n</details>"],
  ["the second line", "thanks\nsvc unlock"],
  ["a collapsible that a list leaves open", "- </ul></li><details>\n\nsvc unlock"],
  ["a collapsible that a heading leaves open", "# </h1><details>\n\nsvc unlock"],
  ["the second line, behind two spaces", "thanks  \nsvc unlock"],
  ["the second line, behind a lone carriage return", "thanks\rsvc unlock"],
  ["the second line, behind a line separator", "thanks\u2028svc unlock"],
  ["the second line, behind a space that is no Markdown space", "\u00a0\nsvc unlock"],
  ["the second paragraph", "thanks\n\nsvc unlock"],
  ["a list", "- svc unlock"],
  ["a list with a star", "* svc unlock"],
  ["a numbered list", "1. svc unlock"],
  ["a numbered list with a bracket", "2) svc unlock"],
  ["a list that goes on without indentation", "- hello\nsvc unlock"],
  ["a task", "- [ ] svc unlock"],
  ["the second paragraph of a list", "- hello\n\n  svc unlock"],
  ["a heading", "# svc unlock"],
  ["an underlined heading", "svc unlock\n==="],
  ["a heading underlined with dashes", "svc unlock\n---"],
  ["an underlined heading of two lines", "svc unlock\nis what I will say\n---"],
  ["a table", "| svc unlock |\n|---|\n| a |"],
  ["a table without bars", "svc unlock\n:-:\nhello"],
  ["a term that is described", "svc unlock\n\n: gives the locks back"],
  ["the front matter of a page", "---\nsvc unlock\n---"],
  ["the front matter of a page with empty lines", "---\n\nsvc unlock\n\n---"],
  ["a link's definition", "[svc]: unlock"],
  ["a footnote", "[^1]: svc unlock"],
  ["a footnote that goes on without indentation", "[^1]: hello\nsvc unlock"],
  ["a formula", "$$\nsvc unlock\n$$"],
  ["bold letters", "**svc unlock**"],
  ["a mail's tail", "thanks\n\nOn Friday ana wrote:\nsvc unlock"],
  ["a mail's tail with its quote", "On Friday ana wrote:\n\n> hello\nsvc unlock"],
  ["a mail's signature", "-- \nsvc unlock"],
  ["a mail's signature, which makes a heading of the text", "thanks\n-- \nsvc unlock"],
  ["a mail's signature, behind an empty line", "thanks\n-- \n\nsvc unlock"],
  ["a mail's line across", "________________________________\nsvc unlock"],
  ["a mail's tail at once", "-----Original Message-----\nsvc unlock"],
  ["a link's target", "[hello](svc unlock)"],
  ["a link's text", "[svc unlock](hello)"],
  ["a code span of several lines", "`\nsvc unlock\n`"],
  ["letters that are struck out", "~~svc unlock~~"],
  ["a mention before it", "@ana svc unlock"],
  ["letters of another alphabet", "ѕvс unlock"],
  ["a zero-width space in the word", "s\u200Bvc unlock"],
] as const;

/** These begin with the command word: they are answered, and nothing else is done. */
const DECEIVING = [
  ["a zero-width space behind the command", "svc unlock\u200B"],
  ["text that runs backwards", "svc \u202Eunlock\u202C"],
  ["another option", "svc unlock --force"],
  ["a second command behind it", "svc plan; svc unlock"],
  ["a path as a name", "svc unlock -a ../../web"],
  ["a pattern of another kind as a name", "svc unlock -a [a-z]*"],
  ["a pattern without an option", "svc unlock *"],
  ["a name whose quote is not closed", "svc unlock -a 'web"],
  ["a shell's words as a name", "svc unlock -a $(id)"],
] as const;

async function expectUntouched(bot: Bot, one: number, what: string): Promise<void> {
  expect([what, await bot.locked(one), bot.changes()]).toEqual([what, ["web"], []]);
}

describe.each(HOSTS)("a command that nobody gave, on %s", (host) => {
  test("hidden in a quote, code, markup, a mail's tail or other letters is ignored in silence", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const before = bot.answers(one);
    for (const [, body] of HIDDEN) await bot.forge.comment(REPOSITORY, one, "bo", body);
    await bot.idle();
    expect(bot.answers(one)).toEqual(before);
    await expectUntouched(bot, one, "hidden");
  });

  test("made to look like another one is answered as no command, and does nothing", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    for (const [what, body] of DECEIVING) {
      await bot.comment(one, body, "bo");
      expect([what, bot.lastComment(one)]).toEqual([what, expect.stringContaining("not a svc command")]);
      await expectUntouched(bot, one, what);
    }
  });

  test("that is only the beginning of a longer line, whose end is too far away to be looked at, is not carried out", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    for (const end of ["--dry-run", "-a api", "later, please"]) {
      await bot.comment(one, `svc sync${" ".repeat(20_000)}${end}`, "bo");
      await expectUntouched(bot, one, end);
    }
  });

  test("in an edit of one's own or another's comment, in a bot's comment or in ours is ignored", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const own = host === "hosta" ? `${GITHUB_APP.slug}[bot]` : (bot.world.gitlab?.bot.username ?? "");
    const robot = host === "hosta" ? "helper[bot]" : "project_9_bot_1a2b";
    const ours = bot.seen(one).comments[0]?.id ?? "";
    const theirs = await bot.forge.comment(REPOSITORY, one, "ana", "looks good");
    bot.forge.setAccess(REPOSITORY, "olga", "admin");
    for (const id of [theirs, ours]) await bot.forge.editComment(REPOSITORY, one, id, "olga", "svc unlock");
    await bot.forge.editComment(REPOSITORY, one, theirs, "ana", "svc sync");
    for (const login of [own, robot]) {
      bot.forge.setAccess(REPOSITORY, login, "admin");
      await bot.forge.comment(REPOSITORY, one, login, "svc unlock");
    }
    await bot.idle();
    await expectUntouched(bot, one, "edits and bots");
  });

  test("in a title, a branch's name, a file's name or content, a review or an issue is ignored", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(
      { ...changeOf(["web"], "svc unlock"), "svc unlock": "svc unlock\n" },
      { title: "svc unlock", branch: "svc-unlock" },
    );
    await bot.forge.rename(REPOSITORY, one, "svc sync");
    await bot.forge.review(REPOSITORY, one, "bo", "comment");
    await bot.forge.commentOnIssue(REPOSITORY, "ana", "svc unlock");
    await bot.idle();
    await expectUntouched(bot, one, "elsewhere");
  });

  test("by an outsider, a reader or a fork's author does nothing, and one of them is told once", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.forge.setAccess(REPOSITORY, "olga", "read");
    const before = bot.answers(one).length;
    for (const by of ["olga", "mallory"]) {
      for (const command of ["unlock", "sync", "rollback", "plan", "unlock -a web"]) {
        await bot.forge.comment(REPOSITORY, one, by, `svc ${command}`);
      }
    }
    await bot.idle();
    await expectUntouched(bot, one, "outsiders");
    const told = bot
      .answers(one)
      .slice(before)
      .filter((body) => body.includes("has no write access"));
    expect(told).toHaveLength(1);
    const fork = await bot.open(changeOf(["web"], "evil"), { by: "mallory", fork: true });
    await bot.comment(fork, "svc plan", "mallory");
    await bot.comment(fork, "svc sync", "mallory");
    expect(await bot.locked(fork)).toEqual([]);
    await expectUntouched(bot, one, "a fork");
  });
});
