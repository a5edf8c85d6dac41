import { describe, expect, test } from "@jest/globals";
import { HOSTS, startBot } from "./bot.js";
import { section } from "./plan-comment.js";
import { applicationResource, asYaml, changeOf, configMap } from "./resources.js";
import { cloneUrlOf, generatedApplication, names, runsShops, shopsResource } from "./sets.js";

const SKIP = { config: { defaults: { skip_no_changes: true } } };
/** The same manifests in other bytes. */
const COMMENTED = { "apps/web/configmap.yaml": `# a remark\n${configMap("web", { value: "1" })}` };

/** A chart that writes the commit into a value. */
const CHART = {
  files: () => ({
    "charts/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    "charts/web/README.md": "old",
    "charts/web/templates/cfg.yaml":
      'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: web-cfg }\ndata: { id: "{{ .Values.id }}" }\n',
  }),
  resources: (repoURL: string) => ({
    web: {
      spec: {
        source: {
          repoURL,
          path: "charts/web",
          targetRevision: "main",
          helm: { parameters: [{ name: "id", value: "$ARGOCD_APP_REVISION", forceString: true }] },
        },
      },
    },
  }),
};

function secret(value: string): string {
  return `{apiVersion: v1, kind: Secret, metadata: {name: key}, stringData: {key: ${value}}}\n`;
}

