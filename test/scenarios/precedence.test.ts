import { describe, expect, test } from "@jest/globals";
import { HOSTS, startBot, type Bot } from "./bot.js";
import { apart, changeOf } from "./resources.js";

const UNAPPROVED = "PR must be approved before sync";

function policy(...lines: readonly string[]) {
  return () => ({ ".svc.yaml": `${lines.join("\n")}\n` });
}

async function syncRefused(bot: Bot, one: number, name: string): Promise<boolean> {
  bot.expectChanges(`sync ${name}`);
  await bot.comment(one, `svc sync -a ${name}`);
  return bot.lastComment(one).includes(UNAPPROVED);
}

describe.each(HOSTS)("precedence of approval on %s", (host) => {
  test("per-app exact match, then wildcard, then the repository's require_approval, over the server's", async () => {
    const bot = await startBot({
      host,
      applications: ["prod-test", "prod-web", "wiki"],
      resources: () => apart("prod-test", "prod-web", "wiki"),
      config: { defaults: { require_approval: true } },
      files: policy(
        "require_approval: false",
        "sync_requirements:",
        "  - { name: prod-*, require_approval: true }",
        "  - { name: prod-test, require_approval: false }",
      ),
    });
    const one = await bot.open(changeOf(["prod-test", "prod-web", "wiki"]));
    expect(await syncRefused(bot, one, "prod-test")).toBe(false);
    expect(await syncRefused(bot, one, "wiki")).toBe(false);
    expect(await syncRefused(bot, one, "prod-web")).toBe(true);
    expect(bot.changes()).toEqual(["sync prod-test", "sync wiki"]);
  });

  test("the repository's require_approval: true over the server's false", async () => {
    const bot = await startBot({ host, files: policy("require_approval: true") });
    const one = await bot.open(changeOf(["web"]));
    expect(await syncRefused(bot, one, "web")).toBe(true);
  });

  test("the server's defaults.require_approval where the repository says nothing", async () => {
    const bot = await startBot({
      host,
      config: { defaults: { require_approval: true } },
      files: policy("sync_requirements:", "  - { name: other, require_approval: false }"),
    });
    const one = await bot.open(changeOf(["web"]));
    expect(await syncRefused(bot, one, "web")).toBe(true);
  });
});

describe.each(HOSTS)("precedence of auto-merge on %s", (host) => {
  test.each([
    ["the repository's auto_merge: true over the server's false", false, ["auto_merge: true"], "merged"],
    ["the repository's auto_merge: false over the server's true", true, ["auto_merge: false"], "open"],
    ["the server's defaults.auto_merge where the repository says nothing", true, ["autoplan: true"], "merged"],
  ])("%s", async (_row, server, repository, state) => {
    const bot = await startBot({
      host,
      config: { defaults: { auto_merge: server } },
      files: policy(...repository),
    });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.seen(one).state).toBe(state);
  });
});

describe.each(HOSTS)("policy is the base branch's on %s", (host) => {
  test.each([
    ["by changing the file", "require_approval: false\nauto_merge: true\n"],
    ["by an entry for the application", "sync_requirements:\n  - { name: web, require_approval: false }\n"],
    ["by taking the file away", null],
  ])("a PR cannot loosen the rules it is judged by: %s", async (_how, file) => {
    const bot = await startBot({ host, files: policy("require_approval: true", "auto_merge: false") });
    const one = await bot.open({ ...changeOf(["web"]), ".svc.yaml": file });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(UNAPPROVED);
    await bot.approve(one);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    expect(bot.seen(one).state).toBe("open");
  });
});
