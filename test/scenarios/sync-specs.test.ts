import { describe, expect, test } from "@jest/globals";
import type { Deployment } from "../../src/core/model/deployment.js";
import { HOSTS, REPOSITORY, SHORT, startBot, type Bot } from "./bot.js";
import { applicationResource, asYaml, changeOf, configMap } from "./resources.js";

const CHARTS = "acme/charts";
const pathOf = (bot: Bot) => bot.argocd.application("web")?.spec.source?.path;

describe.each(HOSTS)("a sync of a changed definition on %s", (host) => {
  test("a changed Application resource updates the live application's spec first, then syncs the head commit", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(bot.moved("web"));
    expect(pathOf(bot)).toBe("apps/web");
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    expect(bot.changes()).toEqual(["update web", "sync web"]);
    expect(pathOf(bot)).toBe("apps/moved");
    expect(bot.liveValue("web")).toBe("apps/moved");
  });

  test("a failed sync puts back the spec from before it, and the next one writes it again", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(bot.moved("web"));
    bot.argocd.failNextSync("web", { phase: "Error", message: "cluster said no" });
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("cluster said no");
    expect(bot.lastComment(one)).toContain("Its definition was put back to what it was before this sync.");
    expect(bot.changes()).toEqual(["update web", "sync web", "update web"]);
    expect(pathOf(bot)).toBe("apps/web");
    expect(await bot.locked(one)).toEqual(["web"]);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    expect(pathOf(bot)).toBe("apps/moved");
  });

  test.each([
    ["a failed sync", { phase: "Error" as const, message: "cluster said no" }],
    ["a rollback", undefined],
  ])("%s puts back the spec of before, also where Argo CD did not store all of the new one", async (_what, failure) => {
    const bot = await startBot({ host, argocd: { version: "v3.1.9" } });
    const retry = { limit: 2, refresh: true };
    const moved = bot.resourceOf("web", { path: "apps/moved", spec: { syncPolicy: { retry } } });
    const one = await bot.open({ ...bot.moved("web"), "argocd/web.yaml": asYaml(moved) });
    if (failure !== undefined) bot.argocd.failNextSync("web", failure);
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    if (failure === undefined) {
      expect(bot.argocd.application("web")?.spec.syncPolicy).toEqual({ retry: { limit: 2 } });
      await bot.comment(one, "svc rollback");
      expect(bot.lastComment(one)).toContain("✅ succeeded");
    } else expect(bot.lastComment(one)).toContain("Its definition was put back to what it was before this sync.");
    expect(bot.lastComment(one)).not.toContain("was left as it");
    expect(pathOf(bot)).toBe("apps/web");
  });

  test("a sync that Argo CD refuses to start puts back the spec too, and leaves no record", async () => {
    const bot = await startBot({ host });
    bot.argocd.addProject("default", {
      syncWindows: [{ kind: "deny", schedule: "* * * * *", duration: "24h", applications: ["web"] }],
    });
    const one = await bot.open(bot.moved("web"));
    bot.expectChanges("update web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("cannot sync: blocked by sync window");
    expect(pathOf(bot)).toBe("apps/web");
    expect(await bot.deployed(one)).toEqual([]);
    expect(await bot.locked(one)).toEqual(["web"]);
  });

  test("while an operation of somebody else runs, which may deploy it as well, no definition is written", async () => {
    const bot = await startBot({ host, checkChanges: false });
    const one = await bot.open(bot.moved("web"));
    const letGo = bot.argocd.holdSync("web");
    const headers = {
      authorization: `Bearer ${bot.argocd.addAccount("bo", { permissions: "all" })}`,
      "content-type": "application/json",
    };
    await fetch(`${bot.argocd.url}/api/v1/applications/web/sync`, { method: "POST", headers, body: "{}" });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(
      "an operation runs in Argo CD, which may deploy the new definition as well. Run the command again once it has ended",
    );
    expect(pathOf(bot)).toBe("apps/web");
    expect(bot.changes()).not.toContain("update web");
    expect(await bot.deployed(one)).toEqual([]);
    letGo();
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("web")).toBe("apps/moved");
  });

  test.each(["sync", "rollback"])(
    "a sync that outlasts its time keeps the written definition, says so, and %s goes on",
    async (command) => {
      const bot = await startBot({ host, config: { deployer: { sync_timeout: "1m" } } });
      const one = await bot.open(bot.moved("web"));
      const letGo = bot.argocd.holdSync("web");
      bot.expectChanges("update web", "sync web");
      await bot.comment(one, "svc sync");
      expect(bot.lastComment(one)).toContain(
        `Its definition is the one of this ${SHORT[host]} and stays. Once the operation has ended, run the sync command again, or the rollback command, which puts back the earlier one.`,
      );
      expect(pathOf(bot)).toBe("apps/moved");
      bot.argocd.failNextSync("web", { phase: "Failed", message: "no room" });
      letGo();
      await bot.comment(one, `svc ${command}`);
      expect(bot.lastComment(one)).toContain("✅ succeeded");
      expect(pathOf(bot)).toBe(command === "sync" ? "apps/moved" : "apps/web");
    },
  );

  test.each(["sync", "rollback"])("a definition that cannot be put back stays, and %s goes on", async (command) => {
    const bot = await startBot({ host });
    const one = await bot.open(bot.moved("web"));
    bot.argocd.failNextSync("web", { phase: "Failed", message: "no room" });
    bot.argocd.faults.add({
      method: "PUT",
      path: /\/web\/spec$/,
      times: 1,
      fault: { kind: "meanwhile", act: () => undefined },
    });
    bot.argocd.faults.add({
      method: "PUT",
      path: /\/web\/spec$/,
      times: 1,
      fault: { kind: "status", status: 403, body: "{}" },
    });
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toMatch(
      /Its definition could not be put back \([^\n]*\): once the cause is gone, run the sync command again, or the rollback command, or restore it in Argo CD\./,
    );
    expect(pathOf(bot)).toBe("apps/moved");
    await bot.comment(one, `svc ${command}`);
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    expect(pathOf(bot)).toBe(command === "sync" ? "apps/moved" : "apps/web");
  });

  test("a definition that Argo CD does not take, and does not show any more, may have to be put back", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(bot.moved("web"));
    const { deployments } = bot.stores;
    const save = deployments.save.bind(deployments);
    Object.assign(deployments, {
      save: (record: Deployment) => {
        const path = /\/applications\/web(?:\/spec)?$/;
        bot.argocd.faults.add({ path, fault: { kind: "status", status: 403, body: "{}" } });
        return save(record);
      },
    });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toMatch(
      /Whether its definition has to be put back is not known \([^\n]*\): once the cause is gone, run the sync command again/,
    );
    expect(pathOf(bot)).toBe("apps/web");
  });

  test("a definition that Argo CD does not show while its Kubernetes is away counts as written, and is put back later", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(bot.moved("web"));
    const body = JSON.stringify({ code: 7, message: "permission denied" });
    bot.meanwhile("argocd", { method: "PUT", path: /\/web\/spec$/ }, () => {
      bot.argocd.faults.add({ path: /\/applications\/web(?:\/sync)?$/, fault: { kind: "status", status: 403, body } });
    });
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toMatch(
      /definition has to be put back is not known \([^\n]*may not reach its Kubernetes\)/,
    );
    expect(await bot.stores.deployments.ofChange(bot.ref(one))).toMatchObject([{ outcome: "failed" }]);
    bot.argocd.faults.clear();
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    expect(pathOf(bot)).toBe("apps/web");
  });

  test("a definition that somebody changed meanwhile is not overwritten by the putting back", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(bot.moved("web"));
    bot.meanwhile("argocd", { method: "POST", path: /\/applications\/web\/sync$/ }, () => {
      bot.argocd.addApplication(bot.resourceOf("web", { path: "apps/api" }));
      bot.argocd.failNextSync("web", { phase: "Failed", message: "cluster said no" });
    });
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(`is not the one of this ${SHORT[host]} and was left as it is`);
    expect(pathOf(bot)).toBe("apps/api");
  });

  test("a sync that Argo CD made of a definition that came meanwhile is no success", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(bot.moved("web"));
    bot.meanwhile("argocd", { method: "POST", path: /\/applications\/web\/sync$/ }, () => {
      bot.argocd.addApplication(bot.resourceOf("web", { path: "apps/api" }));
    });
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("not from the sources that were planned");
    expect(bot.lastComment(one)).toContain(`is not the one of this ${SHORT[host]} and was left as it is`);
    expect(await bot.stores.deployments.ofChange(bot.ref(one))).toMatchObject([{ outcome: "failed" }]);
    expect(await bot.locked(one)).toEqual(["web"]);
  });

  test("nor is one of a definition whose options alone came meanwhile", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.meanwhile("argocd", { method: "POST", path: /\/applications\/web\/sync$/ }, () => {
      const source = { ...bot.argocd.application("web")?.spec.source, directory: { exclude: "*secret*" } };
      bot.argocd.addApplication(bot.resourceOf("web", { spec: { source } }));
    });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("not from the sources that were planned");
    expect(await bot.stores.deployments.ofChange(bot.ref(one))).toMatchObject([{ outcome: "failed" }]);
    expect(await bot.locked(one)).toEqual(["web"]);
  });

  test("an application with an external source is synced at its configured revision", async () => {
    const ext = (bot: { forge: Bot["forge"] }, targetRevision: string) => ({
      repoURL: bot.forge.cloneUrl(CHARTS),
      path: "ext",
      targetRevision,
      annotations: { "svc.dev/repository": REPOSITORY },
    });
    const bot = await startBot({
      host,
      prepare: async ({ argocd }, forge) => {
        await forge.createRepository(CHARTS, { "ext/configmap.yaml": configMap("ext", { value: "main" }) });
        await forge.pushToBranch(CHARTS, "v2", { "ext/configmap.yaml": configMap("ext", { value: "v2" }) });
        const resource = applicationResource("ext", ext({ forge }, "main"));
        argocd.addApplication(resource);
        await forge.pushToBranch(REPOSITORY, "main", { "argocd/ext.yaml": asYaml(resource) });
      },
    });
    const one = await bot.open({ "argocd/ext.yaml": asYaml(applicationResource("ext", ext(bot, "v2"))) });
    expect(await bot.locked(one)).toEqual(["ext"]);
    bot.expectChanges("update ext", "sync ext");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    expect(bot.argocd.application("ext")?.status.operationState?.syncResult?.revision).not.toBe(
      bot.seen(one).headRevision,
    );
    expect(bot.liveValue("ext")).toBe("v2");
  });

  test.each(["v3.5.1", "v3.2.6", "v2.13.9"])(
    "of several sources only those of this repository on the base branch get the head commit, by their positions: %s",
    async (version) => {
      const bot = await startBot({
        host,
        argocd: { version },
        applications: ["api", "web"],
        resources: (repoURL) => ({
          web: {
            spec: {
              source: undefined,
              sources: [
                { repoURL: repoURL.replace(REPOSITORY, CHARTS), path: "ext", targetRevision: "main" },
                { repoURL, path: "apps/web", targetRevision: "main" },
                { repoURL, path: "apps/pinned", targetRevision: "release" },
              ],
            },
          },
        }),
        files: () => ({ "apps/pinned/configmap.yaml": configMap("pinned", { value: "1" }) }),
        prepare: async (_world, forge) => {
          await forge.createRepository(CHARTS, { "ext/configmap.yaml": configMap("ext", { value: "main" }) });
          await forge.pushToBranch(REPOSITORY, "release", {});
        },
      });
      const one = await bot.open({
        "apps/web/configmap.yaml": configMap("web", { value: "2" }),
        "apps/pinned/configmap.yaml": configMap("pinned", { value: "2" }),
      });
      bot.expectChanges("sync web");
      await bot.comment(one, "svc sync");
      expect(bot.lastComment(one)).toContain("✅ succeeded");
      const { revisions } = bot.argocd.application("web")?.status.operationState?.syncResult ?? {};
      expect(revisions?.map((revision) => revision === bot.seen(one).headRevision)).toEqual([false, true, false]);
      expect(["ext", "web", "pinned"].map((name) => bot.liveValue(name))).toEqual(["main", "2", "1"]);
    },
  );
});
