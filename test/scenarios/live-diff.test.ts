import { describe, expect, test } from "@jest/globals";
import { stringify } from "yaml";
import type { Manifest } from "../../sandbox/argocd/manifest.js";
import { HOSTS, SHORT, startBot, type Bot, type BotOptions } from "./bot.js";
import { section } from "./plan-comment.js";
import { changeOf, configMap } from "./resources.js";

const LIVE: Pick<BotOptions, "config"> = { config: { deployer: { diff_mode: "live" } } };

function deployment(replicas: number, image = "web:1"): string {
  return stringify({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web" },
    spec: {
      replicas,
      selector: { matchLabels: { app: "web" } },
      template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image }] } },
    },
  });
}

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
    expect(web).toContain("The two sides do not render the same, but the cluster already has this.");
    expect(web).not.toContain("No changes:");
    expect(await bot.locked(one)).toEqual(["web"]);
  });

  test("JSON pointers of ignoreDifferences are honoured, jq expressions are said not to be", async () => {
    const rules = [
      { group: "apps", kind: "Deployment", jsonPointers: ["/spec/replicas"] },
      { kind: "Service", jqPathExpressions: [".spec.clusterIP"] },
    ];
    const bot = await startBot({
      host,
      ...LIVE,
      resources: () => ({ web: { spec: { ignoreDifferences: rules } } }),
      files: () => ({ "apps/web/deployment.yaml": deployment(2) }),
    });
    await bot.argocd.deploy("web");
    changeLive(bot, "Deployment", ({ spec }) => ({ spec: { ...(spec as object), replicas: 7 } }));
    const one = await bot.open({ "apps/web/deployment.yaml": deployment(2, "web:2") });
    const web = section(bot.lastComment(one), "web");
    expect(web).toContain(
      "Diff against the live cluster (approximate: jqPathExpressions of ignoreDifferences not evaluated).",
    );
    expect(web).toContain("image: web:2");
    expect(web).not.toMatch(/^[-+].*replicas/m);
    expect(web).not.toContain("Differs from the target branch");
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
