import { describe, expect, test } from "@jest/globals";
import type { HostId } from "../../src/names.js";
import { HOSTS, startBot } from "./bot.js";
import { changeOf } from "./resources.js";

describe.each(HOSTS)("a sync that does not succeed on %s", (host) => {
  test("failed: the lock and the record are kept, the message and the failing object are shown, a second try works", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.argocd.failNextSync("web", {
      phase: "Failed",
      message: "one or more objects failed to apply",
      resources: [{ kind: "ConfigMap", name: "web", message: "admission webhook denied it: @team" }],
    });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("**Result:** ❌ the operation failed");
    expect(bot.lastComment(one)).toContain("ConfigMap guestbook/web: SyncFailed: admission webhook denied it: @team");
    expect(await bot.locked(one)).toEqual(["web"]);
    expect(await bot.deployed(one)).toEqual(["web"]);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    expect(await bot.locked(one)).toEqual([]);
  });

  test("failed: hooks that succeeded are not among what failed, and what failed after it was applied is", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const hook = { group: "batch", kind: "Job", status: undefined };
    bot.argocd.failNextSync("web", {
      phase: "Failed",
      message: "one or more synchronization tasks completed unsuccessfully",
      resources: [
        { ...hook, name: "migrate", hookType: "PreSync", hookPhase: "Succeeded", message: "done" },
        { kind: "ConfigMap", name: "web", status: "Synced", hookPhase: "Running", message: "configmap/web created" },
        {
          group: "apps",
          kind: "Deployment",
          name: "api",
          status: "Synced",
          hookPhase: "Failed",
          message: "no progress",
        },
        { ...hook, name: "smoke", hookType: "Sync", hookPhase: "Failed", message: "reached its backoff limit" },
      ],
    });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("apps/Deployment guestbook/api: Failed: no progress\n");
    expect(bot.lastComment(one)).toContain("batch/Job guestbook/smoke: Failed: reached its backoff limit\n```");
    expect(bot.lastComment(one)).not.toMatch(/migrate|ConfigMap/);
  });

  test("still running at the time-out: the reply says so, the operation goes on, the lock stays", async () => {
    const bot = await startBot({ host, config: { deployer: { sync_timeout: "1m" } } });
    const one = await bot.open(changeOf(["web"]));
    const letGo = bot.argocd.holdSync("web");
    bot.expectChanges("sync web");
    const before = bot.clock.now().getTime();
    await bot.comment(one, "svc sync");
    expect(bot.clock.now().getTime() - before).toBeGreaterThanOrEqual(60_000);
    expect(bot.lastComment(one)).toContain("still running; svc stopped waiting and did not stop the operation");
    expect(await bot.locked(one)).toEqual(["web"]);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("another operation is already in progress");
    expect(await bot.deployed(one)).toEqual(["web"]);
    letGo();
    await bot.comment(one, "svc plan");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    expect(await bot.locked(one)).toEqual([]);
  });

  test("its end as a failure is told with the rollback that followed, without another call to undo it", async () => {
    const { bot, one, letGo } = await startLateFailure(host);
    letGo();
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("**1 application rolled back**");
    expect(bot.lastComment(one)).toMatch(/Argo CD reports how an earlier sync ended:\n- `web`: ❌ it failed$/m);
    expect(await bot.locked(one)).toEqual([]);
  });

  test.each([true, false])(
    "its end as a failure, told by an unlock, says of no lock that it is kept; closed: %s",
    async (closed) => {
      const { bot, one, letGo } = await startLateFailure(host);
      if (closed) await bot.close(one);
      letGo();
      await bot.comment(one, "svc unlock");
      expect(bot.lastComment(one)).toMatch(/Argo CD reports how an earlier sync ended:\n- `web`: ❌ it failed$/m);
      expect(await bot.locked(one)).toEqual([]);
    },
  );

  test.each([
    ["svc rollback --dry-run", "kept"],
    ["svc unlock -a api", "kept"],
    ["svc sync", "released"],
  ])(
    "its end as a failure, told by `%s`, says that its lock is kept exactly where it is: %s",
    async (command, lock) => {
      const { bot, one, letGo } = await startLateFailure(host, ["web", "api"]);
      letGo();
      bot.expectChanges("sync web", "dry-run web", "sync api");
      await bot.comment(one, command);
      const cure = ", and its lock is kept: fix the cause and sync again, or comment `svc rollback`";
      const [, told] = /an earlier sync ended:\n- `web`: ❌ it failed(.*)/.exec(bot.lastComment(one)) ?? [];
      expect(told).toBe(lock === "kept" ? cure : "");
      expect((await bot.locked(one)).includes("web")).toBe(lock === "kept");
    },
  );

  test("its end ends what others deployed before, also where a push has come since", async () => {
    const bot = await startBot({ host, config: { deployer: { sync_timeout: "1m" } } });
    const one = await bot.open(changeOf(["web"]));
    const other = await bot.open(changeOf(["web"], "3"));
    bot.expectChanges("sync web", "sync web");
    await bot.comment(one, "svc sync");
    await bot.comment(other, "svc plan");
    const letGo = bot.argocd.holdSync("web");
    await bot.comment(other, "svc sync");
    expect(bot.lastComment(other)).toContain("still running");
    await bot.push(other, changeOf(["web"], "4"));
    letGo();
    await bot.comment(other, "svc plan");
    expect(await bot.deployed(other)).toEqual(["web"]);
    expect(await bot.deployed(one)).toEqual([]);
    expect(await bot.locked(other)).toEqual(["web"]);
  });

  test("retry.refresh of the application never deploys the target branch in place of the head", async () => {
    const syncPolicy = { retry: { limit: 3, refresh: true } };
    const bot = await startBot({ host, resources: () => ({ web: { spec: { syncPolicy } } }) });
    const one = await bot.open(changeOf(["web"]));
    bot.argocd.failNextSync("web", { phase: "Failed", message: "the first attempt failed" });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("the first attempt failed");
    expect(bot.liveValue("web")).toBeUndefined();
    expect(await bot.locked(one)).toEqual(["web"]);
  });

  test("a success at another revision than the head is no success", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const { source, ...rest } = bot.argocd.application("web")?.spec ?? {};
    // With several sources Argo CD ignores the one revision, deploys the target branches and reports success.
    bot.meanwhile("argocd", { method: "POST", path: /\/applications\/web\/sync$/ }, () => {
      bot.argocd.addApplication({ metadata: { name: "web" }, spec: { ...rest, sources: [source] } });
    });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.argocd.application("web")?.status.operationState?.phase).toBe("Succeeded");
    expect(bot.lastComment(one)).toContain("❓ the outcome is not known");
    expect(bot.lastComment(one)).toContain(`instead of ${bot.seen(one).headRevision}`);
    expect(bot.liveValue("web")).toBe("1");
    expect(await bot.locked(one)).toEqual(["web"]);
  });

  test("a closed sync window: Argo CD's sentence is returned, nothing is recorded", async () => {
    const bot = await startBot({ host });
    bot.argocd.addProject("default", {
      syncWindows: [{ kind: "deny", schedule: "* * * * *", duration: "24h", applications: ["web"] }],
    });
    const one = await bot.open(changeOf(["api", "web"]));
    bot.expectChanges("sync api");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("**Result:** ❌ not started");
    expect(bot.lastComment(one)).toContain("cannot sync: blocked by sync window");
    expect(await bot.locked(one)).toEqual(["web"]);
    expect(await bot.deployed(one)).toEqual(["api"]);
  });

  test("permission denied: applications, sync", async () => {
    const bot = await startBot({
      host,
      config: ({ argocd }) => ({ deployer: { token: argocd.addAccount("reader", { permissions: "readonly" }) } }),
    });
    const one = await bot.open(changeOf(["web"]));
    expect(bot.lastComment(one)).toContain("**Changes:** 0 to create, 1 to update");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(" permission denied: applications, sync\n");
    expect(await bot.locked(one)).toEqual(["web"]);
    expect(await bot.deployed(one)).toEqual([]);
  });

  test("Argo CD goes away after the sync was started: the outcome is looked up, never a second sync", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.argocd.faults.add({
      method: "POST",
      path: /\/applications\/web\/sync$/,
      times: 1,
      fault: { kind: "lost-answer" },
    });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    expect(bot.changes()).toEqual(["sync web"]);
    expect(await bot.locked(one)).toEqual([]);
  });
});

/** A sync that is still running at the time-out, and fails once it is let go. */
async function startLateFailure(host: HostId, applications = ["web"]) {
  const bot = await startBot({ host, config: { deployer: { sync_timeout: "1m" } } });
  const one = await bot.open(changeOf(applications));
  const letGo = bot.argocd.holdSync("web");
  bot.argocd.failNextSync("web", { phase: "Failed", message: "no room" });
  bot.expectChanges("sync web");
  await bot.comment(one, "svc sync -a web");
  return { bot, one, letGo };
}
