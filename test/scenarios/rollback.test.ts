import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, SHORT, startBot, type Bot } from "./bot.js";
import { applicationResource, asYaml, changeOf, configMap } from "./resources.js";
import { cloneUrlOf } from "./sets.js";

/** A PR whose head runs in the cluster. */
async function synced(bot: Bot, names: readonly string[] = ["web"]): Promise<number> {
  const one = await bot.open(changeOf(names));
  bot.expectChanges(...names.map((name) => `sync ${name}`));
  await bot.comment(one, "svc sync");
  expect(await bot.locked(one)).toEqual([]);
  return one;
}

describe.each(HOSTS)("rollback on %s", (host) => {
  test("syncs to the configured target revision with an empty revision, releases the lock and ends the record", async () => {
    const bot = await startBot({ host });
    const one = await synced(bot);
    expect(await bot.deployed(one)).toEqual(["web"]);
    const before = bot.argocd.requests.length;
    await bot.comment(one, "svc rollback");
    const posts = bot.argocd.requests.slice(before).filter(({ method }) => method === "POST");
    expect(posts.map(({ path }) => path)).toEqual(["/api/v1/applications/web/sync"]);
    expect(bot.lastComment(one)).toContain("succeeded, `main` is deployed");
    expect(bot.liveValue("web")).toBe("1");
    expect(await bot.locked(one)).toEqual([]);
    expect(await bot.deployed(one)).toEqual([]);
    expect(bot.changes()).toEqual(["sync web", "sync web"]);
  });

  test("puts back the spec from before the PR's first sync, whatever was synced in between", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(bot.moved("web", "apps/first"));
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    await bot.push(one, bot.moved("web", "apps/second"));
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("web")).toBe("apps/second");
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    expect(bot.argocd.application("web")?.spec.source?.path).toBe("apps/web");
    expect(bot.liveValue("web")).toBe("1");
  });

  test("puts back a spec that says what Go leaves out, as after a failed sync", async () => {
    const bot = await startBot({ host });
    const spec = { syncPolicy: { retry: { limit: 2, refresh: false }, syncOptions: [] }, info: [] };
    const moved = bot.resourceOf("web", { path: "apps/moved", spec });
    const one = await bot.open({ ...bot.moved("web"), "argocd/web.yaml": asYaml(moved) });
    bot.expectChanges("update web", "sync web");
    bot.argocd.failNextSync("web", { phase: "Failed", message: "no room" });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("Its definition was put back to what it was before this sync.");
    expect(bot.argocd.application("web")?.spec.syncPolicy).toBeUndefined();
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    expect(bot.argocd.application("web")?.spec.syncPolicy).toEqual({ retry: { limit: 2 } });
    await bot.comment(one, "svc rollback");
    expect(bot.argocd.application("web")?.spec.source?.path).toBe("apps/web");
    expect(bot.liveValue("web")).toBe("1");
  });

  test("puts back the spec from before the PR after a failed sync put back the one of an earlier commit", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(bot.moved("web", "apps/first"));
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    await bot.push(one, bot.moved("web", "apps/second"));
    bot.argocd.failNextSync("web", { phase: "Failed", message: "no room" });
    await bot.comment(one, "svc sync");
    expect(bot.argocd.application("web")?.spec.source?.path).toBe("apps/first");
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).not.toContain("was left as it is");
    expect(bot.argocd.application("web")?.spec.source?.path).toBe("apps/web");
    expect(bot.liveValue("web")).toBe("1");
  });

  test("puts back what the target branch defined by the PR's last sync, not by its first", async () => {
    const bot = await startBot({ host, config: { defaults: { require_up_to_date: false } } });
    const one = await bot.open(bot.moved("web"));
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    const merged = bot.resourceOf("web", { spec: { revisionHistoryLimit: 3 } });
    await bot.forge.pushToBranch(REPOSITORY, "main", { "argocd/web.yaml": asYaml(merged) });
    // As whoever applies the definitions of the target branch.
    bot.argocd.addApplication(merged);
    await bot.push(one, { "docs/readme.txt": "x" });
    await bot.comment(one, "svc plan");
    await bot.comment(one, "svc sync");
    expect(bot.argocd.application("web")?.spec.source?.path).toBe("apps/moved");
    await bot.comment(one, "svc rollback");
    expect(bot.argocd.application("web")?.spec).toMatchObject({
      revisionHistoryLimit: 3,
      source: { path: "apps/web" },
    });
    expect(bot.liveValue("web")).toBe("1");
  });

  test("that Argo CD refuses to start leaves the spec that runs, so that the head still counts as deployed", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(bot.moved("web"));
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    bot.argocd.addProject("default", {
      syncWindows: [{ kind: "deny", schedule: "* * * * *", duration: "24h", applications: ["web"] }],
    });
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("cannot sync: blocked by sync window");
    expect(bot.lastComment(one)).toContain("Its definition was put back to what it was before this rollback.");
    expect(bot.argocd.application("web")?.spec.source?.path).toBe("apps/moved");
    expect(await bot.stores.deployments.ofChange(bot.ref(one))).toMatchObject([{ outcome: "succeeded" }]);
  });

  test("that is refused, and cannot put the spec of the head back, ends that the head counts as deployed", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(bot.moved("web"));
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    bot.argocd.addProject("default", {
      syncWindows: [{ kind: "deny", schedule: "* * * * *", duration: "24h", applications: ["web"] }],
    });
    const update = { method: "PUT", path: /\/applications\/web\/spec/ };
    bot.meanwhile("argocd", update, () => {
      bot.argocd.faults.add({ ...update, times: 1, fault: { kind: "status", status: 500, body: "no" } });
    });
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("Its definition could not be put back");
    expect(bot.argocd.application("web")?.spec.source?.path).toBe("apps/web");
    expect(await bot.stores.deployments.ofChange(bot.ref(one))).toMatchObject([{ outcome: "failed" }]);
    expect(await bot.locked(one)).toEqual(["web"]);
    bot.argocd.addProject("default", {});
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).not.toContain("was left as it is");
    expect(bot.liveValue("web")).toBe("1");
    expect(await bot.deployed(one)).toEqual([]);
  });

  test.each([
    ["with its parent", ["svc sync"]],
    ["after its parent", ["svc sync -a root", "svc sync"]],
  ])(
    "puts back the child of other repositories that was deployed %s, also after a push that takes that back",
    async (_, syncs) => {
      const charts = "acme/charts";
      const source = (repoURL: string, targetRevision: string) => ({ repoURL, path: "child", targetRevision });
      const childOf = (repoURL: string, revision: string) => ({
        "apps/root/child.yaml": asYaml(
          applicationResource("child", { repoURL, spec: { source: source(repoURL, revision) } }),
        ),
      });
      const asCharts = (url: string) => url.replace(REPOSITORY, charts);
      const bot = await startBot({
        host,
        applications: ["root", "child"],
        resources: (url) => ({
          root: { spec: { destination: { server: "https://kubernetes.default.svc", namespace: "argocd" } } },
          child: {
            annotations: { "argocd.argoproj.io/tracking-id": "root:argoproj.io/Application:argocd/child" },
            spec: { source: source(asCharts(url), "v1") },
          },
        }),
        files: (url) => ({
          "argocd/child.yaml": null,
          "apps/root/configmap.yaml": null,
          ...childOf(asCharts(url), "v1"),
        }),
        prepare: async (_world, forge) => {
          await forge.createRepository(charts, { "README.md": "charts\n" });
          for (const value of ["v1", "v2"]) {
            await forge.pushToBranch(charts, value, { "child/configmap.yaml": configMap("child", { value }) });
          }
        },
      });
      const chartsUrl = asCharts(cloneUrlOf(bot.forge));
      const one = await bot.open(childOf(chartsUrl, "v2"));
      bot.expectChanges("sync root", "sync child", "update child");
      for (const sync of syncs) await bot.comment(one, sync);
      expect(bot.liveValue("child")).toBe("v2");
      await bot.push(one, childOf(chartsUrl, "v1"));
      // Where svc wrote its definition, a sync writes the one of the target branch.
      expect(bot.lastComment(one).includes("### Application: `child`")).toBe(syncs.length === 1);
      await bot.comment(one, "svc rollback");
      expect(bot.lastComment(one)).toContain("**2 applications rolled back**");
      expect(bot.argocd.application("child")?.spec.source?.targetRevision).toBe("v1");
      expect(bot.liveValue("child")).toBe("v1");
    },
  );

  test("deploys what somebody pinned in Argo CD, which the plan leaves out", async () => {
    const bot = await startBot({ host });
    await bot.forge.pushToBranch(REPOSITORY, "v1", changeOf(["web"], "0"));
    const one = await synced(bot, ["web", "api"]);
    bot.argocd.addApplication(bot.resourceOf("web", { targetRevision: "v1" }));
    await bot.push(one, changeOf(["web", "api"], "3"));
    expect(bot.lastComment(one)).toContain("- `web`: no source of it follows main");
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("**2 applications rolled back**");
    expect([bot.liveValue("web"), bot.liveValue("api")]).toEqual(["0", "1"]);
    expect(await bot.deployed(one)).toEqual([]);
  });

  test("leaves a spec alone that is not the one this PR wrote", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(bot.moved("web"));
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    bot.argocd.addApplication(bot.resourceOf("web", { path: "apps/api" }));
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain(
      `Its definition is not the one that this ${SHORT[host]} wrote, and was left`,
    );
    expect(bot.argocd.application("web")?.spec.source?.path).toBe("apps/api");
  });

  test("the approval under which the commit was deployed is enough, even after a new push", async () => {
    const bot = await startBot({ host, config: { defaults: { require_approval: true } } });
    const one = await bot.open(changeOf(["web"]));
    await bot.approve(one);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    await bot.push(one, changeOf(["web"], "3"));
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("PR must be approved before sync");
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    expect(bot.liveValue("web")).toBe("1");
  });

  test("blocked like a sync: without any approval where one is required, and by auto-sync", async () => {
    const bot = await startBot({ host, config: { defaults: { require_approval: true } } });
    const one = await bot.open(changeOf(["api", "web"]));
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("PR must be approved before sync");
    await bot.approve(one);
    bot.argocd.addApplication(bot.resourceOf("web", { spec: { syncPolicy: { automated: {} } } }));
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain(
      "Application web has auto-sync enabled. Disable auto-sync before using the service to prevent conflicts.",
    );
    expect(bot.lastComment(one)).toContain("\nsvc rollback -a api\n```");
    await bot.comment(one, "svc rollback --prune");
    expect(bot.lastComment(one)).toContain("\nsvc rollback -a api --prune\n```");
    await bot.comment(one, "svc sync --dry-run");
    expect(bot.lastComment(one)).toContain("\nsvc sync -a api --dry-run\n```");
    expect(bot.changes()).toEqual([]);
    expect(await bot.locked(one)).toEqual(["api", "web"]);
  });

  test("locked by another PR that deployed: says so and does nothing, not even to the others", async () => {
    const bot = await startBot({ host });
    const one = await synced(bot, ["api", "web"]);
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    bot.argocd.failNextSync("web", { phase: "Failed", message: "no room" });
    await bot.comment(two, "svc sync", "bo");
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain(`web: [Locked by PR #${two} (bo)](<http`);
    expect(await bot.locked(one)).toEqual([]);
    expect(bot.liveValue("api")).toBe("2");
    await bot.comment(one, "svc rollback -a api");
    expect(bot.liveValue("api")).toBe("1");
    expect(await bot.deployed(one)).toEqual(["web"]);
  });

  test("a dry run takes over no lock of a plan", async () => {
    const bot = await startBot({ host });
    const one = await synced(bot);
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    bot.expectChanges("dry-run web");
    await bot.comment(one, "svc rollback --dry-run");
    expect(bot.lastComment(one)).toContain("the dry run succeeded, nothing was changed");
    expect(await bot.locked(two)).toEqual(["web"]);
    expect(bot.lastComment(two)).not.toContain("taken over");
  });

  test("nothing to act on: No applications are locked by this PR. Run the plan command first.", async () => {
    const bot = await startBot({ host });
    const one = await bot.open({ "docs/readme.txt": "x" });
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("No applications are locked by this PR. Run the plan command first.");
    const two = await bot.open(changeOf(["web"]));
    await bot.comment(two, "svc rollback -a api");
    expect(bot.lastComment(two)).toContain(`Not locked by this ${SHORT[host]}: \`api\`.`);
  });

  test("of what it cannot act on tells what is locked from what is only deployed", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["api", "web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync -a web");
    await bot.comment(one, "svc rollback -a nope");
    expect(bot.lastComment(one)).toContain(
      `Not locked by this ${SHORT[host]}: \`nope\`. This ${SHORT[host]} has locked \`api\` and deployed \`web\`.`,
    );
    await bot.comment(one, "svc unlock");
    await bot.comment(one, "svc rollback -a nope");
    expect(bot.lastComment(one)).toContain(`This ${SHORT[host]} has deployed \`web\`.`);
  });

  test("acts on what the PR holds although it was never synced; new and deleted applications are left alone", async () => {
    const bot = await startBot({ host });
    const one = await bot.open({ ...changeOf(["web"]), "argocd/api.yaml": null });
    expect(await bot.locked(one)).toEqual(["api", "web"]);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc rollback");
    expect(bot.changes()).toEqual(["sync web"]);
    expect(await bot.locked(one)).toEqual(["api"]);
  });

  test("needs a plan of what others deployed if the plan left it out", async () => {
    const bot = await startBot({ host });
    await synced(bot);
    const two = await bot.open(changeOf(["web", "api"], "3"), { draft: true });
    await bot.comment(two, "svc plan");
    await bot.push(two, changeOf(["web", "api"], "4"));
    await bot.comment(two, "svc plan -a api");
    await bot.comment(two, "svc rollback -a web");
    expect(bot.lastComment(two)).toContain("Plan for web is stale. Please run the plan command again.");
    expect(bot.lastComment(two)).toContain("It was left out of the plan.");
    await bot.comment(two, "svc plan");
    await bot.comment(two, "svc rollback -a web");
    expect(bot.lastComment(two)).toContain("✅ succeeded, `main` is deployed");
  });

  test("a failed rollback keeps lock and record; a dry run takes and writes nothing", async () => {
    const bot = await startBot({ host });
    const one = await synced(bot);
    bot.expectChanges("dry-run web");
    await bot.comment(one, "svc rollback --dry-run");
    expect(bot.lastComment(one)).toContain("## svc Rollback (dry run)");
    expect(bot.lastComment(one)).toContain("the dry run succeeded, nothing was changed");
    expect(await bot.locked(one)).toEqual([]);
    expect(await bot.deployed(one)).toEqual(["web"]);
    expect(bot.liveValue("web")).toBe("2");
    bot.argocd.failNextSync("web", { phase: "Failed", message: "no room" });
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("no room");
    expect(await bot.locked(one)).toEqual(["web"]);
    expect(await bot.deployed(one)).toEqual(["web"]);
  });

  test("does not undo what the target branch already contains: after the merge there is nothing to act on", async () => {
    const bot = await startBot({ host });
    const one = await synced(bot);
    await bot.forge.mergeByHand(REPOSITORY, one, "bo");
    await bot.idle();
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("No applications are locked by this PR.");
    expect(bot.liveValue("web")).toBe("2");
  });

  test("puts back no definition that the target branch has by now, since somebody merges meanwhile", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(bot.moved("web"));
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    bot.meanwhile("argocd", { method: "GET", path: /\/applications\/web$/ }, () =>
      bot.forge.mergeByHand(REPOSITORY, one, "bo"),
    );
    await bot.comment(one, "svc rollback");
    expect(bot.answers(one).at(-1)).toContain("No applications are locked by this PR.");
    expect(bot.argocd.application("web")?.spec.source?.path).toBe("apps/moved");
    expect(bot.changes()).toEqual(["update web", "sync web"]);
    expect(await bot.locked(one)).toEqual([]);
  });
});
