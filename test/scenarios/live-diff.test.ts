import { describe, expect, test } from "@jest/globals";
import { stringify } from "yaml";
import type { Manifest } from "../../sandbox/argocd/manifest.js";
import { HOSTS, SHORT, startBot, type Bot, type BotOptions } from "./bot.js";
import { section } from "./plan-comment.js";
import { changeOf, configMap, deployment } from "./resources.js";

const LIVE: Pick<BotOptions, "config"> = { config: { deployer: { diff_mode: "live" } } };

/** Somebody, or something, changes members of an object in the cluster. */
function changeLive(bot: Bot, kind: string, members: (object: Manifest) => object): void {
  const object = bot.argocd.liveObject(kind, "guestbook", "web");
  if (object === undefined) throw new Error(`no ${kind} is there`);
  bot.argocd.putLiveObject({ ...object, ...members(object) });
}

describe.each(HOSTS)("diff_mode: live on %s", (host) => {
  test("a change is shown against the cluster, without what Kubernetes filled in", async () => {
    const bot = await startBot({ host, ...LIVE, files: () => ({ "apps/web/deployment.yaml": deployment(2) }) });
    await bot.argocd.deploy("web");
    changeLive(bot, "Deployment", ({ spec }) => ({ spec: { ...(spec as object), progressDeadlineSeconds: 600 } }));
    const one = await bot.open({ "apps/web/deployment.yaml": deployment(3) });
    const web = section(bot.lastComment(one), "web");
    expect(web).toContain("**Changes:** 0 to create, 1 to update\n\nDiff against the live cluster.\n");
    expect(web).toContain("-  replicas: 2\n+  replicas: 3");
    expect(web).not.toMatch(/^[-+].*progressDeadlineSeconds/m);
    expect(web).not.toContain("Differs from the target branch");
  });

  test("drift is part of the diff, and told apart", async () => {
    const bot = await startBot({ host, ...LIVE });
    await bot.argocd.deploy("web");
    changeLive(bot, "ConfigMap", () => ({ data: { value: "by hand" } }));
    const one = await bot.open({ "apps/web/other.yaml": configMap("other", { a: "1" }) });
    const web = section(bot.lastComment(one), "web");
    expect(web).toContain("**Changes:** 1 to create, 1 to update");
    expect(web).toContain("-  value: by hand");
    expect(web).toContain(`so a sync changes more than this ${SHORT[host]} does: \`ConfigMap guestbook/web\``);
  });

  test("a change that the cluster has already is not called unchanged, and stays locked", async () => {
    const bot = await startBot({ host, ...LIVE });
    await bot.argocd.deploy("web");
    changeLive(bot, "ConfigMap", () => ({ data: { value: "2" } }));
    const one = await bot.open(changeOf(["web"], "2"));
    const web = section(bot.lastComment(one), "web");
    expect(web).toContain("**Changes:** 0 to create, 0 to update");
    expect(web).toContain(
      "The head commit and the target branch do not render the same, but the cluster already has this.",
    );
    expect(web).not.toContain("No changes:");
    expect(await bot.locked(one)).toEqual(["web"]);
  });

  test.each(["true", "1"])(
    "an application that Argo CD leaves alone is not asked about: skip-reconcile %s",
    async (skip) => {
      const annotations = { "argocd.argoproj.io/skip-reconcile": skip };
      const bot = await startBot({
        host,
        config: { deployer: { diff_mode: "live", server_dry_run: "auto" } },
        applications: ["web"],
        resources: () => ({ web: { annotations } }),
      });
      const one = await bot.open(changeOf(["web"], "2"));
      const web = section(bot.lastComment(one), "web");
      expect(web).toContain("**Changes:** 0 to create, 1 to update");
      expect(web).toMatch(
        /live cluster could not be read, .*: Argo CD leaves the application alone \(skip-reconcile\)/,
      );
      expect(bot.argocd.requests.filter(({ path }) => /managed-resources|refresh=/.test(path))).toEqual([]);
    },
  );

  test("what ignoreDifferences names is ignored, by JSON pointers and by jq expressions", async () => {
    const rules = [
      { group: "apps", kind: "Deployment", jsonPointers: ["/spec/replicas"] },
      { kind: "ConfigMap", jqPathExpressions: [".data.value"] },
    ];
    const bot = await startBot({
      host,
      config: { deployer: { diff_mode: "live", server_dry_run: "auto" } },
      resources: () => ({ web: { spec: { ignoreDifferences: rules } } }),
      files: () => ({ "apps/web/deployment.yaml": deployment(2) }),
    });
    await bot.argocd.deploy("web");
    changeLive(bot, "Deployment", ({ spec }) => ({ spec: { ...(spec as object), replicas: 7 } }));
    changeLive(bot, "ConfigMap", () => ({ data: { value: "by hand" } }));
    const one = await bot.open({ "apps/web/deployment.yaml": deployment(2, "web:2") });
    const web = section(bot.lastComment(one), "web");
    expect(web).toContain("**Changes:** 0 to create, 1 to update");
    expect(web).not.toContain("Approximate");
    expect(web).toContain("image: web:2");
    expect(web).not.toMatch(/^[-+].*replicas/m);
    expect(web).not.toContain("Differs from the target branch");
  });

  test("what a sync does not apply is told apart, and the sync does not apply it", async () => {
    const secret = (keys: object) =>
      stringify({ apiVersion: "v1", kind: "Secret", metadata: { name: "web" }, stringData: keys });
    const bot = await startBot({
      host,
      ...LIVE,
      resources: () => ({
        web: {
          spec: {
            ignoreDifferences: [{ group: "apps", kind: "Deployment", jsonPointers: ["/spec/replicas"] }],
            syncPolicy: { syncOptions: ["RespectIgnoreDifferences=true"] },
          },
        },
      }),
      files: () => ({
        "apps/web/deployment.yaml": deployment(2),
        "apps/web/secret.yaml": secret({ user: "u", old: "o" }),
      }),
    });
    await bot.argocd.deploy("web");
    changeLive(bot, "Deployment", ({ spec }) => ({ spec: { ...(spec as object), replicas: 7 } }));
    const one = await bot.open({
      "apps/web/deployment.yaml": deployment(5),
      "apps/web/secret.yaml": secret({ user: "u" }),
    });
    const web = section(bot.lastComment(one), "web");
    expect(web).toContain("**Changes:** 0 to create, 0 to update");
    expect(web).toContain(
      `Changed by this ${SHORT[host]}, but not by a sync:\n` +
        "- `apps/Deployment guestbook/web`: RespectIgnoreDifferences leaves /spec/replicas as it is\n" +
        "- `Secret guestbook/web`: keys that were written as stringData stay: old\n",
    );
    expect(web).not.toContain("No changes:");
    bot.expectChanges("sync web");
    await bot.approve(one, "bo");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("succeeded");
    expect(bot.argocd.liveObject("Deployment", "guestbook", "web")).toMatchObject({ spec: { replicas: 7 } });
    expect(bot.argocd.liveObject("Secret", "guestbook", "web")).toMatchObject({ data: { old: btoa("o") } });
  });

  test("a deletion counts what the cluster has, and a Secret shows no value of it", async () => {
    const secret = (value: string) =>
      stringify({ apiVersion: "v1", kind: "Secret", metadata: { name: "login" }, stringData: { password: value } });
    const bot = await startBot({
      host,
      ...LIVE,
      files: () => ({
        "apps/web/old.yaml": configMap("old", { a: "1" }),
        "apps/web/secret.yaml": secret("old-s3cret"),
      }),
    });
    await bot.argocd.deploy("web");
    const one = await bot.open({ "apps/web/old.yaml": null, "apps/web/secret.yaml": secret("new-s3cret") });
    const web = section(bot.lastComment(one), "web");
    expect(web).toContain("**Deletes:** 1 to delete (kept in the cluster without --prune)");
    expect(web).toContain("# delete: ConfigMap guestbook/old");
    expect(web).toContain("Argo CD hides the values of Secrets");
    const seen = JSON.stringify([bot.answers(one), await bot.stores.plans.find(bot.ref(one))]);
    for (const value of ["old-s3cret", "new-s3cret"]) {
      expect(seen).not.toContain(value);
      expect(seen).not.toContain(Buffer.from(value).toString("base64"));
    }
  });

  test("diff_mode: both shows drift beside the change, and a sync does both", async () => {
    const bot = await startBot({ host, config: { deployer: { diff_mode: "both" } }, applications: ["web", "api"] });
    await bot.argocd.deploy("web");
    await bot.argocd.deploy("api");
    changeLive(bot, "ConfigMap", () => ({ data: { value: "by hand" } }));
    const one = await bot.open({
      "apps/web/other.yaml": configMap("other", { a: "1" }),
      "apps/api/README.md": "nothing that is rendered",
    });
    const comment = bot.lastComment(one);
    const web = section(comment, "web");
    expect(comment).toContain("1 created, 1 drifted");
    expect(web).toContain("**Changes:** 1 to create, 0 to update");
    expect(web).toMatch(/Diff \(1 resource changed\).*# create: ConfigMap guestbook\/other/s);
    expect(web).toMatch(/Drift \(1 resource already different in the cluster\).*-  value: by hand\n\+  value: "1"/s);
    expect(section(comment, "api")).toContain(
      "No changes: the head commit and the target branch render the same, and the cluster has it.",
    );
    bot.expectChanges("sync web");
    await bot.approve(one, "bo");
    await bot.comment(one, "svc sync -a web");
    expect(bot.argocd.liveObject("ConfigMap", "guestbook", "web")).toMatchObject({ data: { value: "1" } });
    expect(bot.argocd.liveObject("ConfigMap", "guestbook", "other")).toMatchObject({ data: { a: "1" } });
  });

  test("when the cluster cannot be read, the renders are compared and the plan says why", async () => {
    const bot = await startBot({ host, ...LIVE });
    bot.argocd.faults.add({
      path: /managed-resources/,
      fault: {
        kind: "status",
        status: 500,
        body: JSON.stringify({ code: 2, message: "the cache is @gone", error: "x" }),
      },
    });
    const one = await bot.open(changeOf(["web"], "2"));
    const web = section(bot.lastComment(one), "web");
    expect(web).toContain(
      "⚠️ The live cluster could not be read, so the diff is against the target branch: the cache is @\u200bgone.",
    );
    expect(web).toContain("**Changes:** 0 to create, 1 to update");
  });

  test("the default mode does not ask for the live state", async () => {
    const bot = await startBot({ host });
    await bot.open(changeOf(["web"], "2"));
    const asked = bot.argocd.requests;
    expect(asked.filter(({ path, query }) => path.endsWith("/managed-resources") || "refresh" in query)).toEqual([]);
    expect(asked.length).toBeGreaterThan(0);
  });
});
