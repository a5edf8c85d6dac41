import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, startBot, type Bot } from "./bot.js";
import { asYaml, changeOf } from "./resources.js";

const NOT_A_COMMAND = "not a svc command\n\n";

async function answerTo(bot: Bot, number: number, body: string): Promise<string> {
  const before = bot.answers(number).length;
  await bot.comment(number, body);
  const [answer = "", ...others] = bot.answers(number).slice(before);
  expect(others).toEqual([]);
  return answer.replace(/^<!--.*-->\n/, "");
}

describe.each(HOSTS)("typing on %s", (host) => {
  test("a near miss is answered with the command that it comes nearest to, and nothing is done", async () => {
    const bot = await startBot({ host, applications: ["search", "web"] });
    const one = await bot.open(changeOf(["search", "web"]));
    for (const [typed, meant] of [
      ["svc synk", "svc sync"],
      ["svc synk web", "svc sync -a web"],
      ["svc sync web --dryrun", "svc sync -a web --dry-run"],
      ["svc sync -a search, web", "svc sync -a search -a web"],
      ["svc apply", "svc sync"],
      ["svc unlock web now", "svc unlock -a web"],
    ] as const) {
      expect([typed, await answerTo(bot, one, typed)]).toEqual([
        typed,
        expect.stringContaining(
          `${NOT_A_COMMAND}Did you mean \`${meant}\`?\n\n<details><summary>All commands</summary>`,
        ),
      ]);
    }
    expect(bot.changes()).toEqual([]);
    expect(await bot.locked(one)).toEqual(["search", "web"]);
  });

  test("an unknown option is named, with what the command takes", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    for (const [typed, command, option] of [
      ["svc sync --force", "sync", "--force"],
      ["svc sync -a web --yes=1", "sync", "--yes"],
      ["svc plan --dry-run", "plan", "--dry-run"],
    ] as const) {
      expect([typed, await answerTo(bot, one, typed)]).toEqual([
        typed,
        expect.stringContaining(
          `${NOT_A_COMMAND}\`svc ${command}\` has no option \`${option}\`. Write \`svc ${command} [-a`,
        ),
      ]);
    }
    // What does not look like an option is not repeated.
    expect(await answerTo(bot, one, "svc sync --<img>")).not.toContain("has no option");
    expect(bot.changes()).toEqual([]);
  });

  test("a name that is nearly an application's is answered with that, and with what is locked", async () => {
    const bot = await startBot({ host, applications: ["api", "web"] });
    const one = await bot.open(changeOf(["api", "web"]));
    expect(await answerTo(bot, one, "svc sync -a wbe --dry-run")).toMatch(
      /^Not locked by this .R: `wbe`\. Did you mean `svc sync -a web --dry-run`\? This .R has locked `api`, `web`\./,
    );
    expect(await answerTo(bot, one, "svc rollback -a wbe,nope")).toMatch(
      /^Not locked by this .R: `wbe`, `nope`\. This .R has locked `api`, `web`\./,
    );
    expect(await answerTo(bot, one, "svc plan -a ap")).toMatch(
      /^application not found: `ap`\. .*Did you mean `svc plan -a api`\?/,
    );
    expect(bot.changes()).toEqual([]);
    expect(await bot.locked(one)).toEqual(["api", "web"]);
  });

  test("a list of names, and a pattern, which selects among the applications of this PR alone", async () => {
    const bot = await startBot({ host, applications: ["team-a", "team-b", "team-c", "web"] });
    const other = await bot.open(changeOf(["team-c"]));
    const one = await bot.open(changeOf(["team-a", "team-b", "web"]), { by: "bo" });
    await bot.comment(one, "svc unlock -a team-a,web");
    expect(await bot.locked(one)).toEqual(["team-b"]);
    await bot.comment(one, "svc plan -a 'team-*'");
    expect(await bot.locked(one)).toEqual(["team-a", "team-b"]);
    bot.expectChanges("dry-run team-a", "dry-run team-b", "sync team-a", "sync team-b");
    await bot.comment(one, 'svc sync -a "team-*" --dry-run');
    await bot.comment(one, "svc sync -a 'team-*'");
    expect(await bot.locked(one)).toEqual([]);
    await bot.comment(one, "svc rollback -a '*-a'");
    expect(await bot.deployed(one)).toEqual(["team-b"]);
    expect(await bot.locked(other)).toEqual(["team-c"]);
  });

  test("a pattern that matches nothing is answered, and never means everything", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["api", "web"]));
    const none = "No application of this .R matches `other-*`, so nothing was done. Its applications are `api`, `web`.";
    for (const command of ["plan", "sync", "sync --dry-run", "rollback", "unlock"]) {
      expect(await answerTo(bot, one, `svc ${command} -a 'other-*' -a web`)).toMatch(
        new RegExp(none.replaceAll("*", "\\*")),
      );
    }
    expect(bot.changes()).toEqual([]);
    expect(await bot.locked(one)).toEqual(["api", "web"]);
  });

  test("a label selects by what Argo CD has, among the applications of this PR, whatever the PR writes into its files", async () => {
    const labels = { team: "shop" };
    const bot = await startBot({
      host,
      applications: ["api", "cart", "till", "web"],
      resources: () => ({ cart: { labels }, till: { labels }, web: { labels: { team: "web" } } }),
    });
    const other = await bot.open(changeOf(["till"]));
    const lies = {
      "argocd/api.yaml": asYaml(bot.resourceOf("api", { labels })),
      "argocd/cart.yaml": asYaml(bot.resourceOf("cart", { labels: { team: "web" } })),
      "argocd/new.yaml": asYaml(bot.resourceOf("new", { labels, path: "apps/web" })),
    };
    const one = await bot.open({ ...changeOf(["api", "cart", "web"]), ...lies }, { by: "bo" });
    expect(await bot.locked(one)).toEqual(["api", "cart", "new", "web"]);
    const none = "matches `label:team=none`, so nothing was done. svc goes by the labels that Argo CD has now";
    for (const command of ["plan", "sync", "rollback", "unlock"]) {
      expect(await answerTo(bot, one, `svc ${command} -a label:team=none`)).toContain(none);
    }
    await bot.comment(one, "svc unlock");
    await bot.comment(one, "svc plan -a label:team=shop");
    expect(await bot.locked(one)).toEqual(["cart"]);
    await bot.comment(one, "svc plan");
    bot.expectChanges("sync cart");
    await bot.comment(one, "svc sync -a label:team=shop");
    expect([await bot.deployed(one), await bot.locked(one)]).toEqual([["cart"], ["api", "new", "web"]]);
    await bot.comment(one, "svc rollback -a label:team=shop");
    expect([await bot.deployed(one), await bot.locked(one)]).toEqual([[], ["api", "new", "web"]]);
    await bot.comment(one, "svc unlock -a label:team=web");
    expect(await bot.locked(one)).toEqual(["api", "new"]);
    expect(await bot.locked(other)).toEqual(["till"]);
    // A label that Argo CD got a moment ago counts at once.
    bot.argocd.addApplication(bot.resourceOf("api", { labels }));
    bot.clock.advance(1000);
    await bot.comment(one, "svc unlock -a label:team=shop");
    expect(await bot.locked(one)).toEqual(["new"]);
  });

  test("a bare last word is the name of an application of this PR, or no command", async () => {
    const bot = await startBot({ host, applications: ["api", "please", "web"] });
    const other = await bot.open(changeOf(["api", "please"]));
    const one = await bot.open(changeOf(["api", "web"]), { by: "bo" });
    for (const command of ["plan", "sync", "sync --dry-run", "rollback", "unlock"]) {
      expect(await answerTo(bot, one, `svc ${command} please`)).toContain(
        `${NOT_A_COMMAND}This ${host === "hosta" ? "PR" : "MR"} has no application \`please\`. Did you mean \`svc ${command}\`?`,
      );
    }
    expect(await answerTo(bot, one, "svc sync wbe")).toContain("Did you mean `svc sync -a web`?");
    expect(await answerTo(bot, one, "svc sync api")).toContain("`api`");
    expect(bot.changes()).toEqual([]);
    expect(await bot.locked(one)).toEqual(["web"]);
    bot.expectChanges("dry-run web", "sync web", "sync web");
    await bot.comment(one, "svc sync --dry-run web");
    await bot.comment(one, "svc sync web");
    expect(await bot.deployed(one)).toEqual(["web"]);
    await bot.comment(one, "svc rollback web");
    await bot.comment(one, "svc plan web");
    expect(await bot.locked(one)).toEqual(["web"]);
    await bot.comment(one, "svc unlock web");
    expect(await bot.locked(one)).toEqual([]);
    expect(await bot.locked(other)).toEqual(["api", "please"]);
  });

  test("prose that begins with the word is ignored, without a call of the host", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const [said, called] = [bot.answers(one), bot.forge.requests.length];
    for (const text of ["svc selector does not match the pods", "svc is down", "svc helm values are wrong, I think"]) {
      await bot.forge.comment(REPOSITORY, one, "bo", text);
    }
    await bot.idle();
    expect(bot.answers(one)).toEqual(said);
    expect(bot.forge.requests.length).toBe(called);
  });

  test("nothing is suggested that does not work here", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    await bot.close(one);
    expect(await answerTo(bot, one, "svc synk")).not.toContain("Did you mean");
    expect(await answerTo(bot, one, "svc unlok")).toContain("Did you mean `svc unlock`?");
  });
});
