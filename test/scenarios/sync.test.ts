import { describe, expect, test } from "@jest/globals";
import { HOSTS, SHORT, startBot } from "./bot.js";
import { changeOf, configMap } from "./resources.js";

describe.each(HOSTS)("sync on %s", (host) => {
  test("deploys the head commit, reports, and releases the lock", async () => {
    const bot = await startBot({ host });
    const one = await bot.open({ "apps/web/configmap.yaml": configMap("web", { value: "2" }) });
    expect(bot.lastComment(one)).toContain("### Application: `web`");
    expect(bot.lastComment(one)).toContain("**Status:** Locked by this PR");
    expect(await bot.locked(one)).toEqual(["web"]);
    const before = bot.forge.requests.length;
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    // A comment's event says nothing of branches: the facts come from the host's API.
    const facts = new RegExp(`/(?:pulls|merge_requests)/${one}$`);
    expect(bot.forge.requests.slice(before).some(({ method, path }) => method === "GET" && facts.test(path))).toBe(
      true,
    );
    expect(bot.lastComment(one)).toContain("succeeded");
    expect(bot.lastComment(one)).toContain(bot.seen(one).headRevision.slice(0, 8));
    expect(bot.liveValue("web")).toBe("2");
    expect(await bot.locked(one)).toEqual([]);
    expect(await bot.deployed(one)).toEqual(["web"]);
    expect(bot.argocd.application("web")?.status.operationState?.operation.sync.revision).toBe(
      bot.seen(one).headRevision,
    );
  });

  test("syncs all applications in parallel: no sync waits for the end of another", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["api", "web"]));
    const holds = [bot.argocd.holdSync("api"), bot.argocd.holdSync("web")];
    let started = 0;
    for (const name of ["api", "web"]) {
      bot.meanwhile("argocd", { method: "POST", path: new RegExp(`/applications/${name}/sync$`) }, () => {
        started += 1;
        if (started === holds.length) for (const letGo of holds) letGo();
      });
    }
    bot.expectChanges("sync api", "sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).not.toContain("still running");
    expect([bot.liveValue("api"), bot.liveValue("web")]).toEqual(["2", "2"]);
    expect(await bot.locked(one)).toEqual([]);
  });

  test("one failure never hides another, and the locks of the successful ones are released", async () => {
    const bot = await startBot({ host, applications: ["api", "shop", "web", "wiki"] });
    const one = await bot.open(changeOf(["api", "shop", "web", "wiki"]));
    bot.argocd.failNextSync("api", { phase: "Failed", message: "quota of api exceeded" });
    bot.argocd.faults.add({
      method: "POST",
      path: /\/applications\/shop\/sync$/,
      fault: { kind: "status", status: 400, body: JSON.stringify({ code: 9, message: "shop says no" }) },
    });
    bot.expectChanges("sync api", "sync web", "sync wiki");
    await bot.comment(one, "svc sync");
    const answer = bot.lastComment(one);
    expect(answer).toContain("quota of api exceeded");
    expect(answer).toContain("shop says no");
    expect(answer.match(/✅ succeeded/g)).toHaveLength(2);
    expect(await bot.locked(one)).toEqual(["api", "shop"]);
    expect([bot.liveValue("web"), bot.liveValue("wiki")]).toEqual(["2", "2"]);
  });

  test("-a syncs the named applications alone, and one that is not locked by this PR is said", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["api", "web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "SVC Sync --app nope -a web");
    expect(bot.lastComment(one)).toContain(`Not locked by this ${SHORT[host]}: \`nope\`.`);
    expect(bot.changes()).toEqual([]);
    await bot.comment(one, "svc sync -a web");
    expect(await bot.locked(one)).toEqual(["api"]);
    expect(bot.changes()).toEqual(["sync web"]);
  });

  test("new and deleted applications are left out of a sync, and it names them", async () => {
    const bot = await startBot({ host });
    const one = await bot.open({
      ...changeOf(["web"]),
      "argocd/api.yaml": null,
      "argocd/fresh.yaml": JSON.stringify(bot.resourceOf("fresh")),
      "apps/fresh/configmap.yaml": configMap("fresh", { value: "1" }),
    });
    expect(await bot.locked(one)).toEqual(["api", "fresh", "web"]);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("Not deployed by a sync: `api` (deleted), `fresh` (new).");
    expect(bot.changes()).toEqual(["sync web"]);
    expect(bot.argocd.application("api")).toBeDefined();
    expect(bot.argocd.application("fresh")).toBeUndefined();
  });
});
