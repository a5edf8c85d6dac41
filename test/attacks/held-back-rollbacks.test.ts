import { describe, expect, test } from "@jest/globals";
import { HOSTS, SHORT, SIGIL, startBot, type Bot } from "../scenarios/bot.js";
import { changeOf } from "../scenarios/resources.js";

/** A PR whose head runs in the cluster, and another one that locks the same application with its plan. */
async function deployedAndPlanned(bot: Bot): Promise<readonly [number, number]> {
  const one = await bot.open(changeOf(["web"]));
  bot.expectChanges("sync web");
  await bot.comment(one, "svc sync");
  const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
  expect(await bot.locked(two)).toEqual(["web"]);
  return [one, two];
}

describe.each(HOSTS)("on %s, the rollback of what a PR deployed", (host) => {
  test("is not held back by a lock that only a plan of another PR holds, which is told", async () => {
    const bot = await startBot({ host });
    const [one, two] = await deployedAndPlanned(bot);
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("✅ succeeded, `main` is deployed");
    expect(bot.lastComment(one)).toContain(`⚠️ Its lock was taken over from [${SHORT[host]} ${SIGIL[host]}`);
    expect(bot.lastComment(one)).toContain(`${two}>) (bo), which had only planned it and is the first to get it back.`);
    expect(bot.liveValue("web")).toBe("1");
    const told = bot.answers(two).filter((text) => text.includes("## svc Lock taken over"));
    expect(told).toHaveLength(1);
    expect(told[0]).toContain(
      `(\`ana\`) rolled back \`web\`, which it had deployed, and took over the lock that a plan of this ${SHORT[host]} held. ` +
        `This ${SHORT[host]} is next in the queue: once that lock is free, svc plans it again, or says that it is its turn.`,
    );
    expect(bot.lastComment(two)).toContain(
      `**Your turn:** \`web\` is no longer locked by [${SHORT[host]} ${SIGIL[host]}${one}](<http`,
    );
    expect(await bot.locked(two)).toEqual(["web"]);
    expect(bot.changes()).toEqual(["sync web", "sync web"]);
  });

  test("takes no lock of a PR that deployed as well, nor of an application that it did not deploy itself", async () => {
    const bot = await startBot({ host });
    const [one, two] = await deployedAndPlanned(bot);
    bot.argocd.failNextSync("web", { phase: "Failed", message: "no room" });
    await bot.comment(two, "svc sync", "bo");
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain(`web: [Locked by PR #${two} (bo)](<http`);
    expect(await bot.locked(two)).toEqual(["web"]);
    const three = await bot.open(changeOf(["web"], "4"));
    await bot.comment(three, "svc rollback");
    expect(bot.lastComment(three)).toContain("No applications are locked by this PR.\n");
    expect(bot.lastComment(three)).toMatch(/\(bo\)\]\(<http[^>]*>\), which has locked `web`\./);
    expect(await bot.locked(two)).toEqual(["web"]);
  });

  test("does not run if another PR's sync replaces that while it looks for what to roll back", async () => {
    const bot = await startBot({ host, resources: () => ({ web: { labels: { team: "shop" } } }) });
    const [one, two] = await deployedAndPlanned(bot);
    const [record] = await bot.stores.deployments.ofChange(bot.ref(one));
    if (record === undefined) throw new Error("there is no record");
    bot.clock.advance(60_000);
    // What the end of a sync of the other one writes.
    bot.meanwhile("argocd", { method: "GET", path: /\/api\/v1\/applications$/ }, async () => {
      await bot.stores.deployments.save({ ...record, change: bot.ref(two) });
      await bot.stores.deployments.remove(record.application, bot.ref(one));
      await bot.stores.locks.release(record.application, bot.ref(two));
    });
    await bot.comment(one, "svc rollback -a label:team=shop");
    expect(bot.lastComment(one)).not.toContain("✅ succeeded");
    expect(bot.changes()).toEqual(["sync web"]);
    expect(await bot.locked(one)).toEqual([]);
    expect(await bot.deployed(two)).toEqual(["web"]);
  });

  test("that is refused leaves the other PR's lock and plan as they were", async () => {
    const bot = await startBot({ host });
    const [one, two] = await deployedAndPlanned(bot);
    bot.argocd.addApplication(bot.resourceOf("web", { spec: { syncPolicy: { automated: {} } } }));
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("Application web has auto-sync enabled.");
    expect(await bot.locked(two)).toEqual(["web"]);
    bot.argocd.addApplication(bot.resourceOf("web"));
    bot.expectChanges("sync web");
    await bot.comment(two, "svc sync", "bo");
    expect(bot.liveValue("web")).toBe("3");
  });
});

/** Rolls back `web`, which is in the last stage, and then `api`. */
const STAGES = "stages: [{name: dev, applications: api}, {name: prod, applications: web}]\n";

describe.each(HOSTS)("on %s, what a rollback deploys after something else", (host) => {
  async function deployed(): Promise<readonly [Bot, number]> {
    const bot = await startBot({ host, files: () => ({ ".svc.yaml": STAGES }) });
    const one = await bot.open({ ...changeOf(["web"]), ...bot.moved("api") });
    bot.expectChanges("sync web", "update api", "sync api");
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("api")).toBe("apps/moved");
    return [bot, one];
  }
  const rollingBack = { method: "POST", path: /\/applications\/web\/sync$/ };

  test("is left alone if another PR has its lock by then", async () => {
    const [bot, one] = await deployed();
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    await bot.comment(two, "svc unlock", "bo");
    // As by an administrator.
    bot.meanwhile("argocd", rollingBack, async () => {
      const [lock] = (await bot.stores.locks.list(bot.ref(one))).filter(({ application }) => application === "api");
      if (lock === undefined) throw new Error("api is not locked");
      await bot.stores.locks.release(lock.application, lock.holder);
      await bot.stores.locks.acquire({ ...lock, holder: bot.ref(two) }, bot.clock.now());
    });
    const before = bot.changes().length;
    await bot.comment(one, "svc rollback");
    expect(bot.changes().slice(before)).toEqual(["sync web"]);
    expect(bot.lastComment(one)).toContain("its lock is no longer this");
    expect(await bot.deployed(one)).toEqual(["api"]);
  });

  test("keeps a definition that somebody has given it by then, and is left alone if that syncs itself", async () => {
    const [bot, one] = await deployed();
    bot.meanwhile("argocd", rollingBack, () => {
      bot.argocd.addApplication(bot.resourceOf("api", { path: "apps/web" }));
    });
    await bot.comment(one, "svc rollback");
    expect(bot.argocd.application("api")?.spec.source?.path).toBe("apps/web");
    expect(bot.lastComment(one)).toContain("was left as it is");

    const [other, two] = await deployed();
    other.meanwhile("argocd", rollingBack, () => {
      other.argocd.addApplication(
        other.resourceOf("api", { path: "apps/moved", spec: { syncPolicy: { automated: {} } } }),
      );
    });
    const before = other.changes().length;
    await other.comment(two, "svc rollback");
    expect(other.changes().slice(before)).toEqual(["sync web"]);
    expect(other.lastComment(two)).toContain("auto-sync was turned on meanwhile");
  });
});