describe.each(HOSTS)("options of a sync on %s", (host) => {
  test("without --prune what was deleted stays in the cluster and is counted; --prune removes it", async () => {
    const bot = await startBot({
      host,
      files: () => ({ "apps/web/old.yaml": configMap("old", { value: "1" }) }),
      prepare: ({ argocd }) => argocd.deploy("web"),
    });
    const one = await bot.open({ "apps/web/old.yaml": null });
    expect(bot.lastComment(one)).toContain("**Deletes:** 1 to delete (kept in the cluster without --prune)");
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("**Not pruned:** 1 resource was left in the cluster");
    expect(bot.liveValue("old")).toBe("1");
    await bot.comment(one, "svc plan");
    await bot.comment(one, "svc sync --prune");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    expect(bot.lastComment(one)).not.toContain("Not pruned");
    expect(bot.liveValue("old")).toBeUndefined();
  });

  test("what Argo CD leaves out of a sync by its settings is named, and never told as deployed", async () => {
    const endpoints = (ip: string) =>
      asYaml({ apiVersion: "v1", kind: "Endpoints", metadata: { name: "db" }, subsets: [{ addresses: [{ ip }] }] });
    const bot = await startBot({ host, prepare: ({ argocd }) => argocd.excludeKind("Endpoints") });
    const one = await bot.open({ ...changeOf(["web"]), "apps/web/db.yaml": endpoints("10.0.0.1") });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("⚠️ Argo CD did not apply Endpoints guestbook/db");
    const two = await bot.open(changeOf(["web"], "2"));
    await bot.comment(one, "svc unlock");
    await bot.comment(two, "svc plan");
    await bot.comment(two, "svc sync");
    expect(bot.lastComment(two)).toContain("✅ succeeded");
    expect(bot.lastComment(two)).not.toContain("did not apply");
  });

  test("what Prune=false keeps is not counted as deleted, and a sync that prunes leaves it to be deleted by hand", async () => {
    const kept = configMap("old", { value: "1" }).replace(
      "name: old",
      "name: old\n  annotations: {argocd.argoproj.io/sync-options: Prune=false}",
    );
    const bot = await startBot({
      host,
      files: () => ({ "apps/web/old.yaml": kept }),
      prepare: ({ argocd }) => argocd.deploy("web"),
    });
    const one = await bot.open({ "apps/web/old.yaml": null });
    expect(bot.lastComment(one)).toContain("**Stays:** 1 left in the cluster by any sync (Prune=false)");
    expect(bot.lastComment(one)).not.toMatch(/Deletes:|--prune`/);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync --prune");
    expect(bot.lastComment(one)).toContain(
      "No sync deletes it, because of Prune=false: to remove it, delete it by hand.",
    );
    expect(bot.lastComment(one)).not.toContain("--prune`");
    expect(bot.liveValue("old")).toBe("1");
  });

  test("an application and a set that Prune=false keeps are not deleted where their parent loses them", async () => {
    const kept = (resource: object, kind: string, name: string) => ({
      ...resource,
      metadata: {
        name,
        namespace: "argocd",
        annotations: {
          "argocd.argoproj.io/sync-options": "Prune=false",
          "argocd.argoproj.io/tracking-id": `root:argoproj.io/${kind}:argocd/${name}`,
        },
      },
    });
    const child = (repoURL: string) => kept(applicationResource("child", { repoURL }), "Application", "child");
    const set = (repoURL: string) => kept(shopsResource(repoURL, names("de")), "ApplicationSet", "shops");
    const bot = await startBot({
      host,
      applications: [],
      files: (url) => ({
        "root/more.yaml": configMap("more", { value: "1" }),
        "root/child.yaml": asYaml(child(url)),
        "root/shops.yaml": asYaml(set(url)),
        "apps/child/configmap.yaml": configMap("child", { value: "1" }),
        "shops/de/configmap.yaml": configMap("shop-de", { value: "1" }),
      }),
      prepare: async (world, forge) => {
        const repoURL = cloneUrlOf(forge);
        world.argocd.addApplication(applicationResource("root", { repoURL, path: "root" }));
        world.argocd.addApplication(child(repoURL));
        runsShops(world, set(repoURL), [generatedApplication("de", { repoURL })]);
        await world.argocd.deploy("root");
      },
    });
    const one = await bot.open({ "root/child.yaml": null, "root/shops.yaml": null });
    const comment = bot.lastComment(one);
    expect(section(comment, "root")).toContain("**Stays:** 2 left in the cluster by any sync (Prune=false)");
    expect(section(comment, "child")).toContain("No changes: the head commit and the target branch render the same.");
    expect(comment).not.toMatch(/deletes|would delete|removes|shop-de|⚠️/);
  });

  test.each<[string, readonly string[], boolean]>([
    ["v3.3.19", ["Prune=false"], false],
    ["v3.4.0", ["Prune=false"], true],
    ["v3.5.1", ["Prune=false"], true],
    ["v3.5.1", ["Prune=false "], false],
    ["v3.5.1", ["Prune=true", "Prune=false"], false],
  ])(
    "an application's own Prune=false is believed only of an Argo CD that reads it: %s, %j",
    async (version, syncOptions, isRead) => {
      const bot = await startBot({
        host,
        argocd: { version },
        files: () => ({ "apps/web/old.yaml": configMap("old", { value: "1" }) }),
        resources: () => ({ web: { spec: { syncPolicy: { syncOptions } } } }),
        prepare: ({ argocd }) => argocd.deploy("web"),
      });
      const one = await bot.open({ "apps/web/old.yaml": null });
      const [deleted, stays] = ["**Deletes:** 1 to delete", "**Stays:** 1 left in the cluster by any sync"];
      expect(bot.lastComment(one)).toContain(isRead ? stays : deleted);
      expect(bot.lastComment(one)).not.toContain(isRead ? deleted : stays);
      bot.expectChanges("sync web");
      await bot.comment(one, "svc sync --prune");
      expect(bot.argocd.liveObject("ConfigMap", "guestbook", "old") !== undefined).toBe(isRead);
    },
  );

  test("skip_no_changes drops applications whose plan detected no changes and releases their locks", async () => {
    const bot = await startBot({ host, ...SKIP });
    const one = await bot.open({ ...COMMENTED, ...changeOf(["api"]) });
    expect(bot.lastComment(one)).toContain("No changes: the head commit and the target branch render the same.");
    expect(await bot.locked(one)).toEqual(["api", "web"]);
    bot.expectChanges("sync api");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(
      "Skipped, because the plan proved that nothing changes; lock released: `web`.",
    );
    expect(bot.changes()).toEqual(["sync api"]);
    expect(await bot.locked(one)).toEqual([]);
  });

  test("without skip_no_changes an unchanged application is synced like any other", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(COMMENTED);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync web"]);
  });

  test("skip_no_changes never drops an application whose changed inputs render a Secret", async () => {
    const bot = await startBot({ host, ...SKIP, files: () => ({ "apps/web/secret.yaml": secret("old") }) });
    const one = await bot.open({ "apps/web/secret.yaml": secret("new") });
    expect(bot.lastComment(one)).toContain(
      "Secret guestbook/key: changes key (apps/web/secret.yaml); values are hidden",
    );
    expect(bot.lastComment(one)).not.toMatch(/\bnew\b.*stringData|bmV3/);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    expect(bot.changes()).toEqual(["sync web"]);
  });

  test("skip_no_changes drops what differs by the commit id alone, unless somebody names it", async () => {
    const bot = await startBot({ host, ...SKIP, ...CHART });
    const one = await bot.open({ "charts/web/README.md": "new", ...changeOf(["api"]) });
    const says = "No changes but the commit id, in ConfigMap web-cfg.";
    expect(section(bot.lastComment(one), "web")).toContain(says);
    expect(bot.lastComment(one)).not.toContain("the target branch render the same");
    bot.expectChanges("sync api");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("lock released: `web`.");
    expect(bot.changes()).toEqual(["sync api"]);
    await bot.comment(one, "svc plan -a web");
    expect(section(bot.lastComment(one), "web")).toContain(says);
    bot.expectChanges("sync api", "sync web");
    await bot.comment(one, "svc sync -a web");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    expect(bot.changes()).toEqual(["sync api", "sync web"]);
  });

  test.each(["ARGOCD_APP_REVISION", "\\u0041RGOCD_APP_REVISION"])(
    "what differs by the commit id alone is named where an override file has the variable, written as %s",
    async (variable) => {
      const parameters = [{ name: "id", value: "$VARIABLE", forceString: true }];
      const text = JSON.stringify({ helm: { parameters } }).replace("VARIABLE", variable);
      const resources = (repoURL: string, labels = {}) => ({
        web: { labels, spec: { source: { repoURL, path: "charts/web", targetRevision: "main" } } },
      });
      const bot = await startBot({
        host,
        resources,
        files: () => ({ ...CHART.files(), "charts/web/.argocd-source.yaml": text }),
      });
      const labelled = resources(bot.forge.cloneUrl(bot.repository), { team: "shop" }).web;
      const one = await bot.open({ "argocd/web.yaml": asYaml(bot.resourceOf("web", labelled)) });
      expect(section(bot.lastComment(one), "web")).toContain("No changes but the commit id, in ConfigMap web-cfg.");
    },
  );

  test("skip_no_changes never drops an application that still runs an earlier commit of this PR", async () => {
    const bot = await startBot({ host, config: { defaults: { skip_no_changes: true, auto_merge: true } } });
    const one = await bot.open({ ...changeOf(["api", "web"]) });
    bot.expectChanges("sync api", "sync web");
    await bot.comment(one, "svc sync -a web");
    expect(bot.liveValue("web")).toBe("2");
    // The change is taken back: both sides of the plan are equal, the cluster is not.
    await bot.push(one, changeOf(["web"], "1"));
    expect(bot.lastComment(one)).toContain("No changes: the head commit and the target branch render the same.");
    await bot.comment(one, "svc sync -a api");
    expect(bot.lastComment(one)).toContain("- `web`: it was not synced at the head commit");
    expect(bot.seen(one).state).toBe("open");
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("web")).toBe("1");
    expect(bot.seen(one).state).toBe("merged");
  });
});
