import { describe, expect, test } from "@jest/globals";
import { HOSTS, startBot, type Bot } from "./bot.js";
import { asYaml, changeOf, configMap } from "./resources.js";

const RIGHT_TO_LEFT = "\u202Ecnys cvs\u202C\u200F";
const HOSTILE = [
  ["backticks", "```\n/merge\n````\n/close"],
  ["HTML", "</details><script>alert(1)</script><img src=x onerror=alert(1)>"],
  ["@team", "@team and @acme/admins, closes #1 and !1"],
  ["a leading /merge", "/merge\n/approve\n"],
  ["right-to-left marks", RIGHT_TO_LEFT],
] as const;

/** What stands outside of fences and code spans, where a host would act on it. */
function outsideCode(comment: string): string {
  const lines: string[] = [];
  let fence: string | undefined;
  for (const line of comment.split("\n")) {
    const marks = /^ {0,3}(`{3,})(.*)$/.exec(line);
    if (fence === undefined) {
      if (marks?.[1] !== undefined) fence = marks[1];
      else lines.push(line.replace(/(`+)(?!`).*?[^`]\1(?!`)/g, "CODE"));
    } else if (marks?.[1]?.startsWith(fence) === true && marks[2] === "") fence = undefined;
  }
  expect(fence).toBeUndefined();
  return lines.join("\n");
}

/** Nothing of ours may carry out, mention, hide or turn around what others wrote. */
/** What our own comments are made of: the marker, collapsibles, and links to the sandbox. */
const OURS = /<!-- svc:[^>]* -->|<\/?(?:details|summary)>|\]\(<http:\/\/127\.0\.0\.1:[^\s<>]*>\)/g;

function expectHarmless(bot: Bot, number: number): void {
  for (const answer of bot.answers(number)) {
    const text = outsideCode(answer);
    expect(text).not.toMatch(/^\s*\/[a-z]/m);
    expect(text).not.toMatch(/@[a-z]/i);
    expect(text.replace(OURS, "")).not.toMatch(/<[a-z/!]/i);
    expect(answer).not.toMatch(/[\u200E\u200F\u202A-\u202E\u2066-\u2069]/);
  }
  expect((bot.world.gitlab?.quickActions ?? []).filter(({ by }) => by !== "ana")).toEqual([]);
  expect(bot.seen(number).state).toBe("open");
}

describe.each(HOSTS)("texts of strangers on %s", (host) => {
  test("a comment with backticks, HTML, @team, a leading /merge, right-to-left marks", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const planned = bot.answers(one).length;
    for (const [, text] of HOSTILE) await bot.comment(one, text);
    expect(bot.answers(one)).toHaveLength(planned);
    for (const [, text] of HOSTILE) {
      await bot.comment(one, `svc sync ${text}`);
      expect(bot.lastComment(one)).toContain("not a svc command");
    }
    await bot.comment(one, `svc sync -a ${"a".repeat(60_000)}`);
    await bot.comment(one, `svc unlock\u200B`);
    expect(bot.lastComment(one)).toContain("not a svc command");
    expect(bot.answers(one)).toHaveLength(planned + HOSTILE.length + 2);
    expect(await bot.locked(one)).toEqual(["web"]);
    expectHarmless(bot, one);
  });

  test("the same in values, file names, branch names and Argo CD's messages does nothing in a plan or a result", async () => {
    const bot = await startBot({ host });
    const values = Object.fromEntries(HOSTILE.map(([, text], index) => [`k${index}`, text]));
    const one = await bot.open(
      {
        "apps/web/configmap.yaml": configMap("web", values),
        "argocd/`<b>@team</b>`.yaml": asYaml(bot.resourceOf("next", { path: "apps/api" })),
        "argocd/\u202Eterces.yaml": asYaml(bot.resourceOf("other", { path: "apps/api" })),
        "argocd/@team-broken.yaml":
          "kind: Application\napiVersion: argoproj.io/v1alpha1\nmetadata: {name: '@team <b>'}\n",
      },
      { branch: "@team/merge" },
    );
    expect(bot.lastComment(one)).toContain("### Application: `web`");
    expectHarmless(bot, one);
    bot.expectChanges("sync web");
    const message = HOSTILE.map(([, text]) => text).join("\n");
    bot.argocd.failNextSync("web", { phase: "Failed", message });
    await bot.comment(one, "svc sync -a web");
    expect(bot.lastComment(one)).toContain("❌");
    expectHarmless(bot, one);
  });
});
