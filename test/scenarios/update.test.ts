import { describe, expect, test } from "@jest/globals";
import type { HostId } from "../../src/names.js";
import { type Bot, type BotOptions, HOSTS, REPOSITORY, startBot } from "./bot.js";
import { changeOf, configMap } from "./resources.js";

const more = (value: number) => ({ "apps/web/more.yaml": configMap("more", { a: String(value) }) });
const update = /\/(?:update-branch|rebase)$/;
const HOW: Readonly<Record<HostId, string>> = {
  hosta: "Merged `main` into the branch.",
  hostb: "Rebased the branch onto `main`, which rewrites its commits: fetch the branch before you continue on it.",
};

function sent(bot: Bot): number {
  return bot.forge.requests.filter(({ method, path }) => method === "PUT" && update.test(decodeURIComponent(path)))
    .length;
}

/** One that is planned, and whose base branch has changed since what it is deployed from. */
async function behind(host: HostId, options: Partial<BotOptions> = {}, draft = false): Promise<[Bot, number]> {
  const bot = await startBot({ host, ...options });
  const one = await bot.open(changeOf(["web"]), { draft });
  await bot.forge.pushToBranch(REPOSITORY, "main", more(1));
  await bot.idle();
  return [bot, one];
}

describe.each(HOSTS)("svc update on %s", (host) => {
  test("brings the base branch into the head, which is planned once and can be deployed", async () => {
    const [bot, one] = await behind(host);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toMatch(/Comment `svc update`, because `main` changed what `web` is deployed from\./);
    const was = bot.seen(one).headRevision;
    const before = bot.answers(one).length;
    await bot.comment(one, "svc update");
    const head = bot.seen(one).headRevision;
    expect(head).not.toBe(was);
    const [answer = "", plan = "", ...others] = bot.answers(one).slice(before);
    expect(others).toEqual([]);
    expect(answer).toContain("## svc Update");
    expect(answer).toContain(HOW[host]);
    expect(answer).toContain(
      `The head is \`${head.slice(0, 8)}\` instead of \`${was.slice(0, 8)}\`, and is planned now.`,
    );
    expect(plan).toContain("## svc Plan");
    expect(plan).not.toContain("would revert");
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
  });

  test.each([
    ["a draft", {}, true],
    ["a repository without autoplan", { config: { defaults: { autoplan: false } } }, false],
  ] as const)("plans %s, which its push does not", async (_, options, draft) => {
    const [bot, one] = await behind(host, options, draft);
    // An update that is told while the plan runs, as that of the push may be, does not stop it.
    const planning = { path: /\/(?:compare\/|repository\/merge_base$)/, nth: 4 };
    bot.meanwhile("forge", planning, () => bot.forge.retarget(REPOSITORY, one, "main"));
    await bot.comment(one, "svc update");
    expect(bot.lastComment(one)).toContain("## svc Plan");
    expect(await bot.stores.plans.find(bot.ref(one))).toMatchObject({ head: bot.seen(one).headRevision });
  });

  test("says so where there is nothing to update, and asks the host for nothing", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const head = bot.seen(one).headRevision;
    await bot.comment(one, "svc update");
    expect(bot.lastComment(one)).toContain(
      "The branch has every commit of `main`: there is nothing to update.\n\n[Plan](<http",
    );
    expect([sent(bot), bot.seen(one).headRevision]).toEqual([0, head]);
  });

  test("names conflicts, and does nothing", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"], "2"));
    await bot.forge.pushToBranch(REPOSITORY, "main", changeOf(["web"], "3"));
    await bot.idle();
    await bot.comment(one, "svc update");
    expect(bot.lastComment(one)).toContain(
      "The branch was not updated: it has merge conflicts. Bring the target branch into it with git and push.",
    );
    expect(sent(bot)).toBe(0);
  });

  test("is refused where a setting says never, and nobody is told to give it", async () => {
    const [bot, one] = await behind(host, { files: () => ({ ".svc.yaml": "update_branch: never\n" }) });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("Update the branch, because `main` changed");
    await bot.comment(one, "svc update");
    expect(bot.lastComment(one)).toContain("The branch was not updated: update\\_branch is set to never here.");
    expect(sent(bot)).toBe(0);
  });

  test("happens by itself when the turn comes and the branch has to be updated, if that is wanted", async () => {
    const bot = await startBot({ host, config: { defaults: { update_branch: "on_turn" } } });
    const [one, two] = [await bot.open(changeOf(["web"], "2")), await bot.open(more(2))];
    await bot.forge.pushToBranch(REPOSITORY, "main", { "apps/web/third.yaml": configMap("third", { a: "1" }) });
    await bot.idle();
    const was = bot.seen(two).headRevision;
    await bot.comment(one, "svc unlock");
    expect(bot.seen(two).headRevision).not.toBe(was);
    expect(bot.answers(two).filter((text) => text.includes("## svc Update"))).toHaveLength(1);
    expect(bot.lastComment(two)).toContain("## svc Plan");
    expect(bot.lastComment(two)).not.toContain("would revert");
    expect(await bot.stores.locks.list(bot.ref(two))).toMatchObject([{ planRevision: bot.seen(two).headRevision }]);
    expect(sent(bot)).toBe(1);
  });

  test("does not happen by itself while people are to ask for it", async () => {
    const bot = await startBot({ host });
    const [one, two] = [await bot.open(changeOf(["web"], "2")), await bot.open(more(2))];
    await bot.forge.pushToBranch(REPOSITORY, "main", { "apps/web/third.yaml": configMap("third", { a: "1" }) });
    await bot.idle();
    await bot.comment(one, "svc unlock");
    expect(bot.lastComment(two)).toContain("Comment `svc update`");
    expect(sent(bot)).toBe(0);
  });
});
