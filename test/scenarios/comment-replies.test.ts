import { describe, expect, test } from "@jest/globals";
import { StoreUnavailable } from "../../src/core/model/errors.js";
import { createMemoryStores } from "../../src/store/memory/memory-stores.js";
import { HOSTS, REPOSITORY, startBot, type Bot } from "./bot.js";
import { asYaml, changeOf } from "./resources.js";

/** The reply's lines without our hidden marker. */
async function replyTo(bot: Bot, one: number, body: string): Promise<readonly string[]> {
  await bot.comment(one, body);
  return bot
    .lastComment(one)
    .split("\n")
    .filter((line) => !line.startsWith("<!-- "));
}

describe.each(HOSTS)("comment replies, word for word, on %s", (host) => {
  test("application locked by another PR (during plan): Locked by PR #<number> (<user>)", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    expect(bot.lastComment(two)).toContain(`[Locked by PR #${one} (ana)](<http`);
    expect(bot.lastComment(two)).toContain("**Changes:** 0 to create, 1 to update");
    expect(await bot.locked(two)).toEqual([]);
  });

  test("stored plan revision differs from PR head: Plan for <app> is stale. Please run the plan command again.", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    await bot.forge.pushSilently(REPOSITORY, one, changeOf(["web"], "3"));
    const [reply] = await replyTo(bot, one, "svc sync");
    expect(reply).toBe("Plan for web is stale. Please run the plan command again.");
  });

  test("approval required but missing: PR must be approved before sync", async () => {
    const bot = await startBot({ host, config: { defaults: { require_approval: true } } });
    const one = await bot.open(changeOf(["web"]));
    const [reply] = await replyTo(bot, one, "svc sync");
    expect(reply).toBe("PR must be approved before sync");
  });

  test("application has automated sync policy: Application <app> has auto-sync enabled. …", async () => {
    const bot = await startBot({ host, resources: () => ({ web: { spec: { syncPolicy: { automated: {} } } } }) });
    const one = await bot.open(changeOf(["web"]));
    const [reply] = await replyTo(bot, one, "svc sync");
    expect(reply).toBe(
      "Application web has auto-sync enabled. Disable auto-sync before using the service to prevent conflicts.",
    );
  });

  test("sync requested with no locks held by this PR: No applications are locked by this PR. Run the plan command first.", async () => {
    const bot = await startBot({ host, config: { defaults: { autoplan: false } } });
    const one = await bot.open(changeOf(["web"]));
    const [reply] = await replyTo(bot, one, "svc sync");
    expect(reply).toBe("No applications are locked by this PR. Run the plan command first.");
  });

  test("PR not mergeable: PR has merge conflicts, please resolve before syncing", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    await bot.forge.pushToBranch(REPOSITORY, "main", changeOf(["web"], "9"));
    const [reply] = await replyTo(bot, one, "svc sync");
    expect(reply).toBe("PR has merge conflicts, please resolve before syncing");
  });

  test("comment without valid command: not a <service> command", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const [reply, ...rest] = await replyTo(bot, one, "svc deploy everything");
    expect(reply).toBe("not a svc command");
    expect(rest.join("\n")).toContain("- `svc plan [-a <application>]`");
  });

  test("application unknown to the deployer: application not found", async () => {
    const bot = await startBot({ host });
    bot.argocd.removeApplication("web");
    const one = await bot.open({
      "argocd/web.yaml": asYaml(bot.resourceOf("web", { path: "apps/api" })),
      ...changeOf(["api"]),
    });
    expect(bot.lastComment(one)).toContain("**Changes:** could not be evaluated");
    expect(bot.lastComment(one)).toContain(" application not found: Argo CD does not know this application");
    expect(bot.lastComment(one)).toContain("can be left out with `cr_paths` in `.svc.yaml`.");
    expect(bot.lastComment(one)).toContain("### Application: `api`");
    const two = await bot.open(changeOf(["web"]));
    expect(bot.lastComment(two)).toContain(" application not found: Argo CD does not know this application");
    const [reply] = await replyTo(bot, one, "svc plan -a nope");
    expect(reply).toMatch(/^application not found: `nope`\./);
  });

  test("lock cannot be taken because of a store error: failed to acquire lock", async () => {
    let away = false;
    const bot = await startBot({
      host,
      stores: (clock) => {
        const stores = createMemoryStores(clock);
        const { acquire } = stores.locks;
        stores.locks.acquire = (request, now) =>
          away
            ? Promise.reject(new StoreUnavailable("failed to connect to Redis: connection refused"))
            : acquire.call(stores.locks, request, now);
        return stores;
      },
    });
    const one = await bot.open(changeOf(["web"]));
    away = true;
    for (const command of ["svc plan", "svc sync"]) {
      const [reply] = await replyTo(bot, one, command);
      expect(reply).toBe("failed to acquire lock");
    }
    expect(bot.changes()).toEqual([]);
  });

  test("deployer rejects the sync: the deployer's error is returned in the reply", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.argocd.faults.add({
      method: "POST",
      path: /\/web\/sync$/,
      fault: { kind: "status", status: 400, body: JSON.stringify({ code: 9, message: "the deployer's own words" }) },
    });
    expect(await replyTo(bot, one, "svc sync")).toContain(" the deployer's own words");
  });

  test("no affected applications: plan reports that no applications are affected", async () => {
    const bot = await startBot({ host });
    const one = await bot.open({ "docs/readme.txt": "x" });
    const head = bot.seen(one).headRevision.slice(0, 8);
    expect((await replyTo(bot, one, "svc plan")).join("\n")).toContain(
      `No applications are affected by commit [\`${head}\`](<`,
    );
  });
});
