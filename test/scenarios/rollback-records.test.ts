import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, SHORT, SIGIL, startBot, type Bot } from "./bot.js";
import { changeOf } from "./resources.js";

/** A PR whose head runs in the cluster, not merged. */
async function deployed(bot: Bot): Promise<number> {
  const one = await bot.open(changeOf(["web"]));
  bot.expectChanges("sync web");
  await bot.comment(one, "svc sync");
  expect(await bot.deployed(one)).toEqual(["web"]);
  return one;
}

describe.each(HOSTS)('the record "deployed, not merged" on %s', (host) => {
  test("closing the PR unmerged says which applications still run its commit, and rollback works on the closed PR", async () => {
    const bot = await startBot({ host });
    const one = await deployed(bot);
    await bot.close(one);
    expect(bot.lastComment(one)).toContain(
      `This ${SHORT[host]} was closed without a merge, and these applications still run its commit: \`web\`.`,
    );
    expect(await bot.deployed(one)).toEqual(["web"]);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(
      `This ${SHORT[host]} is closed. Only \`rollback\`, \`unlock\`, \`hold\`, \`release\`, \`help\` work here.`,
    );
    await bot.comment(one, "svc rollback");
    expect(bot.liveValue("web")).toBe("1");
    expect(await bot.deployed(one)).toEqual([]);
    expect(await bot.locked(one)).toEqual([]);
  });

  test("closing a PR that deployed nothing says nothing", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const said = bot.answers(one).length;
    await bot.close(one);
    expect(bot.answers(one)).toHaveLength(said);
    expect(await bot.locked(one)).toEqual([]);
  });

  test("a failed rollback on a closed PR keeps the record and leaves no lock behind", async () => {
    const bot = await startBot({ host });
    const one = await deployed(bot);
    await bot.close(one);
    bot.argocd.failNextSync("web", { phase: "Failed", message: "no room" });
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("no room");
    expect(bot.lastComment(one)).not.toContain("lock is kept");
    expect(await bot.deployed(one)).toEqual(["web"]);
    expect(await bot.locked(one)).toEqual([]);
  });

  test("the merge ends it", async () => {
    const bot = await startBot({ host });
    const one = await deployed(bot);
    await bot.forge.mergeByHand(REPOSITORY, one, "bo");
    await bot.idle();
    expect(await bot.deployed(one)).toEqual([]);
  });

  test("other PRs' plans show it, and another PR's successful sync of the application ends it; a failed one does not", async () => {
    const bot = await startBot({ host });
    const one = await deployed(bot);
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    const warning = `Runs commit ${bot.seen(one).headRevision.slice(0, 8)} of [${SHORT[host]} ${SIGIL[host]}${one}](<http`;
    expect(bot.lastComment(two)).toContain(warning);
    bot.argocd.failNextSync("web", { phase: "Failed", message: "no room" });
    await bot.comment(two, "svc sync");
    expect(await bot.deployed(one)).toEqual(["web"]);
    await bot.comment(two, "svc sync");
    expect(bot.lastComment(two)).toContain("✅ succeeded");
    expect(await bot.deployed(one)).toEqual([]);
    expect(await bot.deployed(two)).toEqual(["web"]);
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("No applications are locked by this PR.");
  });

  test("while it exists the base side is the base branch's definition, never the live one; a sync of another PR deploys that", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(bot.moved("web"));
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).toMatch(/-\s+value: "?1"?\n\+\s+value: "?apps\/moved"?/);
    await bot.comment(one, "svc unlock");
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    expect(bot.lastComment(two)).toMatch(/-\s+value: "?1"?\n\+\s+value: "?3"?/);
    bot.argocd.failNextSync("web", { phase: "Failed", message: "no room" });
    await bot.comment(two, "svc sync");
    expect(bot.argocd.application("web")?.spec.source?.path).toBe("apps/moved");
    await bot.comment(two, "svc sync");
    expect(bot.lastComment(two)).toContain("✅ succeeded");
    expect(bot.argocd.application("web")?.spec.source?.path).toBe("apps/web");
    expect(bot.liveValue("web")).toBe("3");
    expect(await bot.deployed(one)).toEqual([]);
  });

  test("another PR's rollback ends it too, so that nothing is merged that does not run any more", async () => {
    const bot = await startBot({ host, config: { defaults: { auto_merge: true } } });
    const one = await bot.open(changeOf(["web", "api"]));
    bot.expectChanges("sync web", "sync api");
    await bot.comment(one, "svc sync -a web");
    expect(await bot.deployed(one)).toEqual(["web"]);
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    await bot.comment(two, "svc rollback", "bo");
    expect(bot.liveValue("web")).toBe("1");
    expect(await bot.deployed(one)).toEqual([]);
    await bot.comment(one, "svc sync -a api");
    expect(bot.lastComment(one)).toContain("- `web`: it was not synced at the head commit");
    expect(bot.seen(one).state).toBe("open");
  });

  test("another PR's rollback ends it also where a third one got the lock from an administrator meanwhile", async () => {
    const bot = await startBot({ host });
    const one = await deployed(bot);
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    const three = await bot.open(changeOf(["web"], "4"), { by: "bo" });
    bot.meanwhile("argocd", { method: "POST", path: /\/applications\/web\/sync$/ }, async () => {
      const [lock] = await bot.stores.locks.list(bot.ref(two));
      if (lock === undefined) throw new Error("web is not locked");
      await bot.clock.sleep(1000);
      await bot.stores.locks.release(lock.application, lock.holder);
      await bot.stores.locks.acquire({ ...lock, holder: bot.ref(three) }, bot.clock.now());
    });
    await bot.comment(two, "svc rollback", "bo");
    expect(bot.liveValue("web")).toBe("1");
    expect(await bot.deployed(one)).toEqual([]);
    expect(await bot.locked(three)).toEqual(["web"]);
  });

  test("so does a rollback that svc does by itself", async () => {
    const rules = { defaults: { require_healthy: true, on_failure: "rollback" } };
    const bot = await startBot({ host, config: rules, prepare: ({ argocd }) => argocd.deploy("web") });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(await bot.deployed(one)).toEqual(["web"]);
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    bot.argocd.playHealth("web", [{ status: "Degraded" }]);
    await bot.comment(two, "svc sync", "bo");
    expect(bot.lastComment(two)).toContain("↩️ svc rolled it back");
    expect(bot.liveValue("web")).toBe("1");
    expect(await bot.deployed(one)).toEqual([]);
  });

  test("a rollback by another PR puts back the definition from before the PR that wrote it, not the one that nobody merged", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(bot.moved("web"));
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    // It has deployed nothing, so that the rollback acts on what it holds.
    await bot.comment(two, "svc rollback", "bo");
    expect(bot.lastComment(two)).toContain("✅ succeeded");
    expect(bot.argocd.application("web")?.spec.source?.path).toBe("apps/web");
    await bot.comment(one, "svc plan");
    await bot.comment(one, "svc sync");
    expect(bot.argocd.application("web")?.spec.source?.path).toBe("apps/moved");
    await bot.comment(two, "svc plan", "bo");
    await bot.comment(two, "svc sync", "bo");
    expect(bot.liveValue("web")).toBe("3");
    await bot.comment(two, "svc rollback", "bo");
    expect(bot.lastComment(two)).toContain("✅ succeeded");
    expect(bot.argocd.application("web")?.spec.source?.path).toBe("apps/web");
    expect(bot.liveValue("web")).toBe("1");
  });

  test("stays after failed and timed-out syncs", async () => {
    const bot = await startBot({ host, config: { deployer: { sync_timeout: "1m" } } });
    const one = await bot.open(changeOf(["api", "web"]));
    bot.argocd.failNextSync("api", { phase: "Failed", message: "no room" });
    const letGo = bot.argocd.holdSync("web");
    bot.expectChanges("sync api", "sync web");
    await bot.comment(one, "svc sync");
    letGo();
    expect(await bot.deployed(one)).toEqual(["api", "web"]);
    expect(await bot.locked(one)).toEqual(["api", "web"]);
  });

  test("an application of it counts as affected at every later head until it was synced there or rolled back", async () => {
    const bot = await startBot({ host });
    const one = await deployed(bot);
    await bot.push(one, changeOf(["web"], "1"));
    await bot.push(one, changeOf(["api"]));
    expect(bot.lastComment(one)).toContain("### Application: `web`");
    expect(await bot.locked(one)).toEqual(["api", "web"]);
    await bot.comment(one, "svc rollback -a web");
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).not.toContain("### Application: `web`");
    expect(await bot.locked(one)).toEqual(["api"]);
  });
});
