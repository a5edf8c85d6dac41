import { describe, expect, test } from "@jest/globals";
import type { HealthLook } from "../../sandbox/argocd/controller/health-play.js";
import { HOSTS, REPOSITORY, SHORT, startBot, type Bot } from "./bot.js";
import { apart, changeOf, configMap } from "./resources.js";

const EDIT_PATH = /\/(comments|notes)\/\d+$/;
const BACK_OFF = 'Back-off pulling image "web:2" @all';

/** A rollout whose pod cannot be started. */
function stuck(status: HealthLook["status"]): HealthLook {
  return {
    status,
    objects: [
      { group: "apps", kind: "Deployment", name: "web", status, message: "Waiting for rollout to finish" },
      { group: "apps", kind: "ReplicaSet", name: "web-1", status },
      { kind: "Pod", name: "web-1-a", status: "Degraded", message: BACK_OFF },
    ],
  };
}

function times(count: number, look: HealthLook): readonly HealthLook[] {
  return Array.from({ length: count }, () => look);
}

const RULES = (keys: string) => ({ ".svc.yaml": `sync_requirements: [{name: web, ${keys}}]\n` });

async function records(bot: Bot, number: number): Promise<readonly string[]> {
  const found = await bot.stores.deployments.ofChange(bot.ref(number));
  return found.map(({ application, outcome }) => `${application}: ${outcome}`);
}

