import { describe, expect, test } from "@jest/globals";
import { type Bot, HOSTS, REPOSITORY, startBot } from "../scenarios/bot.js";
import { applicationResource, changeOf } from "../scenarios/resources.js";
import { loggedIn, startWithLogin } from "./logged-in.js";
import { harmIn } from "./shown-text.js";

const OTHERS = "acme/others";

/** Argo CD also runs `wiki`, which another repository deploys, and `bo` may not push there. */
function addOthers(bot: Bot, name: string): void {
  bot.argocd.addApplication(applicationResource(name, { repoURL: `${bot.forge.url}/${OTHERS}.git` }));
  // The service keeps the list of applications for ten seconds.
  bot.clock.advance(10_000);
}

async function held(bot: Bot): Promise<readonly (readonly string[])[]> {
  return (await bot.stores.holds.list()).map(({ applications }) => applications);
}

describe.each(HOSTS)("a hold by a comment on %s", (host) => {
  test("reaches nothing that another repository deploys, and does not tell whether that is there", async () => {
    const bot = await startBot({ host });
    addOthers(bot, "wiki");
    const one = await bot.open({ "README.md": "2\n" });
    for (const name of ["wiki", "nope"]) {
      await bot.comment(one, `svc hold -a ${name} --reason x`);
      expect(bot.lastComment(one)).toContain(`Nothing was held: ${REPOSITORY} deploys no application ${name}. `);
      expect(bot.lastComment(one)).toContain("What other repositories deploy is held by an administrator of svc.");
    }
    await bot.comment(one, "svc hold -a 'wik*' --reason x");
    expect(bot.lastComment(one)).toContain("deploys no application that matches wik\\*.");
    expect(await held(bot)).toEqual([]);
    await bot.comment(one, "svc hold -a '*' --reason x");
    expect(await held(bot)).toEqual([["api", "web"]]);
  });

  test("does not come to hold what matches its pattern later", async () => {
    const bot = await startBot({ host });
    const one = await bot.open({ "README.md": "2\n" });
    await bot.comment(one, "svc hold -a 'w*' --reason x");
    addOthers(bot, "wiki");
    expect(await held(bot)).toEqual([["web"]]);
  });

  test("is neither set nor ended by whom the rules of the base do not let sync", async () => {
    const bot = await startBot({
      host,
      files: () => ({ ".svc.yaml": "sync_requirements: [{ name: web, allowed_users: [ana] }]\n" }),
    });
    const one = await bot.open({ ".svc.yaml": "{}\n" }, { by: "bo" });
    await bot.comment(one, "svc hold -a 'w*' --reason x", "bo");
    expect(bot.lastComment(one)).toContain("`bo` may not run `svc sync` for:");
    expect(await held(bot)).toEqual([]);
  });

  test("of somebody else is not released by name, by pattern, or without either", async () => {
    const bot = await startBot({ host });
    const one = await bot.open({ "README.md": "2\n" });
    await bot.comment(one, "svc hold -a web --reason x");
    for (const options of ["", " -a web", " -a '*'", " web"]) {
      await bot.comment(one, `svc release${options}`, "bo");
      expect([options, await held(bot)]).toEqual([options, [["web"]]]);
      expect(bot.lastComment(one)).not.toContain("ana");
    }
    expect(bot.lastComment(one)).toContain("Whoever set a hold, or an administrator of svc, releases it.");
  });

  test("set on svc's page with an account of another server is not released by who has the same id here", async () => {
    const bot = await startBot({ host });
    const one = await bot.open({ "README.md": "2\n" });
    await bot.comment(one, "svc hold -a web --reason x");
    const [own] = await bot.stores.holds.list();
    if (own === undefined) throw new Error("nothing is held");
    const by = { ...own.by, id: `${host}:${own.by.id}`, login: "olga" };
    await bot.stores.holds.save({ ...own, by }, bot.clock.now());
    await bot.comment(one, "svc release");
    expect(await held(bot)).toEqual([["web"]]);
  });

  test("is not set as an administrator by who lost that role since their login and opened no page", async () => {
    const admins = "acme/admins";
    const pattern = host === "hosta" ? `@${admins}` : admins;
    const bot = await startWithLogin(host, { role_assignments: [{ pattern, provider: host, role: "admin" }] });
    addOthers(bot, "wiki");
    bot.forge.setTeam(admins, ["ana"]);
    await loggedIn(bot, "ana");
    const one = await bot.open({ "README.md": "2\n" });
    await bot.comment(one, "svc hold -a wiki --reason x");
    expect(await held(bot)).toEqual([["wiki"]]);
    await bot.comment(one, "svc release");
    bot.forge.setTeam(admins, []);
    bot.clock.advance(15 * 60_000);
    await bot.comment(one, "svc hold -a wiki --reason x");
    expect(bot.lastComment(one)).toContain(`Nothing was held: ${REPOSITORY} deploys no application wiki. `);
    expect(await held(bot)).toEqual([]);
  });

  test("needs write access, also for the author of a fork and where anyone may give commands", async () => {
    const bot = await startBot({
      host,
      config: { defaults: { command_access: "anyone", allow_forks: true } },
    });
    bot.forge.setAccess(REPOSITORY, "olga", "read");
    const one = await bot.open(changeOf(["web"]), { by: "olga", fork: true });
    await bot.comment(one, "svc hold -a web --reason x", "olga");
    expect(bot.lastComment(one)).toContain("`olga` has no write access to `acme/deploy`, which this command needs.");
    expect(await held(bot)).toEqual([]);
    await bot.comment(one, "svc hold -a web --reason x", "bo");
    await bot.comment(one, "svc release -a web", "olga");
    expect(await held(bot)).toEqual([["web"]]);
  });

  test("shows its reason as text: it mentions nobody, links nowhere and gives no command", async () => {
    const bot = await startBot({ host, checkWords: false });
    const one = await bot.open(changeOf(["web"]));
    const hostile = "@acme/all ![x](https://evil.example.com/x.png) <img src=x> #1 `svc sync` [a](http://b.example)";
    await bot.comment(one, `svc hold -a web --reason "${hostile}"`);
    await bot.comment(one, "svc sync");
    await bot.comment(one, "svc plan");
    expect(await held(bot)).toEqual([["web"]]);
    const ours = ["http://svc.example.com/", bot.argocd.url, bot.forge.url];
    const shown = bot.answers(one).filter((text) => text.includes("acme/all"));
    expect(shown).toHaveLength(4);
    for (const text of shown) expect(harmIn(text, ours)).toEqual([]);
    expect(bot.changes()).toEqual([]);
  });

  test("takes the green status of what is synced, whatever characters its reason has", async () => {
    const bot = await startBot({ host, config: { [host]: { commit_status: true } }, checkChanges: false });
    const one = await bot.open(changeOf(["web"]));
    if (host === "hostb") bot.forge.runPipeline(REPOSITORY, one);
    await bot.comment(one, "svc sync");
    const status = () => bot.forge.statuses(REPOSITORY, bot.seen(one).headRevision).at(-1)?.state;
    expect(status()).toBe("success");
    await bot.comment(one, 'svc hold -a web --reason "moving the database 🚧"');
    expect(status()).toBe("pending");
  });

  test("is limited in number for each person", async () => {
    const bot = await startBot({ host });
    const one = await bot.open({ "README.md": "2\n" });
    for (let count = 0; count < 20; count += 1) await bot.comment(one, "svc hold -a web --reason x");
    await bot.comment(one, "svc hold -a web --reason x");
    expect(bot.lastComment(one)).toContain("Nothing was held: you already have 20 holds. Release one first.");
    expect(await held(bot)).toHaveLength(20);
  });
});
