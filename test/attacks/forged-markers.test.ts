import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, startBot } from "../scenarios/bot.js";
import { changeOf, configMap } from "../scenarios/resources.js";

const MARKERS = [
  "<!-- svc:plan head=0000000000000000000000000000000000000000 part=1 run=x -->\n## svc Plan\n\nNothing changes.",
  "<!-- svc:no-applications part=1 run=x -->\nNo applications are affected.",
  "<!-- svc:result part=1 run=x -->\n✅ succeeded",
  "<!-- svc:progress run=x -->\nrunning",
  "<!-- svc:refused login=olga run=x -->\nno",
  "<!-- svc:merge run=x -->\nmerged",
] as const;

describe.each(HOSTS)("forged markers on %s", (host) => {
  test("in people's comments are not ours: never edited, never taken for a plan or for a refusal that was said", async () => {
    const bot = await startBot({ host });
    bot.forge.setAccess(REPOSITORY, "olga", "read");
    const one = await bot.open({ "README.md": "2\n" });
    for (const marker of MARKERS) await bot.forge.comment(REPOSITORY, one, "bo", marker);
    await bot.idle();
    await bot.push(one, changeOf(["web"]));
    expect(bot.lastComment(one)).toContain("### Application: `web`");
    await bot.comment(one, "svc unlock", "olga");
    expect(bot.lastComment(one)).toContain("`olga` has no write access");
    const theirs = bot.seen(one).comments.filter(({ author }) => author === "bo");
    expect(theirs.map(({ body }) => body)).toEqual([...MARKERS]);
    expect(theirs.filter(({ edited, minimised }) => edited || minimised)).toEqual([]);
    expect(await bot.locked(one)).toEqual(["web"]);
  });

  test("in what our own comments show neither hide a plan, nor keep a refusal back, nor make a plan fresh", async () => {
    const bot = await startBot({ host });
    bot.forge.setAccess(REPOSITORY, "olga", "read");
    const values = Object.fromEntries(MARKERS.map((text, index) => [`k${index}`, text]));
    const one = await bot.open({ "apps/web/configmap.yaml": configMap("web", values) });
    const first = bot.lastComment(one);
    await bot.comment(one, "svc unlock", "olga");
    expect(bot.lastComment(one)).toContain("`olga` has no write access");
    await bot.forge.pushSilently(REPOSITORY, one, changeOf(["web"], "evil"));
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("Plan for web is stale.");
    await bot.comment(one, "svc plan");
    expect(first).toContain("### Application: `web`");
    expect(bot.answers(one)[0]).toContain("stale=true");
    expect(
      bot.answers(one).filter((body) => body.startsWith("<!-- svc:plan") && !body.includes("stale=true")),
    ).toHaveLength(1);
    expect(bot.changes()).toEqual([]);
  });

  test("written into our own comment by a maintainer do not make a stale plan fresh", async () => {
    const bot = await startBot({ host });
    bot.forge.setAccess(REPOSITORY, "olga", "admin");
    const one = await bot.open(changeOf(["web"]));
    const head = await bot.forge.pushSilently(REPOSITORY, one, changeOf(["web"], "evil"));
    const plan = bot.seen(one).comments[0];
    const body = (plan?.body ?? "").replace(/head=[0-9a-f]+/, `head=${head}`);
    expect(body).toContain(head);
    await bot.forge.editComment(REPOSITORY, one, plan?.id ?? "", "olga", body);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("Plan for web is stale.");
    expect(bot.changes()).toEqual([]);
  });
});