describe.each(HOSTS)("a sync that has to end healthy on %s", (host) => {
  test("waits, shows the pod that it waits for, and holds up nothing else; then it succeeds", async () => {
    const bot = await startBot({
      host,
      config: { defaults: { auto_merge: true } },
      resources: () => apart("api", "web"),
      files: () => RULES("require_healthy: true"),
    });
    const one = await bot.open(changeOf(["web", "api"]));
    bot.argocd.playHealth("web", [...times(8, stuck("Progressing")), { status: "Healthy" }], {
      comparedOnlyWhenAsked: true,
    });
    const seen: string[] = [];
    const locked: (readonly string[])[] = [];
    bot.meanwhile("forge", { method: host === "hosta" ? "PATCH" : "PUT", path: EDIT_PATH, nth: 2 }, async () => {
      seen.push(bot.lastComment(one));
      locked.push(await bot.locked(one));
    });
    bot.expectChanges("sync web", "sync api");
    const began = bot.clock.now().getTime();
    await bot.comment(one, "svc sync");
    expect(seen[0]).toContain("deployed, waiting for its health (`Progressing`): ");
    expect(seen[0]).toContain("Pod web/web-1-a: Degraded: Back-off pulling image");
    expect(seen[0]).toMatch(/`api`[^\n]* ✅ succeeded$/m);
    expect(locked).toEqual([["web"]]);
    expect(bot.clock.now().getTime() - began).toBeGreaterThan(60_000);
    expect(bot.lastComment(one)).toContain("**2 applications deployed**");
    expect(bot.lastComment(one)).toContain("**Health:** `Healthy`");
    expect(bot.seen(one).state).toBe("merged");
  });

  test("degraded, or flapping until the time-out: failed with the reason, lock kept, nothing merged; suspended passes", async () => {
    const bot = await startBot({
      host,
      config: { defaults: { auto_merge: true, require_healthy: true, health_timeout: "2m" } },
      files: () => ({ ".svc.yaml": "require_healthy: false\n" }),
    });
    const one = await bot.open(changeOf(["web"]));
    const flapping = times(40, { status: "Healthy" }).map((look, index) =>
      index % 2 === 0 ? stuck("Degraded") : look,
    );
    bot.argocd.playHealth("web", flapping);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("it did not get healthy within 120 seconds");
    bot.argocd.playHealth("web", [stuck("Degraded")]);
    await bot.comment(one, "svc sync");
    const said = bot.lastComment(one);
    expect(said).toContain("**Result:** ❌ deployed, but not healthy: `Degraded`");
    expect(said).toContain(`Pod guestbook/web-1-a: Degraded: ${BACK_OFF}`);
    expect(said).toContain("The lock is kept.");
    expect(await bot.locked(one)).toEqual(["web"]);
    expect(await records(bot, one)).toEqual(["web: failed"]);
    expect(bot.seen(one).state).toBe("open");
    bot.argocd.playHealth("web", [{ status: "Suspended" }]);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("**Health:** `Suspended`");
    expect(bot.seen(one).state).toBe("merged");
  });

  test("what the sync has deleted and the target branch still has is not missing", async () => {
    const files = () => ({ ...RULES("require_healthy: true"), "apps/web/more.yaml": configMap("more", { a: "1" }) });
    const bot = await startBot({ host, files, prepare: ({ argocd }) => argocd.deploy("web") });
    const gone = { "apps/web/more.yaml": null };
    const one = await bot.open(gone);
    // Before 3.4, Argo CD takes one missing object for the health of an application that is not Degraded.
    const missing = (status: HealthLook["status"]): HealthLook => {
      return { status: "Missing", objects: [{ group: "apps", kind: "Deployment", name: "web", status }] };
    };
    // An object of the application that another one of it owns counts as well.
    const below = { kind: "ConfigMap", name: "web", status: "Progressing" } as const;
    const owned = { ...missing("Healthy"), objects: [...(missing("Healthy").objects ?? []), below] };
    const waits = [...times(4, missing("Progressing")), ...times(4, owned)];
    bot.argocd.playHealth("web", [...waits, missing("Healthy")]);
    bot.expectChanges("sync web");
    const began = bot.clock.now().getTime();
    await bot.comment(one, "svc sync --prune");
    expect(bot.lastComment(one)).toContain("**Health:** `Healthy`");
    expect(bot.clock.now().getTime() - began).toBeGreaterThan(85_000);
    // Since 3.4 it does so where nothing is left.
    bot.argocd.playHealth("web", [{ status: "Missing" }]);
    await bot.push(one, { "apps/web/configmap.yaml": null, "apps/web/README.md": "Empty." });
    await bot.comment(one, "svc sync --prune");
    expect(bot.lastComment(one)).toContain("**Health:** `Healthy`");
    // Without having deleted anything, what is missing is missing.
    bot.argocd.playHealth("web", [{ status: "Missing" }]);
    await bot.comment(one, "svc plan");
    await bot.comment(one, "svc sync --prune");
    expect(bot.lastComment(one)).toContain("**Result:** ❌ deployed, but not healthy: `Missing`");
  });

  test("rolls back by itself, once, and says so; never once another was deployed, and a failing rollback keeps the lock", async () => {
    const bot = await startBot({
      host,
      files: () => RULES("require_healthy: true, on_failure: rollback"),
      prepare: ({ argocd }) => argocd.deploy("web"),
    });
    const before = bot.liveValue("web");
    const one = await bot.open(changeOf(["web"]));
    bot.argocd.playHealth("web", [stuck("Degraded")]);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("↩️ rolled back: `web`");
    expect(bot.lastComment(one)).toContain(
      "↩️ svc rolled it back: `main` is deployed again, and its lock is released.",
    );
    expect(bot.changes()).toEqual(["sync web", "sync web"]);
    expect(bot.liveValue("web")).toBe(before);
    expect(await bot.locked(one)).toEqual([]);
    expect(await bot.deployed(one)).toEqual([]);

    await bot.comment(one, "svc plan");
    bot.argocd.playHealth("web", [stuck("Degraded")]);
    bot.meanwhile("argocd", { method: "POST", path: /\/sync$/, nth: 2 }, () => {
      bot.argocd.failNextSync("web", { phase: "Failed", message: "no room" });
    });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("⚠️ The rollback that followed failed.");
    expect(bot.lastComment(one)).toContain("no room");
    expect(await bot.locked(one)).toEqual(["web"]);
    expect(await records(bot, one)).toEqual(["web: failed"]);

    bot.argocd.playHealth("web", [stuck("Degraded")]);
    bot.meanwhile("argocd", { path: /\/resource-tree$/ }, async () => {
      const [record] = await bot.stores.deployments.ofChange(bot.ref(one));
      if (record === undefined) throw new Error("there is no record");
      const timestamp = bot.clock.now().toISOString();
      await bot.stores.deployments.save({ ...record, change: bot.ref(99), timestamp });
    });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toMatch(/⚠️ It was not rolled back: (PR|MR) .\u200b99 was deployed to it since\./);
    expect(bot.changes()).toHaveLength(5);
    expect(await bot.locked(one)).toEqual(["web"]);
  });

  test("is not rolled back once somebody has merged it, since the target branch has what is not healthy", async () => {
    const bot = await startBot({ host, files: () => RULES("require_healthy: true, on_failure: rollback") });
    const one = await bot.open(changeOf(["web"]));
    bot.argocd.playHealth("web", [stuck("Degraded")]);
    bot.meanwhile("argocd", { path: /\/resource-tree$/ }, () => bot.forge.mergeByHand(REPOSITORY, one, "bo"));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(
      `⚠️ It was not rolled back: this ${SHORT[host]} was merged meanwhile, so the target branch has what is not healthy: revert it.`,
    );
    expect(bot.changes()).toEqual(["sync web"]);
    expect(await bot.locked(one)).toEqual([]);
    expect(await bot.deployed(one)).toEqual([]);
  });
});
